"""PowerPoint files as HTML, by python-pptx: a section a slide, its title, lists, tables, notes."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from structformer_office.package import safe_package

_DEEPEST = 20  # of groups within groups
# Places of a slide whose paragraphs have bullets unless something says otherwise.
_LISTED = frozenset({"BODY", "OBJECT", "VERTICAL_BODY", "VERTICAL_OBJECT"})
_CONTROLS = str.maketrans({"\v": "\n", "\f": "\n"})  # a line break within a paragraph


def slides_html(data: bytes) -> str:
    """Return the slides of a .pptx file as HTML, one after the other."""
    import pptx

    presentation = pptx.Presentation(safe_package(data))
    return "\n".join(line for number, slide in enumerate(presentation.slides, 1) for line in _slide(slide, number))


def _slide(slide: Any, number: int) -> Iterator[str]:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    yield f'<h2 id="slide-{number}">{escape(heading or f"Slide {number}")}</h2>'
    for shape in _in_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape(shape, 0)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        yield from _paragraphs(notes.paragraphs, listed=False)


def _in_order(shapes: Iterable[Any]) -> list[Any]:
    """Shapes as one reads them: from above, then from the left."""
    return sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))


def _shape(shape: Any, depth: int) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        for each in _in_order(shape.shapes) if depth < _DEEPEST else ():
            yield from _shape(each, depth + 1)
    elif getattr(shape, "has_table", False):
        yield "<table>"
        for index, row in enumerate(shape.table.rows):
            tag = "th" if index == 0 and shape.table.first_row else "td"
            yield "<tr>" + "".join(f"<{tag}>{_lines(cell.text)}</{tag}>" for cell in row.cells) + "</tr>"
        yield "</table>"
    elif shape.has_text_frame:
        listed = shape.is_placeholder and shape.placeholder_format.type.name in _LISTED
        yield from _paragraphs(shape.text_frame.paragraphs, listed=listed)
    elif described := shape._element.xpath(".//p:cNvPr/@descr"):
        yield f"<p>{escape(described[0])}</p>"


def _paragraphs(paragraphs: Iterable[Any], *, listed: bool) -> Iterator[str]:
    depth = 0  # of open lists, each with an open item
    for paragraph in paragraphs:
        text = "".join(_run(run) for run in paragraph.runs) or _lines(paragraph.text)
        if not text.strip():
            continue
        if not listed:
            yield f"<p>{text}</p>"
            continue
        wanted = min(paragraph.level, depth) + 1  # a level that nothing leads to is the next one
        if wanted <= depth:
            yield "</li>" + "</ul></li>" * (depth - wanted)
        yield "<ul>" * (wanted - depth) + f"<li>{text}"
        depth = wanted
    if depth:
        yield "</li></ul>" * depth


def _run(run: Any) -> str:
    text = _lines(run.text)
    properties = run._r.rPr
    raised = (properties.get("baseline") if properties is not None else None) or "0"  # in thousandths, or "30%"
    if raised.strip("0%"):
        tag = "sub" if raised.startswith("-") else "sup"
        text = f"<{tag}>{text}</{tag}>"
    address = run.hyperlink.address
    return f'<a href="{escape(address)}">{text}</a>' if address else text


def _lines(text: str) -> str:
    return escape(text.translate(_CONTROLS)).replace("\n", "<br>")
