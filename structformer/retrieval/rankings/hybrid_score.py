"""How the hybrid puts a unit's scores together, for every search, training and judgement alike: each part is brought to
one unit over the query's own candidates, then the parts are summed with weights that are the same for every corpus. And
reciprocal rank fusion.

Cosines of one encoder lie between .75 and .9, of another between -.1 and .7, and a BM25 score has no limit. What tells
candidates apart is how far a score stands out among those of the same query; scale and zero point tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from structformer.document import word_count
from structformer.retrieval.rankings.ranking import Ranked, Ranking, top_k
from structformer.text.id_marks import VERSION

RRF_K = 60
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """How much each of a unit's scores counts, in standard deviations over the query's candidates."""

    dense: float = 0.0
    """The unit's cosine."""
    overview: float = 0.0
    """Its document's overview's cosine."""
    lexical: float = 0.0
    """Its BM25 score."""
    document: float = 0.0
    """Its whole document's BM25 score."""
    structure: float = 0.0
    """The static encoder's cosine of the unit; 0 where that encoder takes no part."""
    structure_overview: float = 0.0
    """The static encoder's cosine of the overview."""
    described: float = 0.0
    """The cosine of the sentence that describes the document best (descriptions.py); 0 where none are kept."""
    present: float = 0.0
    """How much of the query the unit has as it is written, by how rare that is (`LexicalIndex.presence`)."""
    called: float = 0.0
    """How much of the query others call its document by, where they link to it (`LexicalIndex.called`)."""
    look: float = 0.0
    """The second look at the first passages (second_look.py): of each document the best of them counts. No part of the
    sum over all candidates; 0 where no token vectors are kept.
    """
    static_alone: bool = False
    """Whether the encoder of `dense` and `overview` is the static one."""

    def as_array(self) -> Floats:
        """Return (parts,) float64."""
        return np.array([getattr(self, name) for name in PARTS], np.float64)

    def asked(self, query: str) -> FusionWeights:
        """The weights for a query. The static encoder's vector is a sum over words, and tells less the more there
        are; of scripts without spaces, where it is one over pairs of characters, it does not. A one-word
        query, of Chinese or Thai too, is treated as a name: exact matches first, and link texts count more than
        meaning. So is the version in a short one, which means nothing to an encoder.
        """
        if word_count(query) == 1:
            called = ONE_NAME_CALLED if self.called else 0.0
            meaning = {name: ONE_NAME_MEANING * getattr(self, name) for name in MEANING}
            return replace(self, present=ONE_NAME, called=called, look=0.0, **meaning)
        share = min(1.0, STATIC_WORDS / max(1, len(query.split())))
        names = ("dense", "overview") if self.static_alone else ("structure", "structure_overview")
        present = A_VERSION if len(query.split()) <= STATIC_WORDS and VERSION.search(query) else self.present
        return replace(self, present=present, **{name: share * getattr(self, name) for name in names})

    @property
    def with_structure(self) -> bool:
        """Whether the static encoder takes part beside another one."""
        return self.structure > 0 or self.structure_overview > 0

    @property
    def overview_share(self) -> float:
        """Weight of the overview's cosine against the unit's to find candidates; 0 if the unit's counts nothing."""
        return self.overview / self.dense if self.dense else 0.0

    @property
    def static_overview_share(self) -> float:
        """The same of the static encoder's cosines."""
        return self.structure_overview / self.structure if self.structure else 0.0

    @property
    def counted(self) -> dict[str, float]:
        """The weights that count, by name, that of a second look among them."""
        return {name: value for name in (*PARTS, "look") if (value := getattr(self, name))}


PARTS = tuple(each.name for each in fields(FusionWeights))[:9]
MEANING = ("dense", "overview", "structure", "structure_overview", "described")
_WITH_PRETRAINED = FusionWeights(1.0, 0.4, 0.7, 0.5, 0.7, 0.15, 0.4, 0.1, 0.1)
_OF_ONE_OUTLINE = 0.4  # `structure_overview` where all documents follow one
_NOTHING_PRETRAINED = FusionWeights(dense=1.0, overview=1.0, lexical=0.8, document=0.6, called=0.2, static_alone=True)
_UNREAD = replace(  # what words and structure count by themselves, and hardly more
    _NOTHING_PRETRAINED,
    dense=1e-6,
    overview=0.4e-6,
    structure=_NOTHING_PRETRAINED.dense,
    structure_overview=_NOTHING_PRETRAINED.overview,
    static_alone=False,
)
ONE_NAME = 3.0  # the weight of having a query that is one name
ONE_NAME_CALLED = 0.6  # there the weight of what others call a document
ONE_NAME_MEANING = 0.2  # there the share of what meaning counts otherwise
A_VERSION = 2.0  # the weight of having a short query with a version as it is written
LOOK = 0.8  # the weight of a second look
RELEASE_LOG = 2.0  # what a log of releases loses, in standard deviations of a part of weight 1
STATIC_WORDS = 5  # up to as many words of a query the static encoder counts in full


def fusion_weights(
    *,
    pretrained: bool,
    structure: bool = False,
    described: bool = False,
    reads: float = 1.0,
    own_outlines: float = 1.0,
    look: float = 0.0,
) -> FusionWeights:
    """Those of every corpus, chosen on many at once (docs/why-it-works.md). pretrained: the encoder read other texts
    before; else it is the static one. structure: the static encoder takes part beside it; described: descriptions are
    kept; reads: how well the encoder reads the corpus, between 0 and 1. One that can't has no say. own_outlines: how
    far documents have outlines of their own, between 0 and 1. Where all follow one, their passages are alike, and what
    structure taught of the document as a whole tells more. look: how much a second look counts, between 0 and 1.
    """
    if not pretrained:
        return _NOTHING_PRETRAINED
    overview = own_outlines * _WITH_PRETRAINED.structure_overview + (1 - own_outlines) * _OF_ONE_OUTLINE
    full, none = replace(_WITH_PRETRAINED, structure_overview=overview).as_array(), _UNREAD.as_array()
    shares = dict(zip(PARTS, (reads * full + (1 - reads) * none).tolist(), strict=True))
    weights = FusionWeights(look=reads * look * LOOK, **shares)
    if not structure:
        weights = replace(weights, structure=0.0, structure_overview=0.0)
    return weights if described else replace(weights, described=0.0)


def scaled_weights(parts: Floats, weights: Floats) -> Floats:
    """(parts,) what each part's own unit counts for one query. parts: (candidates, parts); weights: (parts,). A part
    that is the same for all candidates counts nothing.
    """
    deviations = parts.std(0) if len(parts) else np.zeros(parts.shape[1])
    told = deviations > _NO_SPREAD
    return np.where(told, weights / np.where(told, deviations, 1.0), 0.0)


def contributions(parts: Floats, weights: FusionWeights) -> Floats:
    """Return (candidates, parts): each part's weight times its distance from the candidates' mean, in deviations."""
    if not len(parts):
        return parts
    weighed: Floats = (parts - parts.mean(0)) * scaled_weights(parts, weights.as_array())
    return weighed


def looked_again(totals: Floats, looks: Floats, owners: Numbers, weights: FusionWeights) -> tuple[Floats, Floats]:
    """(passages,) scores after a second look, and the look of each one's document. totals: the scores before it."""
    documents, places = np.unique(owners, return_inverse=True)
    best = np.full(len(documents), -np.inf)
    np.maximum.at(best, places, looks)
    by_document = best[places]
    scale = scaled_weights(by_document[:, None], np.array([weights.look]))
    return totals + scale * (by_document - by_document.mean()), by_document


def what_parts_give(ranking: Ranking, weights: FusionWeights) -> dict[str, tuple[float, float, float]]:
    """By each part that counts for a ranked query: its weight, its mean over the candidates, and what one of its own
    units gives. "look" is among them where the first passages were looked at again; the others have none. "release_log"
    takes from the logs of releases.
    """
    units = list(ranking.scores.get("dense", {}))
    kept = [ranking.scores.get(name, {}) for name in PARTS]
    parts = np.array([[scores.get(unit, 0.0) for scores in kept] for unit in units], np.float64).reshape(-1, len(PARTS))
    means = parts.mean(0) if units else np.zeros(len(PARTS))
    asked = weights.asked(ranking.query)
    rows = [*zip(PARTS, asked.as_array(), means, scaled_weights(parts, asked.as_array()), strict=True)]
    if "look" in ranking.scores:
        looks = np.array(list(ranking.scores["look"].values()))
        [scale] = scaled_weights(looks[:, None], np.array([asked.look]))
        rows.append(("look", asked.look, looks.mean(), scale))
    if "release_log" in ranking.scores:
        rows.append(("release_log", RELEASE_LOG, 0.0, -RELEASE_LOG))
    return {name: (float(weight), float(mean), float(scale)) for name, weight, mean, scale in rows if weight}


def candidates(parts: Floats, weights: FusionWeights, allowed: npt.NDArray[np.bool_], k: int = 200) -> Numbers:
    """The places of what a search would look at, in order: of the allowed units the k best by the encoder, by words and
    by the static encoder. parts: (units, parts) of all units; allowed: (units,).
    """
    dense, overview, lexical, _, structure, structure_overview, *_ = parts.T
    ways = [dense + weights.overview_share * overview]
    if weights.with_structure:
        ways.append(structure + weights.static_overview_share * structure_overview)
    chosen = allowed & (lexical > 0)
    for scores in ways:
        allowed_scores = np.where(allowed, scores, -np.inf)
        best = np.argpartition(-allowed_scores, k)[:k] if len(allowed_scores) > k else np.arange(len(allowed_scores))
        chosen[best] = True
    return np.flatnonzero(chosen & allowed)


_NO_SPREAD = 1e-9


def reciprocal_rank_fusion(lists: Sequence[Sequence[tuple[int, float]]], k: int) -> Ranked:
    """Up to k (unit, fused score), best first, ties in unit order: the sum over lists of 1 / (60 + rank), ranks from 1
    (Cormack, Clarke and Buettcher, SIGIR 2009).
    """
    scores: dict[int, float] = {}
    for ranked in lists:
        for rank, (unit, _) in enumerate(ranked, 1):
            scores[unit] = scores.get(unit, 0.0) + 1.0 / (RRF_K + rank)
    return top_k(scores, k)
