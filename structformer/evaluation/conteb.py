"""ConTEB's form, in which chunks of documents are judged: Parquet tables of documents, by chunk, and of queries."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structformer.document import Document, Section, Source
from structformer.errors import UsageError
from structformer.evaluation.judgements import Judgements


def is_conteb(folder: Path) -> bool:
    """Whether a folder has both tables."""
    return all(_tables(folder, name) for name in ("documents", "queries"))


def conteb_documents(folder: Path) -> Iterator[Document]:
    """Yield the documents, each with a section for each of its chunks, named by the chunk's number."""
    chunks: dict[str, list[Section]] = {}
    for row in _rows(folder, "documents", "chunk_id", "chunk"):
        document, _, number = _place(row["chunk_id"]).partition("#")
        chunks.setdefault(document, []).append(Section("", 1, str(row["chunk"]), (number,)))
    for name, sections in chunks.items():
        yield Document(name, "", Section("", children=sections), Source(name, "markdown"))


def conteb_judgements(folder: Path) -> Judgements:
    """Return the queries by their rows' numbers, with the chunks that answer them. Raises UsageError naming the row."""
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for number, row in enumerate(_rows(folder, "queries", "query")):
        chunks = row.get("chunk_ids") or row.get("chunk_id")
        if not chunks:
            raise UsageError(f"{folder}, query {number}: neither chunk_id nor chunk_ids")
        queries[str(number)] = str(row["query"])
        qrels[str(number)] = {_place(each): 1 for each in ([chunks] if isinstance(chunks, str) else chunks)}
    return Judgements(queries, qrels)


def _place(chunk: str) -> str:
    """Return a chunk's document and number, id#number. A chunk's id is its document's, "_" and the number."""
    document, _, number = str(chunk).replace("#", "-").rpartition("_")
    return f"{document or number}#{number}"


def _tables(folder: Path, name: str) -> list[Path]:
    return sorted([*folder.glob(f"{name}*.parquet"), *(folder / name).glob("*.parquet")])


def _rows(folder: Path, name: str, *columns: str) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    for path in _tables(folder, name):
        try:
            table = pq.read_table(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read as Parquet: {error}") from error
        if missing := sorted(set(columns) - set(table.column_names)):
            raise UsageError(f"{path} has no column {missing[0]!r}")
        yield from table.to_pylist()
