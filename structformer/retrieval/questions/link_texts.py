"""Pseudo-queries that the reference graph answers: what one document says where it links to another."""

from collections.abc import Collection, Iterator
from typing import Final

from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.retrieval.questions.even_sample import EvenSample
from structformer.sampling.held_out import sentence_at
from structformer.text.query_like import plain, question_text
from structformer.text.sentence_splitting import sentences

LINK: Final = "link"
ANCHOR: Final = "anchor"
# A linking text, the number of the document it links to, that of the one it stands in, and LINK or ANCHOR.
Linked = tuple[str, int, int, str]


def link_texts(
    corpus: Corpus, graph: ReferenceGraph, sources: Collection[str], most: int, seed: int
) -> Iterator[Linked]:
    """Of at most `most` links to other documents, the sentence (of a link alone on its line, what the next line says),
    the anchor text, or both; in the order of the corpus, each text once for a document.
    """
    chosen = EvenSample(most, f"links/{seed}")
    places: dict[int, list[tuple[int, int, int, int]]] = {}
    for edge in graph.edges():
        source, target = edge["source_document"], edge["target_document"]
        if target >= 0 and source != target and edge["end"] > edge["start"]:
            place = (edge["source_section"], edge["start"], edge["end"], target)
            chosen.add(f"{source}/{place}", repr(place), source, None)
    for each in chosen.in_order():
        section, start, end, target = (int(part) for part in each.text.strip("()").split(","))
        places.setdefault(each.document, []).append((section, start, end, target))
    seen: set[tuple[str, int]] = set()
    for number, document in enumerate(corpus.documents()):
        if number not in places:
            continue
        texts = [section.text for section in document.sections()]
        for section, start, end, target in sorted(places[number]):
            found = {LINK: _linking(texts[section], start, end), ANCHOR: texts[section][start:end]}
            for source in (source for source in found if source in sources):
                text, _ = question_text(found[source])
                if (plain(text), target) not in seen:
                    seen.add((plain(text), target))
                    yield text, target, number, source


def _linking(text: str, start: int, end: int) -> str:
    sentence = sentence_at(text, start)
    if len(sentence) > end - start + len("()."):
        return sentence
    rest = text[end:].partition("\n")[2].partition("\n")[0]
    return next(sentences(rest), "")
