"""Documents of an ir_datasets id, as a file of records that an ingest reads like any other."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zstandard

from structformer.errors import UsageError
from structformer.extras import needed_for
from structformer.storage.files import replacing_file, writing_errors


def dataset_documents(name: str, folder: Path, *, progress: Callable[[int, int], None] | None = None) -> Path:
    """Return a data set's documents in `folder`, JSON lines, made unless there. Raises UsageError if unavailable."""
    path = folder / f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)}.jsonl.zst"
    if path.exists():
        return path
    with needed_for("an id of ir_datasets"):
        import ir_datasets
    with _unavailable(name):
        try:
            dataset = ir_datasets.load(name)
        except KeyError as error:
            raise UsageError(f"ir_datasets has no data set {name!r}") from error
        total = int(dataset.docs_count() or 0)
    with (
        writing_errors(path),
        replacing_file(path) as temporary,
        temporary.open("wb") as file,
        zstandard.ZstdCompressor(level=3).stream_writer(file) as packed,
    ):
        for number, record in enumerate(_records(dataset, name), 1):
            packed.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            if progress and number % 1000 == 0:
                progress(number, total)
    return path


@contextmanager
def _unavailable(name: str) -> Iterator[None]:
    """Raises UsageError on what goes wrong in fetching: a data set may be fetched while it is read."""
    try:
        yield
    except (AttributeError, OSError, RuntimeError) as error:
        raise UsageError(f"the documents of {name} are unavailable: {error}") from error


def _records(dataset: Any, name: str) -> Iterator[dict[str, Any]]:
    with _unavailable(name):
        yield from map(_record, dataset.docs_iter())


def _record(document: Any) -> dict[str, Any]:
    """Return a document's fields that are text, and its text where they have other names than usual."""
    fields = {key: value for key, value in document._asdict().items() if isinstance(value, str | int | float)}
    if not {"text", "body"} & fields.keys() and hasattr(document, "default_text"):
        fields["text"] = document.default_text()
    return fields
