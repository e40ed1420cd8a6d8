"""References without text that lead to other documents, as they are indexed: with the title of what they lead to.

A format can name what its own document holds; "by Lemma \\ref{x}" of another file leaves a hole in the sentence, which
only the reference graph can fill."""

from __future__ import annotations

from collections import defaultdict

from structformer.corpus import Corpus
from structformer.document import Document
from structformer.graph import ReferenceGraph


def unnamed_references(corpus: Corpus, graph: ReferenceGraph) -> dict[int, list[tuple[int, int, str]]]:
    """By document: (section, place in its text, title of the section that is meant) of each of its unnamed
    references.
    """
    places: list[tuple[int, int, int, tuple[int, int]]] = []
    for edge in graph.edges():
        if not edge["text"] and edge["start"] == edge["end"] > 0 and edge["source_document"] != edge["target_document"]:
            target = (edge["target_document"], edge["target_section"])
            places.append((edge["source_document"], edge["source_section"], edge["start"], target))
    wanted = {target for *_, target in places}
    documents = {document for document, _ in wanted}
    titles: dict[tuple[int, int], str] = {}
    for start, shard in zip(corpus.starts, corpus.shards, strict=False):
        if documents.isdisjoint(range(start, start + shard.documents)):
            continue
        for row in corpus.rows(shard, "sections", ["document", "number", "title"]):
            key = (start + row["document"], row["number"])
            if key in wanted:
                titles[key] = row["title"]
    found: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for document, section, place, target in places:
        if titles.get(target):
            found[document].append((section, place, titles[target]))
    return found


def name_in(document: Document, references: list[tuple[int, int, str]]) -> None:
    """Write the titles into the texts of a document that is about to be indexed; its links' spans don't follow."""
    of_section: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for of, at, named in references:
        of_section[of].append((at, named))
    for number, section in enumerate(document.sections()):
        for place, title in sorted(of_section.get(number, ()), reverse=True):
            before, after = section.text[:place], section.text[place:]
            left = "" if not before or before[-1].isspace() or before[-1] in "([" else " "
            right = "" if not after or after[0].isspace() or after[0] in ".,;:)]" else " "
            section.text = f"{before}{left}{title}{right}{after}"
