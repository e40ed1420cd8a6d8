"""Sentence encoders that serve well, with what their makers say of them. What a model's own files say comes first; this
table has the prompts where they leave them out, as those of E5 and BGE do.
"""

import re
import shlex
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from structformer.corpus import Corpus
from structformer.corpus.languages import counted_languages, that_count
from structformer.text.languages import ENGLISH, declared_code
from structformer.workspace import Workspace

_SHOWN = 5  # languages that are named

_E5 = "query: ", "passage: "
_BGE = "Represent this sentence for searching relevant passages: "
_MTEB = "nDCG@10 on MTEB's retrieval tasks in English, by the README of snowflake-arctic-embed"
_MTEB_OF_OTHERS = "nDCG@10 on MTEB's retrieval tasks in English, by the README of FlagEmbedding, BGE's makers"
_C_MTEB = "nDCG@10 on C-MTEB's retrieval tasks, which are Chinese, by the README of FlagEmbedding"
_BEIR = "nDCG@10 on BEIR, by the model card of mdbr-leaf-ir"


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
    """What that figure is, and who says so."""
    without_torch: bool = True
    """Whether onnxruntime runs it here, since it is of BERT's or XLM-R's form."""
    measured: bool = False
    """Whether docs/benchmarks.md has figures of it."""
    note: str = ""
    """What else is to be known before it is used."""


@dataclass(frozen=True, slots=True)
class KnownReranker:
    """A published cross-encoder, for `rerank:NAME`; none was measured here."""

    name: str
    megabytes: int
    languages: str
    licence: str
    without_torch: bool


RERANKERS = (
    KnownReranker("cross-encoder/ms-marco-MiniLM-L6-v2", 91, "en", "Apache-2.0", True),
    KnownReranker("cross-encoder/ettin-reranker-17m-v1", 68, "en", "Apache-2.0", False),
    KnownReranker("cross-encoder/ettin-reranker-32m-v1", 128, "en", "Apache-2.0", False),
    KnownReranker("ibm-granite/granite-embedding-reranker-english-r2", 298, "en", "Apache-2.0", False),
)


@dataclass(frozen=True, slots=True)
class KnownPair:
    """An encoder of passages, and a smaller one of queries that was made to share its vector space."""

    documents: str
    queries: str
    retrieval: float
    source: str


PAIRS = (KnownPair("Snowflake/snowflake-arctic-embed-m-v1.5", "MongoDB/mdbr-leaf-ir", 54.03, _BEIR),)

# Pre-trained for their [CLS]; no sentence encoders before they are trained.
_CONDENSERS = frozenset({"Luyu/condenser", "Luyu/co-condenser-wiki", "Luyu/co-condenser-marco"})

KNOWN = {
    each.name: each
    for each in (
        KnownEncoder(
            *("sentence-transformers/all-MiniLM-L6-v2", 91, 384, "en", "Apache-2.0"),
            retrieval=41.95,
            source=_MTEB,
            measured=True,
        ),
        KnownEncoder("Snowflake/snowflake-arctic-embed-xs", 90, 384, "en", "Apache-2.0", _BGE, "", "cls", 50.15, _MTEB),
        KnownEncoder("Snowflake/snowflake-arctic-embed-s", 133, 384, "en", "Apache-2.0", _BGE, "", "cls", 51.98, _MTEB),
        KnownEncoder("Snowflake/snowflake-arctic-embed-m", 436, 768, "en", "Apache-2.0", _BGE, "", "cls", 54.90, _MTEB),
        KnownEncoder("Snowflake/snowflake-arctic-embed-m-v1.5", 436, 768, "en", "Apache-2.0", _BGE, "", "cls"),
        KnownEncoder("MongoDB/mdbr-leaf-ir", 92, 768, "en", "Apache-2.0", _BGE, retrieval=53.55, source=_BEIR),
        KnownEncoder("BAAI/bge-small-en-v1.5", 133, 384, "en", "MIT", _BGE, "", "cls", 51.68, _MTEB_OF_OTHERS),
        KnownEncoder("BAAI/bge-base-en-v1.5", 438, 768, "en", "MIT", _BGE, "", "cls", 53.25, _MTEB_OF_OTHERS),
        KnownEncoder("intfloat/e5-small-v2", 133, 384, "en", "MIT", *_E5, "mean", 49.04, _MTEB_OF_OTHERS),
        KnownEncoder(
            *("intfloat/multilingual-e5-small", 471, 384, "many", "MIT", *_E5, "mean", 59.95, _C_MTEB), measured=True
        ),
        KnownEncoder("intfloat/multilingual-e5-base", 1112, 768, "many", "MIT", *_E5, "mean", 61.63, _C_MTEB),
        KnownEncoder(
            *("ibm-granite/granite-embedding-small-english-r2", 95, 384, "en", "Apache-2.0"),
            pooling="cls",
            without_torch=False,
        ),
        KnownEncoder(
            *("ibm-granite/granite-embedding-97m-multilingual-r2", 194, 384, "many", "Apache-2.0"),
            pooling="cls",
            without_torch=False,
        ),
        KnownEncoder(
            *("google/embeddinggemma-300m", 1211, 768, "many", "Gemma"),
            without_torch=False,
            note="its maker's terms have to be accepted on the hub",
        ),
        KnownEncoder(
            *("microsoft/harrier-oss-v1-270m", 536, 640, "many", "MIT"),
            pooling="lasttoken",
            without_torch=False,
            note="queries go behind an instruction, as its card says",
        ),
    )
}

MULTILINGUAL = next(each.name for each in KNOWN.values() if each.languages == "many")  # the first to be recommended
_PACKAGED = "minilm"  # what the package's weights are called
_SAYS_ENGLISH = re.compile(r"(?:^|-)en(?:glish)?(?:-|$)|^all-(?:minilm|mpnet|distilroberta)-", re.IGNORECASE)


def is_english(name: str) -> bool:
    """Whether the encoder of that name reads English alone: by its name on the hub, or the end of it, which a folder
    may have; False where nobody here knows.
    """
    end = name.rpartition("/")[2].lower()
    known = [each.languages for each in KNOWN.values() if end == each.name.rpartition("/")[2].lower()]
    return end == _PACKAGED or (known[0] == "en" if known else bool(_SAYS_ENGLISH.search(end)))


def pooling_of(name: str) -> str | None:
    """How the makers of an encoder on the hub pool, if its files don't say; None if it is not known here."""
    if name in _CONDENSERS:
        return "cls"
    return KNOWN[name].pooling if name in KNOWN else None


def language_advice(
    corpus: Corpus, encoder: str, command: str, *, language: str = "auto", reads: Sequence[str] = ()
) -> str:
    """What to say if an encoder reads English alone and documents are in other languages; "" if all is well, or
    what it reads is not known here.

    encoder: the name of the base. command: the line that takes MULTILINGUAL instead. language: the documents', if
    the user has named it. reads: codes of the languages that the encoder reads; (): what is known of its name."""
    if not reads and not is_english(encoder):
        return ""
    chosen = declared_code(language) if language != "auto" else ""
    found = {chosen: 1} if chosen else counted_languages(corpus)
    known = set(reads) or {ENGLISH}
    others = [code for code in that_count(found) if code not in known]
    if not others:
        return ""
    share = 1 - sum(found.get(code, 0) for code in known) / sum(found.values())
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
    """The line that runs a command with an encoder of many languages."""
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
