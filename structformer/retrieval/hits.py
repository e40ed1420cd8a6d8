"""Hits: sections with breadcrumb, anchor, snippet and every stage's score; filters on documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from html import escape
from typing import Any
from urllib.parse import quote

from structformer import notebook
from structformer.document import MarkKind
from structformer.errors import UsageError
from structformer.retrieval.rankings.ranking import is_confident
from structformer.text.passages import Stretch

_TICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Place:
    """A document, or a section of it."""

    document_id: str
    anchor: str = ""

    @property
    def address(self) -> str:
        """The document's id with the section's anchor."""
        return f"{self.document_id}#{self.anchor}" if self.anchor else self.document_id


@dataclass(frozen=True, slots=True)
class Translation(Place):
    """A document in another language."""

    language: str = ""
    """Such as "pt-BR"."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: a section, shown by its best passage."""

    document_id: str
    title: str
    path: tuple[str, ...]
    anchor: str
    snippet: str
    text: str
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    """The passage's score in each stage that ranked it."""
    highlights: tuple[tuple[int, int], ...] = ()
    """[start, end) of the query's words in the snippet."""
    metadata: dict[str, Any] = field(default_factory=dict)
    sections: tuple[Hit, ...] = ()
    """With grouping, the document's other sections among the hits, best first."""
    section: int = 0
    """Its number in the document, from the root's 0."""
    also_at: tuple[Place, ...] = ()
    """Other sections among what was found that say the same; with grouping, copies and versions of this document."""
    also_in: tuple[Translation, ...] = ()
    """With grouping, the document's translations among what was found."""
    is_code: bool = False
    """Whether the snippet is code, whose line ends matter."""
    stretches: tuple[Stretch, ...] = ()
    """The stretches of the text that are not prose."""

    @property
    def fenced(self) -> str:
        """The text with its code in fences, as Markdown has it."""
        text, end = "", 0
        for kind, start, stop in self.stretches:
            if kind == MarkKind.CODE:
                code = self.text[start:stop]
                fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(code)), default=0))
                text += f"{self.text[end:start]}{fence}\n{code.strip(chr(10))}\n{fence}"
                end = stop
        return text + self.text[end:]

    @property
    def breadcrumb(self) -> str:
        """The path as people write it."""
        return " > ".join(self.path)

    @property
    def address(self) -> str:
        """The document's id with the section's anchor."""
        return Place(self.document_id, self.anchor).address

    @property
    def url(self) -> str:
        """Where the section is read on the site, "" where that is not known."""
        return web_address(self.metadata, self.anchor)

    def as_dict(self) -> dict[str, Any]:
        """Return the hit as JSON types."""
        return {
            **{
                each.name: getattr(self, each.name) for each in fields(self) if each.name != "stretches"
            },  # metadata as it is: it may be deep
            "also_at": [asdict(place) for place in self.also_at],
            "also_in": [asdict(place) for place in self.also_in],
            "breadcrumb": self.breadcrumb,
            "address": self.address,
            "url": self.url,
            "sections": [hit.as_dict() for hit in self.sections],
        }


class Hits(list[Hit]):
    """The hits of a search, best first: a list that also knows how they were found.

    query, pipeline: what was asked, and how. likely: how likely the first hit's document is one that was asked for,
    between 0 and 1; None of pipelines that cannot tell. confident: that it is likely enough, as the command line and
    the page say it; False when there is no hit. absent_phrases: phrases in quotes that no page has, whose words were
    searched for; absent_name: the query, if it is one name that no page has whole.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        query: str = "",
        pipeline: str = "",
        likely: float | None = None,
        absent_phrases: tuple[str, ...] = (),
        absent_name: str = "",
    ) -> None:
        super().__init__(hits)
        self.query = query
        self.pipeline = pipeline
        self.likely = likely
        self.absent_phrases = absent_phrases
        self.absent_name = absent_name
        self.confident = is_confident(likely) and bool(self)

    def _repr_html_(self) -> str:
        if not self:
            return notebook.box(f"No hits for: {self.query}")
        rows = [
            [str(place), _notebook_place(hit), notebook.marked(hit.snippet, hit.highlights)]
            for place, hit in enumerate(self[: notebook.ROWS], 1)
        ]
        return notebook.box(
            f"Hits for: {self.query}",
            "" if self.confident else notebook.note("no sure match; closest pages:"),
            notebook.table(["", "section", "text"], rows),
            notebook.more(len(self) - notebook.ROWS, "hits"),
        )


def _notebook_place(hit: Hit) -> str:
    address = notebook.code(hit.address)
    linked = f'<a href="{escape(hit.url)}">{address}</a>' if hit.url else address
    return f"{notebook.text(hit.breadcrumb)}<br>{linked}"


def web_address(metadata: Mapping[str, Any], anchor: str = "") -> str:
    """Return the address of a document on its site, or of a section, by the document's metadata; "" if unknown."""
    url = metadata.get("url")
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        return ""
    return with_anchor(url, anchor)


def with_anchor(address: str, anchor: str) -> str:
    """The address of a document's section; that of the document without an anchor, or where it has one already."""
    return f"{address}#{quote(anchor, errors='surrogatepass')}" if anchor and "#" not in address else address


@dataclass(frozen=True, slots=True)
class Witness:
    """A sentence that describes a document."""

    text: str
    told_by: str = ""
    """The id of the document that says it where it links to the described one; "" if that says it of itself."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents may be found."""

    paths: tuple[str, ...] = ()
    """Patterns; a document's id matches one of them (`*` also matches `/`)."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Values that the document has, alone or in a list. A text is compared with the written form of a value; a number
    or a truth value only with its own kind.
    """

    def __bool__(self) -> bool:
        return bool(self.paths or self.metadata)

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that tells filters apart, also 1 from true."""
        items = sorted((name, type(value).__name__, str(value)) for name, value in self.metadata.items())
        return self.paths, tuple(items)


def parse_filter(paths: tuple[str, ...], settings: tuple[str, ...]) -> Filter:
    """Return a filter from path patterns and "key=value" settings. Raises UsageError."""
    metadata: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise UsageError(f"{setting!r}: write key=value, for example language=en")
        metadata[key.strip()] = value.strip()
    return Filter(paths, metadata)
