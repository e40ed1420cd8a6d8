"""The Jupyter notebook format: Markdown cells as Markdown, code cells as code, in their order, as one Document.

Outputs are left out: they repeat what the code says or are pictures. Source: the nbformat documentation, versions 3
and 4."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structformer.document import Document, Link, Source
from structformer.errors import ReadError
from structformer.formats import SourceFile, decode
from structformer.text import without_controls

from structformer_markdown import MarkdownFormat

_FENCES = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
_MAGIC = re.compile(r"\s*%%(bash|cython|html|javascript|js|latex|markdown|perl|r|ruby|sh|sql|svg)\b", re.IGNORECASE)
_MARKDOWN = MarkdownFormat()
_MOST_DIGITS = 4000  # Python makes no number of more than 4,300; nobody counts with those of a notebook


class NotebookFormat:
    """Notebooks of any kernel, of the versions 3 and 4."""

    name = "notebook"
    suffixes = (".ipynb",)
    media_types = ("application/x-ipynb+json",)
    completeness = "complete: Markdown cells with all that Markdown has, code cells as code; outputs are left out"

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file of unknown suffix is a notebook, from its first bytes."""
        return 0.8 if head.lstrip()[:1] == b"{" and b'"cells"' in head and b'"cell_type"' in head else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document. Raises ReadError, naming the place, on anything that is not a notebook."""
        text = decode(source)
        if not text.strip():
            source.warn("empty: no document")
            return
        try:
            notebook = json.loads(text, parse_int=lambda digits: int(digits[:_MOST_DIGITS]))
        except (ValueError, RecursionError) as error:
            place = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise ReadError(f"not JSON ({getattr(error, 'msg', error)})", place) from error
        cells = _cells(notebook)
        if cells is None:
            raise ReadError('JSON, but not a notebook: it has no list of "cells"')
        metadata = notebook.get("metadata") if isinstance(notebook.get("metadata"), dict) else {}
        language = _language(metadata)
        parts = [part for part in (_part(cell, language, place == 0) for place, cell in enumerate(cells)) if part]
        if not parts:
            source.warn("no text: no document")
            return
        inner = SourceFile(source.path, "\n\n".join(parts).encode("utf-8", "surrogatepass"))
        for document in _MARKDOWN.read(inner, {}):
            document.source = Source(source.path, self.name)
            if language:
                document.metadata.setdefault("programming_language", language)
            if isinstance(title := metadata.get("title"), str) and title.strip():
                document.title = without_controls(" ".join(title.split()))
            yield document
        for warning in inner.warnings:
            source.warn(warning)

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Return the paths that the target may mean in Markdown."""
        return _MARKDOWN.resolve(link, document)


def _cells(notebook: Any) -> list[Any] | None:
    if not isinstance(notebook, dict):
        return None
    if isinstance(notebook.get("cells"), list):
        return list(notebook["cells"])
    sheets = notebook.get("worksheets")  # version 3
    if isinstance(sheets, list):
        return [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or ()]
    return None


def _language(metadata: Mapping[str, Any]) -> str:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        value = metadata.get(key)
        if isinstance(value, dict) and isinstance(value.get(name), str):
            return str(value[name])
    return ""


def _part(cell: Any, language: str, is_first: bool) -> str:
    """Return a cell as Markdown; "" of one that is empty or no text."""
    if not isinstance(cell, dict):
        return ""
    kind = cell.get("cell_type")
    content = cell.get("source", cell.get("input", ""))  # version 3 has "input" in code cells
    text = "".join(map(str, content)) if isinstance(content, list) else str(content or "")
    if not text.strip():
        return ""
    if kind == "markdown" or (is_first and text.startswith("---\n")):  # whose front matter is raw
        return text
    if kind == "heading":  # version 3
        level = cell.get("level")
        return f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {' '.join(text.split())}"
    if kind == "code":
        magic, own = _MAGIC.match(text), cell.get("language")  # by its first word, or in version 3
        language = magic[1] if magic is not None else own if isinstance(own, str) and own.isalnum() else language
        fence = "`" * max(3, 1 + max((len(run) for run in _FENCES.findall(text)), default=0))
        return f"{fence}{language}\n{text.rstrip()}\n{fence}"
    return ""  # a raw cell is for a converter
