"""A workspace of twenty little pages, each with three sections of its own words and a link to the next."""

from __future__ import annotations

from pathlib import Path

from structformer import Document, Section, sample
from structformer.document import Source
from structformer.ingestion import ingest
from structformer.training import TrainingOptions

from conftest import write_pages

TOPICS = (
    "anchor ballast compass deck engine fender galley halyard inlet jib keel ladder mast nautical oar propeller quay rudder sheet tiller"
).split()

# A model that is trained in seconds.
TINY = TrainingOptions(
    base_model="scratch", size="tiny", max_steps=4, max_seconds=None, groups=4, document_tokens=64, precision="no"
)


def boats(folder: Path) -> Path:
    """The workspace, with its Examples drawn."""
    pages = {}
    for number, topic in enumerate(TOPICS):
        other = TOPICS[(number + 1) % len(TOPICS)]
        sections = "".join(
            f"## {verb} the {topic}\n\nTo {verb.lower()} the {topic} first look at the {topic} closely, then take a cloth and {verb.lower()} "
            f"it with care. Never {verb.lower()} a wet {topic} in the {place}. Ask someone who knows {topic} work.\n\n"
            for verb, place in (("Clean", "harbour"), ("Mend", "rain"), ("Stow", "dark"))
        )
        pages[f"{topic}.md"] = (
            f"# The {topic}\n\nThe {topic} is a part of the boat.\n\n{sections}## See also\n\n- [the {other}]({other}.md)\n"
        )
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    sample(folder / "w")
    return folder / "w"


LINKED = "anchor ballast compass deck engine fender galley halyard inlet jib keel ladder".split()


def linked_pages() -> dict[str, str]:
    """Twelve pages by path that link to their neighbours in sentences, and to one page each under one name."""
    pages = {}
    for number, topic in enumerate(LINKED):
        first, second = LINKED[number - 1], LINKED[(number + 1) % len(LINKED)]
        pages[f"{topic}.md"] = (
            f"# The {topic}\n\nThe {topic} is a part of every boat that people of the coast have built, and no {topic} is like another one.\n\n"
            f"## Use\n\nUse the {topic} together with the [{first} part]({first}.md) and the [other]({second}.md) when the wind is strong, "
            f"and store the {topic} in a dry place after the journey.\n\n## Care\n\nClean the {topic} twice a year with fresh water and oil "
            f"it before the winter, or the {topic} will rust and break when you need it.\n"
        )
    return pages


def tree() -> Document:
    """Boats: Sails (Reefing, Trimming), Knots (Bowline), every section with a text of its own."""
    return Document(
        id="boats",
        title="Boats",
        source=Source("boats.md", "markdown"),
        root=Section(
            "Boats",
            0,
            "all about boats",
            children=[
                Section(
                    "Sails.",
                    1,
                    "cloth that catches wind",
                    children=[
                        Section("Reefing", 2, "smaller sail in strong wind"),
                        Section("Trimming", 2, "ease the sheet until it flutters"),
                    ],
                ),
                Section("Knots", 1, "ropes and posts", children=[Section("Bowline", 2, "a loop that holds")]),
            ],
        ),
    )
