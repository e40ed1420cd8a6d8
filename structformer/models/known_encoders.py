"""Sentence encoders that serve well, with what their makers say of them. What a model's own files say comes first; this
table has the prompts where they leave them out, as those of E5 and BGE do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_E5 = "query: ", "passage: "
_BGE = "Represent this sentence for searching relevant passages: "
_MTEB = "nDCG@10 on MTEB's retrieval tasks in English, by the README of snowflake-arctic-embed"
_MTEB_OF_OTHERS = "nDCG@10 on MTEB's retrieval tasks in English, by the README of FlagEmbedding, BGE's makers"
_C_MTEB = "nDCG@10 on C-MTEB's retrieval tasks, which are Chinese, by the README of FlagEmbedding"
_BEIR = "nDCG@10 on BEIR, by the model card of mdbr-leaf-ir"


@dataclass(frozen=True, slots=True)
class KnownEncoder:
    """An encoder on the hub. megabytes: of its weights, about; languages: "en", or "many"; query, document: the prompts
    that its makers ask for; pooling: "mean" or "cls"; retrieval: a figure of how well it finds, None where none is
    known for certain; source: what that figure is, and who says so.
    """

    name: str
    megabytes: int
    dimensions: int
    languages: str
    licence: str
    query: str = ""
    document: str = ""
    pooling: str = "mean"
    retrieval: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class KnownPair:
    """An encoder of passages and a smaller one of queries, made to share its vector space. retrieval, source: as of a
    KnownEncoder.
    """

    documents: str
    queries: str
    retrieval: float
    source: str


PAIRS = (
    KnownPair(
        "Snowflake/snowflake-arctic-embed-m-v1.5",
        "MongoDB/mdbr-leaf-ir",
        54.03,
        _BEIR,
    ),
)

# Pre-trained for their [CLS]; no sentence encoders before they are trained.
_CONDENSERS = frozenset({"Luyu/condenser", "Luyu/co-condenser-wiki", "Luyu/co-condenser-marco"})

KNOWN = {
    each.name: each
    for each in (
        KnownEncoder(
            "sentence-transformers/all-MiniLM-L6-v2", 91, 384, "en", "Apache-2.0", retrieval=41.95, source=_MTEB
        ),
        KnownEncoder("Snowflake/snowflake-arctic-embed-xs", 90, 384, "en", "Apache-2.0", _BGE, "", "cls", 50.15, _MTEB),
        KnownEncoder("Snowflake/snowflake-arctic-embed-s", 133, 384, "en", "Apache-2.0", _BGE, "", "cls", 51.98, _MTEB),
        KnownEncoder("Snowflake/snowflake-arctic-embed-m", 436, 768, "en", "Apache-2.0", _BGE, "", "cls", 54.90, _MTEB),
        KnownEncoder("Snowflake/snowflake-arctic-embed-m-v1.5", 436, 768, "en", "Apache-2.0", _BGE, "", "cls"),
        KnownEncoder("MongoDB/mdbr-leaf-ir", 92, 768, "en", "Apache-2.0", _BGE, retrieval=53.55, source=_BEIR),
        KnownEncoder("BAAI/bge-small-en-v1.5", 133, 384, "en", "MIT", _BGE, "", "cls", 51.68, _MTEB_OF_OTHERS),
        KnownEncoder("BAAI/bge-base-en-v1.5", 438, 768, "en", "MIT", _BGE, "", "cls", 53.25, _MTEB_OF_OTHERS),
        KnownEncoder("intfloat/e5-small-v2", 133, 384, "en", "MIT", *_E5, "mean", 49.04, _MTEB_OF_OTHERS),
        KnownEncoder("intfloat/multilingual-e5-small", 471, 384, "many", "MIT", *_E5, "mean", 59.95, _C_MTEB),
        KnownEncoder("intfloat/multilingual-e5-base", 1112, 768, "many", "MIT", *_E5, "mean", 61.63, _C_MTEB),
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
    """How the makers of an encoder on the hub pool, where its files don't say; None where nobody here knows."""
    if name in _CONDENSERS:
        return "cls"
    return KNOWN[name].pooling if name in KNOWN else None
