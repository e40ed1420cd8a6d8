"""HARP's four tasks from hyperlinks and their anchor texts (Ma et al., "Pre-training for Ad-hoc Retrieval: Hyperlink is
Also You Need", CIKM 2021).

Words are drawn by the attention that a Transformer gives them: from the anchor's tokens for queries (RQP, QDM), from
[CLS] for pages and sentences (RQP's negatives, RDP, ACM). A destination page is its abstract.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, islice
from random import Random

from structformer.lengths import first_words, word_count
from structformer.sampling.example import Census, Example
from structformer.sampling.neighbourhood import AnchoredSentence, Neighbourhood, WordWeights
from structformer.sampling.task import Need, Task
from structformer.sampling.view import nearly_equal, word_set
from structformer.text.stop_words import STOP_WORDS

POISSON_MEAN = 3.0
_QDM_PAIRS = 10  # of one query, at most, in the released code
_ACM_RELEASED_WORDS = 250


def representative_query_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """RQP: which of two queries represents a page. The positive is an anchor text and words of its sentence, drawn by
    the attention from the anchor; the negative are words of the page itself, drawn by the attention from [CLS].

    Source: HARP, section 3.2.1 ("Representative Query Prediction"), eq. 1-6. The negative never holds a word of the
    anchor."""
    weights = _weights(here)
    for sentence, place, page in _destinations(here, census, "rqp"):
        reference = sentence.references[place]
        query = _anchor_query(sentence, place, weights, rng)
        anchor_words = word_set(reference.text)
        drawn = draw_words(
            {word: weight for word, weight in weights.weights(page).items() if word not in anchor_words}, rng
        )
        if not drawn:
            census.drop("rqp", "no words to draw from the page")
            continue
        yield Example(
            "rqp", (query, " ".join(drawn)), (page, page), here.view.document.id, (sentence.section, sentence.section)
        )


def query_disambiguation_modeling(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """QDM: which page an anchor text means, in its sentence, of those that links with this anchor text lead to.

    Source: HARP, section 3.2.2 ("Query Disambiguation Modeling"), eq. 7. Queries as in RQP. With
    `compat="released-code"` every other page makes a pair, up to ten; else one is drawn.
    """
    weights = _weights(here)
    released = here.view.options.compat == "released-code"
    for sentence, place, page in _destinations(here, census, "qdm"):
        reference = sentence.references[place]
        others = [number for number in here.anchor_targets(reference.text) if number != reference.target]
        others = [
            number for number in others if here.pages.abstract(number) and not _same(page, here.pages.abstract(number))
        ]
        if not others:
            census.drop("qdm", "anchor text of one page only")
            continue
        query = _anchor_query(sentence, place, weights, rng)
        for other in others[:_QDM_PAIRS] if released else [rng.choice(others)]:
            documents = (page, here.pages.abstract(other))
            yield Example("qdm", (query, query), documents, here.view.document.id, (sentence.section, -1))


def representative_document_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """RDP: which of two pages that a sentence links to matters more to it, by the attention of [CLS] to their anchors.

    Source: HARP, section 3.2.3 ("Representative Document Prediction"), eq. 8-9. Two anchors are drawn; with
    `compat="released-code"` all pairs are made.
    """
    weights = _weights(here)
    for sentence in here.anchored_sentences():
        found = _distinct(sentence, here)
        if len(found) < 2:
            census.drop("rdp", "sentence with one linked page")
            continue
        by_word = weights.weights(sentence.text)
        importance = {
            place: sum(by_word.get(word, 0.0) for word in word_set(sentence.references[place].text)) for place in found
        }
        pairs = list(combinations(found, 2))
        for first, second in pairs if here.view.options.compat == "released-code" else [rng.choice(pairs)]:
            more, less = (first, second) if importance[first] >= importance[second] else (second, first)
            if importance[more] == importance[less]:
                census.drop("rdp", "anchors of equal weight")
                continue
            documents = tuple(here.pages.abstract(sentence.references[place].target) for place in (more, less))
            if _same(*documents):
                census.drop("rdp", "pages of the same text")
                continue
            yield Example("rdp", (sentence.text,) * 2, documents, here.view.document.id, (sentence.section,) * 2)


def anchor_cooccurrence_modeling(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """ACM: the page of an anchor that stands in one sentence with the query's anchor, against a random page.

    Source: HARP, section 3.2.4 ("Anchor Co-occurrence Modeling"), eq. 10. The query is an anchor text and words drawn
    from its page by the attention from [CLS]. With `compat="released-code"` documents are cut at 250 words."""
    weights = _weights(here)
    excluded = {here.number, *here.see_also, *(reference.target for reference in here.references)}
    for sentence in here.anchored_sentences():
        found = _distinct(sentence, here)
        if len(found) < 2:
            census.drop("acm", "sentence with one linked page")
            continue
        asking, answering = rng.sample(found, 2)
        reference = sentence.references[asking]
        anchor_words = word_set(reference.text)
        context = weights.weights(here.pages.abstract(reference.target))
        drawn = draw_words({word: weight for word, weight in context.items() if word not in anchor_words}, rng)
        query = " ".join([reference.text, *drawn])
        positive = here.pages.abstract(sentence.references[answering].target)
        others = here.random_pages(rng, excluded, here.pages.abstract, 1, here.view.options.min_words)
        if not others or _same(positive, here.pages.abstract(others[0])):
            census.drop("acm", "no page to contrast with")
            continue
        documents = [positive, here.pages.abstract(others[0])]
        if here.view.options.compat == "released-code":
            documents = [first_words(document, _ACM_RELEASED_WORDS) for document in documents]
        yield Example("acm", (query, query), tuple(documents), here.view.document.id, (sentence.section, -1))


def attention_requests(here: Neighbourhood) -> Iterator[tuple[str, int, int]]:
    """What the four tasks will ask of the attention at this document: (text, start, end), an empty span for [CLS]."""
    for sentence in here.anchored_sentences():
        yield sentence.text, 0, 0
        for reference, (start, end) in zip(sentence.references, sentence.spans, strict=True):
            yield sentence.text, start, end
            if page := here.pages.abstract(reference.target):
                yield page, 0, 0


def draw_words(weights: Mapping[str, float], rng: Random) -> list[str]:
    """Distinct words drawn by weight without replacement; their number is Poisson with mean 3, at least 1.

    Source: HARP, eq. 4-5. Stop words are left out.
    """
    words = [(word, weight) for word, weight in sorted(weights.items()) if weight > 0 and word not in STOP_WORDS]
    # Efraimidis and Spirakis 2006: the largest u^(1/w) are a weighted sample without replacement.
    keyed = sorted(((math.log(1.0 - rng.random()) / weight, word) for word, weight in words), reverse=True)
    return [word for _, word in keyed[: max(1, poisson(rng, POISSON_MEAN))]]


def poisson(rng: Random, mean: float) -> int:
    """A Poisson number (Knuth's method)."""
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count


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
    """Places of a sentence's references to pages with words enough, the first to each page."""
    found: dict[int, int] = {}
    for place, reference in enumerate(sentence.references):
        if word_count(here.pages.abstract(reference.target)) >= here.view.options.min_words:
            found.setdefault(reference.target, place)
    return list(islice(found.values(), 64))


def _anchor_query(sentence: AnchoredSentence, place: int, weights: WordWeights, rng: Random) -> str:
    reference, (start, end) = sentence.references[place], sentence.spans[place]
    anchor_words = word_set(reference.text)
    found = weights.weights(sentence.text, start, end)
    return " ".join(
        [reference.text, *draw_words({word: weight for word, weight in found.items() if word not in anchor_words}, rng)]
    )


def _same(first: str, second: str) -> bool:
    return nearly_equal(word_set(first), word_set(second))


_PAPER = "Ma et al., HARP, CIKM 2021"
_NEEDS = Need.LINKS | Need.ATTENTION
TASKS = (
    Task(
        "rqp",
        representative_query_prediction,
        "harp",
        True,
        _NEEDS,
        replaceable=False,
        source=f"{_PAPER}, section 3.2.1",
    ),
    Task(
        "qdm",
        query_disambiguation_modeling,
        "harp",
        True,
        _NEEDS | Need.ANCHORS,
        replaceable=False,
        source=f"{_PAPER}, section 3.2.2",
    ),
    Task(
        "rdp",
        representative_document_prediction,
        "harp",
        True,
        _NEEDS,
        replaceable=False,
        source=f"{_PAPER}, section 3.2.3",
    ),
    Task(
        "acm", anchor_cooccurrence_modeling, "harp", True, _NEEDS, replaceable=False, source=f"{_PAPER}, section 3.2.4"
    ),
)
