"""The task of questions that a language model has written (`written_by_model`), of which those are learned from that
find their section again.

doc2query (Nogueira and Lin, 2019), InPars (Bonifacio et al., SIGIR 2022) and Promptagator (Dai et al., ICLR 2023) let a
model write queries for passages; the round trip is Promptagator's consistency filter, here by BM25 and with the section
among the first ten, since a section and its parent may both answer. The instructions are ours.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import tantivy
from structformer.corpus import Corpus, corpus_language
from structformer.errors import WorkspaceError
from structformer.sampling import Census, DocumentView, Example, Ground, Neighbourhood, Survey, Task
from structformer.text import analyzer, any_term_query, spaced
from structformer.workspace import Workspace

from structformer_papers.seal import siblings_first
from structformer_papers.written_by_model import AskedSection, asked_sections, read_journal, write_questions

FIRST = 10  # places of a ranking of all sections, among which the question's own must be
_FIELDS = {"path": 1.0, "text": 1.0}
_HEAP_BYTES = 64 * 1024 * 1024
_FILE = "kept.json"
Kept = dict[str, dict[str, tuple[list[str], dict[str, int]]]]
"""By document id and section number: the questions that are kept, and how many are not for which reason."""


class SectionIndex:
    """All sections by the words of their paths and texts, for BM25."""

    def __init__(self, folder: Path, sections: Iterator[AskedSection], language: str) -> None:
        builder = tantivy.SchemaBuilder()
        for name in _FIELDS:
            builder.add_text_field(name, tokenizer_name="words", index_option="freq")
        builder.add_text_field("key", stored=True, tokenizer_name="raw", index_option="basic")
        self._index = tantivy.Index(builder.build(), path=str(folder))
        self._analyzer = analyzer(language)
        self._index.register_tokenizer("words", self._analyzer)
        writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        for section in sections:
            document = tantivy.Document()
            document.add_text("path", spaced(section.path))
            document.add_text("text", spaced(section.text))
            document.add_text("key", section.key)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def finds(self, question: str, section: AskedSection) -> bool:
        """Whether the section is among the first ten for the question; copies of it are as good as itself."""
        asked = any_term_query(self._index.schema, dict.fromkeys(_FIELDS, self._analyzer), question, _FIELDS)
        if asked is None:
            return False
        hits = self._searcher.search(asked, limit=FIRST, count=False).hits
        return any(self._searcher.doc(address)["key"][0] == section.key for _, address in hits)


def write_kept(ground: Ground, folder: Path) -> None:
    """The questions that find their section again, and that were not written for other sections too."""
    workspace = Workspace(ground.workspace)
    journal = read_journal(workspace.cache)
    if not any(journal.values()):
        raise WorkspaceError("no questions have been written: structformer sample --tasks written --llm URL")
    corpus = Corpus.open(workspace)

    def views() -> Iterator[DocumentView]:
        for number, document in enumerate(corpus.documents()):
            if ground.pages.title(number):  # not held out
                yield DocumentView(document, ground.options)

    there = {section.key for view in views() for section in asked_sections(view)}
    times = Counter(question.casefold() for key in there for question in journal.get(key, ()))
    kept: Kept = {}
    with TemporaryDirectory(ignore_cleanup_errors=True) as temporary:  # tantivy's threads may write while it goes
        sections = (section for view in views() for section in asked_sections(view))
        index = SectionIndex(Path(temporary), sections, corpus_language(corpus))
        for view in views():
            of_document = kept.setdefault(view.document.id, {})
            for section in asked_sections(view):
                if section.key in journal:
                    of_document[str(section.number)] = _sifted(journal[section.key], section, index, times)
    (folder / _FILE).write_text(json.dumps(kept, ensure_ascii=True), encoding="utf-8")


def _sifted(
    questions: list[str], section: AskedSection, index: SectionIndex, times: Counter[str]
) -> tuple[list[str], dict[str, int]]:
    found: list[str] = []
    dropped: Counter[str] = Counter()
    for question in questions:
        if times[question.casefold()] > 1:
            dropped["written for other sections too"] += 1
        elif not index.finds(question, section):
            dropped["not found by the round trip"] += 1
        else:
            found.append(question)
    if not questions:
        dropped["no question in the answer"] += 1
    return found, dict(dropped)


def read_kept(folder: Path) -> Kept:
    """What `write_kept` wrote."""
    return dict(json.loads((folder / _FILE).read_text(encoding="utf-8")))


def written_questions(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """A question that a language model wrote for a section, whose content is the positive; its siblings' contents, then
    others of the document, are the negatives, as SRR has them.
    """
    view, kept = here.view, here.surveyed.get(here.view.document.id, {})
    for section in asked_sections(view):
        questions, dropped = kept.get(str(section.number), ([], {"not asked about": 1}))
        for reason, count in dropped.items():
            census.dropped["written", reason] += count
        for question in questions:
            numbers = (section.number, *siblings_first(view, section.number, rng))
            documents = tuple(view.content(number) for number in numbers)
            yield Example("written", (question,) * len(numbers), documents, view.document.id, numbers)


TASK = Task(
    "written",
    written_questions,
    "papers",
    in_corpus=True,
    source="after Dai et al., Promptagator, ICLR 2023, section 3; Nogueira and Lin, doc2query, 2019",
    survey=Survey("written", write_kept, read_kept),
    prepare=write_questions,
)
