"""Where a page is, as people paste it: its path or a part of that, its file name, its address."""

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from structformer.text.words import normal

_LONGEST = 512  # characters of a place
_FOLDERS = 8  # parts of a path that count
_PAGE = re.compile(r"\.(?:html?|md|mdx|markdown|rst|txt|adoc|asciidoc|org|tex|xml|php|ipynb)$")
_FOLDERS_PAGE = re.compile(r"(?:^|/)(?:index|readme|_index)$")
_LINE = re.compile(r"(?<=\w)(?::\d+){1,2}$")  # of a file, as tools print it
_QUOTED = "<>()[]`'\"“”.,;!"


def page_places(document_id: str, address: str) -> list[str]:
    """Return all ways to name a page: its path and its address, whole or from any folder on, with suffix or without."""
    paths = dict.fromkeys((_path(document_id), _path(urlsplit(address).path if address else "")))
    return list(dict.fromkeys(way for path in paths for tail in _tails(path) for way in (tail, _bare(tail)) if way))


def asked_places(query: str) -> tuple[list[str], str]:
    """Return the places that a query may mean, if it is one word or ends with a page's suffix, the longest first, and
    the anchor in it.
    """
    query = _LINE.sub("", query.strip(_QUOTED))
    if len(query.split()) != 1 and not _PAGE.search(query):  # a file's name may have blanks
        return [], ""
    is_address = query.startswith(("http://", "https://"))
    path, _, anchor = query.partition("#")
    if is_address:
        try:
            path = urlsplit(path).path
        except ValueError:  # not the address that it looks like
            return [], ""
    path = _path(path.partition("?")[0])
    whole = [path, _bare(path)]
    # Folders of the site or of a machine may stand before; what is left must still look like a path or a file.
    tails = _tails(path) if " " not in path else ()
    shorter = [way for tail in tails for way in (tail, _bare(tail)) if "/" in tail or _PAGE.search(tail)]
    named = not path.isalnum()  # one plain word is a word
    return [way for way in dict.fromkeys((*whole, *shorter)) if way and named], unquote(anchor)


def _path(text: str) -> str:
    path = normal(unquote(text[:_LONGEST])).replace("\\", "/").strip("/")
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    return path


def _bare(path: str) -> str:
    """Return a path without a page's suffix, of a folder's page the folder's."""
    return _FOLDERS_PAGE.sub("", _PAGE.sub("", path))


def _tails(path: str) -> Iterator[str]:
    parts = path.split("/")[-_FOLDERS:]
    yield from ("/".join(parts[at:]) for at in range(len(parts)))
