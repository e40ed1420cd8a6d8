"""Answers of one served workspace: searches, sections, documents; and the change to a new index while they go on."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
from structformer.corpus import Corpus
from structformer.document import Block, Document, Link, Section
from structformer.errors import StructformerError, UsageError, WorkspaceError
from structformer.retrieval import (
    UNTRAINED,
    Allowed,
    Filter,
    Help,
    Hit,
    IndexedDocuments,
    Pipeline,
    Place,
    Ranking,
    TrainingVerdict,
    Unit,
    help_with,
    is_confident,
    parse_filter,
    trained_encoder,
    web_address,
    what_parts_give,
)
from structformer.text import WRITTEN, language_name, version_of, visible
from structformer.workspace import Workspace

from structformer_serve import schemas
from structformer_serve.as_markdown import as_markdown, unlinked
from structformer_serve.as_you_type import complete, completed, mended
from structformer_serve.assets import icon
from structformer_serve.comparison import COMPARED, Listed, compared
from structformer_serve.generation import BEST, WORDS, Generation, state_of
from structformer_serve.http.access import EVERYTHING, Access
from structformer_serve.language import ENGLISH, Language, is_written_in, language
from structformer_serve.shelves import example_questions, folder_label, further_questions
from structformer_serve.step_progress import StepProgress

_SECTIONS = 3  # of a document, in an answer
_INCOMING = 100  # links to a document that are listed
_DEEPEST = 30  # sections below a section that are given with it
_LOOKED_AT = 3000  # links to a document that are looked at
_RELATED = 5  # documents that are named beside one
_DESCRIPTION = 160  # characters of it
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s|$)|[。！？]|$)")


class NotThere(StructformerError):
    """Not found or not visible; the client cannot tell which."""


class NoDocument(NotThere):
    """No document has that id, or the asker may not see it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document that is read."""

    document: Document
    metadata: Mapping[str, Any]
    links: Mapping[int, Sequence[schemas.LinkOut]]
    """For each section's number, the links in it that may be followed."""

    def url(self, section: Section) -> str:
        """Return where a section is read on its site; "" where that is not known."""
        return web_address(self.metadata, section.anchors[0] if section.anchors else "")


class SearchService:
    """A workspace's current index, opened, and answers from it. Threads may share it.

    A document that an ingest finds gone is seen no more at the next `refresh`, whether or not there is a new index."""

    def __init__(
        self,
        workspace: str | Path | Workspace,
        title: str = "",
        *,
        pipelines: Mapping[str, str] | None = None,
        feedback: bool = False,
        language: str = "",
    ) -> None:
        """pipelines: further ones, by name. feedback: whether searches and clicks are kept. language: the code of the
        page's own language; "" for the language of most documents. Raises WorkspaceError where there is no index.
        """
        self.workspace = Workspace(workspace)
        self.pipelines, self.feedback, self.own_language = pipelines, feedback, language
        self.doing: StepProgress | None = None  # what is being done to make the search better
        self._changing = threading.Lock()
        # The index of this moment: whoever answers a request asks for it once, and keeps to it.
        self.current = Generation(self.workspace, pipelines)
        self.title = title or default_title(self.workspace)
        self.icon = icon(self.workspace)

    def refresh(self) -> bool:
        """Open a newer index and return whether there was one; requests go on with the old one until it is open."""
        with self._changing:
            with suppress(WorkspaceError):  # it is just being made: the next look will find it whole
                if state_of(self.workspace) != self.current.id:
                    self.current = Generation(self.workspace, self.pipelines)
                    return True
            with suppress(WorkspaceError):
                self.current.hide_deleted(self.workspace)
        return False

    def seen_by(self, access: Access = EVERYTHING) -> View:
        """Return what somebody may see of the index of this moment."""
        return View(self, access)


class View:
    """Search and read one index as one person may see it. A request makes one view, from which its whole answer is."""

    def __init__(self, service: SearchService, access: Access) -> None:
        self.service, self.current, self.where = service, service.current, access.where
        self._opened, self._documents = self.current.retriever.opened, self.current.retriever.documents

    @cached_property
    def seen(self) -> Allowed:
        """The documents that may be seen."""
        return self.current.seen(self.where)

    @property
    def language(self) -> Language:
        """The language that the page speaks."""
        return language(self.service.own_language, self.main_language)

    @property
    def main_language(self) -> str:
        """The language of most documents that may be seen."""
        return self.current.offered(self.seen)[1]

    @property
    def verdict(self) -> TrainingVerdict | None:
        """The verdict on training; without its figures unless all documents may be seen."""
        verdict = self.current.verdict
        return replace(verdict, figures="") if verdict and self.where else verdict

    def status(self) -> schemas.Status:
        """Return what there is to search."""
        service, current, t = self.service, self.current, self.language
        stage = "" if service.doing is None else str(service.doing) if t is ENGLISH else str(t("improving"))
        return schemas.Status(
            title=service.title,
            index=current.id,
            documents=len(self.seen),
            sections=0 if self.where else current.corpus.section_count,
            meaning=current.searches_by_meaning,
            trained=not current.learned_alone and trained_encoder(service.workspace, current.pipelines[BEST].encoder),
            learned_alone=current.learned_alone,
            verdict=str(self.verdict or ""),
            stage=stage,
            feedback=service.feedback,
            what_was_read=None if self.where else current.what_was_read,
        )

    def encoding(self, request: schemas.SearchRequest) -> list[Future[Any]]:
        """Start on the query's vectors and return the futures that a search will wait for. A server that waits for
        them before it gives the search a thread needs few of these.
        """
        if request.typing or request.partial:
            return []
        pipeline = self.current.pipelines.get(request.pipeline)
        asked = self._opened.expanded(request.q)
        return [encoder.submit(asked) for encoder in self.current.encoders(pipeline)] if pipeline else []

    def search(self, request: schemas.SearchRequest) -> schemas.SearchAnswer:
        """Search. Raises UsageError on an unknown pipeline or a filter that is none."""
        return self._search(request)[0]

    def compare(self, request: schemas.SearchRequest) -> tuple[schemas.SearchAnswer, list[Listed] | None]:
        """Search by the page's search and by the one that it is compared with; without the latter where there is none.
        Both have the same filters and the same index. Raises UsageError as `search` does.
        """
        current, page = self.current, self._opened.page
        if not current.other:
            return self.search(request), None
        answers = []
        for name in (BEST, current.other):
            asked = request.model_copy(update={"pipeline": name, "k": COMPARED, "group": True, "explain": False})
            answer, documents = self._search(asked)
            answers.append((current.pipelines[name], answer, list(dict.fromkeys(map(page, documents)))))
        return answers[0][1], compared(answers, lambda hit: page(current.number(hit.document) or 0))

    def _search(self, request: schemas.SearchRequest) -> tuple[schemas.SearchAnswer, Collection[int]]:
        """Return the answer, with the numbers of all documents that were found, best first."""
        begun = time.perf_counter()
        current, opened, seen = self.current, self._opened, self._fitting(request)
        allowed = None if seen.whole else seen
        pipeline = current.pipeline(request.pipeline)  # a wrong name is wrong while it is typed too
        query = request.q
        if request.typing:
            pipeline = current.pipelines[WORDS]
            for query in dict.fromkeys((mended(opened, request.q, allowed), request.q)):
                if ranked := complete(opened, query, max(50, request.k), allowed):
                    break
            ranking = Ranking(query)
            ranking.add("lexical", ranked)
            opened.pin(ranking, request.q, seen)
        else:
            if request.partial:
                query = completed(opened, request.q, allowed)
                query = query if query != request.q else mended(opened, request.q, allowed)
            current.open_encoders(pipeline)
            [ranking] = opened.run([query], pipeline, allowed)
        hits = current.retriever.hits(ranking, request.k, group=request.group, sections=_SECTIONS)
        why = self._explained(pipeline, ranking, seen, request.q) if request.explain else lambda hit: None
        shown = [self._document(hit, why) for hit in hits]
        documents = dict.fromkeys(int(opened.owners[unit]) for unit, _ in ranking.ranked)
        distinct = set(opened.copies.first_of_each[list(documents)].tolist())
        pages = len(set(map(opened.translations.first, distinct)))
        answer = schemas.SearchAnswer(
            query=request.q,
            searched="" if query == request.q else query,
            index=current.id,
            pipeline=str(pipeline),
            confident=is_confident(ranking.likely),
            likely=ranking.likely,
            absent_phrases=list(ranking.absent_phrases),
            documents=pages,
            copies=len(documents) - len(distinct),
            translations=len(distinct) - pages,
            milliseconds=round(1000 * (time.perf_counter() - begun), 1),
            hits=shown,
            facets=[] if request.typing else self._facets(documents),
        )
        return answer, documents

    def help(self, request: schemas.SearchRequest) -> tuple[Help, bool]:
        """Return help for a search that finds little, and whether any document that may be seen fits its filter. Raises
        UsageError on a filter that is none.
        """
        fitting = self._fitting(request)
        return help_with(self._opened, request.q, fitting), bool(fitting)

    def _fitting(self, request: schemas.SearchRequest) -> Allowed:
        """Return the documents that a search may find. Raises UsageError on a filter that is none."""
        return self.current.searched(self.seen, parse_filter(tuple(request.path), tuple(request.where)))

    def _facets(self, documents: Collection[int]) -> list[schemas.FacetCounts]:
        return [
            schemas.FacetCounts(
                name=facet.name, values=[schemas.FacetCount(value=value, count=count) for value, count in counts]
            )
            for facet in self.current.offered(self.seen)[0]
            if (counts := facet.counts(documents))
        ]

    def shelves(self, folder: str = "") -> tuple[DocumentList, dict[str, DocumentList]]:
        """Return the documents of a folder itself, and those of each of its folders."""
        own, shelves = self.current.shelves.view(self.seen.documents, folder)
        return self._listed(own), {name: self._listed(of) for name, of in shelves.items()}

    def label(self, folder: str) -> str:
        """Return a folder's heading: by its index page, if that may be seen, else by its name."""
        number = self.current.shelves.index_pages.get(folder, -1)
        is_seen = number >= 0 and number in self.seen
        return folder_label(folder, str(self._documents.value(number, "title")).strip() if is_seen else "")

    def examples(self) -> list[str]:
        """Return questions that the documents answer."""
        return example_questions(self._opened, self.seen.documents)

    def further_questions(self, documents: Iterable[str], without: Iterable[str]) -> list[str]:
        """Return questions that some documents answer. without: those that are answered already."""
        numbers = (self.current.number(each) for each in dict.fromkeys(documents))
        seen = [each for each in numbers if each is not None and self.seen.documents[each]]
        return further_questions(self._opened, seen, without)

    def most_linked(self, count: int) -> DocumentList:
        """Return the documents that most others link to, most first."""
        return self._listed(np.array(self.current.links.most_linked(self.seen.documents, count), np.int64))

    def _document(self, hit: Hit, why: Callable[[Hit], schemas.Why | None]) -> schemas.FoundDocument:
        number = self.current.number(hit.document_id) or 0
        metadata = self._documents[number]
        return schemas.FoundDocument(
            **_found(hit, why).model_dump(),
            document_title=metadata.title or hit.document_id,
            language=self._language(number, metadata.values()),
            sections=[_found(each, why) for each in hit.sections],
            also_at=[_copy(place, hit.document_id) for place in hit.also_at],
            also_in=[
                schemas.TranslationOut(
                    **_copy(each).model_dump(), language=each.language, language_name=language_name(each.language)
                )
                for each in hit.also_in
            ],
        )

    def document(self, document_id: str) -> schemas.DocumentAnswer:
        """Return a document's tree and what links to it. Raises NotThere."""
        number = self._visible(document_id)
        document, metadata = self.current.document(number), self._documents[number].values()
        return schemas.DocumentAnswer(
            document=document.id,
            index=self.current.id,
            title=document.title,
            url=web_address(metadata),
            metadata={str(key): value for key, value in metadata.items()},
            outline=[
                schemas.OutlineEntry(
                    section=place,
                    level=len(path) - 1,
                    title=section.title or document.title,
                    anchor=section.anchors[0] if section.anchors else "",
                    words=section.word_count,
                )
                for place, (section, path) in enumerate(document.root.walk_with_path())
            ],
            language=self._language(number, metadata),
            linked_from=self._linked_from(number),
            related=self._related(number),
            newest=self._newest(number),
        )

    def _related(self, number: int) -> list[schemas.RelatedDocument]:
        """Return the documents whose overviews are nearest to this one's; of copies and translations one."""
        opened, encoder = self._opened, self.current.pipelines[BEST].encoder
        if not encoder:
            return []
        overviews = opened.encoder(encoder)[1].overviews
        scores = np.asarray(overviews @ overviews[number], np.float32)
        scores[~self.current.searched(self.seen).documents] = -1.0
        pages = {opened.page(number)}
        alike: list[schemas.RelatedDocument] = []
        for other in np.argsort(-scores, kind="stable")[: _RELATED * 20].tolist():
            if scores[other] <= 0 or len(alike) == _RELATED:
                break
            if opened.page(other) not in pages:
                pages.add(opened.page(other))
                row = self._documents[other]
                alike.append(
                    schemas.RelatedDocument(document=row.id, title=row.title or row.id, read=read_address(row.id, 0))
                )
        return alike

    def beside(self, document_id: str) -> tuple[DocumentList, DocumentList]:
        """Return the documents of its folder in front of a document, and behind it, nearest first. Raises NotThere."""
        number, folder = self._visible(document_id), document_id.rpartition("/")[0]
        before, after = self.current.shelves.beside(folder, number, self.seen.documents)
        return self._listed(before), self._listed(after)

    def _linked_from(self, number: int) -> list[schemas.LinkIn]:
        links: dict[tuple[int, int], schemas.LinkIn] = {}
        for edge in islice(self.current.links.incoming(number), _LOOKED_AT):
            key = edge.source_document, edge.source_section
            if key in links or edge.source_document not in self.seen:
                continue
            source = self._documents[edge.source_document]
            links[key] = schemas.LinkIn(
                document=source.id,
                section=edge.source_section,
                title=self._section_title(*key) or source.title,
                document_title=source.title,
                text=edge.text,
                kind=edge.kind,
                read=read_address(source.id, edge.source_section),
            )
            if len(links) >= _INCOMING:
                break
        return list(links.values())

    def _section_title(self, document: int, section: int) -> str:
        """Return a section's title from the index; "" for one without a unit there, as lists of see-also links."""
        units = (self._opened.units[number] for number in range(*self._opened.units_of(document)))
        return next((unit.title for unit in units if unit.section == section), "")

    def section(
        self,
        document_id: str,
        *,
        section: int | None = None,
        anchor: str | None = None,
        children: bool = False,
        linked: bool = True,
    ) -> schemas.SectionAnswer:
        """A section by its number or its anchor, else the root; with `children` those below it. linked: with links in
        the Markdown. Raises NotThere.
        """
        reading = self.reading(document_id)
        document = reading.document
        sections = list(document.root.walk_with_path())
        if anchor is not None:
            section = next((place for place, (each, _) in enumerate(sections) if anchor in each.anchors), None)
            if section is None:
                raise NotThere(f"{document_id} has no section {anchor!r}")
        place = section or 0
        if place >= len(sections):
            raise NotThere(f"{document_id} has no section {place}")
        places = {id(each): (at, path) for at, (each, path) in enumerate(sections)}

        def answer(one: Section, depth: int) -> schemas.SectionAnswer:
            at, path = places[id(one)]
            links = reading.links.get(at, ())
            return schemas.SectionAnswer(
                document=document.id,
                section=at,
                index=self.current.id,
                title=one.title or document.title,
                path=[document.title, *(step.title for step in path[1:])],
                anchor=one.anchors[0] if one.anchors else "",
                url=reading.url(one),
                text=one.text,
                markdown=as_markdown(one, leading(links) if linked else None),
                blocks=list(_flat(one.blocks)),
                links=list(links),
                children=[answer(child, depth + 1) for child in one.children] if children and depth < _DEEPEST else [],
            )

        return answer(sections[place][0], 0)

    def reading(self, document_id: str) -> Reading:
        """Return a whole document to read. Raises NotThere."""
        number, current = self._visible(document_id), self.current
        links: dict[int, list[schemas.LinkOut]] = {}
        for edge in current.links.outgoing(number):
            if edge.end > edge.start and edge.target_document in self.seen:
                target = self._documents[edge.target_document].id
                links.setdefault(edge.source_section, []).append(
                    schemas.LinkOut(
                        start=edge.start,
                        end=edge.end,
                        document=target,
                        section=edge.target_section,
                        kind=edge.kind,
                        read=read_address(target, edge.target_section),
                    )
                )
        return Reading(current.document(number), self._documents[number].values(), links)

    def markdown(self, document_id: str) -> str:
        """Return a whole document as Markdown, headed by where it is read. Raises NotThere."""
        reading = self.reading(document_id)
        parts = []
        for number, (section, path) in enumerate(reading.document.root.walk_with_path()):
            title = section.title or (document_id if not number else "")
            heading = f"{'#' * min(6, len(path))} {unlinked(title)}" if title else ""
            url = f"<{reading.url(section)}>" if not number and reading.url(section) else ""
            parts += [heading, url, as_markdown(section)]
        return visible("\n\n".join(filter(None, parts))) + "\n"

    def description(self, document_id: str) -> str:
        """Return a document's description of itself, else its first sentence, on one line."""
        number = self.current.number(document_id)
        if number is None:
            return ""
        description = self._documents[number].values().get("description")
        if not isinstance(description, str):
            first = self._first_unit(number)
            description = first.text if first.section == 0 else ""
        sentence = _SENTENCE.match(" ".join(description.split()))
        return visible(shorten(sentence[0], _DESCRIPTION, placeholder=" …")) if sentence else ""

    def documents(self, path: str = "") -> DocumentList:
        """Return the documents that may be seen, with `path` those whose ids it matches."""
        seen = self.current.seen(self.where, Filter((path,))) if path else self.seen
        return self._listed(np.flatnonzero(seen.documents))

    def _listed(self, numbers: npt.NDArray[np.int64]) -> DocumentList:
        return DocumentList(self._documents, numbers)

    def _visible(self, document_id: str) -> int:
        """Return a document's number. Raises NoDocument."""
        number = self.current.number(document_id)
        if number is None or number not in self.seen:
            raise NoDocument(f"no document {document_id!r}")
        return number

    def _first_unit(self, number: int) -> Unit:
        return self._opened.units[self._opened.units_of(number)[0]]

    def _language(self, number: int, metadata: Mapping[str, Any]) -> str:
        """The language of a document: its own, else that in which it is a translation, else that of most that are seen,
        if most of its letters are of that language's script. "" if unknown.
        """
        own = metadata.get("language")
        if known := own if isinstance(own, str) and own else self._opened.translations.language(number):
            return known
        first, most = self._first_unit(number), self.main_language
        return most if is_written_in(f"{first.title} {first.text}", most) else ""

    def _newest(self, number: int) -> schemas.Copy | None:
        """Return the newest version of a page that may be seen, where this is an older one."""
        own = self._documents[number].id
        family, order = version_of(own)
        names = (self._documents[each].id for each in self._opened.copies.others(number) if each in self.seen)
        newer = {new: name for name in names if (mark := version_of(name))[0] == family and (new := mark[1]) > order}
        return _copy(Place(newer[max(newer)]), of=own) if newer else None

    def _explained(
        self, pipeline: Pipeline, ranking: Ranking, seen: Allowed, asked: str
    ) -> Callable[[Hit], schemas.Why]:
        """Gives why a section is where it is in a ranking."""
        opened, retriever = self._opened, self.current.retriever
        query = list(dict.fromkeys(WRITTEN.findall(ranking.query)))
        weights = retriever.weights(pipeline)
        given = {} if weights is None else what_parts_give(ranking, weights)
        learned = str(ENGLISH(_learned(pipeline, self.current.static)))
        witness_of = retriever.witnesses(ranking.query, pipeline, seen)
        scores_by_words = ranking.scores.get("lexical", {}).values()

        def why(hit: Hit) -> schemas.Why:
            parts = []
            for name, (weight, mean, scale) in given.items():
                value = hit.scores.get(name, mean if name == "look" else 0.0)
                gives = scale * (value - mean)
                parts.append(schemas.Part(name=name, label=str(ENGLISH(name)), value=value, weight=weight, gives=gives))
            by_words = hit.scores.get("lexical")
            witness = witness_of(hit.document_id)
            told_by = witness.told_by if witness else ""
            held = opened.lexical.held(ranking.query, f"{' '.join(hit.path)}\n{hit.text}")
            return schemas.Why(
                parts=parts,
                words=[word for word in query if held.issuperset(terms := opened.lexical.words(word)) and terms],
                rank_by_words=None if by_words is None else 1 + sum(score > by_words for score in scores_by_words),
                described_by=witness.text if witness else "",
                described_in=told_by,
                described_at=read_address(told_by, 0) if told_by else "",
                learned=learned,
                titled=opened.is_title_of(asked, hit.document_id),
                by_hand=opened.curated.reason(asked, hit.document_id),
            )

        return why


class DocumentList:
    """Documents, read as they are asked for."""

    def __init__(self, documents: IndexedDocuments, numbers: npt.NDArray[np.int64]) -> None:
        self._documents = documents
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, part: slice) -> DocumentList:
        return DocumentList(self._documents, self._numbers[part])

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        """Yield (id, title, address on its site) of each."""
        for number in self._numbers.tolist():
            document = self._documents[number]
            yield document.id, document.title, web_address(document.values())


def _learned(pipeline: Pipeline, static: Collection[str]) -> str:
    """Return the name of the string that says what a pipeline learned. static: encoders of the corpus alone."""
    if not pipeline.encoder:
        return "learned_words"
    if pipeline.encoder in static:
        return "learned_alone"
    return "learned_untrained" if pipeline.encoder == UNTRAINED else "learned_trained"


def _found(hit: Hit, why: Callable[[Hit], schemas.Why | None]) -> schemas.Found:
    return schemas.Found(
        document=hit.document_id,
        section=hit.section,
        title=hit.title,
        path=list(hit.path),
        anchor=hit.anchor,
        url=hit.url if hit.section else hit.url.removesuffix(f"#{hit.anchor}"),  # a page begins at its top
        read=read_address(hit.document_id, hit.section),
        snippet=hit.snippet,
        highlights=[list(span) for span in hit.highlights],
        is_code=hit.is_code,
        score=round(hit.score, 6),
        why=why(hit),
    )


def _copy(place: Place, of: str = "") -> schemas.Copy:
    """of: the page of which it may be another version, which is then what its id has and that page's has not: "2.1"."""
    document, version = place.document_id, ""
    if version_of(document)[0] == version_of(of)[0]:
        elsewhere = {*of.split("/")}
        named = (each for each in document.split("/")[:-1] if each not in elsewhere and "_docs" not in each)
        version = "/".join(named)
    return schemas.Copy(document=document, anchor=place.anchor, read=read_address(document, 0), version=version)


def read_address(document_id: str, section: int) -> str:
    """Return where a section is read on the server's page."""
    return f"/read/{quote(document_id, safe='/')}" + (f"#s{section}" if section else "")


def leading(links: Iterable[schemas.LinkOut], root: str = "") -> Callable[[Link], str]:
    """Gives where a link of a section leads, for those that may be followed. root: what precedes all paths."""
    addresses = {(link.start, link.end): root + link.read for link in links}
    return lambda link: addresses.get((link.start, link.end), "")


def _flat(blocks: Sequence[Block]) -> Iterator[schemas.BlockOut]:
    stack = [(block, 0) for block in reversed(blocks)]
    while stack:
        block, depth = stack.pop()
        yield schemas.BlockOut(kind=block.kind, detail=block.detail, start=block.start, end=block.end, depth=depth)
        stack += [(child, depth + 1) for child in reversed(block.children)]


def default_title(workspace: Workspace) -> str:
    """Return the site's name by its settings, where there is one site, else the names of what was read."""
    name = Corpus.open(workspace).site.name if len(workspace.sources()) == 1 else ""
    return name or workspace.title or "Search"


def checked_pipelines(settings: Sequence[str]) -> dict[str, str]:
    """Pipelines from NAME=SPEC. Raises UsageError."""
    checked: dict[str, str] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.replace("-", "").replace("_", "").isalnum():
            raise UsageError(f"{setting!r}: write NAME=PIPELINE, for example fast=lexical")
        checked[name] = text
    return checked
