"""Models to and from a hub: `push` sends one with its card, `pull` brings one into a workspace.

Nothing is sent but by `push_model`, and of the model only what loads it and says how it was made: no seal, no command,
and no path of the machine that it was trained on."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.errors import ModelError, UsageError
from structformer.extras import needed_for
from structformer.models import RECORD, ModelRecord, checked_model, ranker_kind, read_record, write_record
from structformer.storage import SEAL
from structformer.workspace import Workspace, new_folder

_CARD = "README.md"
_OURS = ("command.json", "experiment.json")
# What loads a model, and what tells of it. Weights are safetensors alone; nothing is code.
_SUFFIXES = frozenset({".json", ".jsonl", ".md", ".onnx", ".safetensors", ".toml", ".tsv", ".txt", ".model"})
_MAX_FILES = 200
_POSIX_PATH = re.compile(r"(?<![\w.:/~-])(?:/[\w.@+-]*[\w-])+")


def push_model(workspace: str | Path | Workspace, name: str, repo: str, *, private: bool, evaluation: str = "") -> str:
    """Send a model to `repo` (owner/name), which is made where it is not there; gives its address. evaluation: the name
    of one whose table goes into the card. Raises ModelError, UsageError and WorkspaceError.
    """
    workspace = Workspace(workspace)
    folder, record = checked_model(workspace, name), read_record(workspace, name)
    table = _evaluated(workspace, evaluation) if evaluation else ""
    with tempfile.TemporaryDirectory() as temporary, _hub(repo) as api:
        made = Path(temporary) / "model"
        with new_folder(made, recorded=False) as sent:
            for path in sorted(folder.rglob("*")):
                inner = path.relative_to(folder)
                if path.is_file() and not path.is_symlink() and path.suffix in _SUFFIXES and not _is_ours_alone(inner):
                    (sent / inner).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, sent / inner)
            placeless = _Placeless(workspace, record)
            write_record(sent, placeless.record(record))
            card = (folder / _CARD).read_text(encoding="utf-8") if (folder / _CARD).is_file() else f"# {name}\n"
            pulling = (
                f"\n## In structformer\n\n```\nstructformer pull {repo}      # into the workspace of your documents\n"
                f"structformer index --encoder {repo.rpartition('/')[2]}\n```\n"
            )
            (sent / _CARD).write_text(placeless.text(card) + pulling + placeless.text(table), encoding="utf-8")
        api.create_repo(repo, private=private, exist_ok=True)
        api.upload_folder(repo_id=repo, folder_path=made, commit_message=f"{name}, by structformer")
    return f"{api.endpoint}/{repo}"


def pull_model(workspace: str | Path | Workspace, repo: str, name: str = "") -> tuple[str, str]:
    """Bring `repo` (owner/name, or owner/name@COMMIT) into the workspace as the model `name`, without one as its last
    part; gives the name and the commit. Raises ModelError where it is not a model that structformer saved.
    """
    workspace = Workspace(workspace)
    repo, _, revision = repo.partition("@")
    with _hub(repo) as api:
        info = api.model_info(repo, revision=revision or None)
        names = [each.rfilename for each in info.siblings or []]
        if RECORD not in names:
            raise ModelError(
                f"{repo} was not trained by structformer (it has no {RECORD}): use it as --base-model {repo}"
            )
        wanted = [each for each in names if _is_wanted(each)]
        if len(wanted) > _MAX_FILES:
            raise ModelError(f"{repo} has {len(wanted)} files, where a model has at most {_MAX_FILES}")
        name = name or repo.rpartition("/")[2]
        with workspace.replacing_model(name) as folder, tempfile.TemporaryDirectory(dir=folder) as cache:
            for each in wanted:
                path = api.hf_hub_download(repo, each, revision=info.sha, cache_dir=cache)
                target = folder / each
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            ranker_kind(read_record(workspace, str(folder.resolve())).kind)  # a plugin may be missing
    return name, str(info.sha)


def _is_wanted(name: str) -> bool:
    path = PurePosixPath(name)
    safe = "\\" not in name and ":" not in name and not path.is_absolute() and ".." not in path.parts
    return safe and path.suffix in _SUFFIXES and not _is_ours_alone(path)


def _is_ours_alone(path: PurePath) -> bool:
    """Whether a file is of this workspace, and no part of the model."""
    return path.name.endswith(SEAL) or path.name in _OURS or path.parts[0].startswith(".")


class _Placeless:
    """Takes this machine's places out of what is sent: of an absolute path, its last part is left."""

    def __init__(self, workspace: Workspace, record: ModelRecord) -> None:
        named = [*_strings(asdict(record)), str(workspace.path), str(workspace.path.resolve())]
        self._places = sorted({each for each in named if _is_place(each)}, key=len, reverse=True)

    def record(self, record: ModelRecord) -> ModelRecord:
        """Return a record without places; what it starts from is known by its name alone."""
        made = ModelRecord(**self._value(asdict(record)))
        return replace(made, base_location=made.base)

    def text(self, text: str) -> str:
        """Return a text without the places of the record, those below them, and others that are on this machine."""
        for place in self._places:
            name = _last(place).replace("\\", r"\\")
            text = re.sub(rf"(?<![\w.:/~-]){re.escape(place)}(?![\w-])", name, text)
        return _POSIX_PATH.sub(lambda found: _last(found[0]) if os.path.lexists(found[0]) else found[0], text)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return _last(value) if _is_place(value) else self.text(value)
        if isinstance(value, dict):
            return {key: self._value(each) for key, each in value.items()}
        return [self._value(each) for each in value] if isinstance(value, list | tuple) else value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _is_place(text: str) -> bool:
    """Whether a text is an absolute path, of this system or of the one that the model was trained on."""
    return any(kind(text).is_absolute() and bool(kind(text).name) for kind in (PurePosixPath, PureWindowsPath))


def _last(place: str) -> str:
    return PurePosixPath(place).name if place.startswith("/") else PureWindowsPath(place).name


def _evaluated(workspace: Workspace, evaluation: str) -> str:
    report = workspace.evaluation(evaluation) / "report.md"
    if not report.is_file():
        there = sorted(path.parent.name for path in report.parents[1].glob("*/report.md"))
        raise UsageError(f"no evaluation {evaluation!r} in {workspace.path}; {did_you_mean(evaluation, there)}")
    return f"\n## Compared with BM25\n\n{report.read_text(encoding='utf-8')}"


@contextmanager
def _hub(repo: str) -> Iterator[Any]:
    """The hub's client. Its failures become one line, without the token."""
    with needed_for("a hub"):
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    # The client's network errors are those of the library that it was built on, which changes with its version.
    unreachable = next(
        base for base in HfHubHTTPError.__mro__ if issubclass(base, Exception) and base.__name__ == "HTTPError"
    )
    try:
        yield HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, library_name="structformer")
    except HFValidationError as error:
        raise UsageError(f"{repo!r} is not the name of a model on a hub: write owner/name") from error
    except (HfHubHTTPError, OfflineModeIsEnabled) as error:
        raise ModelError(f"the hub refused {repo}: {_first_line(error)} (`hf auth login` says who you are)") from error
    except unreachable as error:
        raise ModelError(f"the hub could not be reached for {repo}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
