"""Loading tokenizers and weights: no model's code is run, no bars are drawn, missing weights are named."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from structformer.errors import ModelError
from structformer.models.base import check_packaged, pinned

if TYPE_CHECKING:
    from structformer.models.published import Tensors

log = logging.getLogger("structformer.models")
_SHOWN = 3  # names of weights in a line
# Weights are float32 whatever type the file stores: a run chooses bfloat16, not a file. transformers reports what does
# not fit, and `_of_one_size` refuses it.
_WEIGHTS = {"dtype": "float32", "output_loading_info": True, "ignore_mismatched_sizes": True}
# Heads for other uses of an encoder: that they take no part in this one goes without saying.
_OTHER_HEADS = (
    *("cls.", "classifier.", "pre_classifier.", "score.", "lm_head.", "vocab_", "predictions.", "qa_outputs."),
    *("discriminator_predictions.", "generator_", "sop_classifier.", "linear.weight"),
)


def quiet_transformers() -> None:
    """Keep the model libraries from drawing bars and printing advice; errors still come as exceptions."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def load_tokenizer(location: str, *, body: str = "") -> Any:
    """The tokenizer of a folder, "org/name" or "org/name@REVISION". body: the folder within. Raises ModelError."""
    from transformers import AutoTokenizer

    from structformer.models.adapters import settings_of
    from structformer.models.published import old_config

    if not body:
        location = settings_of(location, "tokenizer_config.json")
    # What kind a tokenizer is of is read from there too.
    chosen = {} if old_config(location, body) is None else {"config": _load_config(location, body)}
    tokenizer = _load(AutoTokenizer, location, "tokenizer", use_fast=True, **chosen, **_within(body))
    if tokenizer.pad_token_id is None:
        raise ModelError(f"{location} has no padding token, so no batches can be made for it; take a BERT-like model")
    return tokenizer


def load_encoder(location: str, *, attention: str | None = None, body: str = "") -> Any:
    """The encoder (AutoModel) of a folder or hub name, in float32, with another implementation of attention if named.
    body: the folder within. Raises ModelError when it cannot be loaded.
    """
    from transformers import AutoModel, BertConfig

    from structformer.models.published import PublishedWeights

    check_packaged(location)
    weights, config = PublishedWeights(location, body), _load_config(location, body)
    chosen = {} if attention is None else {"attn_implementation": attention}
    if config.model_type == "dpr":  # a BERT within, and a class around it that gives no token vectors
        tensors = {name.partition("bert_model.")[2] or name: value for name, value in weights.tensors().items()}
        plain = BertConfig(**{name: value for name, value in config.to_dict().items() if name != "model_type"})
        model, info = _load_tensors(AutoModel, location, tensors, plain, **chosen)
    elif weights.plain:
        model, info = _load_model(AutoModel, location, use_safetensors=True, config=config, **chosen, **_within(body))
    else:
        model, info = _load_tensors(AutoModel, location, weights.tensors(), config, **chosen)
    # BERT's pooling of [CLS] takes no part where a bi-encoder pools by itself.
    _say_what_differs(location, [name for name in info["missing_keys"] if "pooler." not in name], info)
    return model


def load_classifier(location: str, *, fresh_head: bool = False) -> tuple[Any, str]:
    """The encoder with a one-label head (AutoModelForSequenceClassification), in float32 whatever its file has, and
    what is to be said of the head. fresh_head: whether one of random weights may take the place of one that the file
    lacks.

    The heads of other forms that published rankers have become that one. Raises ModelError when it cannot be loaded,
    and where any of its weights would be random but may not.
    """
    from transformers import AutoModelForSequenceClassification

    from structformer.models.published import CLASSIFIERS, PublishedWeights, ranking_head

    check_packaged(location)
    weights, config = PublishedWeights(location), _load_config(location, num_labels=1)
    architecture = str((config.architectures or [""])[0])
    head = None if architecture.endswith("ForTokenClassification") else ranking_head(weights, architecture)
    if fresh_head and head is not None and head.of_next_sentences:
        head = None  # BERT's own: the papers train a fresh one upon it
    if head is None and not fresh_head:
        raise ModelError(f"{location} has no ranking head: train or finetune it first")
    if weights.plain and (head.own if head else not set(CLASSIFIERS) & set(weights.names)):
        model, info = _load_model(AutoModelForSequenceClassification, location, use_safetensors=True, config=config)
    else:
        tensors = weights.tensors()
        if head is None:
            tensors = {name: value for name, value in tensors.items() if name not in CLASSIFIERS}
        else:
            with _model_errors(location, "ranking head"):
                tensors = head.mapped(tensors)
        model, info = _load_tensors(AutoModelForSequenceClassification, location, tensors, config)
    inside = f"{model.base_model_prefix}."
    missing = [name for name in info["missing_keys"] if head is not None or name.startswith(inside)]
    if missing and not fresh_head:
        raise ModelError(f"the weights of {location} lack {_named(missing)}: train or finetune it first")
    _say_what_differs(location, missing, info)
    return model, "" if head else f"{location} has no ranking head: training starts with a fresh one"


def _load_config(location: str, body: str = "", **changes: Any) -> Any:
    from transformers import AutoConfig, BertConfig

    from structformer.models.adapters import settings_of
    from structformer.models.published import old_config

    if not body:
        location = settings_of(location)
    old = old_config(location, body)
    if old is None:
        return _load(AutoConfig, location, "settings", **changes, **_within(body))
    with _model_errors(location, "settings"):
        return BertConfig(**{**old, **changes})


def _load_tensors(
    kind: Any, location: str, tensors: Tensors, config: Any, **options: Any
) -> tuple[Any, dict[str, Any]]:
    """Load as `_load_model` does, of weights that had to be renamed first."""
    import torch

    quiet_transformers()
    with _model_errors(location, "weights"):
        with torch.device("meta"):
            architecture = type(kind.from_config(config, trust_remote_code=False))
        loaded = architecture.from_pretrained(None, config=config, state_dict=tensors, **_WEIGHTS, **options)
    return _of_one_size(location, *loaded)


def _load_model(kind: Any, location: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return a model, and what transformers says of its weights."""
    return _of_one_size(location, *_load(kind, location, "weights", **_WEIGHTS, **options))


def _of_one_size(location: str, model: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    import torch

    # cuDNN's attention, torch's first choice on newer GPUs, builds a new plan for every batch shape: on an H200, 14 new
    # shapes took 4.2 s and known ones 1.1 s. Texts come in hundreds of shapes, and the other kernels need no plan.
    torch.backends.cuda.enable_cudnn_sdp(False)
    if info["mismatched_keys"]:
        names = [each if isinstance(each, str) else each[0] for each in info["mismatched_keys"]]
        raise ModelError(f"the weights of {location} are of other sizes than its config.json says: {_named(names)}")
    return model, info


def _say_what_differs(location: str, missing: Collection[str], info: dict[str, Any]) -> None:
    left = [name for name in info["unexpected_keys"] if not name.startswith(_OTHER_HEADS)]
    differences = [f"lack {_named(missing)}, which start at random"] if missing else []
    differences += [f"have {_named(left)}, which nothing takes"] if left else []
    if differences:
        warn_once(f"the weights of {location} {' and '.join(differences)}")


@functools.cache
def warn_once(line: str) -> None:
    """Warn of a model, each line once in a process, however often it is loaded."""
    log.warning("%s", line)


def _named(names: Collection[str]) -> str:
    shown = sorted(names)[:_SHOWN]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")


def _within(body: str) -> dict[str, str]:
    return {"subfolder": body} if body else {}


def _load(kind: Any, location: str, what: str, **options: Any) -> Any:
    quiet_transformers()
    check_packaged(location)
    name, revision = pinned(location)
    if revision:
        options["revision"] = revision
    with _model_errors(location, what):
        # Explicit, because the default asks on a terminal, and runs the code on a yes.
        return kind.from_pretrained(name, trust_remote_code=False, **options)


@contextmanager
def _model_errors(location: str, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise ModelError(f"no {what} can be loaded from {location}: {error}") from error
    except LookupError as error:
        raise ModelError(f"no {what} can be loaded from {location}: its files lack {error}") from error
