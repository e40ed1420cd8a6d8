"""The server's pages: results, and documents to read in place. They work without JavaScript."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape
from structformer.document import Section
from structformer.notebook import set_off
from structformer.pages import environment
from structformer.text import visible

from structformer_serve.assets import page
from structformer_serve.blocks_html import section_html
from structformer_serve.comparison import Listed
from structformer_serve.filters import chips, facet_links, search_address
from structformer_serve.generation import BEST, WORDS
from structformer_serve.language import language
from structformer_serve.openapi import example_call
from structformer_serve.schemas import Found, FoundDocument, SearchAnswer, SearchRequest, Status, TranslationOut
from structformer_serve.service import DocumentList, NotThere, Reading, View, leading, read_address
from structformer_serve.shelves import prefixes

_SHOWN = 8  # documents of a folder on the first page,
_LONE = 60  # of a corpus that has no folders,
_SHELVES = 30  # folders that are shown with documents,
_LISTED = 300  # and documents of a page that lists a folder
_LINKED = 6  # pages most linked
_MORE = 30
_OTHERS = 2  # sections of a document beside its best
_ROOM = 4000  # characters of a preview after which no further section begins
_LONGEST = 20_000  # characters of one section that a preview sets as a page; of a longer one its beginning is text
COMPARE = ("compare", "1")  # what an address says of a search that is compared


def marked(section: Found) -> Markup:
    """Return a snippet with the query's words marked."""
    mark = Markup("<mark>{}</mark>")
    shown = set_off(
        section.snippet, section.highlights, lambda part: escape(visible(part)), lambda part: mark.format(visible(part))
    )
    return Markup(shown)


def others(hit: FoundDocument) -> list[tuple[Found, str]]:
    """Return two more sections of a hit's document, each with what its path has that the hit's has not."""
    ones = []
    for other in hit.sections:
        if other.section != hit.section and len(other.path) > 1:
            pairs = zip(hit.path[:-1], other.path[:-1], strict=False)
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) or 1  # the document's own title
            ones.append((other, " › ".join(other.path[shared:])))
    return ones[:_OTHERS]


def crumbs(hit: FoundDocument, label: Callable[[str], str]) -> list[str]:
    """Return what a hit is in: its folder, as `label` has it, and of a section its page and the sections above it."""
    folder = hit.document.rpartition("/")[0]
    above = [hit.document_title, *hit.path[1:-1]] if hit.path[1:] else []
    return [name, *above] if folder and (name := label(folder)) != hit.document_title else above


def called(translation: TranslationOut) -> str:
    """Return the name of a translation's language: its own, where we speak it."""
    strings = language(translation.language)
    return strings.name if strings.code == translation.language.partition("-")[0] else translation.language_name


def with_code(text: str) -> Markup:
    """Return a text whose backticks are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


_FILTERS = {"marked": marked, "others": others, "called": called, "with_code": with_code}
environment("structformer_serve", "templates").filters.update(_FILTERS)


def _how(status: Status) -> str:
    """Return the name of the string that says how is searched."""
    if not status.meaning:
        return "by_words"
    return "by_alone" if status.learned_alone else "by_trained" if status.trained else "by_untrained"


@dataclass(frozen=True, slots=True)
class PageMaker:
    """Makes the pages of what somebody may see."""

    view: View
    root: str = ""
    """The path that a proxy puts in front of all others; "" for none."""
    ask: str = ""
    """The host of the language model; "" without one."""

    def _render(self, template: str, *, heading: str, query: str = "", **values: Any) -> bytes:
        status, t = self.view.status(), self.view.language
        verdict = self.view.verdict if t.code == "en" else None  # which is in English alone
        trained = f"Trained on these documents. {verdict.conclusion}" if verdict else ""
        if verdict and verdict.used and not status.trained:
            trained += " It is not in the index yet."
        shared = {
            "t": t,
            "status": status,
            "verdict": verdict,
            "trained": trained,
            "how": "by_meaning" if verdict and status.meaning else _how(status),
            "root": self.root,
            "ask": self.ask,
            "own_icon": self.view.service.icon.is_own,
            "language": self.view.main_language,
            "query": query,
            "reading": False,
            "first": False,
            "kept": (),
        }
        return page(template, heading=heading, **{**shared, **values})

    def message(self, heading: str, message: str) -> bytes:
        """Return a page that says what is wrong. heading, message: names of strings; the latter else in English."""
        t = self.view.language
        text = t(message) if message in t.strings else message
        return self._render("base.html", heading=t(heading), message=text)

    def home(self, folder: str = "", start: int = 0) -> bytes:
        """Return the first page, or what a folder has from its `start`th document on. Raises NotThere."""
        folder = folder.strip("/")
        is_first = not folder and not start
        own, shelves = self.view.shelves(folder)
        if folder and not len(own) and not shelves:
            raise NotThere(f"no folder {folder[:100]!r}")
        later = start + (_LONE if is_first else _LISTED)
        label = self.view.label(folder)
        return self._render(
            "home.html",
            heading=f"{label} · {self.view.service.title}" if folder else self.view.service.title,
            above=self._above(folder),
            own=self._entries(own[start:later]),
            own_total=len(own),
            more=self._address(folder=folder, start=later) if later < len(own) else "",
            shelves=[
                {
                    "label": self.view.label(name),
                    "address": self._address(folder=name),
                    "total": len(pages),
                    "entries": self._entries(pages[: _SHOWN if place < _SHELVES else 0]),
                }
                for place, (name, pages) in enumerate(() if start else shelves.items())
            ],
            examples=[(each, self._address(q=each)) for each in self.view.examples()] if is_first else [],
            reading=not is_first,
            first=is_first,
        )

    def _above(self, folder: str) -> list[tuple[str, str]]:
        """Return (label, address) of each folder down to this one."""
        above = prefixes(folder) if folder else []
        return [(self.view.label(path), self._address(folder=path)) for path in above]

    def _address(self, **asked: str | int) -> str:
        """Return the address of the first page, or of what is asked of it."""
        given = {name: value for name, value in asked.items() if value}
        return f"{self.root}/?{urlencode(given)}" if given else f"{self.root}/"

    def _entries(self, documents: DocumentList) -> list[tuple[str, str]]:
        """Return (title, address) of some documents."""
        return [(title or name, self.root + read_address(name, 0)) for name, title, _ in documents]

    def preview(self, document_id: str, section: int) -> bytes:
        """Return a section for the column beside the results. Raises NotThere."""
        shown = self._preview(document_id, section)
        return page("preview.html", preview=shown, root=self.root, t=self.view.language)

    def _preview(self, document_id: str, section: int) -> dict[str, Any]:
        """Return a section, with what is below it as far as there is room. Raises NotThere."""
        reading = self.view.reading(document_id)
        document = reading.document
        sections = list(document.root.walk_with_path())
        if not 0 <= section < len(sections):
            raise NotThere(f"{document.id} has no section {section}")
        first, path = sections[section]
        parts: list[dict[str, Any]] = []
        room = _ROOM
        for number, (part, its_path) in enumerate(sections[section:], section):
            if room <= 0 or (number > section and len(its_path) <= len(path)):
                break
            room -= len(part.text)
            whole = len(part.text) <= _LONGEST
            beginning = Markup("<p>{}</p>").format(visible(part.text[:_ROOM]))
            body = self._body(reading, number, part) if whole else beginning
            parts.append({"title": part.title if number > section else "", "body": body})
        above = [document.title or document.id, *(step.title for step in path[1:-1] if step.title)]
        return {
            "title": first.title or document.title or document.id,
            "path": above if section else [],
            "read": read_address(document.id, section),
            "parts": parts,
            "cut": room <= 0,
        }

    def _body(self, reading: Reading, number: int, part: Section) -> Markup:
        resolve = leading(reading.links.get(number, ()), self.root)
        return section_html(part, resolve, self.view.language)

    def search(self, request: SearchRequest, answer: SearchAnswer, comparison: list[Listed] | None = None) -> bytes:
        """The page of a search and its answer. comparison: with what the search that it is compared with finds."""
        way = [COMPARE] if comparison else [("pipeline", request.pipeline)] if request.pipeline != BEST else []
        kept = [*(("path", each) for each in request.path), *(("where", each) for each in request.where), *way]
        address = partial(search_address, self.root, request.q, way)
        first = next(iter(answer.hits), None)
        return self._render(
            "search.html",
            heading=f"{request.q} · {self.view.service.title}",
            query=request.q,
            answer=answer,
            crumbs=lambda hit: crumbs(hit, self.view.label),
            folder=self.view.label,
            kept=kept,
            help=(help_ := self.view.help(request)[0]),
            meant=search_address(self.root, help_.meant, way, [], []) if help_.meant else "",
            linked=[] if answer.hits else self._entries(self.view.most_linked(_LINKED)),
            preview=self._preview(first.document, first.section) if first and comparison is None else None,
            comparison=comparison and {"trained": comparison[0], "lists": comparison, "counts": comparison[0].counts},
            switches=self._switches(request, answer, compared=comparison is not None),
            facets=facet_links(answer, request, address),
            chips=chips(request, address),
            cleared=address([], []),
            more=address(request.path, request.where, k=min(100, request.k + _MORE))
            if len(answer.hits) == request.k < min(100, answer.documents)
            else "",
        )

    def _switches(self, request: SearchRequest, answer: SearchAnswer, *, compared: bool) -> list[tuple[str, str]]:
        """Return (name of its label, address) of each other way to search: by words alone or not, one list or two."""
        current = self.view.current
        ways: list[tuple[str, list[tuple[str, str]]]] = []
        if current.searches_by_meaning and request.pipeline == WORDS:
            ways.append(("meaning_too", []))
        elif current.searches_by_meaning and not compared:
            ways.append(("words_alone", [("pipeline", WORDS)]))
        if compared and answer.hits:
            ways.append(("one_list", []))
        elif current.other and answer.hits:
            ways.append((f"compare_{current.other}", [COMPARE]))
        return [(name, search_address(self.root, request.q, way, request.path, request.where)) for name, way in ways]

    def api(self, described: dict[str, Any]) -> bytes:
        """Return the page of the API. described: as OpenAPI has it."""
        operations = [
            {"method": method.upper(), "path": path, "call": example_call(path, operation), **operation}
            for path, methods in described["paths"].items()
            for method, operation in methods.items()
        ]
        heading = f"API · {self.view.service.title}"
        return self._render("api.html", heading=heading, operations=operations, reading=True)

    def read(self, document_id: str) -> bytes:
        """Return a whole document with its tree. Raises NotThere."""
        document = self.view.document(document_id)
        reading = self.view.reading(document_id)
        return self._render(
            "read.html",
            heading=f"{document.title or document.document} · {self.view.service.title}",
            document=document,
            above=self._above(document_id.rpartition("/")[0]),
            beside=[next(iter(self._entries(each[:1])), None) for each in self.view.beside(document_id)],
            parts=[
                {
                    "section": number,
                    "level": min(6, len(path)),
                    "title": part.title or document.title or document.document,
                    "url": reading.url(part),
                    "body": self._body(reading, number, part),
                }
                for number, (part, path) in enumerate(reading.document.root.walk_with_path())
            ],
            reading=True,
        )
