"""The server's pages: results, and documents to read in place. They work without JavaScript."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from structformer.pages.blocks_html import section_html
from structformer.pages.frame import environment
from structformer.serving.access import Access
from structformer.serving.comparison import Comparison, Placed
from structformer.serving.schemas import Found, SearchAnswer, SearchRequest, Status
from structformer.serving.service import SearchService, leading
from structformer.text.visible import visible

STATIC = {
    "page.css": "text/css",
    "box.css": "text/css",
    "page.js": "text/javascript",
    "search-box.js": "text/javascript",
    "widget.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_FIRST = 60  # documents that the empty page names
_MORE = 30
_SECTION_WORDS = {"path": "Part"}
COMPARE = ("compare", "1")  # what an address says of a search that is compared


@cache
def static(name: str) -> bytes:
    """A file of the page's."""
    return (files("structformer") / "serving" / "static" / name).read_bytes()


@cache
def assets() -> str:
    """A digest of all of them, so that a browser keeps them until they change."""
    return hashlib.sha256(b"".join(static(name) for name in STATIC)).hexdigest()[:12]


def marked(found: Found) -> Markup:
    """A snippet with the query's words marked."""
    parts: list[str] = []
    place = 0
    for start, end in found.highlights:
        parts += [escape(visible(found.snippet[place:start])), Markup("<mark>")]
        parts += [escape(visible(found.snippet[start:end])), Markup("</mark>")]
        place = end
    return Markup("").join([*parts, escape(visible(found.snippet[place:]))])


def moved(placed: Placed) -> Markup:
    """Where training moved a document, with a sign for the eye."""
    place = placed.elsewhere
    way = "from" if placed.trained else "to"
    gone = "was" if placed.trained else "now"
    signs = {"same": "=", "up": "▲", "down": "▼", "new": "+", "gone": "−"}
    words = {"same": "same place", "up": f"up {way} {place}", "down": f"down {way} {place}"}
    said = words.get(placed.moved) or placed.moved + (f", {gone} {place}" if place else "")
    return Markup('<span aria-hidden="true">{}</span> {}').format(signs[placed.moved], said)


def _how(status: Status, *, verdict: bool) -> str:
    """Where meaning comes from, as the end of a sentence. verdict: whether the next one says what was trained."""
    if not status.meaning or verdict:
        return ""
    if status.learned_alone:
        return ", learned from them alone"
    return ", trained on them" if status.trained else ", not trained on them"


@dataclass(frozen=True, slots=True)
class PageMaker:
    """Makes the pages. root: what stands before all paths."""

    service: SearchService
    root: str = ""

    def _render(self, template: str, access: Access, *, heading: str, query: str = "", **values: Any) -> bytes:
        templates = environment("serving")
        templates.filters["marked"] = marked
        templates.filters["moved"] = moved
        status, verdict = self.service.status(access), self.service.verdict(access)
        trained = f"Trained on these documents. {verdict.conclusion}" if verdict else ""
        if verdict and verdict.used and not status.trained:
            trained += " It is not in the index yet."
        shared = {
            "status": status,
            "verdict": verdict,
            "trained": trained,
            "how": _how(status, verdict=verdict is not None),
            "root": self.root,
            "assets": assets(),
            "language": self.service.current.retriever.opened.index.manifest["language"],
            "query": query,
            "reading": False,
            "kept": (),
        }
        text = templates.get_template(template).render(heading=heading, **{**shared, **values})
        return text.encode("utf-8", "backslashreplace")

    def message(self, access: Access, heading: str, message: str) -> bytes:
        """A page that says what is wrong."""
        return self._render("message.html", access, heading=heading, message=message)

    def search(
        self,
        access: Access,
        request: SearchRequest | None,
        answer: SearchAnswer | None,
        message: str = "",
        comparison: Comparison | None = None,
    ) -> bytes:
        """The page of a search and its answer, or without them the first page. comparison: with what the search that it
        is compared with finds.
        """
        if request is None or answer is None:
            first = [
                (name, title, f"/read/{name}") for name, title, _ in islice(self.service.documents(access), _FIRST)
            ]
            values: dict[str, Any] = {
                "answer": None,
                "facets": (),
                "chips": (),
                "first": first,
                "message": message,
                "more": "",
            }
            return self._render("search.html", access, heading=self.service.title, **values)
        kept = [*(("path", each) for each in request.path), *(("where", each) for each in request.where)]
        kept += [COMPARE] if comparison else []
        address = _Addresses(self.root, request.q, dict([COMPARE]) if comparison else {})
        return self._render(
            "search.html",
            access,
            heading=f"{request.q}{', compared' if comparison else ''} · {self.service.title}",
            query=request.q,
            answer=answer,
            message="",
            kept=kept,
            comparison=comparison,
            switch=self._switch(request, compared=comparison is not None) if answer.hits else None,
            facets=_facet_links(answer, request, address),
            chips=_chips(request, address),
            cleared=address([], []),
            more=address(request.path, request.where, k=min(100, request.k + _MORE))
            if len(answer.hits) == request.k < min(100, answer.documents)
            else "",
        )

    def _switch(self, request: SearchRequest, *, compared: bool) -> dict[str, str] | None:
        """The link between one list and two; None where there is nothing to compare with."""
        other = self.service.current.other
        if not other:
            return None
        address = _Addresses(self.root, request.q, {} if compared else dict([COMPARE]))
        label = "Show one list" if compared else f"Compare with the {other} search"
        return {"address": address(request.path, request.where), "label": label}

    def read(self, access: Access, document_id: str) -> bytes:
        """A whole document with its tree. Raises NotThere."""
        document = self.service.document(document_id, access)
        reading = self.service.reading(document_id, access)
        return self._render(
            "read.html",
            access,
            heading=f"{document.title or document.document} · {self.service.title}",
            document=document,
            parts=[
                {
                    "section": number,
                    "level": min(6, len(path)),
                    "title": part.title or document.title or document.document,
                    "url": reading.url(part),
                    "body": section_html(part, leading(reading.links.get(number, ()), self.root)),
                }
                for number, (part, path) in enumerate(reading.document.root.walk_with_path())
            ],
            reading=True,
        )


@dataclass(frozen=True, slots=True)
class _Addresses:
    """The addresses of one query's pages. kept: what stands in all of them."""

    root: str
    query: str
    kept: Mapping[str, str]

    def __call__(self, path: Sequence[str], where: Sequence[str], **others: int) -> str:
        pairs = [("q", self.query), *(("path", each) for each in path), *(("where", each) for each in where)]
        return f"{self.root}/?{urlencode([*pairs, *self.kept.items(), *others.items()])}"


def _facet_links(answer: SearchAnswer, request: SearchRequest, address: _Addresses) -> list[dict[str, Any]]:
    found = []
    for facet in answer.facets:
        values = []
        for each in facet.values:
            chosen, path, where = False, list(request.path), list(request.where)
            setting = f"{each.value}/*" if facet.name == "path" else f"{facet.name}={each.value}"
            its = path if facet.name == "path" else where
            if chosen := setting in its:
                its.remove(setting)
            else:
                its.append(setting)
            leads = address(path, where)
            values.append({"value": each.value, "count": each.count, "address": leads, "chosen": chosen})
        if len(values) > 1 or any(value["chosen"] for value in values):
            found.append({"label": _SECTION_WORDS.get(facet.name, facet.name.replace("_", " ")), "choices": values})
    return found


def _chips(request: SearchRequest, address: _Addresses) -> list[dict[str, str]]:
    chips = []
    for setting in request.path:
        rest = [each for each in request.path if each != setting]
        chips.append({"label": setting, "without": address(rest, request.where)})
    for setting in request.where:
        rest = [each for each in request.where if each != setting]
        label = setting.partition("=")[2] or setting
        chips.append({"label": label, "without": address(request.path, rest)})
    return chips
