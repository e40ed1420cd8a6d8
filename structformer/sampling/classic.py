"""Classic pre-training tasks for retrieval; for now the inverse cloze task."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from structformer.passages import PASSAGE_WORDS, passages, query_like, sentences, with_path
from structformer.sampling.content import DocumentView
from structformer.sampling.example import Census, Example

_KEEP_SENTENCE = 0.1
_MIN_QUERY_WORDS, _MAX_QUERY_WORDS = 4, 40
# Long option tables would otherwise give most of the queries, and a page's description, which says what it is for, one.
_QUERIES_PER_PASSAGE = 3


def inverse_cloze(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """ICT: a sentence as query, the passage it stands in as positive, other sections' passages as negatives.

    Source: Lee et al., ACL 2019, section 4: the sentence is taken out of its passage in 90 % of cases. Up to three
    sentences of 4 to 40 words are drawn from each passage; a list item or table row counts as one, and of a row its
    longest cell is the query. Lists of see-also links take no part. The passage has its path in front, as the index
    shows it to the ranker; the negatives likewise.
    """
    cut: dict[int, list[str]] = {}
    for number, section in enumerate(view.sections):
        if section.text and not section.is_link_list:
            cut[number] = list(passages(section.text, PASSAGE_WORDS))
    numbered = list(cut)
    for number, pieces in cut.items():
        for piece in pieces:
            queries = [query_like(sentence) for sentence in sentences(piece)]
            queries = [query for query in queries if _MIN_QUERY_WORDS <= len(query.split()) <= _MAX_QUERY_WORDS]
            kept = sorted(rng.sample(range(len(queries)), min(len(queries), _QUERIES_PER_PASSAGE)))
            for query in (queries[place] for place in kept):
                passage = piece if rng.random() < _KEEP_SENTENCE else piece.replace(query, " ", 1)
                passage = "\n".join(line for line in (" ".join(line.split()) for line in passage.split("\n")) if line)
                wanted = len(numbered) if view.options.negatives is None else view.options.negatives
                drawn = rng.sample(numbered, min(len(numbered), 2 * wanted))
                drawn = [other for other in drawn if other != number and not view.same_text(other, number)][:wanted]
                numbers = (number, *drawn)
                texts = [passage, *(rng.choice(cut[other]) for other in drawn)]
                documents = tuple(with_path(view.path_text(each), text) for each, text in zip(numbers, texts, strict=True))
                yield Example("ict", (query,) * len(numbers), documents, view.document.id, numbers)
