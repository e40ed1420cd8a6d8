"""The search for assistants, over the Model Context Protocol: search, read, outline.

Answers are whole sections, in Markdown, with addresses to cite, and never longer than asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from itertools import takewhile
from typing import Annotated, ParamSpec, TypeVar
from urllib.parse import quote, unquote

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, CallToolResult, ErrorData, JSONRPCError, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError
from structformer import __version__
from structformer.document import MarkKind
from structformer.errors import StructformerError, UsageError
from structformer.text import visible

from structformer_serve.as_markdown import open_fence, unlinked
from structformer_serve.http.guard import ACCESS
from structformer_serve.schemas import MAX_K, MAX_QUERY, MAX_TOKENS, Found, SearchAnswer, SearchRequest, SectionAnswer
from structformer_serve.service import NoDocument, SearchService, View

DEFAULT_TOKENS = 4000
_SEARCH_TOKENS = 3000
_SURE, _FAIR = 0.75, 0.5  # from which likelihood on one section is shown whole, and two; in doubt three are
_MORE = 3  # times as many documents are looked at where only those with code are wanted
_FEWEST_TOKENS = 100
_SECTION = re.compile(r"s[0-9]{1,9}")
_BYTES = 3  # that count as a token: of most texts one has more
_RESERVED = 40 * _BYTES  # for what is said at the end
_FEWEST_BYTES = 60 * _BYTES  # of a section that is worth its heading
_SHARE = 0.5  # of an answer, at most, for one section
_DEEPEST_HEADING = 6
_CUT = "… (cut: read it whole)"
_UNSAFE = re.compile(r"[%\[\]<>`\n]")
_NEAR = 0.8  # of a cut text, that a cut between its parts leaves at least
Tokens = Annotated[int, Field(ge=_FEWEST_TOKENS, le=MAX_TOKENS, description="The answer has at most so many tokens.")]
Address = Annotated[
    str, Field(min_length=1, max_length=1000, description="An address as search gives it: guide/install.md#s3")
]
P = ParamSpec("P")
T = TypeVar("T")
Keep = Callable[[SearchRequest, SearchAnswer], SearchAnswer]


class FoundSection(BaseModel):
    """A section that an assistant is given."""

    address: str = Field(description="What `read` takes.")
    path: list[str] = Field(description="The titles of its document and of the sections around it, and its own.")
    url: str = Field(description="Where people read it; empty where that is not known.")
    language: str
    snippet: str
    markdown: str = Field(description="The section, cut where it is long; empty where `read` gives it.")


class FoundSections(BaseModel):
    """Results of a search, best first."""

    query: str
    confident: bool = Field(description="False: nothing surely fits.")
    likely: float | None = Field(description="How likely the first one is right, 0 to 1; null where that is not known.")
    sections: list[FoundSection]


_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def mcp_server(service: SearchService, keep: Keep = lambda _, answer: answer) -> MCPServer[None]:
    """Return the MCP server of a search. keep: notes each search."""
    answers = Answers(service, keep)
    server: MCPServer[None] = MCPServer(
        service.title,
        version=__version__,
        log_level="WARNING",
        instructions=(
            f"Documentation of {service.title}. `search` finds sections for a question in plain words; `read` gives a "
            "whole section by its address; `outline` shows a document's tree, or which documents there are. Cite the "
            "addresses."
        ),
    )

    server.tool(annotations=_READS)(_told(answers.search))
    for tool in (answers.read, answers.outline):
        server.tool(annotations=_READS, structured_output=False)(_told(tool))
    return server


def _told(tool: Callable[P, T]) -> Callable[P, T]:
    """Wrap a tool so that it tells the assistant why it has no answer."""

    @wraps(tool)
    def told(*asked: P.args, **named: P.kwargs) -> T:
        try:
            return tool(*asked, **named)
        except StructformerError as error:
            raise ToolError(str(error)) from error

    return told


async def over_stdio(server: MCPServer[None]) -> None:
    """Serve a client over standard input and output; answer a line that is not a message with an error."""
    inner = server._lowlevel_server  # MCPServer itself answers messages alone
    given, taken = anyio.create_memory_object_stream[SessionMessage | Exception]()
    async with stdio_server() as (messages, answers), anyio.create_task_group() as group:

        async def sort() -> None:
            async with given:
                async for message in messages:
                    if isinstance(message, Exception):
                        await answers.send(SessionMessage(_refusal(message)))
                    else:
                        await given.send(message)

        group.start_soon(sort)
        await inner.run(taken, answers, inner.create_initialization_options())


def _refusal(error: Exception) -> JSONRPCError:
    """JSON-RPC's answer to a line that is not a message, to its id where Python can read one: half of a surrogate pair,
    as a cut emoji leaves it, is no JSON, but the rest of its line is.
    """
    number = None
    for line in [each["input"] for each in error.errors()] if isinstance(error, ValidationError) else ():
        with suppress(ValueError, RecursionError):
            value = json.loads(line) if isinstance(line, str) else line
            number = number or (value.get("id") if isinstance(value, dict) else None)
    if type(number) not in (int, str) or any("\ud800" <= each <= "\udfff" for each in str(number)):
        number = None  # no answer can hold half of a pair
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message="the line is no JSON-RPC"))


class Answers:
    """The tools. What a request may see is in the guard's ACCESS."""

    def __init__(self, service: SearchService, keep: Keep = lambda _, answer: answer) -> None:
        self._service, self._keep = service, keep

    def search(
        self,
        query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY, description="A question, or words.")],
        k: Annotated[int, Field(ge=1, le=MAX_K, description="Documents at most.")] = 10,
        path: Annotated[
            str, Field(max_length=300, description="Only documents whose ids match, for example guide/*")
        ] = "",
        language: Annotated[str, Field(max_length=20, description="Only documents in this language: de")] = "",
        where: Annotated[
            list[str] | None, Field(max_length=10, description="Only documents whose metadata hold this: version=2.0")
        ] = None,
        code: Annotated[bool, Field(description="Only sections that show code.")] = False,
        max_tokens: Tokens = _SEARCH_TOKENS,
    ) -> Annotated[CallToolResult, FoundSections]:
        """Find the sections that answer a question. Where the first one is likely right, it comes whole; in doubt
        several do. Read the others by their addresses.
        """
        asked = [*(where or ()), *([f"language={language}"] if language else ())]
        text, sections = self.found(query, k, path, max_tokens, asked, code=code)
        content = [TextContent(type="text", text=text)]
        return CallToolResult(content=list(content), structured_content=sections.model_dump(mode="json"))

    def found(
        self, query: str, k: int, path: str, max_tokens: int, where: Sequence[str] = (), *, code: bool = False
    ) -> tuple[str, FoundSections]:
        """Return sections for a question, as text and as values. Raises UsageError."""
        view = self._view()
        try:
            asked = min(MAX_K, k * _MORE) if code else k
            request = SearchRequest(q=query, k=asked, path=[path] if path else [], where=list(where))
        except ValidationError as error:
            wrong = error.errors()[0]
            raise UsageError(f"{wrong['loc'][0]}: {wrong['msg'].removeprefix('Value error, ')}") from None
        answer = self._keep(request, view.search(request))
        hits = [hit for hit in answer.hits if not code or _shows_code(view, hit)][:k]
        result = FoundSections(query=query, confident=answer.confident, likely=answer.likely, sections=[])
        given, any_fits = view.help(request)
        missing, within = given.missing, " within the filter" if path or where else ""
        lacking = f"No page{within} has: {', '.join(missing)}." if missing else ""
        if not hits:
            why = f"{lacking}\nTry other words, or `outline`." if any_fits else "No document fits the filter."
            return _cut(f"Nothing was found for: {query}\n{why.lstrip()}", max_tokens * _BYTES), result
        text = _Text(max_tokens)
        text.add(_doubt(answer, lacking))
        # First where everything stands, so that what does not fit can be read.
        for place, hit in enumerate(hits, 1):
            others = [each for each in hit.sections if each.section != hit.section][:3]
            line = f"{place}. {_named(hit)}" + (f" {hit.url}" if hit.url else "")
            line += "".join(f"\n   also {_named(each)}" for each in others)
            if not text.add(line + "\n"):
                break
            result.sections.append(
                FoundSection(
                    address=_address(hit.document, hit.section),
                    path=hit.path,
                    url=hit.url,
                    language=hit.language,
                    snippet=visible(hit.snippet),
                    markdown="",
                )
            )
        text.add("\n")
        share = int(_SHARE * max_tokens * _BYTES)
        for hit, of_hit in zip(hits[: _shown(answer.likely, len(hits))], result.sections, strict=False):
            section = view.section(hit.document, section=hit.section, linked=False)
            body = text.add_section(f"## {_named(hit)}\n\n", section.markdown or hit.snippet, share)
            if body is None:
                break
            of_hit.markdown = body
        return text.whole(), result

    def _view(self) -> View:
        return self._service.seen_by(ACCESS.get())

    def read(
        self,
        address: Address,
        children: Annotated[bool, Field(description="With the sections below it.")] = True,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Read a section, or a document from its beginning, with the sections below it as far as they fit."""
        root = self._section(address, children)
        text = _Text(max_tokens)
        text.add(
            f"# {unlinked(' › '.join(root.path))} [{_address(root.document, root.section)}]"
            + f" {root.url}\n\n".lstrip(" ")
        )
        left: list[SectionAnswer] = []
        for depth, section in _walk(root):
            address = _address(section.document, section.section)
            head = (
                f"{'#' * min(depth + 1, _DEEPEST_HEADING)} {unlinked(section.title)} [{address}]\n\n" if depth else ""
            )
            whole = section is not root
            if left or text.add_section(head, section.markdown, max_tokens * _BYTES, whole=whole) is None:
                left.append(section)
        if not left:
            return text.whole()
        first = _address(left[0].document, left[0].section)
        return text.whole(f"\n({len(left)} more sections: read [{first}] and on)\n")

    def _section(self, address: str, children: bool) -> SectionAnswer:
        document, place = self._place(address)
        number = int(place[1:]) if _SECTION.fullmatch(place) else None
        anchor = place if place and number is None else None
        try:
            return self._view().section(document, section=number, anchor=anchor, children=children, linked=False)
        except NoDocument:  # said in one way, however an id that is hidden and one that is not there are cut
            raise UsageError(f"no document {address!r}") from None

    def _place(self, address: str) -> tuple[str, str]:
        """The document of an address, and the section or anchor in it, "" for none: as the tools print it, in brackets
        or not, or as a person types it. An id may itself hold a "#", as those of a dump's pages do.
        """
        stripped = address.strip()
        forms = [stripped.removeprefix("[").removesuffix("]"), address, stripped]
        for form in dict.fromkeys([*map(unquote, forms), *forms]):
            if self._service.current.number(form) is not None:
                return form, ""
            document, _, place = form.rpartition("#")
            if document and self._service.current.number(document) is not None:
                return document, place
        document, _, place = forms[0].partition("#")
        return document, place

    def outline(
        self,
        document: Annotated[str, Field(max_length=1000, description="A document's id; none for all documents.")] = "",
        path: Annotated[str, Field(max_length=300, description="Only documents whose ids match: guide/*")] = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Show the sections of a document with their addresses, or the documents that there are."""
        view, text = self._view(), _Text(max_tokens)
        if document:
            whole = view.document(self._place(document)[0])
            total = len(whole.outline)
            lines = (
                f"{'  ' * entry.level}- {unlinked(entry.title)} [{_address(whole.document, entry.section)}] "
                f"{entry.words} words\n"
                for entry in whole.outline
            )
        else:
            documents = view.documents(path)
            total = len(documents)
            lines = (f"- {unlinked(title or name)} [{_address(name)}]\n" for name, title, _ in documents)
        shown = sum(1 for _ in takewhile(text.add, lines))
        return text.whole(f"({total - shown} more)\n" if shown < total else "")


class _Text:
    """A text that never grows beyond its tokens."""

    def __init__(self, most: int) -> None:
        self._left = most * _BYTES - _RESERVED
        self._parts: list[str] = []

    def add(self, part: str) -> bool:
        """Add a part if it fits; gives whether it did."""
        part = visible(part)  # the assistant is told nothing that who watches it cannot see
        if (size := _size(part)) > self._left:
            return False
        self._left -= size
        self._parts.append(part)
        return True

    def add_section(self, head: str, body: str, most: int, *, whole: bool = False) -> str | None:
        """Add a section, cut where it has more bytes than `most` or than are left, unless it is to be whole; gives what
        is shown of its body, None where it is not added.
        """
        head, body = visible(head), visible(body)
        room, size = min(most, self._left) - _size(f"{head}\n\n\n\n{_CUT}"), _size(body)
        if room < min(_FEWEST_BYTES, size) or (whole and size > room):
            return None
        shown = cut_markdown(body, room)
        return shown if self.add(f"{head}{shown}\n\n") else None

    def whole(self, end: str = "") -> str:
        """The text. end: its last line, for which there is always room."""
        return "".join([*self._parts, end]).rstrip() + "\n"


def _shows_code(view: View, hit: Found) -> bool:
    section = view.section(hit.document, section=hit.section, linked=False)
    return any(block.kind == MarkKind.CODE for block in section.blocks)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text with at most so many bytes, cut behind a line or a word where that is near."""
    cut = text.encode("utf-8", "replace")[: max(0, most)].decode("utf-8", "ignore")
    near = (place for mark in "\n " if (place := cut.rfind(mark)) > _NEAR * len(cut))
    return text if len(cut) == len(text) else text[: next(near, len(cut))].rstrip()


def cut_markdown(text: str, most: int) -> str:
    """The beginning of a text in Markdown with so many bytes at most, and that it is cut. It is cut between two of its
    parts where that is near, code between lines, and what closes the code follows.
    """
    cut = _cut(text, most)
    if len(cut) == len(text):
        return text
    if (fence := open_fence(cut)) is not None and fence[0] < _NEAR * len(cut):
        begins, closing = fence
        cut = _cut(text, most - _size(f"\n{closing}\n\n"))
        if open_fence(cut) is None or (line_end := cut.find("\n", begins)) < 0:
            return _said_to_be_cut(cut[:begins])
        if text[len(cut)] != "\n" and (last := cut.rfind("\n")) > line_end:
            cut = cut[:last]  # half a line may be half of what closes the code; of a first line a half is shown
        return _said_to_be_cut(f"{cut}\n{closing}")
    if fence is not None:
        return _said_to_be_cut(cut[: fence[0]])
    between = cut.rfind("\n\n")
    part = cut[:between] if between >= _NEAR * len(cut) else cut
    return _said_to_be_cut(part if open_fence(part) is None else cut)


def _said_to_be_cut(text: str) -> str:
    text = text.rstrip()
    return text + (f"\n\n{_CUT}" if text[-1:] in "`$|" else f" {_CUT}")


def _address(document: str, section: int = 0) -> str:
    """An address in which nothing ends the brackets around it; `read` takes it so and as it is."""
    name = _UNSAFE.sub(lambda found: quote(found[0]), document)
    return f"{name}#s{section}" if section else name


def _doubt(answer: SearchAnswer, lacking: str) -> str:
    """How sure the search is, where it can tell. lacking: which words of the query no page has, as a sentence."""
    reasons = [
        *(f'No page has this phrase: "{phrase}"; pages with its words:' for phrase in answer.absent_phrases),
        "" if answer.confident else "No sure match. Closest pages:",
        "" if answer.likely is None else f"The first is right with a likelihood of about {answer.likely:.0%}.",
        lacking,
    ]
    return f"{' '.join(filter(None, reasons))}\n\n" if any(reasons) else ""


def _shown(likely: float | None, hits: int) -> int:
    """Return how many sections are shown whole, as far as they fit."""
    return min(hits, 3 if likely is None or likely < _FAIR else 1 if likely >= _SURE else 2)


def _named(section: Found) -> str:
    path = unlinked(" › ".join(section.path) or section.title)
    return f"{path} [{_address(section.document, section.section)}]"


def _walk(root: SectionAnswer, depth: int = 0) -> Iterator[tuple[int, SectionAnswer]]:
    """Yield (how deep it is, a section), of all below one in their order."""
    yield depth, root
    for child in root.children:
        yield from _walk(child, depth + 1)
