"""MyST: comments (`% ...`), breaks of cells (`+++`), targets; its directives, which between colons are containers: what
their options are, which show nothing, which are notes, which describe something; and the roles that refer to something.

Source: the documentation of MyST and of Sphinx.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby, takewhile

from structformer.formats import SourceFile, normalize, split_fragment
from structformer.text import github_slug

from structformer_markdown.dialects.page import Dialect
from structformer_markdown.front_matter import split_front_matter, titles
from structformer_rst import UNSEEN, VERSIONS

_NOTHING = re.compile(r"^(?:%.*|\+\+\+(?:[ \t].*)?)$", re.MULTILINE)
# A directive, a target or a role, but no code that is run, which R Markdown has as well.
_IS_MYST = re.compile(
    r"^[ \t>]*(?:```+|~~~+)\{(?!(?:r|python|julia|bash|sh|sql|ojs|dot|mermaid|rcpp|stan)\b)[A-Za-z][\w:-]*\}"
    r"|^\((?! )[\w:. -]+\)=[ \t]*$|\{[a-z][\w:-]*\}`[^`\n]",
    re.MULTILINE,
)
# What shows nothing where it stands, or only what a generator makes.
HIDDEN_DIRECTIVES = UNSEEN | frozenset(
    "raw index contents tableofcontents bibliography highlight default-role role meta sectnum".split()
)
PLACE_ROLES = frozenset("ref numref eq any term keyword std:ref std:numref std:term prf:ref".split())
TITLE_ROLES = frozenset({"ref", "std:ref"})  # without words of their own these show the title of their target
FILE_ROLES = frozenset("doc std:doc download".split())
# Directives that describe an object, and roles that refer to one; others are of the same names as what is none.
DESCRIBES = re.compile(
    r"(?:py|c|cpp|js|rst|std):[\w-]+|function|method|attribute|exception|option|envvar|program|auto(?:function|class|module)"
)
OBJECT_ROLES = re.compile(r"(?:py|c|cpp|js|rst|std):[\w-]+|func|class|meth|mod|attr|exc|data|obj|const|option|envvar")
WITHOUT_WORDS = frozenset("card-carousel container div grid ifconfig only".split())  # arguments nobody reads
# Schemes of the project itself, a sign for its root, and schemes of what is elsewhere.
PROJECT = re.compile(r"^(?:(?:project|path|doc):(?!//)|@(?=/))")
ELSEWHERE = ("inv:", "wiki:", "rrid:", "ror:")
_CARD_RULE = re.compile(r"^[ \t]*(?:\+{3,}|\^{3,})[ \t]*$", re.MULTILINE)  # between a card's head, body and foot
CITATION_ROLES = re.compile(r"(?:foot)?cite(?:[:.]\w+)?|citep|citet")
_ENTRY = re.compile(r"[ \t]*:?([\w-]+):[ \t]*(.*)")

# Their argument is the first line of their text.
_NOTES = frozenset("note warning tip hint important caution danger attention error seealso todo".split())
# Their argument is their title.
_TITLED = frozenset(
    "admonition dropdown topic sidebar theorem axiom lemma definition corollary proposition conjecture criterion "
    "remark observation property assumption algorithm example exercise solution proof".split()
)
_TITLE_WITHIN = 65536  # bytes

DIALECT = Dialect(
    "myst",
    lambda text, page: _NOTHING.sub("", text),
    {":::{": re.compile(r":::\{[A-Za-z][\w:-]*\}"), **dict.fromkeys(("\n%", "\n+++", ")=\n"), _IS_MYST)},
)


def split_options(content: str) -> tuple[dict[str, str], str]:
    """Return a directive's options, `:key: value` lines or YAML between two lines `---`, and its content."""
    lines = content.split("\n")
    if lines[0].strip() == "---":
        end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), -1) + 1
    else:
        end = len([*takewhile(lambda line: line.lstrip()[:1] == ":" and _ENTRY.match(line), lines)])
    found = (_ENTRY.match(line) for line in lines[:end])
    return {each[1]: each[2].strip(" \t\"'") for each in found if each is not None}, "\n".join(lines[end:])


def labels(options: Mapping[str, str]) -> list[str]:
    """Return the names that a directive's options give it, by which references lead there."""
    return [options[key] for key in ("label", "name") if options.get(key)]


def note_kind(name: str, options: Mapping[str, str]) -> tuple[str, bool]:
    """Return the kind of note that a directive is, "" for none, and whether its argument is a title."""
    own = name.rpartition(":")[2]  # prf:theorem
    if own in _NOTES or own in VERSIONS:
        return own, False
    if own != "admonition":
        return (own, True) if own in _TITLED else ("", False)
    return next((word for word in options.get("class", "").split() if word in _NOTES), "note"), True


def printed(name: str, argument: str, content: str) -> tuple[str, str]:
    """Return a directive's argument and content as they are printed: of a version, "Added in version 1.2: ..."."""
    if name not in VERSIONS:
        return argument, _CARD_RULE.sub("", content) if name.endswith("card") else content
    version, _, more = argument.partition(" ")
    note = f"{more.strip()}\n\n{content}".strip() if more.strip() else content.strip("\n")
    return "", f"{VERSIONS[name]} {version}" + (f":\n{note}" if note else ".")


def glossary(content: str) -> Iterator[tuple[list[str], str]]:
    """Yield the entries of a glossary: terms at the margin, and the definition that is indented below."""
    terms: list[str] = []
    for is_indented, lines in groupby(content.split("\n"), lambda line: line[:1] in ("", " ", "\t")):
        text = "\n".join(lines)
        if not is_indented:
            terms += [line.partition(" : ")[0].strip() for line in text.split("\n")]
        elif text.strip():
            yield terms, textwrap.dedent(text)
            terms = []
    if terms:
        yield terms, ""


def title_there(target: str, source: SourceFile) -> str:
    """Return the heading that a link to another page leads to, in Markdown; "" where none is found."""
    page, fragment = split_fragment(normalize(target))
    page = "../" * source.path.count("/") + page.lstrip("/") if page.startswith("/") else page
    opened = source.open(page if page.lower().endswith((".md", ".markdown")) else f"{page}.md") if page else None
    if opened is None:
        return ""
    text = opened.read()[:_TITLE_WITHIN].decode("utf-8", "replace").replace("\r\n", "\n")
    metadata, start, _ = split_front_matter(text)
    if not fragment and isinstance(title := metadata.get("title"), str):
        return title
    if fragment and (named := text.find(f"({fragment})=\n")) >= 0:
        start, fragment = named, ""
    return next((title for title in titles(text[start:]) if not fragment or github_slug(title) == fragment), "")
