"""Word files as HTML, by mammoth: headings by their styles, lists, tables, links, anchors, footnotes.

What mammoth passes over is given to it in a form that it reads: styles of one's own that are in the outline, and the
text of formulas.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from structformer.errors import ReadError

from structformer_office.package import safe_package

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH_TAG = re.compile(rb"<(/?)m:(\w+)")
_HEADING_TAG = re.compile(r"<(/?)h([1-6])(?=[ >])")
# The only paragraph of a cell.
_IN_CELL = re.compile(r"(<t[dh](?: [^>]*)?>)<p>((?:(?!</?p>).)*)</p>(?=</t[dh]>)", re.DOTALL)
_TITLE = '<h1 class="structformer-title">'
_STYLES = """
p[style-name='Title'] => h1.structformer-title:fresh
p[style-name='Heading 7'] => h6:fresh
p[style-name='Heading 8'] => h6:fresh
p[style-name='Heading 9'] => h6:fresh
p[style-name='Quote'] => blockquote > p:fresh
p[style-name='Intense Quote'] => blockquote > p:fresh
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
p[style-name='Code'] => pre:separator('\\n')
r[style-name='Verbatim Char'] => code
r[style-name='HTML Code'] => code
"""
_MAX_INHERITED = 20  # styles that one style may be based on, one after the other


def word_html(data: bytes) -> str:
    """The body of a .docx file as HTML. A paragraph of the style Title ranks above all headings."""
    import mammoth

    package = safe_package(data, _formulas_as_text)
    made = mammoth.convert_to_html(
        package,
        style_map=_STYLES + "\n".join(_outline_styles(package)),
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda image: {"src": ""}),
        external_file_access=False,
    ).value
    made = _IN_CELL.sub(r"\1\2", made)
    if _TITLE not in made:
        return made
    lowered = _HEADING_TAG.sub(lambda tag: f"<{tag[1]}h{min(6, int(tag[2]) + 1)}", made)
    return re.sub(r'<h2 class="structformer-title">(.*?)</h2>', r"<h1>\1</h1>", lowered, flags=re.DOTALL)


def _formulas_as_text(name: str, part: bytes) -> bytes:
    """The XML with each formula's text as text: its runs become runs, what is about its looks goes."""

    def text_tag(tag: re.Match[bytes]) -> bytes:
        kind = tag[2]
        known = kind if kind in (b"r", b"t") else b"proofErr" if kind.endswith(b"Pr") else b"smartTag"
        return b"<" + tag[1] + b"w:" + known

    return _MATH_TAG.sub(text_tag, part) if name.startswith("word/") and b"<m:oMath" in part else part


def _outline_styles(package: BytesIO) -> Iterator[str]:
    """A rule for each paragraph style that stands in the outline, itself or by the style that it is based on."""
    from lxml import etree

    with zipfile.ZipFile(package) as parts:
        if "word/styles.xml" not in parts.namelist():
            return
        try:
            root = etree.fromstring(parts.read("word/styles.xml"), etree.XMLParser(resolve_entities=False))
        except etree.XMLSyntaxError as error:
            raise ReadError(f"damaged (its styles are not XML: {error.msg})") from error
    styles = {style.get(f"{_W}styleId"): style for style in root.iter(f"{_W}style")}
    for name, style in styles.items():
        if not name or style.get(f"{_W}type") != "paragraph" or re.search(r"[^\w-]", name):
            continue
        level = _outline_level(style, styles)
        if level is not None:
            yield f"p.{name} => h{min(6, level + 1)}:fresh"


def _outline_level(style: Any, styles: dict[str, Any]) -> int | None:
    for _ in range(_MAX_INHERITED):
        found = style.find(f"{_W}pPr/{_W}outlineLvl")
        if found is not None:
            level = found.get(f"{_W}val") or ""
            return int(level) if level in "012345678" and level else None
        above = style.find(f"{_W}basedOn")
        style = styles.get(above.get(f"{_W}val")) if above is not None else None
        if style is None:
            return None
    return None
