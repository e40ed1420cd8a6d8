"""Plain text that CommonMark leaves alone: GFM's bare URLs and e-mail addresses, wiki-links, footnote
marks, lists of attributes; and what puts other texts in the place of pieces of one.
"""

import re
from collections.abc import Iterable, Iterator

_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,100}\]")
_WIKI_LINK = re.compile(r"\[\[(?!\s)([^\[\]\n|]{1,500}?)(?<!\s)(?:\|([^\[\]\n|]{0,500}))?\]\]")
_URL = re.compile(r"(?:(?<![A-Za-z0-9<])(?:https?|ftp)://|(?:(?<=[\s*_~(])|^)www\.)[^\s<]+")
_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*")
_EMAIL = re.compile(r"(?<![<\w.+-])[A-Za-z0-9.+_-]++@[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)++(?<![-_])(?!\+)", re.ASCII)
_LOOKS_LIKE_TARGET = re.compile(r"[a-z][a-z0-9+.-]*://|\.{0,2}/")
_LIST = r"""\{(?:/\*\s*)?:?\s*(?:[#.=][\w:.-]++|data-[\w-]++|[\w-]+=(?:"[^"]*"|'[^']*'|[^\s"'{}]+))[^{}]*\}"""
ATTRIBUTES = re.compile(_LIST)
HEADING_ATTRIBUTES = re.compile(rf"\s*(?:{_LIST}|\[(?:#(?!\d+\])[\w:.-]+|!?toc|step)\])\s*$")  # and Fumadocs'
_Link = tuple[int, int, tuple[str, str]]  # start, end; its text and its target
_NAME = re.compile(r"""(?:#([\w:.-]+)|(?<![\w-])id=["']?([\w:.-]+))""")


def spliced(text: str, pieces: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with others in the place of its pieces, each (start, end, other), in order."""
    out: list[str] = []
    place = 0
    for start, end, other in pieces:
        out += (text[place:start], other)
        place = end
    return "".join((*out, text[place:])) if out else text


def names_in(attributes: str) -> list[str]:
    """Return the names that a list of attributes gives."""
    return [first or second for first, second in _NAME.findall(attributes)]


def spans(text: str, *, extended: bool) -> Iterator[tuple[str, str | None]]:
    """Yield a text's parts: (plain text, None) or (a link's text, its target). extended: beyond CommonMark."""
    if "[^" in text:
        text = _FOOTNOTE.sub("", text)
    links: list[_Link] = []
    if extended and any(mark in text for mark in ("[[", "://", "www.", "@")):
        links = sorted([*_wiki_links(text), *_urls(text), *_emails(text)], key=lambda found: found[:2])
    position = 0
    for start, end, link in links:
        if start < position:
            continue
        yield text[position:start], None
        yield link
        position = end
    yield text[position:], None


def _wiki_links(text: str) -> Iterator[_Link]:
    for found in _WIKI_LINK.finditer(text):
        target, shown = found[1], found[2]
        # Both orders are in use; what looks like an address is the target.
        if shown and _LOOKS_LIKE_TARGET.match(shown):
            target, shown = shown, target
        yield found.start(), found.end(), (shown or target, target)


def _urls(text: str) -> Iterator[_Link]:
    for found in _URL.finditer(text):
        url = _without_trailing_punctuation(found[0])
        _, separator, rest = url.partition("://")
        host = _DOMAIN.match(rest if separator else url)
        if host is None or "_" in "".join(host[0].split(".")[-2:]) or (host[0] == "www" and not separator):
            continue
        yield found.start(), found.start() + len(url), (url, url if separator else f"http://{url}")


def _without_trailing_punctuation(url: str) -> str:
    """GFM: trailing ?!.,:*_~'" are not part of a URL, nor is an unbalanced ) or what looks like an entity."""
    surplus = url.count(")") - url.count("(")
    while url:
        if url[-1] in "?!.,:*_~'\"":
            url = url[:-1]
        elif url[-1] == ")" and surplus > 0:
            url, surplus = url[:-1], surplus - 1
        elif url[-1] == ";" and (entity := re.search(r"&[A-Za-z0-9]{1,40};\Z", url[-42:])):
            url = url[: -len(entity[0])]
        else:
            break
    return url


def _emails(text: str) -> Iterator[_Link]:
    for found in _EMAIL.finditer(text) if "@" in text else ():
        yield found.start(), found.end(), (found[0], f"mailto:{found[0]}")
