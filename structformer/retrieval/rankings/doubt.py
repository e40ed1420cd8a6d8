"""How likely the first document that a search finds is one that was asked for: of the hybrid by how its parts agree, of
words alone by how much of the query it has.

No judgement of the corpus is needed: the coefficients are those of a logistic regression over the judged sets of
docs/why-it-works.md, their unanswerable questions, and their questions without the right documents; they hold on sets
left out of it."""

import math

import numpy as np
import numpy.typing as npt

from structformer.document import word_count
from structformer.retrieval.rankings.hybrid_score import PARTS, Floats, FusionWeights
from structformer.text.words import RUN

_COEFFICIENTS = (-4.72, 2.27, 0.2, 0.95, 2.71)  # of 1, agreement, lead, presence, what is held
_PRESENT = PARTS.index("present")
_SAYS = np.array([name not in ("present", "called") for name in PARTS])
_COUNTS = 0.01  # the least weight of a part that has a say
# What each word of a question beyond six adds to the logit, up to fourteen: a sentence in one's own words is never held
# whole. With a pretrained encoder and without one, which also begins lower; chosen on five sites, and on two.
_PER_WORD, _PER_WORD_ALONE, _ALONE = 0.15, 0.12, -0.17
_SHORT, _LONG = 6, 14  # words
_FEW = 3  # documents; fewer say nothing about a lead
_EVEN, _POWER = 1.4, 1.2  # of a search by words: where both outcomes are as likely, and how soon that changes
PARTS_OF_A_NAME = 0.3  # what is left of the likelihood where no page has the whole of the name that is asked for
_NEXT = 9  # documents that the first one is compared with


def likely_right(
    parts: Floats,
    totals: Floats,
    owners: npt.NDArray[np.int64],
    first: int,
    held: float,
    weights: FusionWeights,
    query: str,
) -> float:
    """Between 0 and 1; 0 where nothing was found. It grows with

    - the mean reciprocal rank of the first document by each part that counts,
    - its lead over the mean of the next nine, in units of the score,
    - how much of the query its best passage has, by how rare the words are (not of a script without spaces, whose
      pairs of characters are often of two words),
    - how much of it one document has, release logs apart: of what the corpus does not tell of, none has all the words,
    - and its length, since the longer a question the less of it any page has.

    parts: (candidates, parts); totals: (candidates,) the hybrid's score; owners: (candidates,) their documents,
    ascending; first: the first document; held: the most of the query that a document has (`LexicalIndex.coverage`).
    """
    if not len(totals):
        return 0.0
    starts = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
    place = int(np.searchsorted(owners[starts], first))
    says = parts[:, _SAYS & (weights.as_array() > _COUNTS)]
    scores, counted = np.maximum.reduceat(totals, starts), np.maximum.reduceat(says, starts, axis=0)
    ranks = 1 + (counted > counted[place]).sum(0)
    # A part in which it has nothing does not agree; a sole candidate is the least too.
    telling = counted[place] > (says.min(0) if len(starts) >= _FEW else 0.0)
    agreement = float(np.where(telling, 1 / ranks, 0.0).mean())
    best = int(np.where(owners == first, totals, -np.inf).argmax())
    present = held if RUN.search(query) else float(parts[best, _PRESENT])
    others = np.sort(np.delete(scores, place))[::-1][:_NEXT]
    unit = float(np.linalg.norm(weights.as_array())) or 1.0
    lead = (float(scores[place]) - float(others.mean())) / unit if len(others) > 1 else 0.0
    logit = float(np.dot(_COEFFICIENTS, (1.0, agreement, lead, present, held)))
    logit += _ALONE + _allowance(query, _PER_WORD_ALONE) if weights.static_alone else _allowance(query, _PER_WORD)
    return 1 / (1 + math.exp(-logit))


def _allowance(query: str, per_word: float) -> float:
    return per_word * max(0, min(word_count(query), _LONG) - _SHORT)


def likely_by_words(share: float, query: str) -> float:
    """The same of a search by words alone, by the share of the query that its first unit has (`LexicalIndex.share`)."""
    grown = float(share**_POWER) * math.exp(_allowance(query, _PER_WORD_ALONE))
    return grown / (grown + _EVEN)
