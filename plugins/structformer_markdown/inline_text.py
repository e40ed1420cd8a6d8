"""Plain text that CommonMark leaves alone: GFM's bare URLs and e-mail addresses, wiki-links, footnote marks, lists of
attributes.
"""

import re
from collections.abc import Iterator

_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,100}\]")
_WIKI_LINK = re.compile(r"\[\[(?!\s)([^\[\]\n|]{1,500}?)(?<!\s)(?:\|([^\[\]\n|]{0,500}))?\]\]")
_URL = re.compile(r"(?:(?<![A-Za-z0-9<])(?:https?|ftp)://|(?:(?<=[\s*_~(])|^)www\.)[^\s<]+")
_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*")
_EMAIL = re.compile(r"(?<![<\w.+-])[A-Za-z0-9.+_-]++@[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)++(?<![-_])(?!\+)", re.ASCII)
_LOOKS_LIKE_TARGET = re.compile(r"[a-z][a-z0-9+.-]*://|\.{0,2}/")
_LIST = r"""\{(?:/\*\s*)?:?\s*(?:[#.=][\w:.-]++|data-[\w-]++|[\w-]+=(?:"[^"]*"|'[^']*'|[^\s"'{}]+))[^{}]*\}"""
ATTRIBUTES = re.compile(_LIST)
_AT_END = re.compile(rf"\s*(?:{_LIST}|\[(?:#(?!\d+\])[\w:.-]+|!?toc|step)\])\s*$")  # and Fumadocs'
_Link = tuple[int, int, tuple[str, str]]  # start, end; its text and its target
_NAME = re.compile(r"""(?:#([\w:.-]+)|(?<![\w-])id=["']?([\w:.-]+))""")


def names_in(attributes: str) -> list[str]:
    """Return the names that a list of attributes gives."""
    return [first or second for first, second in _NAME.findall(attributes)]


def without_attributes(text: str) -> tuple[str, list[str]]:
    """Return a text without the list of attributes at its end, and the names that this gives."""
    match = _AT_END.search(text)
    return (text[: match.start()], names_in(match[0])) if match is not None else (text, [])


def spans(text: str, *, extended: bool) -> Iterator[tuple[str, str | None]]:
    """Yield a text's parts: (plain text, None) or (a link's text, its target). extended: beyond CommonMark."""
    if "[^" in text:
        text = _FOOTNOTE.sub("", text)
    links: list[_Link] = []
    if extended and any(mark in text for mark in ("[[", "://", "www.", "@")):
        addresses = _EMAIL.finditer(text) if "@" in text else ()
        emails = ((*found.span(), (found[0], f"mailto:{found[0]}")) for found in addresses)
        links = sorted([*_wiki_links(text), *_urls(text), *emails], key=lambda found: found[:2])
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
