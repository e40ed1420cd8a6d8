"""A small corpus to check plugins on: twelve pages about a boat, with sections, links and see-also lists."""

from pathlib import Path
from random import Random

from structformer.ingestion import ingest
from structformer.workspace import Workspace

_PARTS = ("mast", "keel", "rudder", "anchor", "sail", "winch", "hull", "deck", "cabin", "rope", "compass", "lantern")
_WORK = {
    "Clean": "Take a soft cloth, fresh water and a little soap, rub along the grain, and let the wind dry it.",
    "Mend": "Mark every crack with chalk, cut away what is rotten, glue a new piece in, then sand it smooth again.",
    "Stow": "Fold or roll it loosely, tie it with two short lengths of line, and keep it low in the bow.",
}
# Each section names some of these, so that no page is nearly another: tasks do not contrast copies.
_THINGS = """awl brush chisel cork drill file funnel glue grease hammer hinge hook jar knife lamp mallet nail needle oar
oil paint pin plank pliers pump rag resin ring rivet saw scraper screw sponge tar tape tin wax wire wool""".split()


def example_workspace(folder: Path) -> Workspace:
    """Write the pages below `folder` and ingest them; returns the workspace."""
    pages = folder / "pages"
    pages.mkdir(parents=True)
    for number, part in enumerate(_PARTS):
        following, after = _PARTS[(number + 1) % len(_PARTS)], _PARTS[(number + 5) % len(_PARTS)]
        sections = "".join(
            f"## {work} the {part}\n\n{how} Whoever is to {work.lower()} the {part} looks at the [{following}]"
            f"({following}.md) too, and needs {', '.join(Random(part + work).sample(_THINGS, 20))}.\n\n"
            for work, how in _WORK.items()
        )
        text = (
            f"# The {part}\n\nThe {part} is a part of the boat that every sailor learns to look after in the first "
            f"weeks on board, because a boat without a good {part} does not go far. This page says how.\n\n{sections}"
            f"## See also\n\n- [The {after}]({after}.md)\n"
        )
        (pages / f"{part}.md").write_text(text, encoding="utf-8")
    workspace = Workspace(folder / "workspace")
    ingest(pages, workspace, workers=1)
    return workspace
