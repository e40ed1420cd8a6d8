"""WikiExtractor's plain text: a title line, paragraphs, headings with # signs or in <h2>, lists by BULLET marks."""

import re
from html import unescape
from urllib.parse import unquote

from structformer.document import LinkKind, MarkKind
from structformer.formats import TreeBuilder
from structformer.text import is_see_also

from structformer_html import Tag, tokens

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)\.?[ \t]*")
_LISTS = {"ul": MarkKind.LIST, "ol": MarkKind.LIST, "li": MarkKind.ITEM}
_BULLET = re.compile(r"(?:BULLET|INDENT|NUMBER|DEF)::::[-.:]?\s*|[-*•]\s+")
_LIST_SIGNS = frozenset({"B", "N", "-", "*", "•"})  # BULLET, NUMBER, and no indents and definitions


def read_extracted(text: str, title: str, builder: TreeBuilder) -> None:
    """Read one article's text."""
    lines = text.split("\n")
    if lines and unescape(lines[0]).strip() == title:
        lines = lines[1:]
    in_see_also = False
    in_list = ""  # the sign of the list that is open
    for line in lines:
        bullet = _BULLET.match(line)
        sign = bullet[0][:1] if bullet else ""
        if sign != in_list:
            if in_list in _LIST_SIGNS:
                builder.close_mark(MarkKind.LIST)
            if sign in _LIST_SIGNS:
                builder.open_mark(MarkKind.LIST, "1" if sign == "N" else "")
            in_list = sign
        if not line.strip():
            builder.paragraph()
            continue
        if (found := _HEADING.fullmatch(line)) is not None:
            builder.open_heading(len(found[1]))
            builder.flow(unescape(found[2]))
            builder.close_heading()
            in_see_also = is_see_also(found[2])
            continue
        content = line[bullet.end() :] if bullet else line
        if bullet:
            builder.line()
            if sign in _LIST_SIGNS:
                builder.open_mark(MarkKind.ITEM)
        if in_see_also and bullet and "<" not in content and len(content) < 200:
            builder.link_text(content.strip(), unescape(content), LinkKind.SEE_ALSO)
        else:
            _line(content, builder)
        if bullet:
            builder.close_mark(MarkKind.ITEM)
            builder.line()
        else:
            builder.paragraph()


def _line(line: str, builder: TreeBuilder) -> None:
    if "<" not in line and "&lt;" not in line:
        builder.flow(unescape(line))
        return
    # Links and headings of WikiExtractor's --links and --html are escaped once more in some versions.
    for token in tokens(line.replace("&lt;", "<").replace("&gt;", ">") if "&lt;" in line else line):
        if isinstance(token, Tag):
            _tag(token, builder)
        else:
            builder.flow(token)


def _tag(tag: Tag, builder: TreeBuilder) -> None:
    if re.fullmatch(r"h[1-6]", tag.name):
        if tag.closing:
            builder.close_heading()
        else:
            builder.open_heading(int(tag.name[1]))
    elif tag.name == "a":
        if tag.closing:
            builder.close_link()
        elif (target := tag.get("href")) is not None:
            builder.open_link(unquote(target))
    elif tag.name in ("br", "li"):
        builder.line()
    if (kind := _LISTS.get(tag.name)) is None:
        return
    if tag.closing:
        builder.close_mark(kind)
    else:
        builder.open_mark(kind, "1" if tag.name == "ol" else "")
