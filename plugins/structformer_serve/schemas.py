"""Requests and answers over HTTP; requests are checked by these models and OpenAPI is made from them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator
from structformer.text import names_of, spaced

MAX_QUERY = 512
MAX_K = 100
MAX_TOKENS = 20_000
_ID = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SYNTAX = re.compile(r'["“”„«»-]')  # of queries: what it quotes, or leaves out


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Question(_Request):
    q: str = Field(
        min_length=1,
        max_length=MAX_QUERY,
        description="The query. At least one word or symbol.",
        json_schema_extra={"pattern": r"[\p{L}\p{N}\p{P}\p{S}]"},
    )
    path: list[Annotated[str, StringConstraints(min_length=1, max_length=300)]] = Field(
        default_factory=list, max_length=10, description="Patterns of document ids, one of which must match: guide/*"
    )
    where: list[Annotated[str, Field(max_length=300, json_schema_extra={"pattern": "^[^=]+="})]] = Field(
        default_factory=list, max_length=10, description="key=value of documents' metadata, all of which must hold"
    )

    @field_validator("q")
    @classmethod
    def _has_a_word(cls, value: str) -> str:
        value = _CONTROL.sub(" ", value)
        if not spaced(value) and not names_of(_SYNTAX.sub("", value)):
            raise ValueError("the query has no words")
        return value


class SearchRequest(_Question):
    """A search."""

    k: int = Field(default=10, ge=1, le=MAX_K, description="Documents, or without `group` sections.")
    group: bool = Field(default=True, description="Each document once, with its best sections.")
    pipeline: Annotated[str, StringConstraints(min_length=1, max_length=60)] = Field(
        default="best",
        description="The name of a pipeline: best, words, one that the server was started with, or, to compare the "
        "search before and after training, untrained or trained.",
    )
    typing: bool = Field(default=False, description="It is still being typed: beginnings of words, slips allowed.")
    partial: bool = Field(default=False, description="The query may not be all of it yet: it is not kept as feedback.")
    explain: bool = Field(default=False, description="Say why each section was found.")


class AskRequest(_Question):
    """A question for the language model, about what the search finds for it."""

    before: Annotated[str, StringConstraints(max_length=MAX_QUERY)] = Field(
        default="", description="The question that this one follows up: it is searched for and sent too."
    )
    anyway: bool = Field(
        default=False, description="Ask the model too if the search is not confident; what it reads are the nearest."
    )


class SectionRequest(_Request):
    """A section to read."""

    section: Annotated[int, Field(ge=0, le=10_000_000)] | None = Field(
        default=None, description="Its number, 0 for the root."
    )
    anchor: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = Field(
        default=None, description="Its anchor, in the place of its number."
    )
    children: bool = Field(default=False, description="With the sections below it.")


class FeedbackRequest(_Request):
    """Feedback on the results: what somebody did with them."""

    event: Literal["click", "not_found", "search", "answer_good", "answer_bad"]
    query: Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY)]
    index: Annotated[str, StringConstraints(max_length=100)] = ""
    shown: list[_ID] = Field(default_factory=list, max_length=MAX_K, description="Ids of the documents, best first.")
    document: _ID | None = Field(default=None, description="The document that was opened.")
    section: Annotated[int, Field(ge=0, le=10_000_000)] | None = None


class Part(BaseModel):
    """One part of a score."""

    name: str = Field(
        description="dense and overview: cosines of the passage and of its document; lexical and document: BM25 scores "
        "of the passage and of its document; structure and structure_overview: cosines of the encoder that was learned "
        "from these documents alone, where it takes part beside another one; described: the best cosine of a sentence "
        "that describes the document: its first, one that links to it, or another that stands alone; present: how much "
        "of the query the passage has as it is typed; called: what links to the document say of it, by idf; "
        "look: MaxSim of a second look; release_log: 1 of a passage in a log of releases, which loses by it."
    )
    label: str = Field(description="What that is, in plain words.")
    value: float
    weight: float
    gives: float


class Why(BaseModel):
    """Why a section was found."""

    parts: list[Part] = Field(description="What the score is the sum of; empty for pipelines that add nothing up.")
    words: list[str] = Field(description="Words of the query that the section or its path holds.")
    rank_by_words: int | None = Field(description="Its place by BM25 alone; null where it is not among those found.")
    described_by: str = Field(
        description="The sentence that describes the document best for the query: its own, or one that links to it; "
        "empty where none counts."
    )
    described_in: str = Field(
        description="The document that says so where it links to this one; empty where it says so itself."
    )
    described_at: str = Field(description="Where that one is read on this server; empty where it says so itself.")
    learned: str = Field(description="Where the weights come from.")
    titled: bool = Field(description="Whether the query is its document's title, which puts it before others.")
    by_hand: str = Field(description="What search.toml has to do with it, in words; empty where nothing.")


class Found(BaseModel):
    """A section that was found."""

    document: str
    section: int
    title: str
    path: list[str]
    anchor: str
    url: str = Field(description="Where it is read on its site; empty where that is not known.")
    read: str = Field(description="Where it is read on this server.")
    snippet: str
    highlights: list[list[int]] = Field(description="[start, end) of the query's words in the snippet.")
    is_code: bool = Field(False, description="Whether the snippet is code, whose line ends matter.")
    score: float
    why: Why | None = None


class Copy(BaseModel):
    """Where the same text also is."""

    document: str
    anchor: str
    read: str = Field(description="Where its document is read on this server.")
    version: str = Field("", description="Where it is another version of the page: its own, as its id calls it.")


class TranslationOut(Copy):
    """Where the same page is in another language."""

    language: str = Field(description="Its code, with the variant where readers tell such apart: fr, pt-BR.")
    language_name: str = Field(description="What it is called in English.")


class FoundDocument(Found):
    """A document by its best section."""

    document_title: str
    language: str = Field(description="Its language's code, as far as that is known, else that of most documents.")
    sections: list[Found] = Field(description="Its other sections that were found, best first.")
    also_at: list[Copy] = Field(
        description="Copies and versions, or without `group` sections that say the same, as far as they were found too."
    )
    also_in: list[TranslationOut] = Field(description="With `group` its translations, as far as they were found too.")


class FacetCount(BaseModel):
    """A value of a facet, and how many of the found documents have it."""

    value: str
    count: int


class FacetCounts(BaseModel):
    """A facet of the found documents."""

    name: str
    values: list[FacetCount]


class SearchAnswer(BaseModel):
    """The answer to a search, all from one index."""

    query: str
    searched: str = Field(
        default="",
        description="What the hits are for where that is not the query: while it is typed, its last word is completed "
        "and slips are mended.",
    )
    index: str
    pipeline: str
    confident: bool = Field(description="False where the first hit may well not be what was asked for.")
    likely: float | None = Field(
        default=None, description="How likely the first hit's document is right, 0 to 1; null where that is not known."
    )
    absent_phrases: list[str] = Field(
        default=[], description="Phrases in quotes that no page has: pages with their words were searched for."
    )
    documents: int = Field(description="Documents among the candidates; of copies and translations one is counted.")
    copies: int = Field(description="Documents among the candidates that are copies of others.")
    translations: int = Field(description="Documents among the candidates that are translations of others.")
    milliseconds: float
    hits: list[FoundDocument]
    facets: list[FacetCounts]


class LinkOut(BaseModel):
    """A link of a section's text."""

    start: int
    end: int
    document: str
    section: int
    kind: str
    read: str


class LinkIn(BaseModel):
    """A section that links here."""

    document: str
    section: int
    title: str
    document_title: str
    text: str
    kind: str
    read: str


class BlockOut(BaseModel):
    """A part of a section's text; those in it follow it, one deeper."""

    kind: str = Field(description="paragraph, list, item, table, row, cell, code, note and others.")
    detail: str = Field(
        description="Of code its language, of a note its kind, of a row `header` where it has the columns' titles, of "
        "a list its first number where it is ordered."
    )
    start: int
    end: int
    depth: int = Field(description="In how many others it occurs.")


class SectionAnswer(BaseModel):
    """A section as it reads."""

    document: str
    section: int
    index: str
    title: str
    path: list[str]
    anchor: str
    url: str
    text: str
    markdown: str = Field(description="The text as Markdown, with code in fences, tables, lists, notes and links.")
    blocks: list[BlockOut] = Field(description="What the parts of the text are, in its order.")
    links: list[LinkOut]
    children: list[SectionAnswer]


class OutlineEntry(BaseModel):
    """A section in a document's tree."""

    section: int
    level: int
    title: str
    anchor: str
    words: int


class RelatedDocument(BaseModel):
    """A document about the same as another."""

    document: str
    title: str
    read: str


class DocumentAnswer(BaseModel):
    """A document's tree, what links to it, and what is about the same."""

    document: str
    index: str
    title: str
    url: str
    metadata: dict[str, Any]
    outline: list[OutlineEntry]
    language: str = Field(description="Its language's code, as far as that is known, else that of most documents.")
    linked_from: list[LinkIn]
    related: list[RelatedDocument] = Field(description="Documents about the same, nearest first; none by words alone.")
    newest: Copy | None = Field(None, description="The newest version of this page, where this is an older one.")


class Problem(BaseModel):
    """Answer to a request that failed."""

    error: str
    message: str


class WhatWasRead(BaseModel):
    """Report of the ingest that the search was built from."""

    documents: int
    sections: int
    files: int = Field(description="All files that were seen.")
    read: int = Field(description="Files with documents.")
    parts: int = Field(description="Files that are parts of others.")
    skipped: int = Field(description="Files that are not documents.")
    skipped_because: list[str] = Field(description="Why, the commonest reason first.")
    failed: int = Field(description="Files that could not be read.")
    failed_because: list[str] = Field(description="Why, the commonest reason first.")
    links_resolved: int = Field(description="Links within the documents whose target was found.")
    links_within: int = Field(description="All links within the documents.")


class Status(BaseModel):
    """Status of the server."""

    title: str
    index: str
    documents: int
    sections: int
    meaning: bool = Field(description="Whether it searches by meaning too, or by words alone.")
    trained: bool = Field(description="Whether a pretrained encoder was trained on these documents.")
    learned_alone: bool = Field(
        description="Whether meaning is learned from these documents alone, with nothing pretrained."
    )
    verdict: str = Field(
        description="What training on these documents came to, in words; empty where nothing was trained on them."
    )
    stage: str = Field(description="What is being done, empty when nothing is.")
    feedback: bool
    what_was_read: WhatWasRead | None = Field(
        None, description="What the ingest read; null for who may not see all documents, and where no report was kept."
    )
