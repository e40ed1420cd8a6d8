"""Which languages a corpus is in: those that its documents declare, or that their texts tell."""

from collections import Counter
from collections.abc import Mapping

from structformer.corpus.corpus import Corpus
from structformer.text.languages import ENGLISH, declared_code, language_of

_SAMPLE = 100  # documents, where none declares its language
_SHARE = 0.05  # of the documents, at least, that are in a language which counts
_FEWEST = 3  # documents
_SURELY = 0.9  # a page of code is taken for many a language with less
_LEAST_TEXT = 200  # characters that tell a language among many


def corpus_languages(corpus: Corpus) -> tuple[str, ...]:
    """Codes of the languages that documents declare, else that a sample is surely in, else English. That of most
    documents is first; of the others those of a twentieth of the documents.
    """
    return tuple(that_count(counted_languages(corpus))) or (ENGLISH,)


def counted_languages(corpus: Corpus) -> dict[str, int]:
    """Return how many documents declare each language, by its code, or else of a sample how many are surely in it."""
    rows = (row for shard in corpus.shards for row in corpus.rows(shard, "documents", ["language"]))
    counts = Counter(declared_code(row["language"]) for row in rows)
    undeclared = counts.pop("", 0)
    if undeclared > counts.total():
        counts = _sampled(corpus)
    return dict(counts)


def that_count(counts: Mapping[str, int]) -> list[str]:
    """Return the most frequent language, then those of a twentieth of the documents. counts: documents by language."""
    ranked = sorted(counts, key=lambda code: (-counts[code], code))
    least = max(_FEWEST, _SHARE * sum(counts.values()))
    return [*ranked[:1], *(code for code in ranked[1:] if counts[code] >= least)]


def corpus_language(corpus: Corpus) -> str:
    """Return the language that most documents are in, as a two-letter code."""
    return corpus_languages(corpus)[0]


def _sampled(corpus: Corpus) -> Counter[str]:
    """Return the languages of a hundred documents, from all over the corpus."""
    count = corpus.document_count
    counts: Counter[str] = Counter()
    unsure: Counter[str] = Counter()
    for document in corpus.documents_at(range(0, count, max(1, count // _SAMPLE))):
        text = document.root.subtree_text()
        if len(text) >= _LEAST_TEXT and (language := language_of(text, surely=_SURELY)):
            counts[language] += 1
        elif language := language_of(text):
            unsure[language] += 1
    return counts or unsure
