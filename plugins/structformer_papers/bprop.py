"""B-PROP's task (Ma et al., "B-PROP: Bootstrapped Pre-training with Representative Words Prediction for Ad-hoc
Retrieval", SIGIR 2021): word sets drawn by what [CLS] attends to more in a document than in the corpus.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from structformer.sampling import (
    Census,
    Example,
    Ground,
    Need,
    Neighbourhood,
    Survey,
    Task,
    Texts,
    TextWriter,
    left_out,
    most_frequent,
    title_and_head,
    word_set_examples,
)

_SATURATION = 0.01
_DIGITS = 4  # values are rounded, so that how texts were batched cannot change which words are drawn
_AT_ONCE = 256  # documents whose attention is asked for together
_MOST_WORDS = 2_000_000  # of the corpus's distribution; of more the least attended go
_FEWEST_WORDS = 10
_MOST_CONTRAST = 100.0
_SHORT_PIECES = 200


def saturated(attention: Mapping[str, float]) -> dict[str, float]:
    """Return [CLS]'s attention to each word as a value below one: a / (a + 0.01)."""
    return {word: weight / (weight + _SATURATION) for word, weight in attention.items()}


def contrasts(values: Mapping[str, float], corpus: Mapping[str, float], stop_words: frozenset[str]) -> dict[str, float]:
    """min(-P(w) log2 R(w), 100) for each word of letters that is not a stop word.

    values: saturated attention, which P is by its sum; corpus: R, the corpus's mean of it, normalised. Source: B-PROP,
    section 3.2 (cross entropy of document and random distribution), with the cap of the released code.
    """
    total = sum(values.values())
    return {
        word: min(value / total * -math.log2(corpus[word]), _MOST_CONTRAST)
        for word, value in sorted(values.items())
        if word.isalpha() and word not in stop_words and value > 0 and word in corpus
    }


class ContrastModel:
    """Draws word sets by the softmax of the contrasts, without replacement while there are words enough."""

    def __init__(self, contrast: Mapping[str, float], rng: Random) -> None:
        self._contrast = contrast
        self._rng = rng
        largest = max(contrast.values())
        self._weights = {word: math.exp(value - largest) for word, value in contrast.items()}

    def draw(self, size: int) -> list[str]:
        """Return a set of that many words."""
        if size >= len(self._weights):
            return self._rng.choices(list(self._weights), list(self._weights.values()), k=size)
        # Efraimidis and Spirakis 2006: the largest u^(1/w) are a weighted sample without replacement.
        keyed = [(math.log(1.0 - self._rng.random()) / weight, word) for word, weight in self._weights.items()]
        return [word for _, word in sorted(keyed, reverse=True)[:size]]

    def score(self, words: Sequence[str]) -> float:
        """Return the sum of the words' contrasts."""
        return sum(self._contrast[word] for word in words)


class Attended:
    """Results of the survey: each document's tokens and saturated attention, and the corpus's distribution."""

    def __init__(self, folder: Path) -> None:
        self._documents = Texts(folder / "documents.arrow")
        self.corpus: dict[str, float] = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))

    def document(self, number: int) -> tuple[int, dict[str, float]]:
        """Return (tokens, value by word) of a document that is not held out."""
        pieces, values = json.loads(self._documents[number])
        return pieces, values


def write_attended(ground: Ground, folder: Path) -> None:
    """The first pass: the attention of [CLS] in every document, and its mean over all of them."""
    assert ground.weights is not None
    sums: Counter[str] = Counter()
    documents = TextWriter(folder / "documents.arrow")
    for start in range(0, ground.pages.count, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, ground.pages.count))
        shown = {number: title_and_head(ground.pages, number) for number in numbers if ground.pages.head(number)}
        attended = dict(zip(shown, ground.weights.first_pieces(list(shown.values())), strict=True))
        for number in numbers:
            if number not in attended:
                documents.add("")
                continue
            pieces, attention = attended[number]
            values = {word: round(value, _DIGITS) for word, value in saturated(attention).items()}
            sums.update({word: value for word, value in values.items() if value})
            documents.add(json.dumps([pieces, values], ensure_ascii=True))
        if len(sums) > 2 * _MOST_WORDS:
            sums = most_frequent(sums, _MOST_WORDS)
    documents.close()
    sums = most_frequent(sums, _MOST_WORDS)
    total = sum(sums.values())  # the mean is the sum by the number of documents, which normalising takes out
    corpus = {word: value / total for word, value in sums.items()}
    (folder / "corpus.json").write_text(json.dumps(corpus, ensure_ascii=True), encoding="utf-8")


def bootstrapped_words_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """B-PROP: which of two word sets of equal size has the higher sum of contrasts.

    Source: B-PROP, section 3, and its released code: documents of fewer than ten words to draw are left out.
    """
    attended: Attended = here.surveyed
    options = here.view.options
    pieces, values = attended.document(here.number)
    if pieces < _SHORT_PIECES and options.keep_short < 1 and rng.random() >= options.keep_short:
        census.drop("bprop", "one of the short documents that are left out")
        return
    # The released code leaves no stop words out.
    stop_words = left_out(options.stop_words) if options.compat == "paper" else frozenset[str]()
    contrast = contrasts(values, attended.corpus, stop_words)
    if len(contrast) < _FEWEST_WORDS:
        census.drop("bprop", "fewer than ten words to draw")
        return
    model = ContrastModel(contrast, rng)
    text = here.title_and_head()
    yield from word_set_examples("bprop", here, text, (model.draw, model.score), rng, census)


TASK = Task(
    "bprop",
    bootstrapped_words_prediction,
    "papers",
    in_corpus=True,
    needs=Need.ATTENTION,
    replaceable=False,
    source="Ma et al., B-PROP, SIGIR 2021, section 3",
    survey=Survey("bprop", write_attended, Attended),
)
