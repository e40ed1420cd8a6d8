"""PROP's task as its authors' scripts draw it (Albert-Ma/PROP on GitHub, `prop/`, with `--stem`): the language model is
of stems of words of letters, and a drawn stem is shown as one of its words. Stems are Snowball's of English.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import tantivy
from structformer.corpus import Corpus
from structformer.document import Document
from structformer.sampling import (
    Census,
    CollectionCounts,
    Example,
    Ground,
    Neighbourhood,
    ShardCounts,
    Survey,
    Task,
    document_model,
    document_text,
    left_out,
    most_frequent,
    word_set_examples,
    write_collection,
)

NAME = "rop-released"
_LETTERS = re.compile(r"[a-z]+")
_BUILDER = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
_STEMMER = _BUILDER.filter(tantivy.Filter.stemmer("english")).build()
_AT_ONCE = 10_000  # documents that are counted together
_MOST_WORDS = 1_000_000  # whose stems are known, when there are very many


def stemmed(document: Document, stop_words: frozenset[str]) -> list[tuple[str, str]]:
    """Return (stem, word) of each run of letters of a document that is not a stop word, its title first."""
    text = f"{document.title}\n{document_text(document)}"
    words = [word for word in _LETTERS.findall(text.lower()) if word not in stop_words]
    return list(zip(_STEMMER.analyze(" ".join(words)), words, strict=True))


class Stems:
    """Results of the survey: the counts of the collection's stems, and the words of each."""

    def __init__(self, folder: Path) -> None:
        self.collection = CollectionCounts(folder / "collection.json")
        self._words: dict[str, dict[str, int]] = json.loads((folder / "stems.json").read_text(encoding="utf-8"))

    def word(self, stem: str, rng: Random) -> str:
        """Return one of a stem's words, drawn by log(count + 1)."""
        words = self._words.get(stem, {stem: 1})
        return rng.choices(list(words), [math.log(count + 1) for count in words.values()])[0]


def write_stems(ground: Ground, folder: Path) -> None:
    """Count the stems of all documents that are neither held out nor short, and the words of each."""
    counts, words = ShardCounts(), Counter[tuple[str, str]]()
    parts: list[Path] = []
    stop_words = left_out(ground.options.stop_words)

    def written() -> None:
        parts.append(folder / f"part-{len(parts)}")
        parts[-1].mkdir()
        counts.write(parts[-1])

    for number, document in enumerate(Corpus.open(ground.workspace).documents()):
        if ground.pages.title(number):
            pairs = stemmed(document, stop_words)
            counts.add([stem for stem, _ in pairs])
            words.update(pairs)
        if number % _AT_ONCE == _AT_ONCE - 1:
            written()
            counts = ShardCounts()
            words = most_frequent(words, _MOST_WORDS) if len(words) > 2 * _MOST_WORDS else words
    written()
    write_collection(parts, folder / "collection.json")
    by_stem: dict[str, dict[str, int]] = {}
    for (stem, word), count in sorted(most_frequent(words, _MOST_WORDS).items()):
        by_stem.setdefault(stem, {})[word] = count
    (folder / "stems.json").write_text(json.dumps(by_stem), encoding="utf-8")


def representative_stems_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """ROP over stems: which of two word sets the document's language model makes likelier."""
    stems: Stems = here.surveyed
    text = here.title_and_head()
    own = [stem for stem, _ in stemmed(here.view.document, left_out(here.view.options.stop_words))]
    model = document_model(here, text, rng, census, NAME, (own, stems.collection))
    if model is None:
        return
    drawn = (lambda size: model.draw(size, rng), model.log_likelihood)
    for example in word_set_examples(NAME, here, text, drawn, rng, census):
        shown = (" ".join(stems.word(stem, rng) for stem in query.split()) for query in example.queries)
        yield replace(example, queries=tuple(shown))


TASK = Task(
    NAME,
    representative_stems_prediction,
    "papers",
    in_corpus=True,
    replaceable=False,
    source="Ma et al., PROP, WSDM 2021, released code",
    survey=Survey("stems", write_stems, Stems),
)
