"""The office format: a Word, PowerPoint or Excel file becomes HTML, and the HTML reader makes the tree of it.

Each kind has a library that has been kept for years and does nothing else: mammoth, python-pptx, openpyxl. Together
with pypdfium2 for PDF they take 40 MB, most of it Pillow. markitdown builds on the same libraries and brings pandas and
onnxruntime beside them, 250 MB in all; it drops anchors, the lists of slides and the escapes of their text, and
writes "NaN" for an empty cell. docling imports torch.
"""

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from io import BytesIO
from typing import Any

from structformer.document import Document, Link, Source
from structformer.errors import ReadError
from structformer.formats import SourceFile

from structformer_html import HtmlFormat
from structformer_office.sheets import sheets_html
from structformer_office.slides import slides_html
from structformer_office.word import word_html

_HTML = HtmlFormat()
_MAX_PROPERTIES = 1_000_000  # bytes of a file's title and language
_NO_TITLE = "PowerPoint Presentation"  # what a new file is called
_NAMESPACE = "{http://purl.org/dc/elements/1.1/}"


# By suffix: the program that files are of, the part that each of them has, and what makes HTML of it.
_Kind = tuple[str, str, Callable[[bytes], str]]
_KINDS: dict[str, _Kind] = {
    ".docx": ("Word", "word/document.xml", word_html),
    ".pptx": ("PowerPoint", "ppt/presentation.xml", slides_html),
    ".xlsx": ("Excel", "xl/workbook.xml", sheets_html),
}


class OfficeFormat:
    """Word, PowerPoint and Excel files of Office 2007 and later."""

    name = "office"
    suffixes = tuple(_KINDS)
    media_types = (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    )
    completeness = "headings by styles, slides, sheets; lists, tables, links, notes; no pictures, charts, comments"

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file is of this format: by its suffix alone, since all zips begin alike."""
        return 0.9 if head.startswith(b"PK\x03\x04") and path.lower().endswith(self.suffixes) else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document. Raises ReadError on what is damaged, encrypted or too large."""
        data = source.read()
        program, _, html = _kind(source.path, data)
        try:
            body = html(data)
        except (ReadError, MemoryError):
            raise
        except Exception as error:  # the libraries raise whatever comes
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise ReadError(f"damaged, or no {program} file ({reason})") from error
        title, language = _properties(data)
        page = (
            f'<!DOCTYPE html><html lang="{escape(language)}"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"</head><body><main>{body}</main></body></html>"
        )
        inner = SourceFile(source.path, page.encode("utf-8", "replace"))
        for document in _HTML.read(inner, {}):
            if all(not section.text for section in document.sections()):
                source.warn("no text: no document")
                return
            document.source = Source(source.path, self.name)
            document.metadata = {"program": program}
            yield document
        source.warnings += inner.warnings

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Return the paths that the target may mean in HTML."""
        return _HTML.resolve(link, document)


def _kind(path: str, data: bytes) -> _Kind:
    """By what a file holds, since it may be called otherwise; else by its suffix, whose library says what is wrong."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as package:
            names = set(package.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        names = set()
    held = (kind for kind in _KINDS.values() if kind[1] in names)
    return next(held, None) or next(
        (kind for suffix, kind in _KINDS.items() if path.lower().endswith(suffix)), _KINDS[".docx"]
    )


def _properties(data: bytes) -> tuple[str, str]:
    """Return (the title, the language) that a file says it has; "" where it says none."""
    from lxml import etree

    try:
        with zipfile.ZipFile(BytesIO(data)) as package, package.open("docProps/core.xml") as stream:
            part = stream.read(_MAX_PROPERTIES)
        root = etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True))
    except (KeyError, etree.XMLSyntaxError):
        return "", ""
    values = (root.findtext(f"{_NAMESPACE}{name}") or "" for name in ("title", "language"))
    title, language = (" ".join(text.split()) for text in values)
    return "" if title == _NO_TITLE else title, language
