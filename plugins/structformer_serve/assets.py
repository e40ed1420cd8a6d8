"""The files of the pages: styles, scripts and the icon."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import PurePath

_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
STATIC = {
    name: _KINDS[PurePath(name).suffix]
    for name in """page.css box.css page.js search-box.js widget.js box-button.css box-button.js box-places.js
    copying.js ask.css ask.js answer-markdown.js icon.svg""".split()
}
# Nothing of a search is for a crawler; what is written for language models is.
ROBOTS = "User-agent: *\nAllow: /llms.txt\nDisallow: /\n"


@cache
def static(name: str) -> bytes:
    """A file of the pages."""
    return (files("structformer_serve") / "static" / name).read_bytes()


@cache
def assets() -> str:
    """A digest of all of them, so that a browser keeps them until they change."""
    return hashlib.sha256(b"".join(static(name) for name in STATIC)).hexdigest()[:12]
