"""Roles and directives of documentation, of a page and not of the process; an error in one costs that one."""

import re
import textwrap
from copy import copy
from functools import cache, partial
from itertools import pairwise
from types import FunctionType
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, DirectiveError, Parser, directives, roles, states
from docutils.parsers.rst.directives.body import MathBlock
from docutils.parsers.rst.directives.misc import Class as PlainClass
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.parsers.rst.languages import en as english
from docutils.statemachine import StringList
from docutils.utils import unescape
from structformer.document import MarkKind
from structformer.formats import decode, is_external

from structformer_rst import objects, unnamed
from structformer_rst.including import NAMED, code_lines, is_option, opened, options_of, without_options

_ENTRY = re.compile(r"(?:(.+?)\s*<([^<>]+)>|([^:\s].*))")
_REFERENCES = frozenset("ref doc numref any term download eq".split())
_FORMULA = "equation-"  # begins the place of one
TERM = "term-"  # the same, of a glossary
_PATHS = frozenset({"doc", "download"})
_TITLED = frozenset("ref doc numref".split())  # those that show the title of what they point to
# Directives whose content is not reStructuredText.
_CODE = frozenset(
    """code-block sourcecode prompt parsed-code testcode testsetup testcleanup testoutput doctest ipython
    plantuml uml graphviz digraph graph mermaid highlight productionlist console literalinclude
    jupyter-execute plot command-output program-output click-example click:example click:run raw-code terminal
    altair-plot bokeh-plot exec_code code""".split()
)
# Directives whose argument nobody reads.
_SILENT = frozenset(
    """index only ifconfig highlight meta toctree-wrapper contents default-domain default-role grid card-carousel
    div""".split()
)
_HOLD_SECTIONS = frozenset({"only", "ifconfig"})
_PRINTED = re.compile(r"not html|latex|pdf|texinfo|man")  # of `only`: what no page shows
_BUTTONS = frozenset({"button-link", "button-ref"})
_CARDS = frozenset({"card", "grid-item-card"})
_CARD_RULE = re.compile(r"(?:\^{3,}|\+{3,})\s*")  # between a card's header, body and footer
_LANGUAGES = {  # of code whose directive says it by its name
    **dict.fromkeys(
        "testcode testsetup testcleanup doctest ipython plot jupyter-execute click:example".split(), "python"
    ),
    **dict.fromkeys("digraph graph graphviz".split(), "dot"),
    **{name: name for name in ("mermaid", "plantuml", "console")},
}
_NAMES_LANGUAGE = frozenset({"code", "code-block", "sourcecode"})
NOTES = frozenset(
    """versionadded versionchanged versionremoved deprecated todo seealso theorem lemma proof corollary proposition
    definition remark example""".split()
)
_NOT_LISTED = re.compile(r"\s*:no-?index(?:-entry)?:")
_CONTINUED = re.compile(r"\\\n\s*")
_SIGNATURE = re.compile(r"[A-Z(.]")
_MEMBERS = re.compile(r"^\.\. (?:\w+:)?(?:method|attribute|property|classmethod|staticmethod)::", re.MULTILINE)
_ACCESS_KEY = re.compile(r"&(&|(?=\S))")
ROLE_MARKS = {"guilabel": MarkKind.STRONG, "menuselection": MarkKind.STRONG, "dfn": MarkKind.EMPHASIS}


def _term_anchor(term: str) -> str:
    """Return the place of a glossary's term."""
    return TERM + objects.NOT_IN_ID.sub("-", term).strip("-")


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[Any], list[Any]]:
    if objects.ICON.fullmatch(name) is not None:
        return [], []
    named = NAMED.fullmatch(text) if not text.startswith("!") else None
    shown, target = map(unescape, (named[1], named[2]) if named else (text, text))
    kind = name.rpartition(":")[2]
    if kind in _REFERENCES and not name.startswith("external"):
        if target in unnamed.GENERATED and kind in _TITLED:
            return [nodes.inline(rawtext, shown if named else unnamed.GENERATED[target])], []
        anchor = f"{_FORMULA}{target}" if kind == "eq" else target
        if objects.OF_OTHERS.match(target):
            anchor = f"//{target}" if kind == "doc" else anchor
        elif kind == "term":
            anchor = _term_anchor(target)
        if kind == "numref" and named:
            shown = "" if "{name}" in shown else objects.NUMBER_PLACE.sub("", shown).strip()
        reference = nodes.reference(rawtext, shown, refuri=anchor if kind in _PATHS else f"#{anchor}")
        if not (named and shown) and kind in _TITLED:
            reference["classes"].append(unnamed.UNNAMED_CLASS)
        return [reference], []
    around = inliner.document.settings.objects
    link = "" if text.startswith("!") else objects.target_of(name, target.lstrip("~"), around)
    if not named:
        shown = objects.last_part(shown) if shown[:1] == "~" else shown.lstrip("!").removeprefix("." if link else "")
    if ROLE_MARKS.get(kind) is MarkKind.STRONG:
        shown = _ACCESS_KEY.sub(r"\1", shown)
    literal = nodes.literal(rawtext, shown, classes=[name])
    return [nodes.reference(rawtext, "", literal, refuri=link) if link else literal], []


def _series_role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any) -> tuple[list[Any], list[Any]]:
    """Return a PEP or an RFC, as docutils has it, with words of its own and a place in it."""
    named = NAMED.fullmatch(text)
    number, mark, place = (named[2] if named else text).partition("#")
    inline, messages = roles._role_registry[english.roles[name]](name, rawtext, number, lineno, inliner)
    if isinstance(inline[0], nodes.reference):
        inline[0]["refuri"] += mark + place
        inline[0][:] = [nodes.Text(unescape(named[1]))] if named else inline[0][:]
    return inline, messages


def _included_text(directive: Directive, path: str) -> str | None:
    """Return the text of a file that a directive names; warn and return None if it is not in the ingested folder."""
    source = directive.state.document.settings.source
    if (file := opened(path, source)) is None:
        source.warn(f"line {directive.lineno}: {path} is not included: it is not in the ingested folder")
    return None if file is None else decode(file)


class _Block(Directive):  # type: ignore[misc]
    """A directive that is not docutils': its argument is a paragraph, its content is read as reStructuredText."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = None

    def run(self) -> list[Any]:
        if self.name in objects.UNSEEN or (self.name == "only" and _PRINTED.fullmatch(" ".join(self.arguments))):
            return []
        block = nodes.container(classes=[self.name])
        # Without a list of the options that there are, docutils takes them for the argument's next lines.
        lines = [line for argument in self.arguments for line in argument.split("\n")]
        argument = "\n".join(line for line in lines if not is_option(line)).strip()
        kind = self.name.rpartition(":")[2]
        body = without_options(self.content)
        skipped = len(self.content) - len(body)
        options = [*lines, *self.content[:skipped]]
        self.options = options_of(options)
        self.add_name(block)
        if self.name in _CODE:
            return self._code(block, argument, body)
        target = argument if self.name in _BUTTONS else self.options.get("link", "") if self.name in _CARDS else ""
        link_kind = self.options.get(*(("ref-type", "any") if self.name == "button-ref" else ("link-type", "url")))
        if kind in _BUTTONS:
            argument, body = " ".join(body) or argument, []
        for place, line in enumerate(self.content if kind in _CARDS else ()):
            if _CARD_RULE.fullmatch(line):
                self.content[place] = ""
        is_object = {self.name, kind}.isdisjoint(_SILENT | NOTES | _BUTTONS)
        signatures = _CONTINUED.sub("", argument).split("\n") if is_object else []
        around = self.state.document.settings.objects
        with around.describing(self.name, signatures, is_listed=not any(map(_NOT_LISTED.match, options))) as ids:
            block += [nodes.target("", "", ids=[each]) for each in ids]  # of several on one, docutils keeps the first
            if kind in objects.SIGNED:
                block += nodes.line_block("", *(nodes.line("", signature) for signature in signatures))
            elif argument and kind not in _SILENT | objects.SCOPES:
                inline, _ = self.state.inline_text(argument, self.lineno)
                if target:  # of a button or a card
                    address = f"#{target}" if link_kind in ("any", "ref") else target
                    inline = [nodes.reference("", "", *inline, refuri=address)]
                block += nodes.paragraph("", "", *inline)
            if body and kind in _HOLD_SECTIONS:
                return self._with_sections(block, skipped)
            if body:
                self.state.nested_parse(self.content[skipped:], self.content_offset + skipped, block)
        # Each release of a change log is a section: `.. changelog::` with `:version: 2.0.1`.
        is_release = body and not argument and "version" in self.options
        if is_release and isinstance(self.state.parent, nodes.document | nodes.section):
            return [nodes.section("", nodes.title("", self.options["version"]), *block, ids=block["ids"])]
        return [block]

    def _with_sections(self, block: Any, skipped: int) -> list[Any]:
        """Read content whose titles are sections of the page. Source: the directive `only` of Sphinx."""
        memo = self.state.memo
        styles, level = memo.title_styles, memo.section_level
        memo.title_styles, memo.section_level = [], 0
        try:
            self.state.nested_parse(self.content[skipped:], self.content_offset + skipped, block, match_titles=True)
            own = memo.title_styles
        finally:
            memo.title_styles, memo.section_level = styles, level
        above: list[Any] = []
        node = self.state.parent if own and own[0] in styles else None
        while node is not None:
            above += [node] * isinstance(node, nodes.section)
            node = node.parent
        place = len(above) - 1 - styles.index(own[0]) if above else -1  # of the section that holds those of this level
        if place < 0:
            return [block]
        (above[place].parent or above[place]).append(block)
        return []

    def _code(self, block: Any, argument: str, lines: list[str]) -> list[Any]:
        if self.name == "literalinclude" and argument:
            if (text := _included_text(self, argument)) is None:
                block += nodes.paragraph("", "", nodes.reference("", argument, refuri=argument))
            else:
                lines = textwrap.dedent("\n".join(code_lines(text, self.options))).strip("\n").split("\n")
        if caption := self.options.get("caption"):
            inline, _ = self.state.inline_text(caption, self.lineno)
            block += nodes.caption("", "", *inline)
        language = argument if self.name in _NAMES_LANGUAGE else _LANGUAGES.get(self.name, "")
        language = self.options.get("language", language)
        code = nodes.literal_block("", "\n".join(lines), classes=["code", *language.split()[:1]])
        return [block, code] if lines else [block] * bool(len(block) or block["ids"])


class _Class(_Block):
    """Python's classes, described by the directive that in docutils gives the next block a class."""

    def run(self) -> list[Any]:
        if _SIGNATURE.search(self.arguments[0] if self.arguments else "") or _MEMBERS.search("\n".join(self.content)):
            return super().run()
        return list(PlainClass.run(self)) if self.arguments else []


class _Math(MathBlock):  # type: ignore[misc]
    """A formula, with more options than docutils knows: its label is a place."""

    option_spec: ClassVar = MathBlock.option_spec | dict.fromkeys(("label", "nowrap", "no-wrap"), directives.unchanged)

    def run(self) -> list[Any]:
        if label := self.options.pop("label", ""):
            self.options.setdefault("name", f"{_FORMULA}{label}")
        return list(super().run())


class _Version(_Block):
    """Since when something is there: more is printed than the number."""

    arguments: list[str]

    def run(self) -> list[Any]:
        version, *self.arguments = "\n".join(self.arguments).split(maxsplit=1) or [""]
        [block] = super().run()
        lead = f"{objects.VERSIONS[self.name]} {version}" + (": " if len(block) else ".")
        if not block.children or not isinstance(block[0], nodes.paragraph):
            block.insert(0, nodes.paragraph())
        block[0].insert(0, nodes.Text(lead))
        return [block]


class _Contents(Directive):  # type: ignore[misc]
    """A toctree: links to its pages."""

    has_content = True

    def run(self) -> list[Any]:
        listed = nodes.bullet_list()
        for line in self.content:
            entry = _ENTRY.fullmatch(line.strip())
            if entry is not None and not line.strip().startswith(":"):
                target = entry[2] or entry[3]
                if target in unnamed.GENERATED or target == "self" or "*" in target:  # no page of another file
                    continue
                classes = [unnamed.UNNAMED_CLASS] if not entry[1] and not is_external(target) else []
                reference = nodes.reference("", entry[1] or target, refuri=target, classes=classes)
                listed += nodes.list_item("", nodes.paragraph("", "", reference))
        caption = "" if ":hidden:" in map(str.strip, self.content) else options_of(self.content).get("caption", "")
        shown = [nodes.paragraph("", "", *self.state.inline_text(caption, self.lineno)[0])] if caption else []
        return [*shown, listed] if len(listed) else shown


class _Summary(Directive):  # type: ignore[misc]
    """An autosummary: links to the objects that it lists."""

    has_content = True

    def run(self) -> list[Any]:
        named = [line.strip() for line in self.content if line.strip() and not line.strip().startswith((":", ".."))]
        references = [_role("obj", name, name, self.lineno, self.state)[0] for name in named]
        return [nodes.bullet_list("", *(nodes.list_item("", nodes.paragraph("", "", *each)) for each in references))]


class _CsvTable(CSVTable):  # type: ignore[misc]
    """A table of comma-separated values; its file is one of the ingested folder."""

    content: Any

    def run(self) -> list[Any]:
        path = self.options.pop("file", self.options.pop("url", ""))
        if path and not self.content:
            if (text := _included_text(self, path)) is None:
                return []
            self.content = StringList(text.splitlines(), source=path)
        return list(super().run())


class _DefaultRole(Directive):  # type: ignore[misc]
    """Sets the role of text in single backticks, for the rest of the page."""

    optional_arguments = 1

    def run(self) -> list[Any]:
        self.state.document.settings.default_role = " ".join(self.arguments)
        return []


class _Glossary(Directive):  # type: ignore[misc]
    """A glossary: terms at the margin, several for one definition too, and their definitions indented."""

    has_content = True

    def run(self) -> list[Any]:
        listed = nodes.definition_list()
        item: Any = None
        start, end = len(self.content) - len(without_options(self.content)), len(self.content)
        firsts = [place for place in range(start, end) if place == start or self.content[place][:1].strip()]
        for place, after in pairwise((*firsts, end)):
            line = self.content[place]
            if line.startswith(".. "):
                continue
            if item is None or isinstance(item.children[-1], nodes.definition):
                item = nodes.definition_list_item()
                listed += item
            if is_term := not line[0].isspace():
                item += self._term(place)
            below = next((each for each in range(place + is_term, after) if self.content[each].strip()), after)
            if below < after:
                item += self._definition(below, after)
        return [listed] if len(listed) else []

    def _definition(self, start: int, end: int) -> Any:
        lines = self.content[start:end]
        lines.disconnect()
        lines.trim_left(min(len(line) - len(line.lstrip()) for line in lines if line.strip()))
        definition = nodes.definition()
        self.state.nested_parse(lines, self.content_offset + start, definition)
        return definition

    def _term(self, place: int) -> Any:
        inline, _ = self.state.inline_text(self.content[place].partition(" : ")[0].strip(), self.lineno + place)
        shown = nodes.term("", "", *inline)
        anchor = _term_anchor(shown.astext())
        # Case and underscores do not matter to `:term:`.
        names = dict.fromkeys((anchor, anchor.lower().replace("_", "-")))
        shown.insert(0, nodes.target("", "", ids=list(names)))
        return shown


_OWN_DIRECTIVES = {
    **dict.fromkeys(("seealso", *_CODE - {"doctest"}), _Block),  # docutils' own demand options that these don't have
    "toctree": _Contents,
    "autosummary": _Summary,
    "glossary": _Glossary,
    "class": _Class,
    "math": _Math,
    "csv-table": _CsvTable,
    "default-role": _DefaultRole,
    **dict.fromkeys(objects.VERSIONS, _Version),
}


def _interpreted(inliner: Any, rawsource: str, text: str, role: str, lineno: int) -> tuple[list[Any], list[Any]]:
    """Read a role as docutils' inliner does: the page's own, else docutils', else any."""
    settings = inliner.document.settings
    name = (role or settings.default_role).lower()
    name = settings.own_roles.get(name, name)
    if not role and name in ("any", "autolink"):  # mostly used for objects; the second is numpydoc's
        name = "obj"
    try:
        if english.roles.get(name) in ("pep-reference", "rfc-reference"):
            return _series_role(name, rawsource, text, lineno, inliner)
        if not name or name in roles._roles or english.roles.get(name, name) in roles._role_registry:
            known: tuple[list[Any], list[Any]] = states.Inliner.interpreted(inliner, rawsource, text, name, lineno)
            return known
        return _role(name, rawsource, text, lineno, inliner)
    except RecursionError:
        raise
    except Exception as error:
        settings.source.warn(f"line {lineno}: :{role}: cannot be read ({error!r}): its text is kept")
        return [nodes.inline(rawsource, unescape(text))], []


class _State(states.RSTState):  # type: ignore[misc]
    """A state of docutils' parser whose directives are the page's, else docutils', else any."""

    nested_sm_cache: ClassVar[list[Any]] = []
    explicit = copy(states.Body.explicit)

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm_kwargs = {"state_classes": _STATES, "initial_state": "Body"}

    def directive(self, match: Any, **presets: Any) -> Any:
        """Run a directive, as docutils' method of this name."""
        name = match[1].lower()
        directive = _OWN_DIRECTIVES.get(name)
        if directive is None:
            directive, messages = directives.directive(name, self.memo.language, self.document)
            self.parent += messages if directive is not None else []
        return self.run_directive(_guarded(directive or _Block), match, name, presets)


# docutils looks its methods up by these lists, which hold functions.
_State.explicit.constructs = [
    (_State.directive if method is states.Body.directive else method, pattern)
    for method, pattern in states.Body.explicit.constructs
]
_STATES = tuple(type(each.__name__, (_State, each), {}) for each in states.state_classes)


@cache
def _guarded(directive: Any) -> Any:
    """Return the directive, but that its text stays where it fails."""
    if isinstance(directive, FunctionType):
        return directive

    class Guarded(directive):  # type: ignore[misc]
        def run(self) -> list[Any]:
            try:
                return list(super().run())
            except (DirectiveError, RecursionError):
                raise
            except Exception as error:
                self.state.document.settings.source.warn(
                    f"line {self.lineno}: {self.name}:: cannot be read ({error!r}): its text is kept"
                )
                return [nodes.paragraph("", "\n".join((*self.arguments, *self.content)))]

    return Guarded


class PageParser(Parser):  # type: ignore[misc]
    """docutils' parser with the roles and directives of one page."""

    def __init__(self) -> None:
        super().__init__(inliner=states.Inliner())
        self.inliner.interpreted = partial(_interpreted, self.inliner)  # docutils asks the class itself for its parts
        self.state_classes = _STATES

    def parse(self, inputstring: str, document: Any) -> None:
        """Parse a text; what it defines is forgotten after it."""
        before = dict(roles._roles)
        self.inliner.init_customizations(document.settings)
        try:
            super().parse(inputstring, document)
        finally:
            roles._roles.clear()
            roles._roles.update(before)
