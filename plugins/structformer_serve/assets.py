"""The files of the pages: styles, scripts and the icon."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

STATIC = {
    "page.css": "text/css",
    "box.css": "text/css",
    "page.js": "text/javascript",
    "search-box.js": "text/javascript",
    "widget.js": "text/javascript",
    "box-button.css": "text/css",
    "box-button.js": "text/javascript",
    "box-places.js": "text/javascript",
    "copying.js": "text/javascript",
    "ask.css": "text/css",
    "ask.js": "text/javascript",
    "answer-markdown.js": "text/javascript",
    "icon.svg": "image/svg+xml",
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
