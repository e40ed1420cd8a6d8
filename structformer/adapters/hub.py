"""Models to and from a hub: `push` sends one with its card, `pull` brings one into a workspace.

Nothing is sent but by `push_model`, and of the model only what loads it and says how it was made: no seal, no command,
and no path of the machine that it was trained on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from structformer.errors import ModelError, StructformerError, UsageError
from structformer.extras import needed_for
from structformer.models.kinds import ranker_kind
from structformer.models.registry import RECORD, ModelRecord, checked_model, read_record, write_record
from structformer.outputs import new_folder
from structformer.storage.seal import SEAL
from structformer.workspace import Workspace

__all__ = ["pull_model", "push_model"]

_CARD = "README.md"
_OURS = ("command.json", "experiment.json")
# What loads a model, and what tells of it. Weights are safetensors alone; nothing is code.
_SUFFIXES = frozenset({".json", ".jsonl", ".md", ".onnx", ".safetensors", ".toml", ".tsv", ".txt", ".model"})
_MAX_FILES = 200


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
            for path in _sent(folder):
                target = sent / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            write_record(sent, _without_places(record))
            card = (folder / _CARD).read_text(encoding="utf-8") if (folder / _CARD).is_file() else f"# {name}\n"
            (sent / _CARD).write_text(card + _pulling(repo) + table, encoding="utf-8")
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
        with tempfile.TemporaryDirectory() as cache, workspace.replacing_model(name) as folder:
            for each in wanted:
                found = api.hf_hub_download(repo, each, revision=info.sha, cache_dir=cache)
                target = folder / each
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, target)
            ranker_kind(read_record(workspace, str(folder.resolve())).kind)  # a plugin may be missing
    return name, str(info.sha)


def _is_wanted(name: str) -> bool:
    path = PurePosixPath(name)
    safe = "\\" not in name and ":" not in name and not path.is_absolute() and ".." not in path.parts
    return safe and path.suffix in _SUFFIXES and not _is_ours_alone(path)


def _is_ours_alone(path: PurePath) -> bool:
    """Whether a file is of this workspace, and no part of the model."""
    return path.name.endswith(SEAL) or path.name in _OURS or path.parts[0].startswith(".")


def _sent(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and path.suffix in _SUFFIXES and not _is_ours_alone(inner):
            yield path


def _without_places(record: ModelRecord) -> ModelRecord:
    """A record that names no files and folders of this machine."""
    options = {
        key: Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
        for key, value in record.training.get("options", {}).items()
    }
    base = Path(record.base).name if Path(record.base).is_absolute() else record.base
    training: dict[str, Any] = {**record.training, "options": options} if options else dict(record.training)
    return replace(record, base=base, base_location=base, training=training)


def _pulling(repo: str) -> str:
    return (
        f"\n## In structformer\n\n```\nstructformer pull {repo}      # into the workspace of your documents\n"
        f"structformer index --encoder {repo.rpartition('/')[2]}\n```\n"
    )


def _evaluated(workspace: Workspace, evaluation: str) -> str:
    report = workspace.evaluation(evaluation) / "report.md"
    if not report.is_file():
        there = ", ".join(sorted(path.parent.name for path in report.parents[1].glob("*/report.md"))) or "none"
        raise UsageError(f"no evaluation {evaluation!r} in {workspace.path} (there: {there})")
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
    except StructformerError:
        raise
    except HFValidationError as error:
        raise UsageError(f"{repo!r} is not the name of a model on a hub: write owner/name") from error
    except (HfHubHTTPError, OfflineModeIsEnabled) as error:
        raise ModelError(f"the hub refused {repo}: {_first_line(error)} (`hf auth login` says who you are)") from error
    except unreachable as error:
        raise ModelError(f"the hub could not be reached for {repo}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
