"""The task of questions that a language model has written (`written_by_model`), of which those are learned from that
find their document again.

doc2query (Nogueira and Lin, 2019), InPars (Bonifacio et al., SIGIR 2022) and Promptagator (Dai et al., ICLR 2023) let a
model write queries for passages; the round trip is Promptagator's consistency filter, here by the search that people
get and with the document among its first ten: a question in other words, which teaches most, seldom finds the very
section by words alone. The instructions are ours.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from structformer.corpus import Corpus
from structformer.errors import ModelError, WorkspaceError
from structformer.retrieval import Retriever, is_stale
from structformer.sampling import Census, DocumentView, Example, Ground, Neighbourhood, Survey, Task
from structformer.workspace import Workspace

from structformer_papers.seal import siblings_first
from structformer_papers.written_by_model import asked_sections, journal, write_questions

FIRST = 10  # documents of the search, among which the question's own must be
_BATCH = 64  # questions that are searched for together
_FILE = "kept.json"
Kept = dict[str, dict[str, tuple[list[str], dict[str, int]]]]
"""By document id and section number: the questions that are kept, and how many are not for which reason."""


def write_kept(ground: Ground, folder: Path) -> None:
    """Write the questions that find their document again, and that were not written for other sections too.

    Raises ModelError without written questions, and WorkspaceError without an index of this corpus.
    """
    workspace = Workspace(ground.workspace)
    written: dict[str, list[str]] = journal(workspace.cache).answers()
    if not any(written.values()):
        raise ModelError("no questions have been written: structformer sample --tasks written --llm URL")
    if not workspace.has("index") or is_stale(workspace):
        raise WorkspaceError(
            "written questions are asked of the search, and those that find their document are kept: run "
            f"`structformer index -w {workspace}` first"
        )
    corpus = Corpus.open(workspace)

    def views() -> Iterator[DocumentView]:
        for number, document in enumerate(corpus.documents()):
            if ground.pages.title(number):  # not held out
                yield DocumentView(document, ground.options)

    there = {section.key for view in views() for section in asked_sections(view)}
    times = Counter(question.casefold() for key in there for question in written.get(key, ()))
    asked = (
        (view.document.id, question)
        for view in views()
        for section in asked_sections(view)
        for question in written.get(section.key, ())
        if times[question.casefold()] == 1
    )
    answered = set(_found(Retriever.open(workspace), asked))
    kept: Kept = {}
    for view in views():
        of_document = kept.setdefault(view.document.id, {})
        for section in asked_sections(view):
            if section.key in written:
                of_document[str(section.number)] = _sifted(written[section.key], answered, times)
    (folder / _FILE).write_text(json.dumps(kept, ensure_ascii=True), encoding="utf-8")


def _found(retriever: Retriever, asked: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Return the questions that find their document, or a copy or translation of it, among the first."""
    opened = retriever.opened
    pages = {document.id: opened.page(number) for number, document in enumerate(retriever.documents)}
    while some := list(islice(asked, _BATCH)):
        rankings = retriever.rank_documents([question for _, question in some], k=FIRST)
        for (own, question), ranked in zip(some, rankings, strict=True):
            if pages.get(own) in {pages[document] for document, _ in ranked}:
                yield question


def _sifted(questions: list[str], answered: set[str], times: Counter[str]) -> tuple[list[str], dict[str, int]]:
    """Return (the questions that are kept, how many are not by reason)."""
    dropped: Counter[str] = Counter()
    for question in questions:
        if times[question.casefold()] > 1:
            dropped["written for other sections too"] += 1
        elif question not in answered:
            dropped["not found by the round trip"] += 1
    if not questions:
        dropped["no question in the answer"] += 1
    return [question for question in questions if question in answered], dict(dropped)


def written_questions(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """Draw the questions that a language model wrote for a section, whose content is the positive; its siblings'
    contents, then others of the document, are the negatives, as SRR has them.
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
    survey=Survey("written", write_kept, lambda folder: json.loads((folder / _FILE).read_text(encoding="utf-8"))),
    prepare=write_questions,
)
