"""HARP's four tasks from hyperlinks and their anchor texts (Ma et al., "Pre-training for Ad-hoc Retrieval: Hyperlink is
Also You Need", CIKM 2021).

Words are drawn by the attention that a Transformer gives them: from the anchor's tokens for queries (RQP, QDM), from
[CLS] for pages and sentences (RQP's negatives, RDP, ACM). A destination page is its abstract.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from random import Random

from structformer.document import first_words, word_count
from structformer.sampling import (
    MEAN_SIZE,
    AnchoredSentence,
    Census,
    Example,
    Need,
    Neighbourhood,
    Task,
    WordWeights,
    in_random_order,
    left_out,
    nearly_equal,
    positive_poisson,
    word_set,
)

_QDM_PAIRS = 10  # of one query, at most, in the released code
_LOOKED_AT = 256  # of an anchor text's pages, to find another one
_LEAST = 1e-6  # importance that an anchor outside the read part of a sentence has
_ACM_RELEASED_WORDS = 250


def representative_query_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """RQP: which of two queries represents a page. The positive is an anchor text and words of its sentence, drawn by
    the attention from the anchor; the negative are words of the page itself, drawn by the attention from [CLS].

    Source: HARP, section 3.2.1 ("Representative Query Prediction"), eq. 1-6. The negative never holds a word of the
    anchor."""
    weights = _weights(here)
    for sentence, place, page in _destinations(here, census, "rqp"):
        reference = sentence.references[place]
        query = _anchor_query(sentence, place, here, rng)
        drawn = _words(weights.weights(page), reference.text, here, rng)
        if not drawn:
            census.drop("rqp", "no words to draw from the page")
            continue
        yield Example(
            "rqp", (query, " ".join(drawn)), (page, page), here.view.document.id, (sentence.section, sentence.section)
        )


def query_disambiguation_modeling(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """QDM: which page an anchor text means, in its sentence, of those that links with this anchor text lead to.

    Source: HARP, section 3.2.2 ("Query Disambiguation Modeling"), eq. 9. Queries as in RQP. With
    `compat="released-code"` every other page makes a pair, up to ten; else one is drawn.
    """
    released = here.view.options.compat == "released-code"
    for sentence, place, page in _destinations(here, census, "qdm"):
        reference = sentence.references[place]
        targets = here.anchor_targets(reference.text)
        drawn = targets if released else in_random_order(rng, targets, _LOOKED_AT)
        abstracts = (here.pages.abstract(number) for number in drawn if number != reference.target)
        different = (other for other in abstracts if other and not _same(page, other))
        others = list(islice(different, _QDM_PAIRS if released else 1))
        if not others:
            census.drop("qdm", "anchor text of one page only")
            continue
        query = _anchor_query(sentence, place, here, rng)
        for other in others:
            yield Example("qdm", (query, query), (page, other), here.view.document.id, (sentence.section, -1))


def representative_document_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """RDP: which of two pages that a sentence links to matters more to it, by the attention of [CLS] to their anchors.

    Source: HARP, section 3.2.3 ("Representative Document Prediction"), eq. 10-12. An anchor's importance is what its
    own tokens get, those of anchors to one page added up; two anchors are drawn by it. With `compat="released-code"`
    all pairs are made.
    """
    weights = _weights(here)
    for sentence in here.anchored_sentences():
        targets = _distinct(sentence, here)
        if len(targets) < 2:
            census.drop("rdp", "sentence with one linked page")
            continue
        importance = _importance(sentence, targets, weights)
        released = here.view.options.compat == "released-code"
        for first, second in combinations(targets, 2) if released else [_drawn_pair(importance, rng)]:
            more, less = (first, second) if importance[first] >= importance[second] else (second, first)
            if importance[more] == importance[less]:
                census.drop("rdp", "anchors of equal weight")
                continue
            documents = tuple(here.pages.abstract(sentence.references[place].target) for place in (more, less))
            if _same(*documents):
                census.drop("rdp", "pages of the same text")
                continue
            yield Example("rdp", (sentence.text,) * 2, documents, here.view.document.id, (sentence.section,) * 2)


def _importance(sentence: AnchoredSentence, places: list[int], weights: WordWeights) -> dict[int, float]:
    """The importance of the anchors at these places: what [CLS] gives to all anchors of the sentence to their pages."""
    received = weights.span_weights(sentence.text, sentence.spans)
    by_page: dict[int, float] = {}
    for reference, weight in zip(sentence.references, received, strict=True):
        by_page[reference.target] = by_page.get(reference.target, 0.0) + weight
    return {place: by_page[sentence.references[place].target] for place in places}


def _drawn_pair(importance: Mapping[int, float], rng: Random) -> tuple[int, int]:
    """Return two places drawn by importance without replacement."""
    keyed = sorted((math.log(1.0 - rng.random()) / max(weight, _LEAST), place) for place, weight in importance.items())
    return keyed[-1][1], keyed[-2][1]


def anchor_cooccurrence_modeling(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """ACM: the page of an anchor in one sentence with the query's anchor, against a random page.

    Source: HARP, section 3.2.4 ("Anchor Co-occurrence Modeling"), eq. 13-14. The query is an anchor text and words
    drawn from its page by the attention from [CLS]. With `compat="released-code"` documents are cut at 250 words."""
    weights = _weights(here)
    excluded = {here.number, *here.see_also, *(reference.target for reference in here.references)}
    for sentence in here.anchored_sentences():
        targets = _distinct(sentence, here)
        if len(targets) < 2:
            census.drop("acm", "sentence with one linked page")
            continue
        asking, answering = rng.sample(targets, 2)
        reference = sentence.references[asking]
        drawn = _words(weights.weights(here.pages.abstract(reference.target)), reference.text, here, rng)
        query = " ".join([reference.text, *drawn])
        positive = here.pages.abstract(sentence.references[answering].target)
        documents = [positive, *here.random_pages(rng, excluded, here.pages.abstract, 1, positive).values()]
        if len(documents) < 2:
            census.drop("acm", "no page to contrast with")
            continue
        if here.view.options.compat == "released-code":
            documents = [first_words(document, _ACM_RELEASED_WORDS) for document in documents]
        yield Example("acm", (query, query), tuple(documents), here.view.document.id, (sentence.section, -1))


def draw_words(weights: Mapping[str, float], rng: Random, stop_words: frozenset[str]) -> list[str]:
    """Distinct words drawn by weight without replacement; their number is Poisson with mean 3, never 0.

    Source: HARP, eq. 4-5. Stop words are left out. Weights are divided by their sum, which is our reading of eq. 3.
    """
    words = [(word, weight) for word, weight in sorted(weights.items()) if weight > 0 and word not in stop_words]
    # Efraimidis and Spirakis 2006: the largest u^(1/w) are a weighted sample without replacement.
    keyed = sorted(((math.log(1.0 - rng.random()) / weight, word) for word, weight in words), reverse=True)
    return [word for _, word in keyed[: positive_poisson(rng, MEAN_SIZE)]]


def draw_words_as_released(weights: Mapping[str, float], rng: Random, stop_words: frozenset[str]) -> list[str]:
    """Words drawn with replacement by the softmax of their weights; their number is normal with mean 3 and deviation 1,
    cut to an integer, never 0.

    Source: HARP's released code (zhengyima/anchors, utils.py).
    """
    words = [word for word in sorted(weights) if word not in stop_words]
    size = 0
    while size < 1:
        size = int(rng.gauss(MEAN_SIZE, 1))
    return rng.choices(words, [math.exp(weights[word]) for word in words], k=size) if words else []


def _weights(here: Neighbourhood) -> WordWeights:
    if here.weights is None:
        raise ValueError("HARP's tasks need attention weights")
    return here.weights


def _destinations(here: Neighbourhood, census: Census, task: str) -> Iterator[tuple[AnchoredSentence, int, str]]:
    """(sentence, reference's place in it, destination's text) of each reference whose destination has words enough."""
    for sentence in here.anchored_sentences():
        for place, reference in enumerate(sentence.references):
            page = here.pages.abstract(reference.target)
            if word_count(page) < here.view.options.min_words:
                census.drop(task, "page too short")
            else:
                yield sentence, place, page


def _distinct(sentence: AnchoredSentence, here: Neighbourhood) -> list[int]:
    """Return places of a sentence's references to pages with words enough, the first to each page."""
    targets: dict[int, int] = {}
    for place, reference in enumerate(sentence.references):
        if word_count(here.pages.abstract(reference.target)) >= here.view.options.min_words:
            targets.setdefault(reference.target, place)
    return list(islice(targets.values(), 64))


def _anchor_query(sentence: AnchoredSentence, place: int, here: Neighbourhood, rng: Random) -> str:
    reference, (start, end) = sentence.references[place], sentence.spans[place]
    weights = _weights(here).weights(sentence.text, start, end)
    return " ".join([reference.text, *_words(weights, reference.text, here, rng)])


def _words(weights: Mapping[str, float], anchor: str, here: Neighbourhood, rng: Random) -> list[str]:
    """Words drawn by weight, none of the anchor's among them, but as in the released code where that is wanted."""
    stop_words = left_out(here.view.options.stop_words)
    if here.view.options.compat == "released-code":
        return draw_words_as_released(weights, rng, stop_words)
    anchor_words = word_set(anchor)
    kept = {word: weight for word, weight in weights.items() if word not in anchor_words}
    return draw_words(kept, rng, stop_words)


def _same(first: str, second: str) -> bool:
    return nearly_equal(word_set(first), word_set(second))


_PAPER = "Ma et al., HARP, CIKM 2021"
_NEEDS = Need.LINKS | Need.ATTENTION
TASKS = tuple(
    Task(name, draw, "harp", True, needs, replaceable=False, source=f"{_PAPER}, section 3.2.{number}")
    for number, (name, draw, needs) in enumerate(
        (
            ("rqp", representative_query_prediction, _NEEDS),
            ("qdm", query_disambiguation_modeling, _NEEDS | Need.ANCHORS),
            ("rdp", representative_document_prediction, _NEEDS),
            ("acm", anchor_cooccurrence_modeling, _NEEDS),
        ),
        start=1,
    )
)
