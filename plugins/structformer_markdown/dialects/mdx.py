"""MDX, and components in Markdown: what is between their tags is Markdown, their titles and labels are text."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from structformer.text import spliced

from structformer_markdown.dialects.page import IMAGE_SUFFIXES, Dialect, Page, anchor, between, image, link

_HEADING_COMMENT = re.compile(r"^([ \t]*#{1,6}[ \t][^\n]*)\{/\*[ \t]*#?([\w:.-]+)[ \t]*\*/\}[ \t]*$", re.MULTILINE)
_IMPORT = re.compile(r"import\b([\w\s{},*$]{0,1000}+)(['\"])[^'\"\n]{1,500}\2[ \t]*;?[ \t]*$", re.MULTILINE)
_EXPORT = re.compile(r"export\s+(?:default|const|let|var|function|async|class|type|interface|\{|\*)")
_STATEMENT = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_CERTAIN = re.compile(r";$|\.mdx?['\"]$|['\"]@[\w-]+/")  # in imports that are no prose
_ENDS = (";", "}", ")", "]", "'", '"', "\x00")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SPECIAL = re.compile(r"\\.|\{|<(/?)([A-Za-z][\w.:-]*)(?=[\s/>{])|<(/?)>", re.DOTALL)
_JSX = re.compile(r"\s[^<>{}]{0,300}=\{")  # goes on a tag whose attributes no HTML has
_ATTRIBUTE = re.compile(  # its name; its value, if that is a text; a brace, if an expression is its value
    r"""\s*(?:([\w:.@$-]+)(?:[ \t]*=[ \t]*(?:"([^"]{0,4998}+)"|'([^']{0,4998}+)'|([^\s"'<>{}=`]+)|(\{)))?)?"""
)
_STRING = re.compile(r"\(?\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`$]*)`)\s*\)?")
_ANY_STRING = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_TAGS = re.compile(r"<[^<>]*>")
_VALUE_LABEL = re.compile(r"\b(label|value)[\"']?\s*:\s*(?:\"([^\"\n]*)\"|'([^'\n]*)')")
_MARKED_LINE = re.compile("([ \t]*)\x00([<>=])([^:\n]*):(.*)\x00[ \t]*")
_MOST_FAILURES = 100  # tags without an end; a page with more has no tags at all
_LONGEST_VALUE = 5000
_MOST_ATTRIBUTES = 100
_WIDEST = 300  # columns before a tag that begins its line
_NEAR = 3000  # characters in which an inline tag's end is looked for
_TITLES = ("title", "label", "heading", "header", "summary", "question", "caption", "text")
_REST = ("subtitle", "description")
_TARGETS = ("href", "to", "link", "url")
_NAMED = ("Field", "Param", "Member", "Property", "Person", "Author", "Prop")
_IMAGE = re.compile(r"Image|Img|Figure|Frame|Screenshot|Picture|Zoom")
_TABS = ("Tab", "TabItem", "TabPanel")
_BLOCKS = frozenset(
    "div section article details summary figure figcaption center aside main header footer nav p".split()
)
_HTML = frozenset(
    "a abbr b big blockquote body br caption center code col dd del div dl dt em font form h1 h2 h3 h4 h5 h6 head "
    "hr html i img input ins kbd li meta ol p pre q s samp script small span strike strong style sub sup table "
    "tbody td tfoot th thead title tr tt u ul var".split()
)


@dataclass(slots=True)
class _Tag:
    name: str
    start: int
    end: int
    closing: bool = False
    empty: bool = False
    attributes: dict[str, str] = field(default_factory=dict)
    expressions: bool = False  # whether an attribute had one

    def first(self, *names: str) -> str:
        """Return the first attribute of these that has a value."""
        return next((value for name in names if (value := self.attributes.get(name, "").strip())), "")


def _plain(text: str, page: Page) -> str:
    if "{/*" in text:
        text = _HEADING_COMMENT.sub(r"\1 {#\2}", text)
        comments = between(text, "{/*", "*/}")
        text = spliced(text, ((start, end, "\n" * comment.count("\n")) for start, end, comment in comments))
    whole = page.path.lower().endswith(".mdx")
    if _STATEMENT.search(text):
        text, imports = _without_statements(text, whole)
        whole = whole or imports
    if "<" in text or (whole and "{" in text):
        text = _dedented(spliced(text, _Components(text, page, whole=whole).pieces()))
    return text


def _without_statements(text: str, whole: bool) -> tuple[str, bool]:
    """Return the text without its imports and exports, and whether it imports anything."""
    braces = _matching(text)
    pieces: list[tuple[int, int, str]] = []
    checked = 0  # up to where the text is known
    imports = prose = bounded = False  # bounded: whether a statement that never ends was met
    for found in _STATEMENT.finditer(text):
        start = found.start()
        if start < checked:
            continue
        prose = prose or any(line.strip() and not line.startswith("#") for line in text[checked:start].split("\n"))
        early = whole or imports or not prose
        end, checked = -1, start
        if (statement := _IMPORT.match(text, start)) is not None:
            between = statement[1].strip()
            if (not between or between.endswith("from")) and (early or _CERTAIN.search(statement[0].rstrip())):
                end, imports = statement.end(), True
        elif _EXPORT.match(text, start) is not None:
            end, bounded = _statement_end(text, start, braces, bounded)
            if not early and not text[start:end].rstrip().endswith(";"):
                end, checked = -1, end
        if end >= 0:
            pieces.append((start, end, "\n" * text.count("\n", start, end)))
            checked = end
    return spliced(text, pieces), imports


def _statement_end(text: str, start: int, braces: dict[int, int], bounded: bool) -> tuple[int, bool]:
    """Return where a statement ends, and whether any was met that never does: such a one ends with its paragraph."""
    place, depth = start, 0
    while not bounded:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        brace = text.find("{", place, end)
        if (closing := braces.get(brace, -1)) >= 0:
            depth += _depth(text, place, brace)
            place = closing + 1
            continue
        depth += _depth(text, place, end)
        after = text.find("\n", end + 1)
        next_line = text[end + 1 : after if after >= 0 else len(text)]
        if depth <= 0 and (not next_line.strip() or text[max(start, end - 100) : end].rstrip().endswith(_ENDS)):
            return end, False
        if end >= len(text):
            break
        place = end + 1
    blank = text.find("\n\n", start)
    return blank if blank >= 0 else len(text), True


def _depth(text: str, start: int, end: int) -> int:
    opened = text.count("(", start, end) + text.count("[", start, end)
    return opened - text.count(")", start, end) - text.count("]", start, end)


def _matching(text: str) -> dict[int, int]:
    """By the place of every brace the place of the one that closes it."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            ends[opened.pop()] = brace.start()
    return ends


class _Components:
    """Tags and expressions of a page, on the way to Markdown. whole: whether the page is in MDX."""

    def __init__(self, text: str, page: Page, *, whole: bool) -> None:
        self._text = text
        self._page = page
        self._whole = whole
        self._braces = _matching(text)
        self._failures = 0
        self._links = Counter[str]()  # inline components that are links and open
        self._lines = Counter[str]()  # components that are lines of their own and open
        self._labels: dict[str, str] = {}  # of tabs, by their values

    def pieces(self) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, what stands for it) of all that is not Markdown."""
        place = 0
        for special in _SPECIAL.finditer(self._text):
            start, name = special.start(), special[2]
            if start < place or special[0][0] == "\\" or (special[0] == "{" and not self._whole):
                continue
            is_html = bool(name) and (not name[0].isupper() or name.isupper() or name.lower() in _HTML)
            if is_html and not (self._whole or _JSX.match(self._text, special.end())):
                continue
            if self._text[max(0, start - 3) : start].rstrip(" ").endswith(("](", "]:")):
                continue  # a link's target
            shown, place = special[0], special.end()
            if shown == "{":
                shown, place = self._expression(start)
            elif shown in ("<>", "</>"):
                shown = "" if self._whole else shown
            elif (tag := self._tag(special)) is not None:
                shown, place = self._shown(tag), tag.end
            yield start, place, shown

    def _expression(self, start: int) -> tuple[str, int]:
        """Return the text that an expression shows, and where it ends."""
        end = self._braces.get(start, -1)
        if end < 0:
            return "{", start + 1
        inside = self._text[start + 1 : end].strip()
        if inside.startswith(("#", ".", ":")):
            return self._text[start : end + 1], end + 1  # attributes of a heading
        if (literal := self._literal(inside)) is not None:
            return literal, end + 1
        lines = self._text.count("\n", start, end)
        in_gap = not lines and self._text[start - 1 : start] == " " and self._text[end + 1 : end + 2] == " "
        return "\n" * lines, end + 1 + in_gap

    def _tag(self, opening: re.Match[str]) -> _Tag | None:
        """Return the tag that begins there; None when it has no end."""
        if self._failures > _MOST_FAILURES:
            return None
        text = self._text
        tag = _Tag(opening[2], opening.start(), -1, bool(opening[1]))
        place = opening.end()
        for _ in range(_MOST_ATTRIBUTES):
            attribute = _ATTRIBUTE.match(text, place)
            assert attribute is not None  # all of it may be missing
            name, *values, brace = attribute.groups()
            place = attribute.end() - bool(brace)
            if (brace or not name) and place in self._braces:
                tag.expressions = True
                inside, place = text[place + 1 : self._braces[place]].strip(), self._braces[place] + 1
                if name:
                    tag.attributes.setdefault(name, self._only_text(inside))
            elif name and not brace:
                tag.attributes.setdefault(name, "".join(filter(None, values)))
            elif text.startswith(("/>", ">"), place):
                tag.empty = text[place] == "/"
                tag.end = place + 1 + tag.empty
                return tag
            else:
                break
        self._failures += 1
        return None

    def _only_text(self, inside: str) -> str:
        """Return the only text in an attribute's expression; "" where there is none, or are several."""
        for part in inside.split("}") if "label" in inside else ():  # of tabs: [{label: "A", value: "a"}]
            pair = {key: first or second for key, first, second in _VALUE_LABEL.findall(part)}
            if "value" in pair and "label" in pair:
                self._labels[pair["value"]] = pair["label"]
        if (literal := self._literal(inside)) is not None:
            return literal
        if inside[:1] == "<" and "{" not in inside:  # JSX
            return _TAGS.sub("", inside)
        strings = _ANY_STRING.findall(inside) if len(inside) < _LONGEST_VALUE else []
        is_call = len(strings) == 1 and not inside.startswith(("{", "[", "<")) and "=>" not in inside
        return (strings[0][0] or strings[0][1]) if is_call else ""

    def _literal(self, inside: str) -> str | None:
        """Return the text that is all of an expression; None of one that is more."""
        literal = _STRING.fullmatch(self._page.restored(inside))
        return literal[literal.lastindex or 0] if literal is not None else None

    def _shown(self, tag: _Tag) -> str:
        """Return the text in place of a tag."""
        before = self._text[max(0, tag.start - _WIDEST) : tag.start].rpartition("\n")[2]
        after = self._text[tag.end : tag.end + _NEAR].partition("\n")[0]
        is_component = not tag.name[0].islower()
        if not is_component and tag.name not in _BLOCKS:
            if not tag.expressions:
                return self._text[tag.start : tag.end]
            texts = (f' {name}="{value}"' for name, value in tag.attributes.items() if value and '"' not in value)
            return f"<{'/' * tag.closing}{tag.name}{''.join(texts)}{' /' * tag.empty}>"
        own_line = not before.strip() and not after.strip()
        # a badge, which is not part of the heading's anchor
        in_heading = tag.empty and before.lstrip(" ").startswith("#")
        shown = "" if tag.closing or in_heading else self._words(tag, own_line=own_line, is_component=is_component)
        if own_line:
            sign = ">" if tag.closing else "=" if tag.empty else "<"
            return f"\x00{sign}{tag.name}:{shown}\x00"
        closing = f"</{tag.name}>"
        if not tag.closing and not before.strip() and after.rstrip().endswith(closing):
            self._lines[tag.name] += not self._links[tag.name]
            return f"\n\n{before}{shown}\n\n{before}" if shown and "<a " not in shown else f"\n\n{before}{shown}"
        for opened, end in ((self._links, "</a>"), (self._lines, "\n")) if tag.closing else ():
            if opened[tag.name]:
                opened[tag.name] -= 1
                return end
        return shown + " " if shown and after[:1].strip() and not shown.startswith("<a ") else shown

    def _words(self, tag: _Tag, *, own_line: bool, is_component: bool) -> str:
        name = anchor(tag.first("id")) if tag.first("id") and not tag.first("id").startswith("{") else ""
        if not is_component:
            return name
        short = tag.name.rpartition(".")[2]
        title = tag.first(*_TITLES) or (tag.first("name") if short.endswith(_NAMED) else "")
        if not title and short.endswith(_NAMED):
            title = tag.first("path", "body", "query", "param")
        if not title and short.endswith(_TABS) and (value := tag.first("value")):
            title = self._labels.get(value, value)
        source, target = tag.first("src"), tag.first(*_TARGETS)
        paragraph = self._text[tag.end : tag.end + _NEAR].partition("\n\n")[0]
        if source and (_IMAGE.search(short) or source.partition("?")[0].lower().endswith(IMAGE_SUFFIXES)):
            parts = [image(tag.first("alt"), source), title]
        elif target and not (title or tag.empty or own_line) and f"</{tag.name}" in paragraph:
            self._links[tag.name] += 1
            return f'<a href="{target.replace(chr(34), "")}">'
        elif target:
            parts = [link(title, target)]
        else:
            parts = [title or (tag.first("alt") if tag.empty else "")]
        parts += [tag.first(each) for each in _REST]
        return " ".join(part for part in (name, *parts) if part)


def _dedented(text: str) -> str:
    """The text with what is between tags as far to the left as these, and blank lines in the place of the tags."""
    out: list[str] = []
    opened: list[tuple[str, int, int]] = []  # name, column, columns by which its content is moved; -1: not known yet
    names = Counter[str]()
    moved = 0
    for line in text.split("\n"):
        column = len(line) - len(line.lstrip(" \t"))
        marked = _MARKED_LINE.fullmatch(line)
        if marked is not None and marked[2] == ">" and names[marked[3]]:
            name = ""
            while name != marked[3]:
                name, _, shift = opened.pop()
                names[name] -= 1
                moved -= max(0, shift)
        elif line.strip() and opened and opened[-1][2] < 0:
            name, start, _ = opened[-1]
            shift = max(0, column - moved - start)
            opened[-1] = (name, start, shift)
            moved += shift
        indent = max(0, column - moved)
        if marked is None:
            out.append(line[min(column, moved) :] if line.strip() else line)
            continue
        shown = " " * indent + marked[4] if marked[4] else ""
        out += ["", shown, ""] if shown else [""]
        if marked[2] == "<":
            opened.append((marked[3], indent, -1))
            names[marked[3]] += 1
    return "\n".join(out)


DIALECT = Dialect(
    "mdx",
    _plain,
    {
        "<": re.compile(r"</?[A-Z]\w*[a-z][\w.]*[\s/>]"),
        "={": re.compile(rf"<[a-z]\w*{_JSX.pattern}"),
        "{/*": None,
        "\nimport ": None,
        "\nexport ": None,
    },
    (".mdx",),
)
