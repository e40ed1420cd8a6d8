"""The reStructuredText format: docutils' tree to Documents, with the roles and directives that Sphinx adds."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.directives.body import MathBlock
from docutils.parsers.rst.directives.misc import Class as PlainClass
from docutils.parsers.rst.languages import en as english
from docutils.utils import unescape
from structformer.document import Document, Link, LinkKind, MarkKind, Source
from structformer.errors import ReadError
from structformer.formats import (
    UNNAMED,
    SourceFile,
    TreeBuilder,
    decode,
    included_files,
    is_external,
    join,
    link_names,
    name_references,
    normalize,
    path_names,
)

from structformer_rst import objects, unnamed
from structformer_rst.glossary import Glossary, is_term, term_anchor
from structformer_rst.option_lines import is_option, options_of, without_options
from structformer_rst.site_text import default_role, with_site_text

_SETTINGS = {
    "file_insertion_enabled": False,  # nothing but the given bytes is read
    "raw_enabled": True,  # and left out: only so does docutils know roles of it
    "halt_level": 5,
    "report_level": 5,
    "warning_stream": None,
    "_disable_config": True,
    "input_encoding": "unicode",
    "doctitle_xform": False,
    "line_length_limit": 1_000_000,
    "syntax_highlight": "none",
}
_NAMED = re.compile(r"(.*?)\s*(?<!\x00)<([^<>]+)>", re.DOTALL)
_ENTRY = re.compile(r"(?:(.+?)\s*<([^<>]+)>|([^:\s].*))")
_REFERENCES = frozenset("ref doc numref any term download eq".split())
_FORMULA = "equation-"  # begins the place of one, as Sphinx names it
_PATHS = frozenset({"doc", "download"})
_OF_OTHERS = re.compile(r"[\w.-]+:(?!\s)")  # a page of another project, by intersphinx
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
_PRINTED = re.compile(r"not html|latex|pdf|texinfo|man")  # of `only`: what no page shows
_FILE_FIELDS = re.compile(r"orphan|tocdepth|nocomments|no-?search|html_theme\..*")  # said to Sphinx, not to readers
_BUTTONS = frozenset({"button-link", "button-ref"})
_CARDS = frozenset({"card", "grid-item-card"})
_CARD_RULE = re.compile(r"(?:\^{3,}|\+{3,})\s*")  # between a card's header, body and footer
_LANGUAGES = {  # of code whose directive says it by its name
    **dict.fromkeys(
        "testcode testsetup testcleanup doctest ipython plot jupyter-execute click:example".split(), "python"
    ),
    **dict.fromkeys("digraph graph graphviz".split(), "dot"),
    "mermaid": "mermaid",
    "plantuml": "plantuml",
    "console": "console",
}
_NAMES_LANGUAGE = frozenset({"code", "code-block", "sourcecode"})
_NO_LANGUAGES = frozenset({"text", "none", "default", "guess"})
_NOTES = frozenset(
    """versionadded versionchanged versionremoved deprecated todo seealso theorem lemma proof corollary proposition
    definition remark example""".split()
)
_NOT_LISTED = re.compile(r"\s*:no-?index(?:-entry)?:")
_CONTINUED = re.compile(r"\\\n\s*")
_SIGNATURE = re.compile(r"[A-Z(.]")
_MEMBERS = re.compile(r"^\.\. (?:\w+:)?(?:method|attribute|property|classmethod|staticmethod)::", re.MULTILINE)
_FILES = frozenset({"literalinclude", "download", "figure-md"})
_ROLE_NAMES = re.compile(r"(?<![\w`]):((?:[\w+.-]+:)*[\w+.-]+):`|`:((?:[\w+.-]+:)*[\w+.-]+):")
_DIRECTIVE_NAMES = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?((?:[\w+.-]+:)*[\w+.-]+)::", re.MULTILINE
)
_INCLUDES = re.compile(
    r"^([ \t]*)\.\.[ \t]+include::[ \t]*([^<\s]\S*)[ \t]*$((?:\n\1[ \t]+:[\w-]+:.*$)*)", re.MULTILINE
)
_OPTION = re.compile(r"^[ \t]+:([\w-]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_LINES = ("start-line", "end-line")
_BOUNDS = frozenset({*_LINES, "start-after", "end-before"})
_TOCTREES = re.compile(r"^([ \t]*)\.\.[ \t]+toctree::[^\n]*((?:\n(?:\1[ \t]+\S[^\n]*|[ \t]*$))*)", re.MULTILINE)
_MOST_UP = 8  # folders above a page
_MAX_INCLUDED = 200
_MARKS = {
    nodes.bullet_list: MarkKind.LIST,
    nodes.enumerated_list: MarkKind.LIST,
    nodes.list_item: MarkKind.ITEM,
    **dict.fromkeys((nodes.definition_list, nodes.field_list, nodes.option_list), MarkKind.DEFINITIONS),
    **dict.fromkeys((nodes.term, nodes.field_name, nodes.option_group), MarkKind.TERM),
    **dict.fromkeys((nodes.definition, nodes.classifier, nodes.field_body, nodes.description), MarkKind.DEFINITION),
    nodes.table: MarkKind.TABLE,
    nodes.row: MarkKind.ROW,
    nodes.literal_block: MarkKind.CODE,
    nodes.doctest_block: MarkKind.CODE,
    nodes.math_block: MarkKind.FORMULA,
    nodes.block_quote: MarkKind.QUOTE,
    nodes.figure: MarkKind.FIGURE,
    nodes.caption: MarkKind.CAPTION,
    nodes.literal: MarkKind.CODE_SPAN,
    nodes.math: MarkKind.FORMULA_SPAN,
    nodes.emphasis: MarkKind.EMPHASIS,
    nodes.title_reference: MarkKind.EMPHASIS,
    nodes.strong: MarkKind.STRONG,
    **dict.fromkeys(nodes.Admonition.__subclasses__(), MarkKind.NOTE),
    nodes.topic: MarkKind.NOTE,
    nodes.sidebar: MarkKind.NOTE,
}
_ON_LINES = (
    *(nodes.list_item, nodes.term, nodes.definition, nodes.row, nodes.field, nodes.option_list_item),
    *(nodes.description, nodes.line),
)
_ACCESS_KEY = re.compile(r"&(&|(?=\S))")
_ROLE_MARKS = {"guilabel": MarkKind.STRONG, "menuselection": MarkKind.STRONG, "dfn": MarkKind.EMPHASIS}


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[Any], list[Any]]:
    if objects.ICON.fullmatch(name) is not None:
        return [], []
    named = _NAMED.fullmatch(text) if not text.startswith("!") else None
    shown, target = map(unescape, (named[1], named[2]) if named else (text, text))
    kind = name.rpartition(":")[2]
    if kind in _REFERENCES and not name.startswith("external"):
        if target in unnamed.GENERATED and kind in _TITLED:
            return [nodes.inline(rawtext, shown if named else unnamed.GENERATED[target])], []
        anchor = term_anchor(target) if kind == "term" else f"{_FORMULA}{target}" if kind == "eq" else target
        if kind == "doc" and _OF_OTHERS.match(target):
            anchor = f"//{target}"
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
    if _ROLE_MARKS.get(kind) is MarkKind.STRONG:
        shown = _ACCESS_KEY.sub(r"\1", shown)
    literal = nodes.literal(rawtext, shown, classes=[name])
    return [nodes.reference(rawtext, "", literal, refuri=link) if link else literal], []


def _series_role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any) -> tuple[list[Any], list[Any]]:
    """A PEP or an RFC, as docutils has it, with the words and the place in it that Sphinx lets it have."""
    named = _NAMED.fullmatch(text)
    number, mark, place = (named[2] if named else text).partition("#")
    found, messages = roles._role_registry[english.roles[name]](name, rawtext, number, lineno, inliner)
    if isinstance(found[0], nodes.reference):
        found[0]["refuri"] += mark + place
        found[0][:] = [nodes.Text(unescape(named[1]))] if named else found[0][:]
    return found, messages


for _name in ("pep", "rfc"):
    roles.register_local_role(_name, _series_role)


class _Block(Directive):  # type: ignore[misc]
    """A Sphinx directive: its argument is a paragraph, its content is read as reStructuredText."""

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
        said = [line for line in lines if not is_option(line)]
        argument = "\n".join(said).strip()
        kind = self.name.rpartition(":")[2]
        body = without_options(self.content)
        skipped = len(self.content) - len(body)
        options = [*lines, *self.content[:skipped]]
        self.options = options_of(options)
        self.add_name(block)
        if self.name in _CODE:
            return self._code(block, argument, body)
        target = self._target(argument)
        if kind in _BUTTONS:
            argument, body = " ".join(body) or argument, []
        for place, line in enumerate(self.content if kind in _CARDS else ()):
            if _CARD_RULE.fullmatch(line):
                self.content[place] = ""
        is_object = {self.name, kind}.isdisjoint(_SILENT | _NOTES | _BUTTONS)
        signatures = _CONTINUED.sub("", argument).split("\n") if is_object else []
        around = self.state.document.settings.objects
        with around.describing(self.name, signatures, is_listed=not any(map(_NOT_LISTED.match, options))) as ids:
            block += [nodes.target("", "", ids=[each]) for each in ids]  # of several on one, docutils keeps the first
            if kind in objects.SIGNED:
                block += nodes.line_block("", *(nodes.line("", signature) for signature in signatures))
            elif argument and kind not in _SILENT | objects.SCOPES:
                found, _ = self.state.inline_text(argument, self.lineno)
                if target:
                    found = [nodes.reference("", "", *found, refuri=target)]
                block += nodes.paragraph("", "", *found)
            if body:
                self.state.nested_parse(self.content[skipped:], self.content_offset + skipped, block)
        return [block]

    def _target(self, argument: str) -> str:
        """Where a button or a card leads."""
        target = argument if self.name in _BUTTONS else self.options.get("link", "") if self.name in _CARDS else ""
        kind = self.options.get(*(("ref-type", "any") if self.name == "button-ref" else ("link-type", "url")))
        return f"#{target}" if target and kind in ("any", "ref") else target

    def _code(self, block: Any, argument: str, lines: list[str]) -> list[Any]:
        if self.name in _FILES and argument:
            block += nodes.paragraph("", "", nodes.reference("", argument, refuri=argument))
        if caption := self.options.get("caption"):
            found, _ = self.state.inline_text(caption, self.lineno)
            block += nodes.caption("", "", *found)
        language = argument if self.name in _NAMES_LANGUAGE else _LANGUAGES.get(self.name, "")
        code = nodes.literal_block("", "\n".join(lines), classes=["code", *language.split()[:1]])
        return [block, code] if lines else [block] * bool(len(block) or block["ids"])


class _Class(_Block):
    """Python's classes, which Sphinx describes by the directive that in docutils gives the next block a class."""

    def run(self) -> list[Any]:
        if _SIGNATURE.search(self.arguments[0] if self.arguments else "") or _MEMBERS.search("\n".join(self.content)):
            return super().run()
        return list(PlainClass.run(self)) if self.arguments else []


class _Math(MathBlock):  # type: ignore[misc]
    """A formula, with the options that Sphinx adds: its label is a place."""

    option_spec: ClassVar = {
        **MathBlock.option_spec,
        **dict.fromkeys(("label", "nowrap", "no-wrap"), directives.unchanged),
    }

    def run(self) -> list[Any]:
        if label := self.options.pop("label", ""):
            self.options.setdefault("name", f"{_FORMULA}{label}")
        return list(super().run())


class _Version(_Block):
    """Since when something is there: Sphinx prints more than the number."""

    arguments: list[str]

    def run(self) -> list[Any]:
        version, *rest = "\n".join(self.arguments).split(maxsplit=1) or [""]
        self.arguments = rest
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
                reference = nodes.reference("", entry[1] or target, refuri=target)
                if not entry[1] and not is_external(target):
                    reference["classes"].append(unnamed.UNNAMED_CLASS)
                listed += nodes.list_item("", nodes.paragraph("", "", reference))
        caption = "" if ":hidden:" in map(str.strip, self.content) else options_of(self.content).get("caption", "")
        shown = [nodes.paragraph("", "", *self.state.inline_text(caption, self.lineno)[0])] if caption else []
        return [*shown, listed] if len(listed) else shown


class _Summary(Directive):  # type: ignore[misc]
    """An autosummary: links to the objects that it lists."""

    has_content = True

    def run(self) -> list[Any]:
        named = [line.strip() for line in self.content if line.strip() and not line.strip().startswith((":", ".."))]
        found = [_role("obj", name, name, self.lineno, self.state)[0] for name in named]
        return [nodes.bullet_list("", *(nodes.list_item("", nodes.paragraph("", "", *each)) for each in found))]


def _register(text: str) -> None:
    """Give every role and directive of a text that docutils does not know a meaning: Sphinx and its extensions have
    hundreds, and docutils drops what it does not know.
    """
    for found in _ROLE_NAMES.finditer(text):
        name = (found[1] or found[2]).lower()
        if not _is_known(roles._roles, roles._role_registry, english.roles, name):
            roles.register_local_role(name, _role)
    for name in {found[1].lower() for found in _DIRECTIVE_NAMES.finditer(text)}:
        if not _is_known(directives._directives, directives._directive_registry, english.directives, name):
            directives.register_directive(name, _OF_THEIR_OWN.get(name, _Block))


def _register_default(name: str) -> None:
    """Set the role of text in single backticks for the page that docutils reads next."""
    if _is_known((), roles._role_registry, english.roles, name):
        roles._roles[""] = roles._role_registry[english.roles.get(name, name)]
    elif name:  # `any` and numpydoc's `autolink` are mostly used for objects
        name = "obj" if name in ("any", "autolink") else name
        roles._roles[""] = lambda _, *said: _role(name, *said)


def _is_known(own: Container[str], registry: Container[str], translated: Mapping[str, str], name: str) -> bool:
    return name in own or translated.get(name, name) in registry


_OF_THEIR_OWN = {
    "toctree": _Contents,
    "autosummary": _Summary,
    "glossary": Glossary,
    "class": _Class,
    "math": _Math,
    **dict.fromkeys(objects.VERSIONS, _Version),
}
# Of code too: docutils' own demand options that Sphinx's don't have.
for _name in ("seealso", *_OF_THEIR_OWN, *_CODE - {"doctest"}):
    directives.register_directive(_name, _OF_THEIR_OWN.get(_name, _Block))


def _includes(data: bytes) -> list[str]:
    """The paths of the files that a file's `include` directives take in whole."""
    if b"include::" not in data:
        return []
    found = _INCLUDES.finditer(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    whole = (each for each in found if (_BOUNDS | {"parser"}).isdisjoint(_options(each)))
    return [place for each in whole for place in _places(each[2])]


def _places(target: str) -> list[str]:
    """Where an included file may be: a path from the root is one from Sphinx's folder, here or above."""
    return ["../" * up + target.lstrip("/") for up in range(_MOST_UP, -1, -1)] if target.startswith("/") else [target]


def _options(directive: re.Match[str]) -> dict[str, str]:
    return dict(_OPTION.findall(directive[3]))


def _piece(text: str, options: Mapping[str, str]) -> str:
    """What an `include` directive takes of a text. Source: docutils' reference of directives."""
    lines = text.split("\n")
    bounds = [int(value) if re.fullmatch(r"-?\d{1,9}", value := options.get(name, "")) else None for name in _LINES]
    text = "\n".join(lines[bounds[0] : bounds[1]])
    if (after := options.get("start-after")) and after in text:
        text = text.partition(after)[2]
    if (before := options.get("end-before")) and before in text:
        text = text.partition(before)[0]
    return text


# What begins a list's item or names a footnote; docutils makes a number of it, and Python none of over 4,300 digits.
_LONG_NUMBER = re.compile(r"^([ \t]*(?:\.\. \[|\()?)(?=\d{1000})", re.MULTILINE)

_CATALOGUE = re.compile(r'^msgid "', re.MULTILINE)  # of translations (gettext), which quote the pages


class RstFormat:
    """Sections, targets, references and text, of plain reStructuredText and of Sphinx's."""

    name = "rst"
    suffixes = (".rst", ".rest")
    media_types = ("text/x-rst",)
    completeness = "complete: docutils' grammar, Sphinx's roles and directives as text and links"

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is reStructuredText, from its first bytes."""
        text = head.decode("utf-8", "replace")
        strong = (r"^\.\. [\w:-]+::(?:\s|$)", r"^\.\. _[^:\n]+:", r"(?:^|\W):[\w:]+:`[^`\n]+`")
        if not any(re.search(sign, text, re.MULTILINE) for sign in strong) or _CATALOGUE.search(text):
            return 0.0  # what is left, other markups have too
        signs = (
            r"^\.\. [\w:-]+::(?:\s|$)",
            r"^\.\. _[^:\n]+:",
            r"^([=~^*#\"-])\1{3,}$",
            r":\w+:`[^`\n]+`",
            r"``[^`\n]+``",
            r"`[^`\n]+`_",
        )
        return min(0.9, 0.25 * sum(bool(re.search(sign, text, re.MULTILINE)) for sign in signs))

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document. Raises ReadError where docutils gives up."""
        text = prepared(decode(source).replace("\r\n", "\n"), source)
        if not text.strip() or ("{{" in text and "_templates" in source.path.split("/")):
            source.warn("a template that Sphinx fills in: not a document" if text.strip() else "empty: no document")
            return
        builder, around = TreeBuilder(), objects.Objects()
        tree = read_into(builder, text, source, around)
        document = builder.finish(Source(source.path, self.name))
        _name_references(document, tree)
        _label(document, tree)
        terms = (f"label:{normalize(a)}" for section in document.sections() for a in section.anchors if is_term(a))
        described = (f"object:{name}" for name in around.ids)
        document.names = tuple(dict.fromkeys((*path_names(source.path), *labels(tree), *terms, *described)))
        yield document

    def parts(self, source: SourceFile) -> set[str]:
        """Paths of the files that a file takes in whole by `include`; they are not documents of their own."""
        return included_files(source, _includes, _MAX_INCLUDED)

    def pages(self, source: SourceFile) -> set[str]:
        """Paths of the pages that the toctrees of a file list: documents, whoever includes them."""
        data = source.read()
        if b"toctree::" not in data:
            return set()
        folder = source.path.rpartition("/")[0]
        entries = (
            entry
            for found in _TOCTREES.finditer(data.decode("utf-8", "replace").replace("\r\n", "\n"))
            for line in found[2].split("\n")
            if (entry := line.strip()) and not entry.startswith(":")
        )
        named = (found[2] if (found := _NAMED.fullmatch(entry)) else entry for entry in entries)
        paths = (join("" if entry.startswith("/") else folder, entry.lstrip("/")) for entry in named)
        return {path + suffix for path in paths if path for suffix in unnamed.PAGE_SUFFIXES}

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """An object or label here or anywhere in the corpus, else a path."""
        if objects.is_object(link.target):
            yield from objects.object_names(link.target)
            return
        yield from link_names(document.id, document.source.path, link.target)
        if link.target.startswith("#"):
            label = normalize(nodes.fully_normalize_name(link.target[1:]))
            places = [f"#{place}" for place in (nodes.make_id(label), label) if place]
            names = (document.id, f"label:{label}", f"title:{label}")
            yield from (f"{name}{place}" for name in names for place in places)


def prepared(text: str, source: SourceFile) -> str:
    """A text as docutils reads it: with what it includes, and with what its site defines."""
    return _LONG_NUMBER.sub(r"\1\\", with_site_text(_with_includes(text, source, source), source))


def read_into(builder: TreeBuilder, text: str, source: SourceFile, around: objects.Objects) -> nodes.document:
    """Tell a builder what a text says. around: gets what it describes. Raises ReadError where docutils gives up."""
    _register(text)
    _register_default(default_role(source))
    try:
        tree = publish_doctree(text, source_path=source.path, settings_overrides={**_SETTINGS, "objects": around})
        _Reader(builder, source, around).read(tree)
    except RecursionError as error:
        raise ReadError("nested too deep for docutils") from error
    except Exception as error:  # docutils raises whatever its directives do
        raise ReadError(f"docutils cannot read it ({type(error).__name__}: {error})") from error
    return tree


def labels(tree: nodes.document) -> Iterator[str]:
    """A document's names by its labels, and by its titles, which a reference means where no label is called so."""
    for name, place in tree.nameids.items():
        if place and "refuri" not in tree.ids[place] and not isinstance(tree.ids[place], nodes.footnote):
            yield f"{'label' if tree.nametypes[name] else 'title'}:{normalize(name)}"


def _label(document: Document, tree: nodes.document) -> None:
    """Let labels that docutils makes no id of, as those in Chinese, be anchors too."""
    labels: dict[str, list[str]] = {}
    for name, place in tree.nameids.items():
        if place and nodes.make_id(name) != place:
            labels.setdefault(place, []).append(name)
    for section in document.sections():
        section.anchors += tuple(name for anchor in section.anchors for name in labels.get(anchor, ()))


def _name_references(document: Document, tree: Any) -> None:
    """Give references without text the title of what they point to, or the words of its label where that is in another
    file.
    """
    titles = unnamed.titles_by_label(tree)

    def place(label: str) -> str:
        return str(tree.nameids.get(nodes.fully_normalize_name(label)) or nodes.make_id(label))

    is_by_heading = document.title == document.root.title
    name_references(document, lambda label, _: titles.get(place(label)) or unnamed.words_of_label(label))
    if is_by_heading:
        document.title = document.root.title


def _with_includes(text: str, source: SourceFile, page: SourceFile, taken: frozenset[str] = frozenset()) -> str:
    """The text with the files that it includes in their places, from its own folder or, as Sphinx has it, the page's;
    one that is not there, or includes itself, is left out and said.
    """

    def included(found: re.Match[str]) -> str:
        options = _options(found)
        tried = (each.open(place) for each in (source, page) for place in _places(found[2]))
        opened = next(filter(None, tried), None)
        problem = ""
        if opened is None or opened.path in taken or len(taken) >= _MAX_INCLUDED:
            problem = "it is not in the ingested folder, or includes itself"
        elif "parser" in options:
            problem = "it is of another format"
        if opened is None or problem:
            line = text.count("\n", 0, found.start()) + 1
            source.warn(f"line {line}: {found[2]} is not included: {problem}")
            return ""
        piece = _piece(decode(opened).replace("\r\n", "\n"), options)
        inner = _with_includes(piece, opened, page, taken | {source.path, opened.path})
        return "\n".join(found[1] + line if line else line for line in inner.split("\n"))

    return _INCLUDES.sub(included, text) if "include::" in text else text


def _mark(node: Any) -> MarkKind | None:
    """What a node is of a text."""
    if isinstance(node, nodes.title):
        around = type(node.parent)
        return MarkKind.CAPTION if around is nodes.table else MarkKind.TITLE if around in _MARKS else None
    if isinstance(node, nodes.container):
        return MarkKind.NOTE if _note_kind(node) else None
    if isinstance(node, nodes.literal):
        named = (_ROLE_MARKS[name] for name in node.get("classes", ()) if name in _ROLE_MARKS)
        return next(named, MarkKind.CODE_SPAN)
    return _MARKS.get(type(node))


def _detail(node: Any) -> str:
    if isinstance(node, nodes.enumerated_list):
        return str(node.get("start", 1))
    if isinstance(node, nodes.row):
        return "header" if isinstance(node.parent, nodes.thead) else ""
    if isinstance(node, nodes.doctest_block):
        return "python"
    if isinstance(node, nodes.literal_block):
        classes = node.get("classes", ())
        named = classes[1].lower() if len(classes) > 1 and classes[0] == "code" else ""
        return "" if named in _NO_LANGUAGES else named
    if isinstance(node, nodes.container):
        return _note_kind(node)
    if isinstance(node, nodes.Admonition | nodes.topic | nodes.sidebar) and not isinstance(node, nodes.admonition):
        return str(node.tagname)
    return ""


def _note_kind(container: Any) -> str:
    """The kind of note that a directive makes, by its name without the domain's: prf:theorem."""
    kinds = (name.rpartition(":")[2] for name in container.get("classes", ()))
    return next((kind for kind in kinds if kind in _NOTES), "")


class _Reader:
    """Walks docutils' nodes and tells a TreeBuilder what it finds."""

    def __init__(self, builder: TreeBuilder, source: SourceFile, around: objects.Objects) -> None:
        self._builder = builder
        self._source = source
        self._objects = around
        self._related = 0  # lists of related pages around
        self._ids: list[str] = []  # targets that stand before a heading name it

    def read(self, tree: Any) -> None:
        self._children(tree, 0)
        self._flush()

    def _children(self, node: Any, depth: int) -> None:
        for child in node.children:
            self._node(child, depth)

    def _node(self, node: Any, depth: int) -> None:
        if isinstance(node, nodes.topic) and "contents" in node["classes"]:
            return  # the page's own sections, listed
        if isinstance(node, nodes.field) and not depth and _FILE_FIELDS.fullmatch(node[0].astext()):
            return
        builder = self._builder
        mark = _mark(node)
        if mark is not None:
            builder.open_mark(mark, _detail(node))
        is_placed = isinstance(node, (nodes.Text, nodes.section, nodes.target, nodes.footnote))
        if not is_placed and node["names"]:  # its own, by `:name:`
            for identifier in node["ids"]:
                builder.add_anchor(identifier)
        if isinstance(node, nodes.Text):
            self._flush()
            builder.flow(node.astext())
        elif isinstance(
            node, (nodes.comment, nodes.system_message, nodes.substitution_definition, nodes.pending, nodes.raw)
        ):
            return
        elif isinstance(node, nodes.section):
            title = next((child for child in node.children if isinstance(child, nodes.title)), None)
            builder.open_heading(depth + 1, (*self._ids, *node.get("ids", ())))
            self._ids.clear()
            if title is not None:
                self._children(title, depth)
            builder.close_heading()
            for child in node.children:
                if child is not title:
                    self._node(child, depth + 1)
        elif isinstance(node, nodes.target):
            if "refuri" not in node:
                self._ids += [node["refid"]] if "refid" in node else list(node["ids"])
        elif isinstance(node, nodes.reference):
            self._reference(node, depth)
        elif isinstance(node, nodes.image):
            builder.add_image(node.get("uri", ""), node.get("alt", ""))
        elif isinstance(node, (nodes.literal_block, nodes.doctest_block, nodes.math_block)):
            self._flush()
            builder.paragraph()
            builder.verbatim(node.astext())
            builder.paragraph()
        elif isinstance(node, (nodes.literal, nodes.math)):
            self._flush()
            builder.verbatim(node.astext())
        else:
            self._part(node, depth)
        if mark is not None:
            builder.close_mark(mark)

    def _part(self, node: Any, depth: int) -> None:
        """A node that only has others in it."""
        builder = self._builder
        if isinstance(node, _ON_LINES):
            builder.line()
            self._children(node, depth)
            builder.line()
        elif isinstance(node, nodes.entry):
            if node.parent.index(node):
                builder.text(" | ")
            builder.open_mark(MarkKind.CELL)
            self._children(node, depth)
            builder.close_mark(MarkKind.CELL)
        elif isinstance(node, nodes.paragraph) and isinstance(
            node.parent, (nodes.list_item, nodes.entry, nodes.definition, nodes.field_body, nodes.description)
        ):
            if node.parent.index(node):
                builder.line()
            self._children(node, depth)
        elif isinstance(node, nodes.container) and "seealso" in node.get("classes", ()):
            self._related += 1
            builder.paragraph()
            builder.marked_text(MarkKind.TITLE, "See also:")
            self._children(node, depth)
            builder.paragraph()
            self._related -= 1
        elif isinstance(node, nodes.option_group):
            self._flush()
            builder.line()
            builder.flow(node.astext())
        elif isinstance(node, nodes.Inline):
            if script := unnamed.SCRIPTS.get(type(node)):
                builder.open_script(script)
            self._children(node, depth)
            if script:
                builder.close_script()
        else:
            builder.paragraph()
            self._children(node, depth)
            builder.paragraph()

    def _reference(self, node: Any, depth: int) -> None:
        builder = self._builder
        target = node.get("refuri") or (
            "#" + node["refid"] if "refid" in node else "#" + node["refname"] if "refname" in node else ""
        )
        if not target or builder.in_link:
            self._children(node, depth)
            return
        self._flush()
        if objects.is_object(target):
            target = self._objects.place(target) or target
        kind = LinkKind.XREF if target.startswith("#") or objects.is_object(target) else LinkKind.HYPERLINK
        builder.open_link(target, LinkKind.SEE_ALSO if self._related else kind)
        if unnamed.UNNAMED_CLASS not in node["classes"]:
            self._children(node, depth)
        elif target.startswith("#"):
            builder.text(UNNAMED)
        else:
            title = unnamed.title_of_page(target, self._source)
            builder.text(title or unnamed.words_of_path(target, self._source.path))
        builder.close_link()

    def _flush(self) -> None:
        for identifier in self._ids:
            self._builder.add_anchor(identifier)
        self._ids.clear()
