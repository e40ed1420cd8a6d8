"""The corpora to learn from: a TOML list of public repositories, each at a commit, and of folders."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structformer.errors import UsageError
from structformer.workspace import new_folder

_NAME, _COMMIT = re.compile(r"[a-z0-9][a-z0-9-]*"), re.compile(r"[0-9a-f]{40}")
_ADDRESS = re.compile(r"(https|file)://[^\s@]+")
_SECONDS = 1800  # of one command of git


@dataclass(frozen=True, slots=True)
class ListedCorpus:
    """A corpus of the list."""

    name: str
    licence: str
    folder: str
    """Of documents: within the repository, or beside the list if there is none."""
    repository: str = ""
    commit: str = ""


def read_list(path: Path) -> list[ListedCorpus]:
    """Read the tables `[[corpus]]` of a list: `name`, `licence`, `folder`, and of a repository `repository`, `commit`.
    Raises UsageError naming the table that is wrong.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("corpus")
        if not isinstance(tables, list):
            raise ValueError("no tables [[corpus]]")
        listed = [_read(table) for table in tables]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    if twice := {each.name for each in listed if sum(other.name == each.name for other in listed) > 1}:
        raise UsageError(f"{path}: two corpora are called {min(twice)}")
    return listed


def _read(table: Any) -> ListedCorpus:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise ValueError("each [[corpus]] has texts alone")
    unknown = table.keys() - {"name", "licence", "folder", "repository", "commit"}
    name = table.get("name", "")
    if unknown or not _NAME.fullmatch(name):
        raise ValueError(f"corpus {name!r}: {f'unknown {min(unknown)}' if unknown else 'its name is not a-z, 0-9, -'}")
    corpus = ListedCorpus(**{"licence": "", "folder": "", **table})
    if not corpus.licence:
        raise ValueError(f"corpus {name!r}: no licence")
    if corpus.repository and not (_ADDRESS.fullmatch(corpus.repository) and _COMMIT.fullmatch(corpus.commit)):
        raise ValueError(f"corpus {name!r}: a repository is an https:// address at a commit of 40 digits")
    return corpus


def fetch(corpus: ListedCorpus, beside: Path, documents: Path) -> Path:
    """Return a corpus's folder, fetched into `documents` by git if it is a repository's; only its newest files come,
    and links in it are not followed. Raises UsageError naming the corpus.
    """
    if not corpus.repository:
        if not (folder := beside / corpus.folder).is_dir():
            raise UsageError(f"{corpus.name}: {folder} is not a folder")
        return folder
    target = documents / f"{corpus.name}-{corpus.commit[:12]}"
    if target.is_dir():
        return target
    documents.mkdir(parents=True, exist_ok=True)
    with new_folder(target, recorded=False) as made:
        try:
            _git(made, "init", "--quiet", "--bare", ".git")
            _git(made / ".git", "fetch", "--quiet", "--depth", "1", corpus.repository, corpus.commit)
            _git(made / ".git", "archive", "--output", "../documents.tar", f"FETCH_HEAD:{corpus.folder.strip('/')}")
            shutil.rmtree(made / ".git")
            with tarfile.open(made / "documents.tar") as archive:
                archive.extractall(made, filter="data")
            (made / "documents.tar").unlink()
        except (subprocess.SubprocessError, OSError, tarfile.TarError) as error:
            [*_, why] = str(getattr(error, "stderr", "") or error).strip().splitlines() or ["git failed"]
            raise UsageError(f"{corpus.name}: {corpus.repository} cannot be fetched: {why}") from error
    return target


def _git(folder: Path, *arguments: str) -> None:
    command, none = ["git", "-c", "core.hooksPath=/dev/null", *arguments], subprocess.DEVNULL
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_SECONDS, stdin=none)
