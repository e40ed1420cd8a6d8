"""Liquid and Jinja: tags, variables, targets of links.

Of a condition the first branch stays. A variable that nothing here knows goes where it is the site's, the page's or a
loop's, and makes a target that begins with it lead outside.
"""

import re
from collections.abc import Callable, Sequence
from html import escape

from structformer.formats import SourceFile
from structformer.plugins import load_plugins

from structformer_markdown.dialects.page import LONGEST_VALUE, Dialect, Page, arguments, beside, code_block, language_of

_TAG = re.compile(r"\{%-?[ \t\n]*+([\w-]+)?((?:[^%{\n]|%(?!\})|\{(?!%)|\n(?![ \t]*\n))*+)%\}")
_VARIABLE = re.compile(
    r"""(\]\([ \t]*<?|\]:[ \t]*<?|\b(?:href|src)=["']?)?(?<!\$)"""
    r"""\{\{(?![<%{#])-?((?:[^{}\n]|\n(?![ \t]*\n))*)-?\}\}([^\s<>()"'{}]*)"""
)
_COMMENT = re.compile(r"\{#-?[ \t\n](?:[^#{]|#(?!\})|\{(?!#))*+#\}")  # Jinja's and Nunjucks'
_VARIABLE_LEFT = re.compile(r"\{\{[^{}\n]*\}\}")
_TEXT = re.compile(r"""[ \t]*(?:"([^"]*)"|'([^']*)')[ \t]*(?:\|(.*))?""")
_ADDED = re.compile(r"""\b(append|prepend)[ \t]*:[ \t]*(?:"([^"]*)"|'([^']*)')""")
_NAME = re.compile(r"[ \t]*([\w.-]+)")
_OWN = re.compile(r"(?:site|page|layout|include|config|relative_root|theme|post|collection|paginator)\b|\w+\(")
_ROOTS = frozenset(
    "site.baseurl site.url site.base_url site.baseUrl site.base page.root page.baseurl baseurl base_url base_path "
    "relative_root relative_path".split()
)
_PAIRS = frozenset("if unless case for tablerow comment raw verbatim highlight codeblock capture set".split())
_CONDITIONS = frozenset({"if", "unless", "case", "for"})
_BRANCHES = frozenset({"else", "elsif", "elif", "when"})
_RAW = re.compile(r"\{%-?[ \t]*(?:end)?raw[ \t]*-?%\}")
_LITERAL = frozenset({"raw", "verbatim", "highlight", "codeblock", "comment"})
_SHOWN = ("title", "content", "text", "caption", "alt", "description")
# What a generator fills in: layouts, and what new pages are made from.
_SYNTAX = re.compile(r"""(?<!\]\()(?<!\]: )(?<!["'<])\{\{(?![<%#])[^{}()\n]*\}\}|\{%[^%{}=\n]*%\}""")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+[^{}\n]*\w[^{}\n]*$|^ {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_TITLE = re.compile(r"(?:\s*\{\{(?![<%#])[^{}\n]*\}\})+\s*")


def _html_code(content: str, arguments: str, page: Page) -> str:
    return page.keep(f'<pre><code class="language-{language_of(arguments)}">{escape(content)}</code></pre>')


def is_template(title: object, body: str, source: SourceFile) -> bool:
    """Whether a file's title is a variable, or it has none and half of its text, but for links, is Liquid."""
    if isinstance(title, str) and title.strip():
        return _TITLE.fullmatch(title) is not None
    if ("{{" not in body and "{%" not in body) or _HEADING.search(body):
        return False
    text = Page(source).without_code(body)
    syntax = sum(found.end() - found.start() for found in _SYNTAX.finditer(text))
    return syntax > 0 and syntax * 2 >= len(text) - sum(map(str.isspace, text))


def without_liquid(text: str, page: Page) -> str:
    """Return a page of HTML as its site shows it: as a page of Markdown, with code in the elements of code."""
    return page.restored(_VARIABLE_LEFT.sub("", _plain(text.replace("\x00", "\ufffd"), page, _html_code)))


def _plain(text: str, page: Page, code: Callable[[str, str, Page], str] = code_block) -> str:
    if page.has("tags_in_code"):
        page.change_code(lambda kept: _RAW.sub("", kept) if "raw" in kept else kept)
    text = _COMMENT.sub("", text) if "{#" in text else text
    tags = list(_TAG.finditer(text)) if "{%" in text else []
    ends, branches = _matched(tags)
    captured_code = {  # what an include of code shows
        name
        for tag in tags
        if tag[1] == "include" and "code" in "".join(tag[2].split(maxsplit=1)[:1])
        for name in arguments(tag[2]).values()
    }

    def with_values(piece: str) -> str:
        in_loop = is_vue or index <= loop_end
        return _VARIABLE.sub(lambda found: _variable(found, page, in_loop), piece) if "{{" in piece else piece

    out: list[str] = []
    place = index = 0
    is_vue = " v-for=" in text  # whose variables are computed as well
    loop_end = -1  # of the outermost loop that is open
    while index < len(tags):
        tag, name, end = tags[index], tags[index][1] or "", ends.get(index, -1)
        out.append(with_values(text[place : tag.start()]))
        place = tag.end()
        is_code = name == "capture" and tag[2].strip(" \t\n-") in captured_code
        is_code = is_code or (name == "set" and "code" in tag[2].lower())
        if (name in _LITERAL or is_code) and end >= 0:
            inside = text[place : tags[end].start()]
            if name in ("raw", "verbatim"):
                out.append(page.keep(inside))
            elif name != "comment":
                content = page.restored(inside).strip("\n")
                block = (_RAW.sub("", content), "") if is_code else (content, tag[2])
                out.append(f"\n{code(*block, page)}\n")
            index, place = end, tags[end].end()
        elif name == "for" and end >= 0:
            loop_end = max(loop_end, end)
        elif index not in branches:
            out.append(_tag(name, tag[2], page))
        if index in branches:  # the rest of the condition goes
            index = branches[index]
            place = tags[index].end()
        index += 1
    out.append(with_values(text[place:]))
    return "".join(out)


def _matched(tags: Sequence[re.Match[str]]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the end of each opening tag, and of each condition's second branch, by their numbers."""
    ends: dict[int, int] = {}
    branches: dict[int, int] = {}
    opened: list[tuple[str, int, list[int]]] = []
    counts: dict[str, int] = {}
    last = {tag[1]: index for index, tag in enumerate(tags)}
    literal = ""
    for index, tag in enumerate(tags):
        name = tag[1] or ""
        if literal and name != f"end{literal}":
            continue
        if name in _PAIRS and not (name == "set" and "=" in tag[2]):
            if name in _LITERAL:
                if last.get(f"end{name}", -1) < index:
                    continue
                literal = name
            opened.append((name, index, []))
            counts[name] = counts.get(name, 0) + 1
        elif name in _BRANCHES:
            if opened and opened[-1][0] in _CONDITIONS:
                opened[-1][2].append(index)
        elif name.startswith("end") and counts.get(name[3:]):
            literal = ""
            closed = ""
            while closed != name[3:]:
                closed, start, parts = opened.pop()
                counts[closed] -= 1
            ends[start] = index
            second = 1 if closed == "case" else 0
            if len(parts) > second:
                branches[parts[second]] = index
    return ends, branches


def _tag(name: str, rest: str, page: Page) -> str:
    """Return the text that a tag shows: a link's target, the words of an include. Remember a value that it assigns."""
    if name == "assign":
        variable, _, assigned = rest.strip(" \t\n-").partition("=")
        value = _value(assigned.strip(), page)
        page.assigned[variable.strip()] = value if len(value or "") <= LONGEST_VALUE else None
    if name in ("link", "post_url"):
        path = rest.strip(" \t\n-").lstrip("/")
        return f"/{path}" if name == "link" else f"/_posts/{path}"
    if name == "include":
        given = arguments(rest)
        return " ".join(given[key] for key in _SHOWN if given.get(key) and "{{" not in given[key])
    return ""


def _variable(found: re.Match[str], page: Page, in_loop: bool) -> str:
    before, inside, after = found[1] or "", found[2].strip().rstrip("-").strip(), found[3]
    name = _NAME.match(inside)
    shown = _value(inside, page)
    text = page.substitution(name[1]) if shown is None and name is not None else None
    if text is not None and ("\n" not in text or not "".join(beside(found)).strip()):  # a block on a line of its own
        return before + text + after
    if shown is None and before:
        return before + after if name is None else page.keep(f"{before}//{{{{{name[1]}}}}}{after}")
    if shown is None:
        generators = load_plugins().site_generators  # each has an object of its name in its templates
        is_own = _OWN.match(inside) or (name is not None and name[1].partition(".")[0] in generators)
        if not (in_loop or is_own or page.has("site")):
            return found[0]
        shown = ""
    return before + shown + after


def _value(inside: str, page: Page) -> str | None:
    """Return a variable's value: its own text, a part of the site's address, a value of the page or of the site."""
    if (literal := _TEXT.fullmatch(inside)) is not None:
        value = literal[1] if literal[1] is not None else literal[2]
        for where, *given in _ADDED.findall(literal[3] or ""):
            added = given[0] or given[1]
            value = value + added if where == "append" else added + value
        return value
    name = _NAME.match(inside)
    if name is None:
        return None
    if name[1] in _ROOTS:
        return "".join(given[0] or given[1] for where, *given in _ADDED.findall(inside) if where == "append")
    if (assigned := page.assigned.get(name[1])) is not None:
        return assigned
    if name[1].startswith("page."):
        return page.metadata.get(name[1][5:])
    return page.site_value("site", name[1][5:]) if name[1].startswith("site.") else None


DIALECT = Dialect("liquid", _plain, {"{%": None, "{{": re.compile(r"\{\{-?[ \t]*[\w\"']"), "{#": _COMMENT})
