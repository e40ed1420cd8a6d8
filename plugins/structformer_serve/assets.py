"""Assets of the pages: templates, styles, scripts, and the icon, which may be the site's own."""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path, PurePath
from typing import Any

from structformer.errors import ReadError
from structformer.formats import SourceFile
from structformer.pages import environment
from structformer.plugins import load_plugins
from structformer.workspace import Workspace

from structformer_serve.language import languages

_KINDS = {".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml"}
# The files from which scripts read their strings: one a language, and a list of all.
SPOKEN = {
    **{f"language-{code}.json": json.dumps(each.script, ensure_ascii=False) for code, each in languages().items()},
    "languages.js": f"export const LANGUAGES = {json.dumps([*languages()])};\n",
}
_FILES = """page.css box.css page.js search-box.js widget.js box-button.css box-button.js box-places.js language.js
    copying.js ask.css ask.js answer-markdown.js icon.svg"""
STATIC = {name: _KINDS[PurePath(name).suffix] for name in (*SPOKEN, *_FILES.split())}
_PLACES = "box-places.js"  # made from the site generators
_ICON_FOLDERS = "", "_static", "static", "static/img", "public", "img", "images", "assets", "assets/images", "favicons"
_ICON_KINDS = {".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon"}
_ICON_BYTES = 100_000
# Nothing of a search is for a crawler; what is written for language models is.
ROBOTS = "User-agent: *\nAllow: /llms.txt\nDisallow: /\n"


@cache
def static(name: str) -> bytes:
    """Return a file of the pages."""
    if name == _PLACES:
        return box_places().encode()
    if name in SPOKEN:
        return SPOKEN[name].encode()
    return (files("structformer_serve") / "static" / name).read_bytes()


def box_places() -> str:
    """Return where the box's button goes in the themes of site generators, as a script; box-button.js imports it."""
    boxes = (box for generator in load_plugins().site_generators.values() for box in generator.boxes)
    places = [{key: value for key, value in asdict(box).items() if value} for box in boxes]
    elsewhere = {"name": "", "at": [{"beside": "body", "put": "append", "look": "floating"}], "own": ""}
    return f"export const PLACES = {json.dumps(places)};\nexport const ELSEWHERE = {json.dumps(elsewhere)};\n"


@cache
def assets() -> str:
    """Return a digest of all of them, so that a browser keeps them until they change."""
    return hashlib.sha256(b"".join(static(name) for name in STATIC)).hexdigest()[:12]


def page(template: str, **values: Any) -> bytes:
    """Return a page of a template, as it is sent."""
    made = environment("structformer_serve", "templates").get_template(template)
    return made.render(assets=assets(), **values).encode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Icon:
    """The picture beside the name of what is searched."""

    name: str
    """`icon` and the ending that tells its kind."""
    data: bytes
    kind: str
    """Its media type."""
    is_own: bool = False
    """Whether it is the site's own, which is shown beside its name."""


def icon(workspace: Workspace) -> Icon:
    """The picture of the site that was read, where there is one site: a `favicon`, else a `logo`, at its top or where
    site generators keep pictures. Without one, our own.
    """
    tops = [Path(source.path) for source in workspace.sources()]
    for stem, folder, suffix in product(("favicon", "logo"), _ICON_FOLDERS, _ICON_KINDS) if len(tops) == 1 else ():
        place = tops[0] / folder / (stem + suffix)
        with suppress(OSError, ReadError):  # most are not there
            if 0 < place.lstat().st_size <= _ICON_BYTES and place.resolve() == tops[0].resolve() / folder / place.name:
                return Icon(f"icon{suffix}", SourceFile(place.name, location=place).read(), _ICON_KINDS[suffix], True)
    return Icon("icon.svg", static("icon.svg"), _KINDS[".svg"])
