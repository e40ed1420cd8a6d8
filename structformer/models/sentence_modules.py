"""Settings in a sentence encoder's folder: how its tokens' vectors become one, which prompts go before queries
and documents, how much it reads. Written for sentence-transformers, read here without it and without torch.

Only the modules named below are known, and no code of a folder is run: any other is refused by its name."""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from structformer.errors import ModelError
from structformer.models.base import hub_in_reach, is_offline, pinned
from structformer.models.known_encoders import KNOWN, pooling_of
from structformer.models.registry import PASSAGE_ENCODER

T = TypeVar("T")
QUERY_TOKENS = 64
DOCUMENT_TOKENS = 256
QUERY, DOCUMENT = SIDES = ("query", "document")
MODULES = "modules.json"
WEIGHTS = "model.safetensors"
_SETTINGS, _TRANSFORMER = "config_sentence_transformers.json", "sentence_bert_config.json"
_TOKENIZER, _ROUTER = "tokenizer_config.json", "router_config.json"
# In the order in which several are joined where a folder has a switch for each.
_SWITCHES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
ACTIVATIONS = {"Identity": "torch.nn.modules.linear.Identity"}
ACTIVATIONS |= {name: f"torch.nn.modules.activation.{name}" for name in ("Tanh", "ReLU", "Sigmoid", "GELU")}
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
_LIBRARY = "sentence_transformers."
_WRITTEN = "sentence_transformers.models."  # all its versions read modules under these names
_MODULES_KNOWN = frozenset({"Transformer", "Pooling", "Dense", "Normalize"})
_INSIDE = re.compile(r"(?!.*\.\.)[\w.-]+(/[\w.-]+)*", re.ASCII)
_UNSUPPORTED = ("processing_kwargs", "query_length", "document_length", "query_expansion")
_ENDLESS = 1_000_000  # tokens: a tokenizer without a limit names a larger number


class OtherForm(ModelError):
    """A model is not of a form that runs without torch; torch may load it all the same."""


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear layer and its activation, after the pooling."""

    path: str
    """Its folder in the model's."""
    inputs: int
    outputs: int
    bias: bool
    activation: str
    residual: bool = False


@dataclass(frozen=True, slots=True)
class Normalize:
    """Unit length, before a further layer."""


Step = Dense | Normalize


@dataclass(frozen=True, slots=True)
class SentenceModules:
    """Modules around an encoder's Transformer."""

    body: str = ""
    """The Transformer's folder in the model's."""
    pooling: tuple[str, ...] = ("mean",)
    """One way or several, whose vectors are joined."""
    include_prompt: bool = True
    """Whether a prompt's tokens are pooled."""
    steps: tuple[Step, ...] = ()
    """The steps after it, except unit length, which every vector has here."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """By name, as in the folder."""
    default_prompt: str | None = None
    longest: int | None = None
    """Tokens that it reads; None if its files don't say."""
    lower_case: bool = False
    """Whether it reads texts in lower case."""

    def prompt(self, side: str) -> str:
        """Return the prompt before texts of a side, "" for none or if the folder says so by an empty one."""
        names = _DOCUMENT_PROMPTS if side == DOCUMENT else (QUERY,)
        return next((self.prompts[name] for name in names if name in self.prompts), "")

    def dimensions(self, hidden: int) -> int:
        """Return how many numbers a vector has. hidden: of a token's."""
        dense = [step for step in self.steps if isinstance(step, Dense)]
        return dense[-1].outputs if dense else hidden * len(self.pooling)

    @property
    def mark(self) -> str:
        """Digest of what vectors depend on beside the weights; "" for the mean of tokens without prompts."""
        longest = None if self.longest is None or self.longest >= DOCUMENT_TOKENS else self.longest
        settings = {
            "pooling": self.pooling,
            "include_prompt": self.include_prompt or not any(map(self.prompt, SIDES)),
            "steps": [{**asdict(step), "path": ""} for step in self.steps],
            "prompts": [self.prompt(side) for side in SIDES],
            "longest": longest,
            "lower_case": self.lower_case,
        }
        plain = {"pooling": ("mean",), "include_prompt": True, "steps": [], "prompts": ["", ""]}
        if settings == {**plain, "longest": None, "lower_case": False}:
            return ""
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


PLAIN = SentenceModules()


def _once(read: Callable[[str], T]) -> Callable[[str], T]:
    """Keep what is read of a hub's model, which does not change; a folder may."""
    kept = functools.lru_cache(64)(read)
    return functools.wraps(read)(lambda location: (read if Path(location).is_dir() else kept)(location))


@_once
def modules_mark(location: str) -> str:
    """Return the mark of a location's modules; "" also if they cannot be read, which loading them reports."""
    try:
        return read_modules(location).mark
    except ModelError:
        return ""


@_once
def read_modules(location: str) -> SentenceModules:
    """Return a location's modules; PLAIN if it names none. Raises ModelError on unknown ones, naming the file."""
    listed = read_model_json(location, MODULES)
    prompts, default = _prompts(location)
    if listed is None:
        is_dpr = (read_model_json(location, "config.json") or {}).get("model_type") == "dpr"
        known = "cls" if is_dpr else pooling_of(pinned(location)[0])
        pooling = (known,) if known else PLAIN.pooling
        longest = _tokenizers_longest(location, "")
        return SentenceModules(pooling=pooling, prompts=prompts, default_prompt=default, longest=longest)
    modules = _listed(location, listed)
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or not {*kinds[2:]} <= {"Dense", "Normalize"}:
        raise ModelError(
            f"{location}/{MODULES} lists {', '.join(kinds) or 'nothing'}: structformer reads a Transformer, one "
            "Pooling, and Dense and Normalize behind it"
        )
    body = modules[0][1]
    longest, lower_case = _transformer(location, body)
    longest = longest or _tokenizers_longest(location, body)
    pooling, include_prompt = _pooling(location, modules[1][1])
    steps = [_dense(location, path) if kind == "Dense" else Normalize() for kind, path in modules[2:]]
    while steps and isinstance(steps[-1], Normalize):
        steps.pop()  # every vector is of unit length in the end
    return SentenceModules(body, pooling, include_prompt, tuple(steps), prompts, default, longest, lower_case)


def _listed(location: str, listed: Any) -> list[tuple[str, str]]:
    """(kind, path) of each module of modules.json; of a model whose sides are encoders of their own, the queries'."""
    where = f"{location}/{MODULES}"
    try:
        modules = [(str(each["type"]), str(each.get("path", ""))) for each in listed]
    except (TypeError, KeyError, AttributeError):
        raise ModelError(f"{where} is not a list of modules with their types and paths") from None
    if len(modules) == 1 and modules[0][0].startswith(_LIBRARY) and modules[0][0].endswith(".Router"):
        if not (Path(location) / PASSAGE_ENCODER / MODULES).exists():
            raise ModelError(f"{where} lists a Router, which structformer reads only in the models that it trained")
        where = f"{location}/{_ROUTER}"
        try:
            router = read_model_json(location, _ROUTER)
            modules = [
                (str(router["types"][path]), "" if path == "." else str(path)) for path in router["structure"][QUERY]
            ]
        except (TypeError, KeyError):
            raise ModelError(f"{where} does not say how queries are encoded") from None
    for kind, path in modules:
        if not kind.startswith(_LIBRARY) or kind.rpartition(".")[2] not in _MODULES_KNOWN:
            raise ModelError(
                f"{where} lists the module {kind}, which structformer does not know: it reads Transformer, Pooling, "
                "Dense and Normalize, and runs no code of a model's folder"
            )
        if path and not _INSIDE.fullmatch(path):
            raise ModelError(f"{where} has a path that is not a folder of the model's: {path}")
    return [(kind.rpartition(".")[2], path) for kind, path in modules]


def _transformer(location: str, body: str) -> tuple[int | None, bool]:
    """Return (tokens that it reads, whether in lower case)."""
    where, settings = _read_object(location, _TRANSFORMER, body)
    if unsupported := [each for each in _UNSUPPORTED if settings.get(each)]:
        raise ModelError(f"{where} sets {unsupported[0]}, which structformer does not know")
    ways = settings.get("modality_config") or {"text": {"method_output_name": "last_hidden_state"}}
    text = ways.get("text") if isinstance(ways, dict) else None
    task = settings.get("transformer_task") or "feature-extraction"
    reads_text = isinstance(text, dict) and text.get("method_output_name") == "last_hidden_state"
    if task != "feature-extraction" or not reads_text:
        raise ModelError(f"{where} describes no encoder of plain texts (its task is {task})")
    longest = settings.get("max_seq_length")
    if longest is not None and (not isinstance(longest, int) or longest < 1):
        raise ModelError(f"{where}: max_seq_length is {longest!r}, not a number of tokens")
    return longest, bool(settings.get("do_lower_case"))


def _tokenizers_longest(location: str, body: str) -> int | None:
    """Return the number of tokens that a folder's tokenizer names, used if its other files name none."""
    longest = _read_object(location, _TOKENIZER, body)[1].get("model_max_length")
    return int(longest) if isinstance(longest, int | float) and 0 < longest < _ENDLESS else None


def _pooling(location: str, path: str) -> tuple[tuple[str, ...], bool]:
    """Return (ways of pooling, whether a prompt's tokens take part)."""
    where, settings = _read_object(location, "config.json", path)
    given = settings.get("pooling_mode")
    if given is None:
        given = [mode for switch, mode in _SWITCHES.items() if settings.get(switch)] or ["mean"]
    modes = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else (str(given),)
    known = tuple(_SWITCHES.values())
    if not modes or any(mode not in known for mode in modes):
        raise ModelError(f"{where} pools by {given!r}, which structformer does not know; it knows {', '.join(known)}")
    return modes, bool(settings.get("include_prompt", True))


def _dense(location: str, path: str) -> Dense:
    where, settings = _read_object(location, "config.json", path)
    inputs, outputs = settings.get("in_features"), settings.get("out_features")
    if not (isinstance(inputs, int) and isinstance(outputs, int) and inputs > 0 and outputs > 0):
        raise ModelError(f"{where} does not say in_features and out_features")
    named = str(settings.get("activation_function") or ACTIVATIONS["Tanh"])
    activation = named.rpartition(".")[2]
    if activation not in ACTIVATIONS or not named.startswith("torch.nn."):
        raise ModelError(
            f"{where} has the activation {named}, which structformer does not know; it knows {', '.join(ACTIVATIONS)}"
        )
    read, written = settings.get("module_input_name"), settings.get("module_output_name")
    if {read, written} - {None, "sentence_embedding"}:
        raise ModelError(f"{where} describes a layer for {read}: structformer knows Dense behind the pooling alone")
    residual = bool(settings.get("use_residual"))
    return Dense(path, inputs, outputs, bool(settings.get("bias", True)), activation, residual)


def _prompts(location: str) -> tuple[dict[str, str], str | None]:
    """(prompts by name, the name of the default one). A known encoder whose files name none has those of its makers."""
    where, settings = _read_object(location, _SETTINGS)
    prompts = {name: text for name, text in _checked_object(settings.get("prompts"), where).items() if text is not None}
    if wrong := [name for name, text in prompts.items() if not isinstance(text, str)]:
        raise ModelError(f"{where}: the prompt {wrong[0]} is not a text")
    known = KNOWN.get(pinned(location)[0])
    if known is not None and not any(prompts.values()):
        prompts |= {name: text for name, text in zip(SIDES, (known.query, known.document), strict=True) if text}
    default = settings.get("default_prompt_name")
    return prompts, default if isinstance(default, str) else None


def _checked_object(value: Any, where: str) -> dict[str, Any]:
    """Return a JSON object; an empty one of what is missing. Raises ModelError, naming the file."""
    if value is not None and not isinstance(value, dict):
        raise ModelError(f"{where} cannot be read: not a JSON object")
    return value or {}


def _read_object(location: str, name: str, folder: str = "") -> tuple[str, dict[str, Any]]:
    """Return (where a file of a model is, the object in it). folder: the file's in the model's."""
    name = in_folder(folder, name)
    return f"{location}/{name}", _checked_object(read_model_json(location, name), f"{location}/{name}")


def in_folder(folder: str, name: str) -> str:
    """Return a file's name in a model, of a folder within; "" is the model's own."""
    return f"{folder}/{name}" if folder else name


def read_model_json(location: str, name: str) -> Any:
    """Return a file of a model; None if it has none of that name. Raises ModelError if it cannot be read."""
    path = model_file(location, name)
    if path is None:
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{location}/{name} cannot be read: {error}") from error


def model_file(location: str, name: str) -> Path | None:
    """Return a file of a model's folder, or of a hub name's, fetched if the hub's cache lacks it; None if the model has
    none. Raises ModelError when the hub has to be asked and does not answer, but for what KNOWN knows.
    """
    if Path(location).is_dir():
        path = Path(location) / name
        return path if path.is_file() else None
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError, LocalEntryNotFoundError

    repository, revision = pinned(location)
    why: Exception | None = None
    try:
        cached = try_to_load_from_cache(repository, name, revision=revision or None)
        if cached is not None or is_offline():
            return Path(cached) if isinstance(cached, str) else None
        if hub_in_reach():
            return Path(hf_hub_download(repository, name, revision=revision or None))
    except LocalEntryNotFoundError as error:
        why = error
    except EntryNotFoundError:
        return None
    except (HFValidationError, OSError, ValueError) as error:
        why = error
    if repository in KNOWN:
        return None
    raise ModelError(
        f"{location}/{name} is not in the hub's cache and cannot be fetched: load the model once with the hub in "
        "reach, or set HF_HUB_OFFLINE=1 to take what the cache has for all there is"
    ) from why


def write_modules(folder: Path, modules: SentenceModules, hidden: int, passages: Path | None = None) -> None:
    """Write what read_modules and sentence-transformers read, but for Dense's weights. hidden: numbers of a token's
    vector; passages: the folder within of the documents' own encoder, written before.
    """
    listed = [("Transformer", ""), ("Pooling", "1_Pooling")]
    files: dict[str, Any] = {"1_Pooling/config.json": _pooling_written(modules, hidden)}
    for step in (*modules.steps, Normalize()):
        kind = type(step).__name__
        path = f"{len(listed)}_{kind}"
        if isinstance(step, Dense):
            files[f"{path}/config.json"] = _dense_written(step)
        (folder / path).mkdir(exist_ok=True)
        listed.append((kind, path))
    prompts = {**modules.prompts, **{side: modules.prompt(side) for side in SIDES if modules.prompt(side)}}
    settings: dict[str, Any] = {"similarity_fn_name": "cosine"}
    if prompts:
        settings |= {"prompts": prompts, "default_prompt_name": modules.default_prompt}
    if passages is None:
        files[MODULES] = _modules_written(listed)
    else:
        theirs = [(each["type"], each["path"]) for each in json.loads((passages / MODULES).read_text(encoding="utf-8"))]
        inside = passages.relative_to(folder)
        sides = {
            QUERY: {Path(path).as_posix(): f"{_WRITTEN}{kind}" for kind, path in listed},
            DOCUMENT: {(inside / path).as_posix(): kind for kind, path in theirs},
        }
        files[MODULES] = _modules_written([("Router", "")])
        files[_ROUTER] = {
            "types": {path: kind for side in sides.values() for path, kind in side.items()},
            "structure": {side: list(names) for side, names in sides.items()},
            "parameters": {"default_route": QUERY, "allow_empty_key": True},
        }
    files[_TRANSFORMER] = {"max_seq_length": modules.longest, "do_lower_case": modules.lower_case}
    files[_SETTINGS] = settings
    for name, value in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def dense_folders(modules: SentenceModules) -> list[str]:
    """Return the folders that `write_modules` gives the layers, in order."""
    return [f"{number}_Dense" for number, step in enumerate(modules.steps, 2) if isinstance(step, Dense)]


def _modules_written(listed: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {"idx": number, "name": str(number), "path": path, "type": f"{_WRITTEN}{kind}"}
        for number, (kind, path) in enumerate(listed)
    ]


def _pooling_written(modules: SentenceModules, hidden: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"word_embedding_dimension": hidden}
    if tuple(mode for mode in _SWITCHES.values() if mode in modules.pooling) == modules.pooling:
        settings |= {switch: mode in modules.pooling for switch, mode in _SWITCHES.items()}
    else:  # in an order that switches cannot tell
        settings["pooling_mode"] = list(modules.pooling)
    return settings if modules.include_prompt else {**settings, "include_prompt": False}


def _dense_written(step: Dense) -> dict[str, Any]:
    settings = {
        "in_features": step.inputs,
        "out_features": step.outputs,
        "bias": step.bias,
        "activation_function": ACTIVATIONS[step.activation],
    }
    return {**settings, "use_residual": True} if step.residual else settings
