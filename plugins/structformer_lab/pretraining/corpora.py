"""The corpora to learn from: a TOML list of public repositories, each at a commit, and of folders; reading them and
drawing their pairs, where what an earlier run drew is kept.

A pair is a question by the structure of a corpus and a passage that answers it. A heading asks for its section, a
sentence for its passage, a link's sentence and text for what they link to (as ICT of Lee et al., ACL 2019, section 4;
as anchors of Wikiformer's ATI). The question is taken out of its passage nine times of ten, so that not its words alone
tell.
"""

import hashlib
import json
import math
import random
import re
import shutil
import subprocess
import tarfile
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.errors import StructformerError, UsageError
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest
from structformer.retrieval import Copies, Retriever, Unit, build_index, draw_pseudo_queries
from structformer.storage import write_bytes
from structformer.text import with_path, written_words
from structformer.workspace import new_folder

OPENING, LINK, SENTENCE, ANCHOR, HEADING = "opening", "link", "sentence", "anchor", "heading"
ASKED = "question"  # a heading that people would ask
_ASKS = re.compile(r"(how|why|what|when|where|which|can|does|is|do|should)\b.*|.*\?", re.IGNORECASE | re.DOTALL)
_FEWEST_WORDS = 12  # of a passage
_HEADING_WORDS = range(2, 15)
_QUESTION, _PASSAGE = 400, 1500  # characters kept
_TAKEN_OUT, _WITHOUT_HEADING = 0.9, 0.7
_SHINGLE, _SHARED = 8, 0.25  # words, and the share of a passage's runs of words that makes it a near copy


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, and a passage that answers it."""

    question: str
    passage: str
    document: int
    unit: int
    """Number of the passage in its corpus."""
    source: str


def draw_pairs(workspace: Path, most: int = 30_000) -> Iterator[Pair]:
    """Draw the pairs of a workspace that has an index of words; the same for the same corpus."""
    table, corpus = Retriever.open(workspace).units, Corpus.open(workspace)
    units, copies = list(table), Copies.of(table)
    choice, overlap = random.Random(corpus.fingerprint), _Overlap(units)
    graph = ReferenceGraph.open(workspace, corpus)
    sources = (OPENING, LINK, SENTENCE, ANCHOR)
    for query in draw_pseudo_queries(corpus, graph, table, copies=copies, sources=sources, most=most):
        if query.source in (LINK, ANCHOR):
            number = overlap.best(query.text, query.document, query.holders)
            passage = units[number].ranker_text if number >= 0 else ""
        else:
            number = next(iter(query.holders), -1)
            passage = _without(query.text, units[number], choice) if number >= 0 else ""
        if passage:
            yield Pair(query.text[:_QUESTION], passage[:_PASSAGE], query.document, number, query.source)
    yield from _of_headings(units, copies, choice)


def _without(sentence: str, unit: Unit, choice: random.Random) -> str:
    """Return a passage without a sentence of it, one time of ten with it; "" if little is left."""
    text = unit.text.replace(sentence.rstrip("."), "", 1) if choice.random() < _TAKEN_OUT else unit.text
    return with_path(" ".join(unit.path), text) if len(text.split()) >= _FEWEST_WORDS else ""


class _Overlap:
    """Finds the passage of a document that shares most words with a text, by their inverse document frequency."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._words = [frozenset(written_words(unit.whole)) for unit in units]
        self._having = Counter(word for words in self._words for word in words)
        self._of_document: dict[int, list[int]] = {}
        for number, unit in enumerate(units):
            if len(unit.text.split()) >= _FEWEST_WORDS:
                self._of_document.setdefault(unit.document, []).append(number)

    def best(self, text: str, document: int, without: Collection[int]) -> int:
        """Return the passage's number, -1 if the document has no other passages than those."""
        having = {word: self._having[word] for word in written_words(text) if word in self._having}
        idf = {word: math.log(1 + len(self._words) / count) for word, count in having.items()}
        others = [number for number in self._of_document.get(document, ()) if number not in without]
        return max(others, key=lambda number: sum(idf[word] for word in idf if word in self._words[number]), default=-1)


def _of_headings(units: Sequence[Unit], copies: Copies, choice: random.Random) -> Iterator[Pair]:
    seen = set()
    for number, unit in enumerate(units):
        if copies.is_copy(unit.document) or not unit.path or len(unit.text.split()) < _FEWEST_WORDS:
            continue
        likely = unit.path[-1], " ".join(unit.path[-2:])
        heading = next((each for each in likely if len(written_words(each)) in _HEADING_WORDS), "")
        if not heading or (unit.document, unit.path) in seen:
            continue
        seen.add((unit.document, unit.path))
        path = unit.path[:-1] if choice.random() < _WITHOUT_HEADING else unit.path
        passage = with_path(" ".join(path), unit.text) if path else unit.text
        source = ASKED if _ASKS.fullmatch(heading.strip()) else HEADING
        yield Pair(heading[:_QUESTION], passage[:_PASSAGE], unit.document, number, source)


def runs_of_words(text: str) -> set[int]:
    """Return digests of a text's runs of eight words."""
    words = written_words(text)
    return {
        int.from_bytes(hashlib.blake2b(" ".join(words[start : start + _SHINGLE]).encode(), digest_size=8).digest())
        for start in range(len(words) - _SHINGLE + 1)
    }


def judged_runs(workspaces: Iterable[Path]) -> set[int]:
    """Return the runs of words of corpora that are kept for judging."""
    return {run for each in workspaces for unit in Retriever.open(each).units for run in runs_of_words(unit.text)}


def is_near_copy(pair: Pair, judged: set[int]) -> bool:
    """Whether a passage shares a quarter of its runs of words with a corpus that is kept for judging."""
    own = runs_of_words(pair.passage) if judged else set()
    return len(own & judged) > _SHARED * len(own)


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
