"""Documents of an ir_datasets id, as a file of records that an ingest reads like any other."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zstandard

from structformer.errors import UsageError
from structformer.extras import needed_for
from structformer.storage.files import temporary_name, writing_errors


def dataset_documents(name: str, folder: Path, *, progress: Callable[[int, int], None] | None = None) -> Path:
    """The documents of an ir_datasets id in `folder`, one compressed JSON object a line; made unless it is there.

    progress(done, total): documents. Memory does not grow with them. Raises UsageError when the package or the data set
    is not there, or has no documents.
    """
    path = folder / f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)}.jsonl.zst"
    if path.exists():
        return path
    with needed_for("an id of ir_datasets"):
        import ir_datasets
    try:
        dataset = ir_datasets.load(name)
        total = int(dataset.docs_count() or 0)
        documents = dataset.docs_iter()
    except KeyError as error:
        raise UsageError(f"ir_datasets has no data set {name!r}") from error
    except (AttributeError, OSError, RuntimeError) as error:
        raise UsageError(f"the documents of {name} are unavailable: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / temporary_name(path.name)
    with writing_errors(path), unfinished.open("wb") as file:
        with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as packed:
            for number, document in enumerate(documents, 1):
                packed.write(json.dumps(_record(document), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                if progress and number % 1000 == 0:
                    progress(number, total)
        os.replace(unfinished, path)
    return path


def _record(document: Any) -> dict[str, Any]:
    """A document's fields that are text, and its text where they have other names than usual."""
    fields = {key: value for key, value in document._asdict().items() if isinstance(value, str | int | float)}
    if not {"text", "body"} & fields.keys() and hasattr(document, "default_text"):
        fields["text"] = document.default_text()
    return fields
