"""Word files as HTML, by mammoth: headings by their styles, lists, tables, links, anchors, footnotes.

What mammoth passes over is given to it in a form that it reads: styles of one's own that are in the outline, and the
text of formulas.
"""

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from lxml import etree
from structformer.errors import ReadError
from structformer.formats import Script, script_text

from structformer_office.package import safe_package

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
# What parts of a formula are, by their elements or by the element around them too.
_SCRIPTS = {
    "num": Script.OPERAND,
    "den": Script.DENOMINATOR,
    "sup": Script.RAISED,
    "sub": Script.LOWERED,
    **dict.fromkeys(("sSup/e", "sSub/e", "sSubSup/e", "rad/e"), Script.OPERAND),
}
_HEADING_TAG = re.compile(r"<(/?)h([1-6])(?=[ >])")
# A cell of paragraphs alone: they are one line.
_IN_CELL = re.compile(r"(<t[dh](?: [^>]*)?>)<p>((?:(?!</?(?:p|t[dh]|[ou]l)[ >]).|</p><p>)*)</p>(?=</t[dh]>)", re.DOTALL)
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
# Elements that hold runs and that mammoth passes over: fields, directions, moved text, bases of ruby.
_CONTAINERS = tuple(f"{_W}{name}" for name in "fldSimple bdo dir customXml moveTo ruby rubyBase".split())
_HOLDS_RUNS = re.compile(rb"<w:(?:fldSimple|bdo|dir|customXml|moveTo|ruby)[ />]")
_MAX_INHERITED = 20  # styles that one style may be based on, one after the other


def word_html(data: bytes) -> str:
    """Return the body of a .docx file as HTML. A paragraph of the style Title ranks above all headings."""
    import mammoth

    package = safe_package(data, _as_mammoth_reads)
    made = mammoth.convert_to_html(
        package,
        style_map=_STYLES + "\n".join(_outline_styles(package)),
        include_embedded_style_map=False,
        convert_image=mammoth.images.img_element(lambda image: {"src": ""}),
        external_file_access=False,
    ).value
    made = _IN_CELL.sub(lambda cell: cell[1] + cell[2].replace("</p><p>", " "), made)
    if _TITLE not in made:
        return made
    lowered = _HEADING_TAG.sub(lambda tag: f"<{tag[1]}h{min(6, int(tag[2]) + 1)}", made)
    return re.sub(r'<h2 class="structformer-title">(.*?)</h2>', r"<h1>\1</h1>", lowered, flags=re.DOTALL)


def _as_mammoth_reads(name: str, part: bytes) -> bytes:
    """Return a part's XML with each formula as a run of text, and what holds runs as an element that mammoth opens."""
    if not name.startswith("word/") or (b"<m:oMath" not in part and _HOLDS_RUNS.search(part) is None):
        return part
    try:
        root = etree.fromstring(part, etree.XMLParser(resolve_entities=False))
    except etree.XMLSyntaxError:
        return part  # the reader says where it is damaged
    for formula in list(root.iter(f"{_M}oMath")):
        run = etree.Element(f"{_W}r")
        text = etree.SubElement(run, f"{_W}t")
        text.text, text.attrib[_SPACE], run.tail = _said(formula), "preserve", formula.tail
        formula.getparent().replace(formula, run)
    for display in root.iter(f"{_M}oMathPara"):
        display.tag = f"{_W}smartTag"
    for reading in list(root.iter(f"{_W}rt")):
        reading.getparent().remove(reading)  # it has no tail
    for container in root.iter(*_CONTAINERS):
        container.tag = f"{_W}smartTag"
    made: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return made


def _said(element: Any, before: str = "") -> str:
    """Return the text of a formula or a part of one. before: the text in front of it."""
    name = etree.QName(element).localname
    text = "√" if name == "rad" else _sign(element, "nary", "chr", "∫") if name == "nary" else ""
    for child in element.iterchildren("*"):
        part = etree.QName(child).localname
        if part == "t":
            text += child.text or ""
        elif (script := _SCRIPTS.get(f"{name}/{part}") or _SCRIPTS.get(part)) is not None:
            text += script_text(script, (before + text)[-2:], _said(child))
        elif part == "d":
            text += "{}{}{}".format(_sign(child, "d", "begChr", "("), _said(child), _sign(child, "d", "endChr", ")"))
        elif not part.endswith("Pr"):
            text += _said(child, (before + text)[-2:])
    return text


def _sign(element: Any, name: str, which: str, usual: str) -> str:
    """Return a sign of brackets or of a sum, as their properties say it."""
    sign = element.find(f"{_M}{name}Pr/{_M}{which}")
    return usual if sign is None else sign.get(f"{_M}val") or ""


def _outline_styles(package: BytesIO) -> Iterator[str]:
    """Yield a rule for each paragraph style that stands in the outline, itself or by the style that it is based on."""
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
        value_of = style.find(f"{_W}pPr/{_W}outlineLvl")
        if value_of is not None:
            level = value_of.get(f"{_W}val") or ""
            return int(level) if level in "012345678" and level else None
        above = style.find(f"{_W}basedOn")
        style = styles.get(above.get(f"{_W}val")) if above is not None else None
        if style is None:
            return None
    return None
