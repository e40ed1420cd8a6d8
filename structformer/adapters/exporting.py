"""A workspace in other tools' forms: Examples for Hugging Face datasets and sentence-transformers, the corpus for BEIR
and DocSearch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from structformer.corpus import Corpus
from structformer.document import Document
from structformer.errors import UsageError
from structformer.sampling import Example, Samples
from structformer.storage.files import fsync_folder, replacing_folder, temporary_name
from structformer.storage.parquet import parquet_writer
from structformer.text.passages import passages
from structformer.text.word_vectors import learn_word_vectors, write_word_vectors

_ROWS = 4096
_DOCSEARCH_WORDS = 160
_LEVELS = 7
_EXAMPLES = pa.schema(
    [
        ("task", pa.string()),
        ("queries", pa.list_(pa.string())),
        ("documents", pa.list_(pa.string())),
        ("document_id", pa.string()),
        ("sections", pa.list_(pa.int32())),
    ]
)
_TRIPLETS = pa.schema([("anchor", pa.string()), ("positive", pa.string()), ("negative", pa.string())])
_LISTS = pa.schema([("query", pa.string()), ("docs", pa.list_(pa.string())), ("labels", pa.list_(pa.int8()))])


def export_datasets(workspace: str | Path, folder: Path) -> int:
    """Write the Examples as a folder that `datasets.load_dataset(folder, task)` reads: one configuration a task. Gives
    their number.

    Raises WorkspaceError without Examples, UsageError when the folder is there and not empty.
    """
    samples = Samples.open(workspace)
    with _new_folder(folder) as made:
        total = 0
        tasks = [task for task in samples.manifest["tasks"] if samples.counts.get(task)]
        for task in tasks:
            rows = (_row(samples.example(task, number)) for number in range(samples.counts[task]))
            total += _write_parquet(made / "data" / f"{task}.parquet", _EXAMPLES, rows)
        configs = "".join(f"- config_name: {task}\n  data_files: data/{task}.parquet\n" for task in tasks)
        counts = "".join(f"| {task} | {samples.counts[task]} |\n" for task in tasks)
        text = (
            f"---\nconfigs:\n{configs}---\n\n# Examples of structformer\n\nPseudo query-document "
            "groups drawn from a corpus's structure. "
            "queries[i] and documents[i] are pair i; pair 0 is the positive.\n\n| task | Examples |\n|---|---|\n"
            + counts
        )
        (made / "README.md").write_text(text, encoding="utf-8")
    return total


def export_training_rows(workspace: str | Path, folder: Path) -> int:
    """Write the Examples as sentence-transformers trains on them; returns the number of rows in the two files.

    triplets.parquet has anchor, positive, negative, one row a negative; of a group of several queries for one document
    the document is the anchor. lists.parquet has query, docs and labels, the form of the cross-encoder's list-wise
    losses; groups of several queries give one row a query."""
    samples = Samples.open(workspace)
    with _new_folder(folder) as made:
        return _write_parquet(
            made / "triplets.parquet", _TRIPLETS, (row for each in samples for row in _triplets(each))
        ) + _write_parquet(made / "lists.parquet", _LISTS, (row for each in samples for row in _lists(each)))


def export_beir(workspace: str | Path, folder: Path) -> int:
    """Write the corpus as BEIR has it, corpus.jsonl with `_id`, `title`, `text` and `metadata`; returns the number of
    documents.
    """

    def line(document: Document) -> dict[str, Any]:
        metadata = json.loads(json.dumps(document.metadata, default=str))
        text = document.root.subtree_text()
        return {"_id": document.id, "title": document.title, "text": text, "metadata": metadata}

    with _new_folder(folder) as made:
        return _write_lines(made / "corpus.jsonl", (line(document) for document in Corpus.open(workspace).documents()))


def export_docsearch(workspace: str | Path, target: Path, *, base_url: str = "") -> int:
    """Write DocSearch records as JSON lines: hierarchy_lvl0 to hierarchy_lvl6, content, url, anchor, type and objectID;
    gives their number.

    Each section has a record of its heading (type lvl0 to lvl6, no content) and one of each passage (type content).
    Titles below the seventh level are joined to the seventh."""
    base = base_url if not base_url or base_url.endswith("/") else base_url + "/"
    target.parent.mkdir(parents=True, exist_ok=True)
    return _write_lines(
        target, (record for document in Corpus.open(workspace).documents() for record in _docsearch(document, base))
    )


def _docsearch(document: Document, base: str) -> Iterator[dict[str, Any]]:
    for number, (section, path) in enumerate(document.root.walk_with_path()):
        titles = [title for title in (document.title, *(step.title for step in path[1:])) if title]
        levels = [*titles[: _LEVELS - 1], " > ".join(titles[_LEVELS - 1 :])] if len(titles) >= _LEVELS else titles
        hierarchy = {
            f"hierarchy_lvl{level}": levels[level] if level < len(levels) else None for level in range(_LEVELS)
        }
        anchor = section.anchors[0] if section.anchors else ""
        url = f"{base}{document.id}" + (f"#{anchor}" if anchor else "")
        kinds: list[tuple[str, str | None]] = [(f"lvl{max(0, len(levels) - 1)}", None)]
        kinds += [("content", piece) for piece in passages(section.text, _DOCSEARCH_WORDS)]
        for place, (kind, content) in enumerate(kinds):
            name = hashlib.sha256(f"{document.id}\0{number}\0{place}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
            yield {"objectID": name, "type": kind, **hierarchy, "content": content, "url": url, "anchor": anchor}


def _row(example: Example) -> dict[str, Any]:
    return {
        "task": example.task,
        "queries": list(example.queries),
        "documents": list(example.documents),
        "document_id": example.document_id,
        "sections": list(example.sections),
    }


def _triplets(example: Example) -> Iterator[dict[str, Any]]:
    over_queries = len(set(example.queries)) > 1 and len(set(example.documents)) == 1
    anchor, texts = (example.documents[0], example.queries) if over_queries else (example.queries[0], example.documents)
    for negative in texts[1:]:
        yield {"anchor": anchor, "positive": texts[0], "negative": negative}


def _lists(example: Example) -> Iterator[dict[str, Any]]:
    for query in dict.fromkeys(example.queries):
        numbers = [number for number, each in enumerate(example.queries) if each == query]
        docs = [example.documents[number] for number in numbers]
        yield {"query": query, "docs": docs, "labels": [int(number == 0) for number in numbers]}


def _write_parquet(path: Path, schema: pa.Schema, rows: Iterator[dict[str, Any]]) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    total = 0
    with parquet_writer(path, schema) as writer:
        while part := list(islice(rows, _ROWS)):
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            total += len(part)
    return total


def _write_lines(path: Path, values: Iterator[dict[str, Any]]) -> int:
    temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    total = 0
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
            for value in values:
                file.write(json.dumps(value, ensure_ascii=False) + "\n")
                total += 1
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    fsync_folder(path.parent)
    return total


def _new_folder(folder: Path) -> Any:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already: name a new folder, or delete it")
    return replacing_folder(folder)


def export_word_vectors(workspace: str | Path, path: Path) -> int:
    """Learn word vectors from the corpus's texts and write them as word2vec's text form. Gives the number of words.

    Raises ModelError without gensim, UsageError when the file is there."""
    if path.exists():
        raise UsageError(f"{path} is there already")
    vectors = learn_word_vectors(_Texts(Corpus.open(workspace)))
    temporary = path.with_name(temporary_name(path.name))
    write_word_vectors(temporary, vectors)
    os.replace(temporary, path)
    return len(vectors.numbers)


class _Texts:
    """The corpus's texts, as often as they are asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __iter__(self) -> Iterator[str]:
        for document in self._corpus.documents():
            yield from (f"{section.title}\n{section.text}" for section in document.sections())
