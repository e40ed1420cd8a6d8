"""Outside inputs of an experiment's rows: files that the command names, and published checkpoints.

`{NAME}` in a row's pipeline, or in a text of its `finetune`, is the file that is given for NAME, without which
the row is left out; `{NAME?}` is one that it can do without. `{base}` is the base model before any training."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from structformer.errors import ModelError

BASE = "{base}"
_PLACE = re.compile(r"\{([a-z]+)(\??)\}")
_OWN = frozenset({"candidates", "model", "base"})


def files_of(pipelines: Iterable[str]) -> list[str]:
    """Return the names of the files that pipelines speak of."""
    names = (name for pipeline in pipelines for name, _ in _PLACE.findall(pipeline))
    return sorted(set(names) - _OWN)


def filled(pipeline: str, places: Mapping[str, str]) -> str:
    """Return the pipeline with its places filled. Raises ModelError naming the file that it needs."""

    def place(found: re.Match[str]) -> str:
        name, may_be_missing = found.groups()
        if name not in places and not may_be_missing:
            raise ModelError(f"it needs --file {name}=FILE")
        return places.get(name, "")

    return _PLACE.sub(place, pipeline)


def filled_values(options: Mapping[str, Any] | None, places: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return options with the places in their texts filled."""
    if options is None:
        return None
    return {name: filled(value, places) if isinstance(value, str) else value for name, value in options.items()}


def checkpoint_folder(name: str) -> Path:
    """The folder of a published ranker: a folder, or a hub name, whose files are fetched into the hub's cache. Raises
    ModelError where there is none, or it cannot be loaded.
    """
    from structformer.models import model_file, ranker_kind, resolve_base_model

    try:
        location = resolve_base_model(name, "cross-encoder").location
    except ModelError as error:
        # What follows names ways to choose a base to train from.
        raise ModelError(str(error).partition("; ")[0]) from error
    ranker_kind("cross-encoder").load(location)  # fetches what it is made of
    settings = model_file(location, "config.json")
    if settings is None:
        raise ModelError(f"{name} has no config.json")
    return settings.parent
