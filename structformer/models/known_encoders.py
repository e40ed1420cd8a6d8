"""Sentence encoders that serve well, with what their makers say of them. What a model's own files say comes first; this
table, known_encoders.toml, has the prompts where they leave them out, as those of E5 and BGE do.
"""

import re
import shlex
import tomllib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from structformer.corpus import Corpus
from structformer.corpus.corpus import counted_languages, that_count
from structformer.text.languages import ENGLISH, declared_code
from structformer.workspace import Workspace

_SHOWN = 5  # languages that are named


@dataclass(frozen=True, slots=True)
class KnownEncoder:
    """An encoder on the hub."""

    name: str
    megabytes: int
    """Size of its weights, roughly."""
    dimensions: int
    languages: str
    """Either "en" or "many"."""
    licence: str
    query: str = ""
    """The prompt that its makers ask for; `document` likewise."""
    document: str = ""
    pooling: str = "mean"
    """One of "mean", "cls" and "lasttoken"."""
    retrieval: float | None = None
    """How well it finds; None if no figure is certain."""
    source: str = ""
    """Meaning of that figure, and its source."""
    without_torch: bool = True
    """Whether onnxruntime runs it here, since it is of BERT's or XLM-R's form."""
    measured: bool = False
    """Whether docs/benchmarks.md has figures of it."""
    note: str = ""
    """A note to read before using the encoder."""


@dataclass(frozen=True, slots=True)
class KnownReranker:
    """A published cross-encoder, for `rerank:NAME`; none was measured here."""

    name: str
    megabytes: int
    languages: str
    licence: str
    without_torch: bool


@dataclass(frozen=True, slots=True)
class KnownPair:
    """An encoder of passages, and a smaller one of queries that was made to share its vector space."""

    documents: str
    queries: str
    retrieval: float
    source: str


_LISTED = tomllib.loads((files("structformer.models") / "known_encoders.toml").read_text("utf-8"))
for _row in (*_LISTED["encoders"], *_LISTED["pairs"]):
    _row["source"] = _LISTED["sources"].get(_row.get("source"), "")
KNOWN = {row["name"]: KnownEncoder(**row) for row in _LISTED["encoders"]}
PAIRS = tuple(KnownPair(**row) for row in _LISTED["pairs"])
RERANKERS = tuple(KnownReranker(**row) for row in _LISTED["rerankers"])

# Pre-trained for their [CLS]; no sentence encoders before they are trained.
_CONDENSERS = frozenset({"Luyu/condenser", "Luyu/co-condenser-wiki", "Luyu/co-condenser-marco"})
MULTILINGUAL = next(each.name for each in KNOWN.values() if each.languages == "many")  # the first to be recommended
_PACKAGED = "minilm"  # what the package's weights are called
_SAYS_ENGLISH = re.compile(r"(?:^|-)en(?:glish)?(?:-|$)|^all-(?:minilm|mpnet|distilroberta)-", re.IGNORECASE)


def is_english(name: str) -> bool:
    """Whether an encoder reads English alone, by the end of its name, which a folder may have; False if unknown."""
    end = name.rpartition("/")[2].lower()
    known = [each.languages for each in KNOWN.values() if end == each.name.rpartition("/")[2].lower()]
    return end == _PACKAGED or (known[0] == "en" if known else bool(_SAYS_ENGLISH.search(end)))


def pooling_of(name: str) -> str | None:
    """Return how the makers of an encoder on the hub pool, if its files don't say; None if it is not known here."""
    if name in _CONDENSERS:
        return "cls"
    return KNOWN[name].pooling if name in KNOWN else None


def language_advice(
    corpus: Corpus, encoder: str, command: str, *, language: str = "auto", reads: Sequence[str] = ()
) -> str:
    """Return advice if an encoder does not read the documents' languages, "" if it does or is unknown. encoder: the
    base's name. command: the line that takes MULTILINGUAL instead. language: the documents', if the user named it.
    reads: the encoder's languages; (): what is known of its name.
    """
    if not reads and not is_english(encoder):
        return ""
    chosen = declared_code(language) if language != "auto" else ""
    counts = {chosen: 1} if chosen else counted_languages(corpus)
    known = set(reads) or {ENGLISH}
    others = [code for code in that_count(counts) if code not in known]
    if not others:
        return ""
    share = 1 - sum(counts.get(code, 0) for code in known) / sum(counts.values())
    named = ", ".join(others[:_SHOWN])
    read = "English" if known == {ENGLISH} else ", ".join(sorted(known))
    return (
        f"{100 * share:.0f} % of the documents are in other languages than {read} ({named}), and "
        f"{'MiniLM' if encoder == 'minilm' else encoder} reads {read}. The search uses it all the same, beside words "
        "and what the documents themselves teach, with the weight that its reading of them earns: none where it finds "
        "next to nothing. Without any pretrained encoder, learned from the documents alone, whatever their "
        f"language: index --encoder structure. An encoder of many languages may find more (not measured "
        f"here): {command}"
    )


def another_encoder(command: str, workspace: Workspace, *paths: str) -> str:
    """Return the line that runs a command with an encoder of many languages."""
    return shlex.join(["structformer", command, *paths, "-w", str(workspace), "--base-model", MULTILINGUAL])


def training_advice(corpus: Corpus, workspace: Workspace, encoder: str, say: Callable[[str], object] | None) -> None:
    """Say what `language_advice` has to say to who trains."""
    in_python = f"structformer.train({str(workspace)!r}, structformer.TrainingOptions(base_model={MULTILINGUAL!r}))"
    advise(language_advice(corpus, encoder, another_encoder("train", workspace) if say else in_python), say)


def advise(advice: str, say: Callable[[str], object] | None) -> None:
    """Say it, if there is something to say; as a warning where nobody listens."""
    if advice and say is not None:
        say(advice)
    elif advice:
        warnings.warn(advice, stacklevel=3)
