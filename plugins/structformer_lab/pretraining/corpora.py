"""The corpora to learn from: a TOML list of public repositories, each at a commit, and of folders; reading them and
drawing their pairs, where what an earlier run drew is kept.
"""

import json
import re
import shutil
import subprocess
import tarfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.errors import StructformerError, UsageError
from structformer.ingestion import ingest
from structformer.retrieval import build_index
from structformer.storage import write_bytes
from structformer.workspace import new_folder

from structformer_lab.pretraining.pairs import Pair, draw_pairs, is_near_copy, judged_runs

_NAME, _COMMIT = re.compile(r"[a-z0-9][a-z0-9-]*"), re.compile(r"[0-9a-f]{40}")
_ADDRESS = re.compile(r"(https|file)://[^\s@]+")
_SECONDS = 1800  # of one command of git
_MOST_COPIED = 1 / 3  # of a corpus's pairs; beyond, it is a copy itself


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


def gather(
    listed: Sequence[ListedCorpus], beside: Path, cache: Path, apart: Sequence[Path], say: Callable[[str], None]
) -> tuple[dict[str, list[Pair]], dict[str, str]]:
    """Fetch, read and draw from all corpora; gives, by the corpus's name, their pairs, and why corpora were left out.
    beside: the folder of the list; apart: workspaces kept for judging.
    """
    judged = judged_runs(apart)
    pairs: dict[str, list[Pair]] = {}
    left_out: dict[str, str] = {}
    for number, corpus in enumerate(listed, 1):
        try:
            drawn = _drawn(corpus, beside, cache)
        except StructformerError as error:
            left_out[corpus.name] = str(error)
            say(f"{corpus.name} left out: {error}")
            continue
        kept = [pair for pair in drawn if not is_near_copy(pair, judged)]
        if drawn and len(kept) < (1 - _MOST_COPIED) * len(drawn):
            say(f"{corpus.name} left out: {len(drawn) - len(kept)} of its {len(drawn)} passages are judged elsewhere")
        else:
            pairs[corpus.name] = kept
            say(f"{number} of {len(listed)}: {corpus.name}, {len(kept)} pairs")
    return pairs, left_out


def _drawn(corpus: ListedCorpus, beside: Path, cache: Path) -> list[Pair]:
    """Return a corpus's pairs; those of an earlier run if the corpus is the same."""
    workspace = cache / "workspaces" / corpus.name
    ingest(fetch(corpus, beside, cache / "documents"), workspace)
    file = cache / "pairs" / f"{corpus.name}-{Corpus.open(workspace).fingerprint[:12]}.jsonl"
    if not file.exists():
        build_index(workspace, encoders=[])
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, "".join(f"{json.dumps(asdict(pair))}\n" for pair in draw_pairs(workspace)).encode())
    return [Pair(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
