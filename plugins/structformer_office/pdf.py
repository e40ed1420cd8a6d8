"""The PDF format: text by pypdfium2, the library of a browser; sections by the outline, by size, or by page.

Pictures are not read, so a scan has no text. Scripts, forms and attachments are never opened.
"""

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from structformer.document import Document, Link, Source
from structformer.errors import ReadError
from structformer.formats import SourceFile, TreeBuilder, link_names, path_names, stem_title

from structformer_office.pdf_headings import Entry, Heading, by_outline, by_page, by_size, title_by_size
from structformer_office.pdf_lines import Line, page_lines, without_running_heads

_MAX_ENTRIES = 20_000  # of an outline
_ENCRYPTED = 4  # the library's number for a password that is missing
_ITEM = re.compile(r"[•▪◦‣·–—*-]\s|\(?\d{1,3}[.)]\s")
_MADE_BY = re.compile(r"^(?:Microsoft (?:Word|PowerPoint|Excel) - )")
_FILE_NAME = re.compile(r"\S+\.\w{1,5}")
_LOOSER = 1.3  # a gap between paragraphs than the usual one between lines


class PdfFormat:
    """PDF files with text."""

    name = "pdf"
    suffixes = (".pdf",)
    media_types = ("application/pdf",)
    completeness = "text by sections of the outline, else by size of headings, else by page; no tables, no pictures"

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file is a PDF, from its first bytes."""
        return 1.0 if head.startswith(b"%PDF-") else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document. Raises ReadError on what is damaged or encrypted."""
        import pypdfium2

        try:
            pdf = pypdfium2.PdfDocument(source.read())
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == _ENCRYPTED:
                raise ReadError("encrypted: save it without a password") from error
            raise ReadError(f"damaged, or no PDF ({error})") from error
        try:
            yield from self._documents(source, pdf)
        finally:
            pdf.close()

    def _documents(self, source: SourceFile, pdf: Any) -> Iterator[Document]:
        pages = [_lines(source, pdf, number) for number in range(len(pdf))]
        if not any(pages):
            source.warn(f"{len(pages)} page{'s' * (len(pages) != 1)} without text, as in scans: not a document")
            return
        pages = without_running_heads(pages)
        entries = _outline(pdf)
        sized = [] if entries else by_size(pages)
        headings = by_outline(entries, pages) or sized or by_page(pages)
        builder = TreeBuilder()
        _build(builder, pages, headings)
        title = _title(pdf) or (None if sized else title_by_size(pages) or stem_title(source.path))
        yield builder.finish(
            Source(source.path, self.name),
            title=title,
            names=path_names(source.path),
            metadata={"pages": len(pages)},
        )

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Return names that the target may mean, as a path."""
        return link_names(document.id, document.source.path, link.target)


def _title(pdf: Any) -> str:
    """Return the title that a file says it has; "" where it says a file's name."""
    try:
        declared = pdf.get_metadata_value("Title")
    except UnicodeDecodeError:  # half of a surrogate pair
        declared = ""
    title = " ".join(_MADE_BY.sub("", declared).split())
    return title if any(map(str.isalpha, title)) and not _FILE_NAME.fullmatch(title) else ""


def _lines(source: SourceFile, pdf: Any, number: int) -> list[Line]:
    """Return a page's lines; of a damaged one none, which is said."""
    import pypdfium2

    try:
        page = pdf[number]
        try:
            return page_lines(page)
        finally:
            page.close()
    except pypdfium2.PdfiumError as error:
        source.warn(f"page {number + 1}: damaged ({error}): left out")
        return []


def _outline(pdf: Any) -> list[Entry]:
    """Return the entries of the outline that lead to a page, no more than a bound."""
    import pypdfium2.raw as raw

    entries: list[Entry] = []
    for bookmark in islice(pdf.get_toc(max_depth=9), _MAX_ENTRIES):
        title = " ".join(bookmark.get_title().split())
        destination = bookmark.get_dest()
        page = destination.get_index() if destination is not None else None
        if title and page is not None:
            mode, view = destination.get_view()
            place = {raw.PDFDEST_VIEW_XYZ: 1, raw.PDFDEST_VIEW_FITH: 0, raw.PDFDEST_VIEW_FITBH: 0}.get(mode)
            height = view[place] if place is not None and place < len(view) else None
            entries.append(Entry(title, bookmark.level + 1, page, height))
    return entries


def _build(builder: TreeBuilder, pages: Sequence[Sequence[Line]], headings: Sequence[Heading]) -> None:
    # From one line's foot to the next one's, as it is most often.
    gaps = [gap for page in pages for above, line in pairwise(page) if (gap := above.height - line.height) > 0]
    usual = statistics.median(gaps) if gaps else 0.0
    waiting = iter(headings)
    heading = next(waiting, None)
    for number, page in enumerate(pages):
        before: Line | None = None
        passed = 0
        for index, line in enumerate(page):
            while heading is not None and (heading.page, heading.line) <= (number, index):
                _head(builder, heading)
                passed = max(passed, heading.line + heading.lines if heading.page == number else 0)
                heading, before = next(waiting, None), None
            if index >= passed:
                _add(builder, before, line, usual)
                before = line
        builder.paragraph() if before is None or before.text.endswith((".", ":", "!", "?")) else builder.space()
    while heading is not None:
        _head(builder, heading)
        heading = next(waiting, None)


def _head(builder: TreeBuilder, heading: Heading) -> None:
    builder.open_heading(heading.level)
    builder.flow(heading.title)
    builder.close_heading()


def _add(builder: TreeBuilder, before: Line | None, line: Line, usual: float) -> None:
    """A line of text, in the paragraph of the line before it unless it is set apart."""
    if before is not None:
        gap = before.height - line.height
        if gap > usual * _LOOSER or before.size != line.size or gap < 0:
            builder.paragraph()
        elif _ITEM.match(line.text):
            builder.line()
        elif not before.hyphenated:
            builder.space()
    builder.flow(line.text)
