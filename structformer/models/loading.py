"""Loading tokenizers and weights: safetensors only, no code from the model's folder, no progress noise."""

from __future__ import annotations

import logging
import os
from typing import Any

from structformer.errors import ModelError
from structformer.models.base import check_packaged, pinned


def quiet_transformers() -> None:
    """Keep the model libraries from drawing bars and printing advice; errors still come as exceptions."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def load_tokenizer(location: str, *, body: str = "") -> Any:
    """The tokenizer of a folder or hub name, "org/name@REVISION" for one of its revisions. body: the folder within.
    Raises ModelError when it cannot be loaded.
    """
    from transformers import AutoTokenizer

    tokenizer = _load(AutoTokenizer, location, "tokenizer", use_fast=True, **_within(body))
    if tokenizer.pad_token_id is None:
        raise ModelError(f"{location} has no padding token, so no batches can be made for it; take a BERT-like model")
    return tokenizer


def load_encoder(location: str, *, attention: str | None = None, body: str = "") -> Any:
    """The encoder (AutoModel) of a folder or hub name, in float32 whatever its file has, with another implementation of
    attention if one is named. body: the folder within.

    Raises ModelError when it cannot be loaded.
    """
    from transformers import AutoModel

    chosen = {} if attention is None else {"attn_implementation": attention}
    return _load(AutoModel, location, "weights", use_safetensors=True, dtype="float32", **chosen, **_within(body))


def load_classifier(location: str) -> Any:
    """The encoder with a one-label head (AutoModelForSequenceClassification). Raises ModelError when it cannot be
    loaded.
    """
    from transformers import AutoModelForSequenceClassification

    return _load(AutoModelForSequenceClassification, location, "weights", num_labels=1, use_safetensors=True)


def _within(body: str) -> dict[str, str]:
    return {"subfolder": body} if body else {}


def _load(kind: Any, location: str, what: str, **options: Any) -> Any:
    quiet_transformers()
    check_packaged(location)
    name, revision = pinned(location)
    if revision:
        options["revision"] = revision
    try:
        # Explicit, because the default asks on a terminal, and runs the code on a yes.
        return kind.from_pretrained(name, trust_remote_code=False, **options)
    except (OSError, ValueError) as error:
        raise ModelError(f"no {what} can be loaded from {location}: {error}") from error
