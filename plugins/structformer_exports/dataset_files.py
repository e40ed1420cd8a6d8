"""A workspace in other tools' forms: Examples for Hugging Face datasets, sentence-transformers and trainers that read
lines of text, the corpus for BEIR and DocSearch.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from structformer.corpus import Corpus
from structformer.document import Document
from structformer.evaluation import Judgements, write_judgements
from structformer.retrieval import with_anchor
from structformer.sampling import Example, Samples
from structformer.storage import parquet_writer
from structformer.text import cut_section
from structformer.workspace import new_file, new_folder

from structformer_exports.word_vectors import learn_word_vectors, write_word_vectors

Chosen = Mapping[str, Any] | None
_ROWS = 4096
_DOCSEARCH_WORDS = 160
_LEVELS = 7
_TEXTS = pa.list_(pa.string())
_OF_GROUPS = {"task": pa.string(), "queries": _TEXTS, "documents": _TEXTS, "document_id": pa.string()}
_EXAMPLES = pa.schema({**_OF_GROUPS, "sections": pa.list_(pa.int32())})
_TRIPLETS = pa.schema([("anchor", pa.string()), ("positive", pa.string()), ("negative", pa.string())])
_TEXT_FILES = {"anchor": "qry.txt", "positive": "pos.txt", "negative": "neg.txt"}
_LISTS = pa.schema([("query", pa.string()), ("docs", pa.list_(pa.string())), ("labels", pa.list_(pa.int8()))])


def export_datasets(workspace: str | Path, folder: Path, *, chosen: Chosen = None, force: bool = False) -> int:
    """Write the Examples as a folder that `datasets.load_dataset(folder, task)` reads: one configuration a task. Gives
    their number. chosen: options of another set than `Samples.open` opens. force: write over an earlier export, here
    and below.

    Raises WorkspaceError without Examples, UsageError where the folder must not be written (outputs.py).
    """
    samples = Samples.open(workspace, chosen=chosen)
    with new_folder(folder, workspace, force=force) as made:
        total = 0
        tasks = [task for task in samples.manifest["tasks"] if samples.counts.get(task)]
        for task in tasks:
            rows = (asdict(samples.example(task, number)) for number in range(samples.counts[task]))
            total += write_parquet(made / "data" / f"{task}.parquet", _EXAMPLES, rows)
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


def export_training_rows(workspace: str | Path, folder: Path, *, chosen: Chosen = None, force: bool = False) -> int:
    """Write the Examples as sentence-transformers trains on them; returns the number of rows in the two files.

    triplets.parquet has anchor, positive, negative, one row a negative; of a group of several queries for one document
    the document is the anchor. lists.parquet has query, docs and labels, the form of the cross-encoder's list-wise
    losses; groups of several queries give one row a query."""
    samples = Samples.open(workspace, chosen=chosen)
    with new_folder(folder, workspace, force=force) as made:
        return write_parquet(
            made / "triplets.parquet", _TRIPLETS, (row for each in samples for row in _triplets(each))
        ) + write_parquet(made / "lists.parquet", _LISTS, (row for each in samples for row in _lists(each)))


def export_qry_pos_neg(workspace: str | Path, folder: Path, *, chosen: Chosen = None, force: bool = False) -> int:
    """Write the Examples as triples in three aligned files, qry.txt, pos.txt and neg.txt, one text a line; returns the
    number of lines of each.

    A triple is as in `export_training_rows`: one a negative, and of a group of several queries for one document the
    document is the query. Each run of line breaks inside a text becomes a space."""
    samples = Samples.open(workspace, chosen=chosen)
    with new_folder(folder, workspace, force=force) as made, ExitStack() as files:
        written = {
            column: files.enter_context((made / name).open("w", encoding="utf-8", errors="backslashreplace"))
            for column, name in _TEXT_FILES.items()
        }
        total = 0
        for triple in (triple for each in samples for triple in _triplets(each)):
            for column, file in written.items():
                file.write(" ".join(filter(None, triple[column].splitlines())) + "\n")
            total += 1
    return total


def export_beir(
    workspace: str | Path, folder: Path, judgements: Judgements | None = None, *, force: bool = False
) -> int:
    """Write the corpus as BEIR has it, corpus.jsonl with `_id`, `title`, `text` and `metadata`, and queries with their
    judgements beside it; returns the number of documents.
    """

    def line(document: Document) -> dict[str, Any]:
        metadata = json.loads(json.dumps(document.metadata, default=str))
        text = document.root.subtree_text()
        return {"_id": document.id, "title": document.title, "text": text, "metadata": metadata}

    corpus = Corpus.open(workspace)
    with new_folder(folder, workspace, force=force) as made:
        if judgements is not None:
            write_judgements(made, judgements)
        return _write_lines(made / "corpus.jsonl", (line(document) for document in corpus.documents()))


def export_docsearch(
    workspace: str | Path, target: Path, *, base_url: str = "", force: bool = False
) -> tuple[int, int]:
    """Write DocSearch records as JSON lines: hierarchy_lvl0 to hierarchy_lvl6, content, url, anchor, type and objectID.
    Gives how many were written, and how many documents have no address, so that the `url` of their records is an id.

    Each section has a record of its heading (type lvl0 to lvl6, no content) and one of each passage (type content).
    Titles below the seventh level are joined to the seventh. base_url: where the site is, whatever its own settings say
    (Site.moved)."""
    corpus, bare = Corpus.open(workspace), 0
    site = corpus.site

    def records() -> Iterator[dict[str, Any]]:
        nonlocal bare
        for document in corpus.documents():
            address = site.address(document)
            bare += not (address or base_url)
            yield from _docsearch(document, site.moved(address, document.id, base_url))

    with new_file(target, workspace, force=force) as made:
        written = _write_lines(made, records())
    return written, bare


def _docsearch(document: Document, address: str) -> Iterator[dict[str, Any]]:
    for number, (section, path) in enumerate(document.root.walk_with_path()):
        titles = [title for title in (document.title, *(step.title for step in path[1:])) if title]
        levels = [*titles[: _LEVELS - 1], " > ".join(titles[_LEVELS - 1 :])] if len(titles) >= _LEVELS else titles
        hierarchy = {
            f"hierarchy_lvl{level}": levels[level] if level < len(levels) else None for level in range(_LEVELS)
        }
        anchor = section.anchors[0] if section.anchors else ""
        url = with_anchor(address, anchor)
        kinds: list[tuple[str, str | None]] = [(f"lvl{max(0, len(levels) - 1)}", None)]
        kinds += [("content", piece.text) for piece in cut_section(section, _DOCSEARCH_WORDS)]
        for place, (kind, content) in enumerate(kinds):
            name = hashlib.sha256(f"{document.id}\0{number}\0{place}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
            yield {"objectID": name, "type": kind, **hierarchy, "content": content, "url": url, "anchor": anchor}


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


def write_parquet(path: Path, schema: pa.Schema, rows: Iterator[dict[str, Any]], *, at_once: int = _ROWS) -> int:
    """Write rows, so many at once; gives their number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    total = 0
    with parquet_writer(path, schema) as writer:
        while part := list(islice(rows, at_once)):
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            total += len(part)
    return total


def _write_lines(path: Path, values: Iterator[dict[str, Any]]) -> int:
    total = 0
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
            total += 1
    return total


def export_word_vectors(workspace: str | Path, path: Path, *, force: bool = False) -> int:
    """Learn word vectors from the corpus's texts and write them as word2vec's text form. Gives the number of words.

    Raises ModelError without gensim, UsageError where the file must not be written (outputs.py)."""
    corpus = Corpus.open(workspace)

    def texts() -> Iterator[str]:
        for document in corpus.documents():
            yield from (f"{section.title}\n{section.text}" for section in document.sections())

    with new_file(path, workspace, force=force) as made:
        vectors = learn_word_vectors(texts)
        write_word_vectors(made, vectors)
    return len(vectors.numbers)
