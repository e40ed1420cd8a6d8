"""The Markdown format: bytes to one Document, and the names that its links may mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from pathlib import PurePosixPath
from typing import Any

from markdown_it.token import Token
from structformer.document import Document, Link, LinkKind, MarkKind, Source
from structformer.errors import ReadError
from structformer.formats import (
    UNNAMED,
    FormatOption,
    SourceFile,
    TreeBuilder,
    is_external,
    link_names,
    name_references,
    normalize,
    path_candidates,
    path_names,
    promote_to_root,
    split_fragment,
    wiki_name,
    without_garbage_collection,
    without_suffix,
)
from structformer.plugins import load_plugins
from structformer.text import github_slug

from structformer_html import PARTS, SCRIPTS, SPANS, has_prose
from structformer_markdown.dialects import chosen_names, liquid, myst, pandoc, plain_markdown, syntaxes
from structformer_markdown.dialects.containers import UNENDED, Container
from structformer_markdown.dialects.page import SPOKEN, SYNTAXES
from structformer_markdown.fence_info import CODE_DIRECTIVES, DIRECTIVE, HIDDEN_LINE, fence_mark, shown_code
from structformer_markdown.front_matter import home_page, shown, split_front_matter
from structformer_markdown.grammar import EXTENDED, MAX_NESTING, UNINDENTED, parse
from structformer_markdown.includes import taken_whole, text_of, with_includes
from structformer_markdown.inline_text import ATTRIBUTES, names_in, spans, without_attributes
from structformer_markdown.raw_html import RawHtml
from structformer_markdown.tables import LOOSE
from structformer_rst import ICON, NUMBER_PLACE, SCOPES, SIGNED, Objects, is_object, last_part, object_names, target_of
from structformer_sites import published_paths, settings_above

_TITLE_BLOCK = re.compile(r"(?:%[^\n]*(?:\n[ \t]+\S[^\n]*)*(?:\n|\Z)){1,3}")
_MAN_TITLE = re.compile(r"(?P<name>[^\s()]+)(?:\s+|\s*\()(?P<section>[1-9][a-z]*|[nl])(?:\)|\s|$)")
_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*\n[ \t]*")
_TEX_LABEL = re.compile(r"\\label\{([^{}\s]+)\}")
_CAPTION = re.compile(r"(?:Table)?:[ \t]+")
_RAW_SPAN = re.compile(r"\{=(\w+)\}")  # behind what is code only for Markdown
_CELL_NAME = re.compile(r"^#\|[ \t]*label:[ \t]*([\w:.-]+)[ \t]*$", re.MULTILINE)  # the name of a cell, in a comment
_CHUNK = re.compile(r"\{[a-z]+[ ,]+([\w.-]+)(?=[ ,}])")
_EMOJI = re.compile(r"\A(?::[a-z0-9_+-]+: +)+(?=\S)|(?<! )(?: ++:[a-z][a-z0-9_+-]*:)+ *\Z")  # beside a heading
_ENTRY = re.compile(r"(?:(.+?)\s*<([^<>]+)>|[^:\s].*)")
# A language, in spans of code: PyMdown's and rehype-pretty-code's.
_CODE_OF = re.compile(r"\A#![a-z][\w+-]* (?=\S)|(?<=\S)\{:[a-z]+\}\Z")
_ROLE = re.compile(r"\{([\w:+-]+)\}$")
_NAMED = re.compile(r"(.*?)<([^<>]+)>", re.DOTALL)
_MYST = frozenset({"myst"})
_MARKED_ROLES = {
    "math": MarkKind.FORMULA_SPAN,
    **dict.fromkeys("code command envvar file kbd option program samp".split(), MarkKind.CODE_SPAN),
}
_STANDARDS = {"pep": "https://peps.python.org/pep-{:0>4}", "rfc": "https://tools.ietf.org/html/rfc{}.html"}
_SCRIPT_ROLES = {**SCRIPTS, "superscript": SCRIPTS["sup"], "subscript": SCRIPTS["sub"]}
_INDENTED = re.compile(r"\A(?!(?:.*\n)*[:~][ \t])(?:.*\n)*[ \t]+\S")  # definitions, and none behind a colon
_MAX_DIRECTIVES = 10
_LONGEST_RST = 50_000  # characters; of more, docutils makes minutes
_ALERT = re.compile(r"\[!(\w+)\]\s*")
_ASCIIDOC = re.compile(
    r"^(?:\[\[[\w-]+\]\]|ifn?def::|endif::|include::|image::|\[(?:verse|NOTE|TIP|source|horizontal)[^\]]*\]|={1,5} \S.*"
    r"|:[\w-]+:(?: .*)?|\+|\S.*::|\S.*\n(?:~{4,}|\^{4,}|\+{4,}))$|\blink(?:git)?:[^\s\[]+\[|<<[\w-]+(?:,[^>\n]*)?>>",
    re.MULTILINE,
)
_PROSE_SUFFIXES = frozenset({".txt", ".text", ".readme", ".page", ".post"})
_SUMMARY_KEYS = ("description", "summary", "abstract", "subtitle", "excerpt", "intro")
_NAMED_PARTS = ("link_close", "code_inline", "image", "em_close", "strong_close")  # behind which attributes may stand
_OF_LINES = (MarkKind.LIST, MarkKind.DEFINITIONS)
_BIBLIOGRAPHY = "works:"  # name of pages that list the works that others cite
_ANY_CASE = "any case:"  # before the names of a path in lower case, as some sites have their addresses
_SLUG = "slug:"  # before the names of places that a heading's words give; what is named on purpose comes first
_NAME_KEYS = ("slug", "permalink", "url", "id", "aliases", "redirect_from")


class MarkdownFormat:
    """CommonMark + GFM, front matter, raw HTML, footnotes, definition lists, attribute lists, wiki-links."""

    # What is not text in a page's source: front matter, comments, tags, addresses, directives and their options.
    not_text = re.compile(
        r"\A(---|\+\+\+)\n.*?\n\1\n|<(script|style)\b.*?</\2>|<!--.*?-->|<[^<>\n]*>|\]\([^()\n]*\)|\{[{%].*?[%}]\}|^[ \t]*import [^\n]*$"
        r"|^:::+[^\n]*(?:\n[ \t]{4,}[^\n]*)*",
        re.DOTALL | re.MULTILINE,
    )
    name = "markdown"
    suffixes = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd", ".livemd", ".cheatmd")
    media_types = ("text/markdown", "text/x-markdown")
    options = (
        FormatOption("flavor", "gfm also finds bare URLs, wiki-links and footnotes", ("gfm", "commonmark")),
        FormatOption(
            "dialect", "dialects, or site generators, whose marks are read, by comma; none for none", check=chosen_names
        ),
        FormatOption("theme", "a theme of your own, in TOML: what --theme FILE holds"),
    )
    completeness = "complete: CommonMark, GFM, front matter, raw HTML, footnotes, wiki-links"

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file is Markdown; 0 for names of code and configuration, which have `#` lines too."""
        stem_dot = path.rpartition("/")[2].rpartition(".")
        if stem_dot[1] and f".{stem_dot[2].lower()}" not in _PROSE_SUFFIXES:
            return 0.0
        text = head.decode("utf-8", "replace")
        if text.lstrip("\ufeff \t\r\n").lower().startswith(("<!doctype", "<html", "<?xml")) or "\x00" in text:
            return 0.0
        if _ASCIIDOC.search(text) or not (stem_dot[1] or has_prose(text)):
            return 0.0
        signs = (
            r"^#{1,6} \S",
            r"^(?:---|\+\+\+)\n\w+",
            r"^\s*[-*+] \S",
            r"\[[^\]\n]+\]\([^)\s]+\)",
            r"^(?:```|~~~)",
            r"^(?:===+|---+)$",
        )
        outlined = len(set(re.findall(r"^(#{1,6}) \S", text, re.MULTILINE))) > 1
        return min(0.9, 0.5 * outlined + 0.25 * sum(bool(re.search(sign, text, re.MULTILINE)) for sign in signs))

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document. Option `flavor`: "gfm" (default), or "commonmark" without bare URLs and wiki-links as links."""
        text = text_of(source)
        if not text.strip():
            source.warn("empty: no document")
            return
        metadata, body_start, warning = split_front_matter(text)
        if warning:
            source.warn(warning)
        if not metadata and (block := _TITLE_BLOCK.match(text)) is not None:
            metadata, body_start = _title_block(block[0]), block.end()
        strict, names = options.get("flavor", "gfm") == "commonmark", frozenset[str]()
        theme = load_plugins().theme_of(options)
        body = text[body_start:]
        if not strict:
            body = with_includes(body, source)
            if options.get("dialect") != "none" and liquid.is_template(metadata.get("title"), body, source):
                source.warn("a template that its site fills in: not a document")
                return
            names = syntaxes(body, source.path, options.get("dialect"))
            body = plain_markdown(body, source, names, theme.shortcodes)
            names |= {pandoc.OWN.name} if "pandoc" in names and source.path.lower().endswith(pandoc.SUFFIXES) else set()
        builder = TreeBuilder()
        env: dict[str, Any] = {"references": {}} if strict else {EXTENDED: True, SYNTAXES: names, "references": {}}
        if source.path.lower().endswith(".mdx"):
            env[UNINDENTED] = True
        if "|" in body and not strict and settings_above(source, "loose_tables") is not None:
            env[LOOSE] = True
        with without_garbage_collection():
            # The tokens must be gone before the collector is on again, or it would walk them all.
            reader = _Reader(builder, source, extended=not strict)
            reader.roles = theme.roles
            reader.lines_before = text.count("\n", 0, body_start)
            reader.within |= {"references": env["references"], SYNTAXES: names | {"myst"}}
            _read_summary(metadata, reader, builder)
            reader.read(parse(body, env))
        for opened in dict.fromkeys(env.get(UNENDED, ())):
            source.warn(f"{opened} without an end: it ends before the next heading")
        if places := env.get("too_deep"):
            line, lines = places[0][0] + reader.lines_before, sum(count for _, count in places)
            source.warn(
                f"line {line}: nested over {MAX_NESTING} levels deep; {lines} line{'s' * (lines > 1)} "
                "from there kept as plain paragraphs"
            )
        title = (shown(metadata.get("title")) or next(iter(home_page(metadata)), "")).strip()
        title = _unmarked(title) if title.count("`") > 1 else title
        languages = (metadata.get(key) for key in ("lang", "language"))
        document = builder.finish(
            Source(source.path, self.name),
            title=_on_one_line(title) or None,
            language=next((each for each in languages if isinstance(each, str)), None),
            metadata=metadata,
            promote=True,  # the title of the front matter and the heading name the same page, in whatever words
        )
        first, *others = document.root.children or [document.root]
        is_headed = not (title or strict or others or document.root.text) and first.level > 1
        if is_headed and settings_above(source, "chapters") is not None:  # of a book, with a heading of any level
            promote_to_root(document.root, first)
            document.title = document.root.title
        if reader.has_unnamed:
            here = {anchor for section in document.sections() for anchor in section.anchors}
            name_references(document, lambda label, _: "" if label in here else _words(label))
        if source.path.lower().endswith(pandoc.SUFFIXES):  # of a book, whose places are one another's
            for section in document.sections():
                slug = github_slug(section.title)
                for anchor in section.anchors:
                    is_slug = anchor.startswith(slug) and anchor not in reader.explicit
                    reader.names.append(f"{_SLUG * is_slug}{_label_name(anchor)}")
        document.names = (*_names(document, source), *dict.fromkeys((*reader.names, *reader.described(document))))
        yield document

    def parts(self, source: SourceFile) -> set[str]:
        """Return paths of the files that a file takes in whole and that are not pages of their own."""
        return taken_whole(source)

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Names the target may mean, best first: as a path, as a site's address, as a wiki page's name, as a path in
        other case; a MyST label anywhere; a cited work, which is outside where no page lists the works.
        """
        if link.kind is LinkKind.CITATION and not is_external(link.target):
            yield f"//{link.target}"
            yield _BIBLIOGRAPHY
            return
        if is_object(link.target):
            yield from object_names(link.target)
            return
        page, fragment = split_fragment(link.target)
        anchor = f"#{normalize(fragment)}" if fragment else ""
        if page.startswith("/") and (top := normalize(page).strip("/")) and "/" not in top:
            yield f"/{top}{anchor}"
        yield from link_names(document.id, document.source.path, link.target)
        label = normalize(page or fragment)
        if label and not (page and (fragment or is_external(link.target))):  # or a rule of a specification
            place = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")  # as docutils has it
            yield from (f"{_label_name(label)}#{label}", f"{_label_name(label)}#{place}")
            yield f"{_SLUG}{_label_name(label)}#{label}"
            yield f"label:term-{place}#term-{place}"
        if page.startswith("xref:"):  # an object of code is described where what it is in is
            parts = page.removeprefix("xref:").split(".")
            for count in range(len(parts), 0, -1):
                name = ".".join(parts[:count])
                yield f"{_label_name(name)}#{name}"
        if page and not is_external(link.target):
            if "/" not in page:
                yield from (name + anchor for name in _names_below(document.source.path, page))
            # From the root, as in Obsidian's vaults; `de/a.md` may be a translation of what is there.
            if page[0] not in "./" and ("/" in page or document.source.path.count("/") > 1):
                above = PurePosixPath(document.source.path).parent.parents
                yield from (normalize(str(folder / page)) + anchor for folder in above)
            yield wiki_name(page) + anchor
            for name in link_names(document.id, document.source.path, link.target):
                path, separator, anchor = name.partition("#")
                if path != path.lower():
                    yield path.lower() + separator + anchor
                yield _ANY_CASE + path.lower() + separator + anchor


def _label_name(label: str) -> str:
    """Return the name by which a label is found anywhere in the corpus, in reStructuredText too."""
    return f"label:{normalize(label).lower()}"


def _words(label: str) -> str:
    """Return the words of a label, in place of the title that it has on another page."""
    return " ".join(re.split(r"[\W_]+", label))


def _title_block(block: str) -> dict[str, Any]:
    """Pandoc's title block, with which man pages in Markdown begin: `% name section`, authors, date."""
    title, *others = [line.lstrip("%").strip() for line in block.strip("\n").split("\n") if line.startswith("%")]
    if (page := _MAN_TITLE.match(title)) is not None:
        title = f"{page['name']}({page['section']})"
    given = {"title": title, "author": "".join(others[:1])}
    return {key: value for key, value in given.items() if value}


def _read_summary(metadata: Mapping[str, Any], reader: _Reader, builder: TreeBuilder) -> None:
    """Begin with what the front matter says of a page, without its marks of code and links where it has some."""
    summary = next((value for key in _SUMMARY_KEYS if isinstance(value := metadata.get(key), str)), "")
    for part in (summary, *home_page(metadata)[1:]):
        text = _on_one_line(part)
        told = _inline_of(text, {}) if "<" not in text else None
        if told:
            reader.read([told])
        else:
            builder.text(text)
        builder.paragraph()


def _on_one_line(text: str) -> str:
    """Return a text of the front matter without what HTML makes of it."""
    return " ".join(unescape(text).replace("\u00ad", "").split())


def _inline_of(text: str, env: dict[str, Any]) -> Token | None:
    """Return a line's inline token with its marks; None for a text that is more than a paragraph, or has none."""
    tokens = parse(text, env) if any(mark in text for mark in "`[*") else []
    return tokens[1] if [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"] else None


def _unmarked(text: str) -> str:
    """Return a line without its marks."""
    told = _inline_of(text, {})
    return _plain(told.children or []) if told else text


def _names(document: Document, source: SourceFile) -> tuple[str, ...]:
    path = document.source.path
    paths = [path, *published_paths(path, document.metadata, source)]
    places = [name for each in paths for name in path_names(each)]
    # At the top of the site; pages elsewhere may have that name too.
    names = [*places, *(f"/{name}" for name in places if "/" not in name)]
    if isinstance(uid := document.metadata.get("uid"), str):
        names.append(normalize(f"xref:{uid}"))
    for key in _NAME_KEYS:
        value = document.metadata.get(key)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and item.strip():
                name = normalize(item).strip("/")
                names += [name, *(path_candidates(path, item) if "/" in item else ())]
                names += [f"/{name}"] if item[0] == "/" and "/" not in name else []
    stem = without_suffix(path).rpartition("/")[2]
    names += [wiki_name(stem), wiki_name(document.title), *_names_below(path, stem)]
    names += [_ANY_CASE + name.lower() for name in places if name != name.lower()]
    return tuple(dict.fromkeys(name for name in names if name))


def _names_below(path: str, page: str) -> Iterator[str]:
    """A page's name below each folder that a path is in, from the innermost on: of several vaults, the link's own."""
    for folder in list(PurePosixPath(path).parents)[:-1]:
        yield f"below:{normalize(str(folder))}/{wiki_name(page)}"


class _Reader:
    """Walks markdown-it's flat token list and tells a TreeBuilder what it finds."""

    def __init__(self, builder: TreeBuilder, source: SourceFile, *, extended: bool) -> None:
        self._builder = builder
        self._source = source
        self._objects = Objects()
        self._extended = extended
        self._html = RawHtml(builder, marked=extended)
        self._list_depth = 0
        self._quotes: list[MarkKind] = []
        self._nested = self._tabs = 0  # directives, and groups of tabs, around
        self.lines_before = 0  # those of the front matter
        self._of_terms = False  # in a glossary, whose terms are places
        self._anchors: list[str] = []  # of what comes next
        self.names: list[str] = []  # of the document, by what is in it
        self.explicit: set[str] = set()  # anchors of headings that are written there
        self.has_unnamed = False
        self.roles: Mapping[str, str] = {}  # of the user's own, those that they are like
        self.within: dict[str, Any] = {EXTENDED: True}  # the environment of what directives hold

    def read(self, tokens: list[Token]) -> None:
        for index, token in enumerate(tokens):
            kind = token.type
            if kind == "myst_target":
                self._anchors.append(token.content)
                self.names.append(_label_name(token.content))
            elif kind == "inline":
                if token.content[:1] in (":", "T") and self._extended and self._caption(token, tokens, index):
                    continue
                if token.content[:1] == "!" and _is_figure(token):
                    with self._builder.marked(MarkKind.FIGURE):
                        self._content(token.content, token.children)
                else:
                    if self._of_terms and tokens[index - 1].type == "dt_open":
                        self._label([_plain(token.children or [token])])
                    elif self._anchors and not self._builder.in_heading:
                        self._label([])
                    self._content(token.content, token.children)
            elif kind == "container_open" or kind == "container_close":
                self._container(token.meta["container"], tokens, index)
            elif (self._nested or self._tabs) and kind in ("heading_open", "heading_close"):
                # In a directive or as the label of a tab, where it is a line and no section of the page.
                if kind == "heading_open":
                    _heading_attributes(tokens[index + 1])
                    self._open(MarkKind.STRONG)
                else:
                    self._close(MarkKind.STRONG)
            elif kind == "heading_open":
                self._heading(token, tokens[index + 1])
            elif kind == "heading_close":
                self._builder.close_heading()
            elif kind == "table_row":
                is_header = tokens[index - 1].type == "table_open"
                if not is_header or any(token.meta["cells"]):
                    cells = zip(token.meta["cells"], token.meta["parsed"], strict=True)
                    self._builder.row(cells, lambda cell: self._content(*cell), is_header=is_header)
                    self._builder.line()
            elif kind == "html_block":
                self._html_block(token, tokens, index)
            elif kind == "fence" or kind == "code_block":
                if self._extended and token.info[:1] == "{" and self._directive(token):
                    continue
                self._code(token)
            elif kind == "blockquote_open":
                alert = _alert(tokens, index)
                self._quotes.append(MarkKind.NOTE if alert else MarkKind.QUOTE)
                self._open(self._quotes[-1], alert)
            elif kind == "blockquote_close":
                self._close(self._quotes.pop())
            elif (part := MarkKind.TITLE if kind[:11] == "alert_title" else PARTS.get(token.tag)) is not None:
                if token.nesting > 0:
                    self._open(part, str(token.attrs.get("start", 1)) if kind == "ordered_list_open" else "")
                else:
                    self._close(part)
            elif kind != "lead":
                self._block()

    def _container(self, container: Container, tokens: list[Token], index: int) -> None:
        """The beginning or the end of a container of colons."""
        step = tokens[index].nesting
        self._tabs += step * container.has_tabs
        if not container.is_note:
            self._block()
        elif step < 0:
            self._close(MarkKind.NOTE)
        else:
            self._open(MarkKind.NOTE, container.kind)
            following, first = tokens[index + 1], (tokens[index].map or [0])[0]
            if container.kind in SPOKEN and following.type != "alert_title_open":
                self._builder.text(f"{container.kind.capitalize()}: ")
                if following.type == "paragraph_open" and following.map and following.map[0] == first + 1:
                    following.type = "lead"  # the words go on
                else:
                    self._block()
        self._builder.add_anchor(*(container.ids if step > 0 else ()))

    def _caption(self, token: Token, tokens: list[Token], index: int) -> bool:
        """A table's caption, below it or above it. False where it is none."""
        found = _CAPTION.match(token.content)
        before = tokens[max(index - 2, 0)]
        beside = {before.type, *(each.type for each in tokens[index + 2 : index + 3])}
        is_below_html = before.content.rstrip().endswith("</table>")
        if found is None or (beside.isdisjoint({"table_close", "table_open"}) and not is_below_html):
            return False
        first, last = (token.children or [token])[0], (token.children or [token])[-1]
        if not first.content.startswith(found[0]):
            return False
        first.content = first.content[found.end() :]
        last.content, names = without_attributes(last.content)
        self._builder.add_anchor(*names)
        with self._builder.marked(MarkKind.CAPTION):
            self._content(token.content, token.children)
        return True

    def _code(self, token: Token) -> None:
        """Code as it stands, or what else is not Markdown; a directive's options in front of it are none of it."""
        content = shown_code(token.content) if self._extended else token.content
        content = content.strip("\n") if content.strip() else ""
        if self._extended and token.info.startswith("{"):
            options, content = myst.split_options(content)
            self._label(myst.labels(options))
        if self._extended and "{" in token.info:
            self._builder.add_anchor(*names_in(token.info), *_CELL_NAME.findall(content))
            if (chunk := _CHUNK.match(token.info)) is not None:  # which names the figure or table of its code
                self._builder.add_anchor(f"{'fig' if 'fig.cap' in token.info else 'tab'}:{chunk[1]}")
        mark, detail = fence_mark(token.info, extended=self._extended)
        if detail == "rust" and settings_above(self._source, "hidden_lines") is not None:
            content = HIDDEN_LINE.sub(r"\1\2", content)
        with self._marked(mark, detail):
            self._builder.verbatim(content.strip("\n"))

    def _content(self, content: str, children: list[Token] | None) -> None:
        """Inline content; without children its text is its content."""
        if children:
            self._inline(children)
        elif not self._html.hidden:
            content = content.replace("\u00ad", "")
            self._text(_LINE_BREAK.sub(" ", content) if "\n" in content else content, "")

    def _directive(self, token: Token) -> bool:
        """A MyST directive, whose content is Markdown, or raw HTML between fences. False when it is code after all."""
        if token.info.startswith("{=") and fence_mark(token.info, extended=True) == (MarkKind.RAW, "html"):
            self._html_block(token, [], 0)
            return True
        found = DIRECTIVE.match(token.info)
        if found is None or (found[1] in CODE_DIRECTIVES and found[1] not in myst.HIDDEN_DIRECTIVES):
            return False
        name, argument = found[1], found[2].strip()
        options, content = myst.split_options(token.content)
        if name in myst.HIDDEN_DIRECTIVES:
            self.names += [_BIBLIOGRAPHY] * (name == "bibliography")
            self._label(myst.labels(options))
            return True
        if name in ("eval-rst", "literalinclude", "csv-table"):  # docutils reads the files that they name
            rst = f".. {name}:: {argument}\n{token.content}".replace("\n", "\n   ")
            rst = f"\n{token.content}" if name == "eval-rst" else rst
            above = self.lines_before + token.map[0] - 1 if token.map and not self._nested else 0  # of the page
            return len(rst) < _LONGEST_RST and self._restructured("\n" * above + rst)
        self._block()
        if name == "figure-md":  # which has its name for an argument
            options, argument = {**options, "name": argument}, ""
        self._label(myst.labels(options))
        if name == "toctree":
            with self._builder.marked(MarkKind.LIST):
                for entry in filter(None, (_ENTRY.fullmatch(line.strip()) for line in content.split("\n"))):
                    self._builder.line()
                    with self._builder.marked(MarkKind.ITEM):
                        page = entry[2] or entry[0]  # with a title before those that have one of their own there
                        self._builder.link_text(page, entry[1] or self._title(page) or page)
            return True
        argument, content = myst.printed(name, argument, content)
        note, has_title = myst.note_kind(name, options)
        signatures = [argument] if myst.DESCRIBES.fullmatch(name) else []
        is_listed = options.keys().isdisjoint({"noindex", "no-index"})
        figure, caption = (MarkKind.FIGURE, MarkKind.CAPTION) if name in ("image", "figure") else (None, None)
        with (
            self._marked(MarkKind.NOTE if note else None, note),
            self._objects.describing(name, signatures, is_listed=is_listed) as ids,
            self._marked(figure),
        ):
            self._builder.add_anchor(*ids)
            if figure:
                self._builder.add_image(argument, "")
            elif argument:
                self._argument(name, argument, described=bool(signatures), is_title=has_title)
            if name == "seealso":
                self._builder.text("See also: ")
            with self._marked(caption):
                self._within(name, content)
        self._block()
        return True

    def _restructured(self, text: str) -> bool:
        """reStructuredText in a page. False where docutils cannot read it."""
        from structformer_rst import labels, prepared, read_into  # docutils takes a while to load

        try:
            tree = read_into(self._builder, prepared(text, self._source), self._source, self._objects, self.roles)
        except ReadError:
            return False
        self.names += labels(tree)
        self.has_unnamed = True
        return True

    def _argument(self, name: str, argument: str, *, described: bool, is_title: bool) -> None:
        """A directive's argument, where readers see it: a title, a signature, or a line with marks."""
        kind = name.rpartition(":")[2]
        if name in myst.WITHOUT_WORDS or (described and kind in SCOPES):
            return
        with self._marked(MarkKind.TITLE if is_title else None):
            if described and kind in SIGNED:
                self._builder.text(argument)
            else:
                self._said(argument)
        self._block()

    def _said(self, text: str) -> None:
        """A line with its marks."""
        told = _inline_of(text, {**self.within})
        self._content(text, told.children if told else None)

    def _within(self, name: str, content: str) -> None:
        """A directive's content."""
        if self._nested == _MAX_DIRECTIVES:
            self._builder.verbatim(content)
            return
        self._nested += 1
        if name == "glossary" and _INDENTED.match(content):
            self._glossary(content)
        else:
            around, self._of_terms = self._of_terms, name == "glossary"
            self.read(parse(plain_markdown(content, self._source, _MYST), {**self.within}))
            self._of_terms = around
        self._nested -= 1

    def _glossary(self, content: str) -> None:
        """Terms, which are places, and their definitions."""
        with self._marked(MarkKind.DEFINITIONS):
            for terms, definition in myst.glossary(content):
                for term in terms:
                    with self._marked(MarkKind.TERM):
                        self._label([_unmarked(term)])
                        self._said(term)
                with self._marked(MarkKind.DEFINITION):
                    self.read(parse(definition, {**self.within}))

    def described(self, document: Document) -> list[str]:
        """Return the document's names by what its directives describe; references to that which is here lead here."""
        for link in document.links():
            if is_object(link.target):
                link.target = self._objects.place(link.target) or link.target
        return [f"object:{name}" for name in self._objects.ids]

    def _label(self, names: list[str]) -> None:
        """Give what comes next, which is no heading, its names: those of its section."""
        self.names += map(_label_name, names)
        self._builder.add_anchor(*self._anchors, *names)
        self._anchors.clear()

    def _role(self, name: str, content: str) -> None:
        """A MyST role: a reference is a link, any other is its text."""
        name = self.roles.get(name, name)
        if ICON.fullmatch(name) is not None:
            return
        named = _NAMED.fullmatch(content)
        shown, target = (named[1].strip(), named[2].strip()) if named else (content, content)
        builder = self._builder
        role = name if not builder.in_link else ""  # that may lead somewhere
        names_object = content[:1] != "!" and myst.OBJECT_ROLES.fullmatch(role) is not None
        if myst.CITATION_ROLES.fullmatch(role) is not None:
            for number, key in enumerate(target.replace(",", " ").replace(";", " ").split()):
                builder.text(", " * (number > 0))
                builder.link_text(key, shown if named else key, LinkKind.CITATION)
        elif role in myst.PLACE_ROLES:
            shown = NUMBER_PLACE.sub("", shown) if name.endswith("numref") else shown
            unnamed = not shown or (name in myst.TITLE_ROLES and not named)
            self.has_unnamed |= unnamed
            builder.link_text(f"#{target}", UNNAMED if unnamed else shown.lstrip("!~"), LinkKind.XREF)
        elif role in myst.FILE_ROLES:
            title = self._title(target) if name != "download" and not named else ""
            # A page of another project, by its inventory, is elsewhere.
            target = f"//{target}" if name != "download" and re.match(r"[\w.-]+:(?!\s)", target) else target
            builder.link_text(target, title or shown.lstrip("!~"))
        elif names_object and (place := target_of(name, target.lstrip("~"), self._objects)):
            builder.open_link(place, LinkKind.XREF)
            builder.code_span(last_part(shown) if shown[:1] == "~" else shown.removeprefix("."))
            builder.close_link()
        elif role in _STANDARDS and target.isdecimal():
            builder.link_text(_STANDARDS[name].format(target), shown if named else f"{name.upper()} {target}")
        elif (script := _SCRIPT_ROLES.get(name)) is not None:
            builder.open_script(script)
            builder.text(shown)
            builder.close_script()
        else:
            with builder.marked(_MARKED_ROLES.get(name)):
                builder.text(shown.lstrip("!~"))

    def _block(self) -> None:
        """A break between blocks: a blank line, but in lists, whose items are lines, a line."""
        self._builder.line() if self._list_depth else self._builder.paragraph()

    def _open(self, kind: MarkKind, detail: str = "") -> None:
        self._block()
        self._builder.open_mark(kind, detail)
        self._html.enter()
        if kind in _OF_LINES:
            self._list_depth += 1

    @contextmanager
    def _marked(self, kind: MarkKind | None, detail: str = "") -> Iterator[None]:
        """Read what is within as a block of this kind; with None, as it is."""
        if kind is not None:
            self._open(kind, detail)
        yield
        if kind is not None:
            self._close(kind)

    def _close(self, kind: MarkKind) -> None:
        if kind in _OF_LINES:
            self._list_depth -= 1
        self._html.leave()
        self._builder.close_mark(kind)
        self._block()

    def _heading(self, opening: Token, inline: Token) -> None:
        explicit = [*self._anchors, *([str(opening.attrs["id"])] if opening.attrs.get("id") else [])]
        self._anchors.clear()
        explicit += _heading_attributes(inline)
        parts = inline.children or [inline]
        for beside in (parts[0], parts[-1]) if self._extended and ":" in inline.content else ():
            if beside.type in ("text", "inline") and _EMOJI.search(beside.content):
                explicit.append(github_slug(_plain(parts)))
                beside.content = _EMOJI.sub("", beside.content)
        self._html.forget()
        self.explicit.update(explicit)
        self._builder.open_heading(int(opening.tag[1]), tuple(explicit))

    def _html_block(self, token: Token, tokens: list[Token], index: int) -> None:
        if not self._builder.in_heading:
            self._block()
        self._html.feed(token.content)
        self._html.end_spans()
        if self._builder.in_heading and not _closes_soon(tokens, index + 1):
            self._builder.close_heading()
        if not self._builder.in_heading:
            self._block()

    def _inline(self, children: list[Token]) -> None:
        builder = self._builder
        role = ""
        depth = self._html.depth
        for index, token in enumerate(children):
            kind = token.type
            if kind == "html_inline":
                self._html.feed(token.content)
            elif self._html.hidden:
                continue
            elif kind == "text" or kind == "text_special":
                content = token.content.replace("\u00ad", "")
                next_one = children[index + 1 : index + 2] if self._extended and content[-1:] == "}" else []
                if next_one and next_one[0].type == "code_inline" and (found := _ROLE.search(content)) is not None:
                    role, content = found[1].lower(), content[: found.start()]
                self._text(content, children[index - 1].type if index else "")
            elif kind == "code_inline":
                after = children[index + 1] if index + 1 < len(children) else token
                if self._extended and after.content[:2] == "{=" and (raw := _RAW_SPAN.match(after.content)) is not None:
                    after.content = after.content[raw.end() :]
                    self._html.feed(token.content if raw[1] == "html" else "")
                elif role:
                    self._role(role, token.content)
                    role = ""
                else:
                    builder.code_span(_CODE_OF.sub("", token.content, count=1) if self._extended else token.content)
            elif kind == "formula":
                self._formula(token, alone=len(children) == 1)
            elif (span := SPANS.get(token.tag)) is not None:
                (builder.open_mark if token.nesting > 0 else builder.close_mark)(span)
            elif kind == "softbreak":
                if builder.in_mark(MarkKind.CODE):
                    builder.verbatim("\n")
                else:
                    builder.text(" ")
            elif kind == "hardbreak":
                builder.line()
            elif kind == "link_open":
                self._open_link(token, children[index + 1])
            elif kind == "link_close":
                builder.close_link()
            elif kind == "image":
                builder.add_image(str(token.attrs.get("src", "")), _plain(token.children or []))
        self._html.end_to(depth)

    def _open_link(self, opening: Token, following: Token) -> None:
        """A link's beginning: one without words, or MyST's address of a page, shows the title of what it leads to."""
        address = str(opening.attrs.get("href", ""))
        target = address
        if self._extended:  # what another project has is elsewhere
            is_elsewhere = address.startswith(myst.ELSEWHERE)
            target = f"//{address}" if is_elsewhere else myst.PROJECT.sub("", address, count=1)
            if address.startswith("doc:"):  # of DocC, which finds a page by its name alone
                page, fragment = split_fragment(target)
                target = page.rpartition("/")[2] + (f"#{github_slug(fragment)}" if fragment else "")
        self._builder.open_link(target, LinkKind.CITATION if target.startswith("cite:") else LinkKind.HYPERLINK)
        is_empty = following.type == "link_close" or (opening.markup == "autolink" and target != address)
        if not (is_empty and self._extended and target) or self._builder.in_heading:
            return
        following.content = ""
        if target.startswith("#"):
            self.has_unnamed = True
            self._builder.text(UNNAMED)
        else:
            words = _words(target) if "." not in target and target[0] != "/" else ""  # a label's, and no path's
            words = words if following.type == "link_close" else target.removeprefix("//")
            if address.startswith(("doc:", *myst.ELSEWHERE[1:])):
                words = _words(address.replace("#", "/").replace(":", "/").rpartition("/")[2])
            self._builder.text(self._title(target) or words)

    def _title(self, target: str) -> str:
        """Return the title of a page that a reference without words leads to; "" where there is none."""
        return "" if is_external(target) else _unmarked(myst.title_there(target, self._source))

    def _formula(self, token: Token, *, alone: bool) -> None:
        """A formula as written: on lines of its own where it is all of a paragraph or goes over lines between $$."""
        builder, content = self._builder, token.content
        if names := [*filter(None, [token.info]), *_TEX_LABEL.findall(content)]:
            self._label(names)
        is_display = content.startswith(("$$", "\\[", "\\\\[", "\\begin"))
        on_lines = is_display and (alone or "\n" in content)
        if on_lines and not (builder.in_heading or builder.in_mark(MarkKind.ROW)):
            with self._marked(MarkKind.FORMULA):
                builder.verbatim(content)
        else:
            with builder.marked(MarkKind.FORMULA_SPAN):
                builder.verbatim(_LINE_BREAK.sub(" ", content))

    def _text(self, text: str, before: str) -> None:
        if not before and (alert := _ALERT.match(text)):
            text = f"{alert[1].capitalize()}: {text[alert.end() :]}"
        elif before in _NAMED_PARTS and text[:1] == "{" and (attributes := ATTRIBUTES.match(text)) is not None:
            self._builder.add_anchor(*names_in(attributes[0]))
            text = text[attributes.end() :]
        extended = self._extended and not self._builder.in_link
        for words, target in spans(text, extended=extended):
            if target is None:
                self._builder.text(words)
            else:
                self._builder.link_text(target, words)


def _heading_attributes(inline: Token) -> list[str]:
    """Take the attributes off a heading's words; returns the names that they give it."""
    last = (inline.children or [inline])[-1]
    if last.type not in ("text", "inline"):
        return []
    last.content, names = without_attributes(last.content.rstrip().removesuffix("{-}"))
    return names


def _alert(tokens: list[Token], opening: int) -> str:
    """Return the kind of note that a quote begins with, [!NOTE], or ""; a line of that alone becomes a title's."""
    if tokens[opening + 1].type != "paragraph_open":
        return ""
    first, inline, last, after = tokens[opening + 1 : opening + 5]
    if (found := _ALERT.match(inline.content)) is None:
        return ""
    if "\n" not in inline.content and after.type != "blockquote_close":
        first.type, last.type = "alert_title_open", "alert_title_close"
    return found[1].lower()


def _is_figure(token: Token) -> bool:
    """Whether a paragraph is an image alone."""
    first, *others = token.children or [token]
    is_alone = not others or (len(others) == 1 and ATTRIBUTES.fullmatch(others[0].content) is not None)
    return first.type == "image" and is_alone


def _plain(children: list[Token]) -> str:
    """Return the text of inline tokens without their marks: an image's alternative text."""
    parts = [
        _plain(token.children) if token.children else " " if token.type.endswith("break") else token.content
        for token in children
        if token.type != "html_inline"
    ]
    return " ".join("".join(parts).split())


def _closes_soon(tokens: list[Token], start: int) -> bool:
    """Whether a raw heading left open by its block is closed within the next few blocks, as centred titles are."""
    for token in tokens[start : start + 12]:
        if token.type == "heading_open":
            return False
        parts = (each.content for each in token.children or [token] if each.type in ("html_inline", "html_block"))
        if any(f"</h{level}" in part.lower() for part in parts for level in "123456"):
            return True
    return False
