"""Takes wikitext apart in linear time: comments, extension tags, templates and links become marks in a text of lines.

Every part is cut out once, innermost first, and leaves a short mark in what is around it, so that neither nesting
nor unclosed openers cost more than a pass over the text."""

import re
from dataclasses import dataclass, field
from functools import partial
from html import unescape

from structformer.document import LinkKind, MarkKind

from structformer_wikitext.functions import called, is_called
from structformer_wikitext.inline_templates import filled, sentence, unnamed, verse
from structformer_wikitext.site import CHARACTERS, HATNOTES, SEE_ALSO_TEMPLATES, Site

MARK = "\x7f"
MARKS = re.compile(r"\x7f(\d+)\x7f")
_MAX_DEPTH = 50  # of templates whose text is kept; deeper ones hold nothing that a reader sees
PROTOCOLS = r"(?:https?|ftps?|ircs?|gopher|telnet|nntp|worldwind|svn|git|mms|ssh|sftp|xmpp|redis)://|(?:mailto|news|sips?|sms|tel|urn|bitcoin|geo|magnet|matrix):"
URL_CHARACTERS = r"[^\s\[\]<>\"\x00-\x20\x7f\u3000]"

_OPENING = re.compile(
    r"<!--|<(nowiki|pre|math|chem|ce|syntaxhighlight|source|ref|gallery|poem|timeline|score|imagemap|graph|mapframe|maplink|templatedata|"
    r"templatestyles|hiero|inputbox|includeonly|noinclude|onlyinclude|references|section|categorytree|charinsert|indicator|style|script|"
    r"languages|pages|tvar|rss|dynamicpagelist|embedvideo|youtube)(?=[\s/>])[^<>]*?(/?)>|"
    r"</(?:noinclude|onlyinclude|section|references|tvar)\s*>|</(poem)\s*>[ \t]*|"
    r"<tvar\|[^<>]*>|</>|"  # as pages to be translated had it first
    r"__[A-Z_]{3,30}__|</?(\w+)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_HTML = frozenset(
    """a abbr b bdi bdo big blockquote br caption center cite code col colgroup data dd del details dfn div dl dt em font h1 h2 h3 h4 h5 h6 hr
    i img ins kbd li link mark meta ol p q rb rbc rp rt rtc ruby s samp section small span strike strong sub summary sup table tbody td
    tfoot th thead time tr tt u ul var wbr""".split()
)
_VERBATIM = frozenset({"pre", "syntaxhighlight", "source", "nowiki"})
_SOURCE = frozenset({"math", "chem", "ce"})
_TRANSPARENT = frozenset({"noinclude", "onlyinclude", "section", "references", "poem", "tvar"})
_REST_OF_LINE = re.compile(r"[ \t]*\n")
_FLAT_TEMPLATE = re.compile(r"\{\{(?!\{)([^{}]*)\}\}(?!\})")
# A heading of templates and nothing else; and the marks around a list in columns, each in a line of its own.
_HEADING_OF_TEMPLATES = re.compile(r"^=+[ \t]*(?:\{\{[^{}\n]+\}\}[ \t,:;/()-]*+)+=+[ \t]*$", re.MULTILINE)
_COLUMNS = re.compile(r"^\{\{[()-]\}\}[ \t]*$", re.MULTILINE)
_LONGEST_CODE = 3  # letters of a language's
_BRACES = re.compile(rf"{_FLAT_TEMPLATE.pattern}|\{{{{2,}}|\}}{{2,}}")
_BRACKETS = re.compile(r"\[\[[^\[\]:\n]*\]\]|\[\[|\]\]")  # a plain link whole
_LINK_TARGET = re.compile(r"[^\[\]{}<>\n|\x7f]*")
_NAME = re.compile(r"[^|\n#<\x7f]*")
# An address among the arguments of templates, in a text that is not shown. A host has no "=".
ADDRESS = re.compile(rf"(?i)(?<!\w)(?:{PROTOCOLS}){URL_CHARACTERS[:-1]}|}}=/?]+(?:[/?]{URL_CHARACTERS[:-1]}|}}]*)?")


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text that is not markup."""

    text: str
    block: bool = False
    """Whether it is on lines of its own."""
    kind: MarkKind | None = None
    """The kind of text that it is, if its tag says so; else None."""
    detail: str = ""
    """The language of code; "" if it is not known."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A footnote's wikitext."""

    text: str


@dataclass(frozen=True, slots=True)
class Media:
    """A file in the page: its target and the wikitext of its caption."""

    target: str
    caption: str


@dataclass(frozen=True, slots=True)
class Links:
    """Links as (target, text): a category, pages that a template on top of a section names, or of one left out."""

    links: tuple[tuple[str, str], ...]
    kind: LinkKind = LinkKind.HYPERLINK
    lead: str = ""
    """Text before the links; "" if they are not part of the page's text."""


Part = Verbatim | Reference | Media | Links


@dataclass(slots=True)
class Page:
    """A page's text with marks, and what the marks stand for."""

    text: str
    parts: list[Part] = field(default_factory=list)
    title: str = ""
    languages: list[str] = field(default_factory=list)
    """Names of the page in other languages."""
    warnings: list[str] = field(default_factory=list)

    def mark(self, part: Part) -> str:
        self.parts.append(part)
        return f"{MARK}{len(self.parts) - 1}{MARK}"

    def part(self, number: str) -> Part | None:
        """Return what the mark of a number stands for; None if there is no such mark."""
        return self.parts[int(number)] if int(number) < len(self.parts) else None

    def plain(self, text: str) -> str:
        """Return a text without its marks, verbatim parts put back."""

        def own(found: re.Match[str]) -> str:
            return part.text if isinstance(part := self.part(found[1]), Verbatim) else ""

        return MARKS.sub(own, text) if MARK in text else text


def take_apart(text: str, site: Site, *, templates: str = "known", title: str = "") -> Page:
    """Return a page ready to be read line by line.

    title: what `{{PAGENAME}}` shows. templates: "known" keeps the text of templates that are part of a sentence and drops the others, "text" keeps every
    template's unnamed arguments, "drop" keeps none."""
    page = Page("", title=title)
    text = text.replace(MARK, "").replace("\x00", "")
    if "<" in text or "__" in text:
        text = _take_tags(text, page)
    if "{{" in text:
        text = _take_templates(text, page, site, templates)
    if "[[" in text:
        text = _take_links(text, page, site)
    page.text = text
    return page


def _take_tags(text: str, page: Page) -> str:
    out: list[str] = []
    position = 0
    poem = -1  # where in `out` one begins
    exhausted: set[str] = set()
    paired: dict[str, bool] = {}
    lower = ""
    while (found := _OPENING.search(text, position)) is not None:
        start, end = found.span()
        name = (found[1] or "").lower()
        out.append(text[position:start])
        if found[4]:
            # A tag of an extension that isn't known: known or not, what comes in pairs is markup.
            unknown = found[4].lower()
            if unknown not in _HTML and unknown not in paired:
                end_tag = rf"</{re.escape(unknown)}\s*>"
                paired[unknown] = len(paired) < 100 and re.search(end_tag, text, re.IGNORECASE) is not None
            is_kept = unknown in _HTML or not paired[unknown]
            out.append((found[0] if "[[" in found[0] else found[0].replace("\n", " ")) * is_kept)
            position = end
            continue
        if text.startswith("<!--", start):
            position = _comment_end(text, start, position, page)
            continue
        position = end
        if found[3] and poem >= 0:
            out[poem:] = [verse("".join(out[poem:]))]
            poem = -1
        if not name:
            continue
        if found[2] or name in _TRANSPARENT:
            if name == "poem":
                poem = len(out)
            continue
        close_mark = f"</{name}"
        if close_mark in exhausted:
            out.append(found[0] if name not in ("references", "templatestyles") else "")
            continue
        lower = lower or text.lower()
        if len(lower) != len(text):  # letters whose small form is longer
            lower = text
        close = lower.find(close_mark, end)
        if close < 0:
            exhausted.add(close_mark)
            out.append("" if name == "templatestyles" else found[0])
            continue
        inner = text[end:close]
        after_close = text.find(">", close)
        position = len(text) if after_close < 0 else after_close + 1
        out.append(_tag_part(name, found[0], inner, page))
    out.append(text[position:])
    return "".join(out)


def _comment_end(text: str, start: int, position: int, page: Page) -> int:
    """Where the text goes on after the comment that begins there: one alone on its line takes the line with it, and a
    number for translators the blank behind it, which would make code of the line. position: where the text was.
    """
    close = -1 if page.warnings else text.find("-->", start + 4)  # the one warning: no end follows
    if close < 0:
        heading = text.find("\n==", start)
        end = "with the page" if heading < 0 else "before the next heading"
        if not page.warnings:
            page.warnings.append(f"line {text.count(chr(10), 0, start) + 1}: <!-- without an end: it ends {end}")
        return len(text) if heading < 0 else heading
    line = text.rfind("\n", position, start)
    is_alone = start == 0 or (line >= 0 and not text[line:start].strip(" \t\n"))
    if is_alone and (after := _REST_OF_LINE.match(text, close + 3)) is not None:
        return after.end()
    is_number = text.startswith("<!--T:", start) and text[start - 1 : start] in ("", "\n", ">")
    return close + 3 + (is_number and text[close + 3 : close + 4] == " ")


_LANGUAGE = re.compile(r"""\blang\s*=\s*["']?([a-z][a-z0-9+#._-]*)""", re.IGNORECASE)
_NO_LANGUAGES = frozenset({"text", "none", "plain"})
_DISPLAYED = re.compile(r"""\bdisplay\s*=\s*["']?block""", re.IGNORECASE)


def _tag_part(name: str, tag: str, inner: str, page: Page) -> str:
    if name in _VERBATIM:
        if name == "nowiki":
            return page.mark(Verbatim(unescape(inner)))
        if name == "pre":
            inner = unescape(re.sub(r"</?nowiki\s*/?>", "", inner))
        block = name != "syntaxhighlight" or "\n" in inner
        language = found[1].lower() if (found := _LANGUAGE.search(tag)) is not None else ""
        return page.mark(
            Verbatim(inner.strip("\n"), True, MarkKind.CODE, "" if language in _NO_LANGUAGES else language)
            if block
            else Verbatim(inner, kind=MarkKind.CODE_SPAN)
        )
    if name in _SOURCE:
        kind = MarkKind.FORMULA if _DISPLAYED.search(tag) else MarkKind.FORMULA_SPAN
        return page.mark(Verbatim(" ".join(inner.split()), kind=kind))
    if name == "ref":
        return page.mark(Reference(inner))
    if name == "gallery":
        return "".join(
            "\n" + page.mark(Media(target.strip(), _GALLERY_OPTION.sub("", f"|{caption}")[1:])) + "\n"
            for target, _, caption in (line.partition("|") for line in inner.strip().split("\n") if line.strip())
        )
    return ""  # hiero, includeonly


@dataclass(slots=True)
class _Frame:
    count: int
    parts: list[str]


def _said_in_heading(found: re.Match[str]) -> str:
    """Return the title that a template makes as a section's: `{{S|étymologie}}`, `{{lengua|es}}`, `{{-pt-}}`."""
    written = found[1].partition("|")[0].strip()
    says = sentence(written)
    if is_called(written) or (written != "S" and says is not None and says(_parameters(found[1]))):
        return found[0]
    first = next(iter(_arguments(found[1])), "")
    is_title = len(written) == 1 or len(first) > _LONGEST_CODE
    return first if is_title and first else f"{written.strip(' -=')} {first}".strip()


def _take_templates(text: str, page: Page, site: Site, policy: str) -> str:
    if policy != "drop":
        text = _HEADING_OF_TEMPLATES.sub(lambda found: _FLAT_TEMPLATE.sub(_said_in_heading, found[0]), text)
    text = _COLUMNS.sub("", text)
    stack: list[_Frame] = [_Frame(0, [])]
    position = 0
    for match in _BRACES.finditer(text):
        start, end = match.span()
        stack[-1].parts.append(text[position:start])
        position = end
        if match[1] is not None:  # a template without braces in it, as nearly all are
            stack[-1].parts.append(_template(match[1], page, site, policy, len(stack) + 1))
            continue
        count = end - start
        if text[start] == "{":
            stack.append(_Frame(count, []))
            continue
        while count >= 2 and len(stack) > 1:
            frame = stack[-1]
            taken = 3 if min(count, frame.count) >= 3 else 2
            content = "".join(frame.parts)
            depth = len(stack)
            if taken == 3:  # a parameter shows its default
                result = content.partition("|")[2] if depth <= _MAX_DEPTH else ""
            else:
                result = _template(content, page, site, policy, depth)
            count -= taken
            frame.count -= taken
            if frame.count >= 2:
                frame.parts = [result]
            else:
                stack.pop()
                stack[-1].parts.append("{" * frame.count + result)
        if count:
            stack[-1].parts.append("}" * count)
    stack[-1].parts.append(text[position:])
    return "".join(part for frame in stack for part in ("{" * frame.count, *frame.parts))


def _template(content: str, page: Page, site: Site, policy: str, depth: int) -> str:
    found = _NAME.match(content)
    written = found[0].replace("_", " ").strip() if found else ""
    name = written.lower()
    if name in CHARACTERS and "|" not in content:
        return CHARACTERS[name]
    if depth > _MAX_DEPTH:
        return ""
    if is_called(content.partition("|")[0]):
        text = called(_split(content), page.title, site.namespaces)
        if text is not None:
            return text
    if policy != "drop":
        if name in SEE_ALSO_TEMPLATES or name in HATNOTES:
            targets = _hatnote_targets(_arguments(content), page)
            if targets:
                kind, lead = _SEE_ALSO if name in SEE_ALSO_TEMPLATES else _MAIN_ARTICLE
                return "\n" + page.mark(Links(targets, kind, lead)) + "\n"
        if written in _CODE_BLOCKS and (arguments := _arguments(content)):
            *title, code = arguments[:2]
            code = page.plain(unescape(_MARKUP.sub("", code)))
            return "\n".join(("", *title, page.mark(Verbatim(code, True, MarkKind.CODE)), ""))
        says = partial(filled, site.templates[name]) if name in site.templates else sentence(written)
        if says is not None and (text := says(_parameters(content))):
            return text
        if policy == "text" or _HEADING_LINE.search(content):  # what holds a section is the page's own text
            return "\n".join(_arguments(content))
    links = _hidden_links(content, page, site)
    return page.mark(Links(links)) if links else ""


def _split(content: str) -> list[str]:
    """Return the parts between bars; bars of links inside don't count."""
    parts: list[list[str]] = [[]]
    depth = 0
    for piece in re.split(r"(\[\[|\]\]|\|)", content):
        if piece == "|" and depth <= 0:
            parts.append([])
            continue
        depth += 1 if piece == "[[" else -1 if piece == "]]" else 0
        parts[-1].append(piece)
    return ["".join(part) for part in parts]


def _parameters(content: str) -> dict[str, str]:
    """Return a template's arguments by name, those without one by their number."""
    values: dict[str, str] = {}
    number = 0
    for part in _split(content)[1:]:
        key, equals, value = part.partition("=")
        if not equals or value.startswith("=") or re.search(r"[\[<{\x7f/:]", key):
            number += 1
            key, value = str(number), part
        values[key.strip()] = value.strip()
    return values


def _arguments(content: str) -> list[str]:
    """Return a template's unnamed arguments."""
    return unnamed(_parameters(content))


def _hatnote_targets(arguments: list[str], page: Page) -> tuple[tuple[str, str], ...]:
    targets: list[tuple[str, str]] = []
    for argument in arguments:
        plain = page.plain(argument).strip()
        if (linked := re.match(r"\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]", plain)) is not None:
            targets.append((linked[1].strip(), (linked[2] or linked[1]).strip()))
        elif plain and not re.search(r"[\[\]{}<>\n]", plain):
            targets.append((plain.lstrip(":"), plain.lstrip(":")))
    return tuple(targets)


def _hidden_links(content: str, page: Page, site: Site) -> tuple[tuple[str, str], ...]:
    links: list[tuple[str, str]] = []
    if MARK in content:  # templates within it that are left out as well
        for found in MARKS.finditer(content):
            part = page.part(found[1])
            links += part.links if isinstance(part, Links) and not part.lead else ()
    if "[[" in content:
        for target, text in re.findall(r"\[\[([^\[\]{}<>\n|\x7f]+)(?:\|([^\[\]\n]*))?\]\]", content):
            if site.kind(target) == "page" and target.strip():
                links.append((target.strip(), page.plain(text or target).strip()))
    if ":" in content:
        links += ((address, address) for address in ADDRESS.findall(content))
    return tuple(links)


def _take_links(text: str, page: Page, site: Site) -> str:
    """Replace links to files and categories by marks. Only their text may hold links or span lines."""
    stack: list[list[str]] = [[]]
    position = 0
    for found in _BRACKETS.finditer(text):
        start, end = found.span()
        if end - start > 2:
            continue
        stack[-1].append(text[position:start])
        position = end
        if text[start] == "[":
            stack.append([])
            continue
        if len(stack) == 1:
            stack[-1].append("]]")
            continue
        content = "".join(stack.pop())
        stack[-1].append(_link(content, page, site, len(stack)))
    stack[-1].append(text[position:])
    return "[[".join(map("".join, stack))


def _link(content: str, page: Page, site: Site, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return f"[[{content}]]" if len(content) < 1000 else content
    found = _LINK_TARGET.match(content)
    target = found[0] if found else ""
    if content[:1] != ":" and ":" in target:
        kind = site.kind(target)
        if kind == "file" and not target.lower().lstrip().startswith("media:"):  # which is a link in a sentence
            caption = _caption(content[len(target) + 1 :])
            return page.mark(Media(target.strip(), caption))
        if kind == "category" and "[[" not in content:
            return page.mark(Links(((target.strip(), ""),), LinkKind.CATEGORY))
        if kind == "language" and "[[" not in content:
            page.languages.append(target.strip())
            return page.mark(Links(()))  # its line is not blank
    if "\n" in content and "\n\n" not in content and "\n" not in content.partition("|")[0]:
        content = content.replace("\n", " ")
    return f"[[{content}]]"


_SEE_ALSO, _MAIN_ARTICLE = (LinkKind.SEE_ALSO, "See also: "), (LinkKind.HYPERLINK, "Main article: ")
_CODE_BLOCKS = frozenset({"bc", "Bc", "hc", "Hc"})  # of the ArchWiki; the latter have a title
_MARKUP = re.compile(r"'{2,}|</?[a-zA-Z][^<>]*>")
_HEADING_LINE = re.compile(r"^==.*==\s*$", re.MULTILINE)
_GALLERY_OPTION = re.compile(r"\|\s*(?:alt|link|page|lang|class)\s*=[^|\[\]{}\x7f]*(?=\||$)")
_FILE_OPTION = re.compile(
    r"\s*(?:thumb|thumbnail|mini|miniatur|vignette|miniatura|frame|framed|frameless|border|left|right|center|centre|none|links|rechts|zentriert|"
    r"gauche|droite|izquierda|derecha|baseline|sub|super|top|text-top|middle|bottom|text-bottom|upright|hochkant|redresse|\d*x?\d+ ?px|"
    r"(?:link|alt|page|class|lang|thumb|thumbnail|upright|hochkant|redresse|start|end|thumbtime|muted|loop|noicon)\s*=.*)\s*",
    re.IGNORECASE | re.DOTALL,
)


def _caption(options: str) -> str:
    """Return the caption among a file's options: the last that is none of the known ones."""
    captions = [part for part in _split(options) if part.strip() and not _FILE_OPTION.fullmatch(part)]
    return captions[-1] if captions else ""
