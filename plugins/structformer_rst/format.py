"""The reStructuredText format: docutils' tree to Documents, with roles and directives of documentation."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from structformer.document import Document, Link, LinkKind, MarkKind, Source
from structformer.errors import ReadError
from structformer.formats import (
    UNNAMED,
    FormatOption,
    SourceFile,
    TreeBuilder,
    decode,
    included_files,
    link_names,
    name_references,
    normalize,
    path_names,
)
from structformer.plugins import load_plugins

from structformer_rst import objects, unnamed
from structformer_rst.directives import NOTES, ROLE_MARKS, TERM, PageParser
from structformer_rst.including import MAX_INCLUDED, included_whole, is_listed, with_includes
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
_FILE_FIELDS = re.compile(r"orphan|tocdepth|nocomments|no-?search|html_theme\..*")  # of no interest to readers
_NO_LANGUAGES = frozenset({"text", "none", "default", "guess"})
_ERROR = 3  # level of docutils' messages from which their text is nowhere else
_MARKS = {
    **dict.fromkeys((nodes.bullet_list, nodes.enumerated_list), MarkKind.LIST),
    nodes.list_item: MarkKind.ITEM,
    **dict.fromkeys((nodes.definition_list, nodes.field_list, nodes.option_list), MarkKind.DEFINITIONS),
    **dict.fromkeys((nodes.term, nodes.field_name, nodes.option_group), MarkKind.TERM),
    **dict.fromkeys((nodes.definition, nodes.classifier, nodes.field_body, nodes.description), MarkKind.DEFINITION),
    nodes.table: MarkKind.TABLE,
    nodes.row: MarkKind.ROW,
    **dict.fromkeys((nodes.literal_block, nodes.doctest_block), MarkKind.CODE),
    nodes.math_block: MarkKind.FORMULA,
    nodes.block_quote: MarkKind.QUOTE,
    nodes.figure: MarkKind.FIGURE,
    nodes.caption: MarkKind.CAPTION,
    nodes.literal: MarkKind.CODE_SPAN,
    nodes.math: MarkKind.FORMULA_SPAN,
    **dict.fromkeys((nodes.emphasis, nodes.title_reference), MarkKind.EMPHASIS),
    nodes.strong: MarkKind.STRONG,
    **dict.fromkeys((*nodes.Admonition.__subclasses__(), nodes.topic, nodes.sidebar), MarkKind.NOTE),
}
_ON_LINES = (
    *(nodes.list_item, nodes.term, nodes.definition, nodes.row, nodes.field, nodes.option_list_item),
    *(nodes.description, nodes.line),
)
_OF_LINES = (nodes.list_item, nodes.entry, nodes.definition, nodes.field_body, nodes.description)
_UNSEEN = (nodes.comment, nodes.system_message, nodes.substitution_definition, nodes.pending, nodes.raw)

# What begins a list's item or names a footnote; docutils makes a number of it, and Python none of over 4,300 digits.
_LONG_NUMBER = re.compile(r"^([ \t]*(?:\.\. \[|\()?)(?=\d{1000})", re.MULTILINE)

_CATALOGUE = re.compile(r'^msgid "', re.MULTILINE)  # of translations (gettext), which quote the pages


class RstFormat:
    """Sections, targets, references and text, of plain reStructuredText and of documentation's."""

    # What is not text in a page's source: comments, the first lines of directives and their options, roles, addresses.
    not_text = re.compile(
        r"^\.\. (?![a-z-]+::)[^\n]*(?:\n[ \t]+[^\n]*)*|^[ \t]*\.\. [^\n]*\n(?:[ \t]+:[^\n]*\n)*|:[\w-]+:`|<[^<>\n]*>`",
        re.MULTILINE,
    )
    name = "rst"
    suffixes = (".rst", ".rest")
    media_types = ("text/x-rst",)
    completeness = "complete: docutils' grammar, documentation's roles and directives as text and links"
    options = (FormatOption("theme", "a theme of your own, in TOML: what --theme FILE holds"),)

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file of unknown suffix is reStructuredText, from its first bytes."""
        text = head.decode("utf-8", "replace")
        strong = (r"^\.\. [\w:-]+::(?:\s|$)", r"^\.\. _[^:\n]+:", r"(?:^|\W):[\w:]+:`[^`\n]+`")
        if not any(re.search(sign, text, re.MULTILINE) for sign in strong) or _CATALOGUE.search(text):
            return 0.0  # what is left, other markups have too
        signs = (*strong[:2], r"^([=~^*#\"-])\1{3,}$", r":\w+:`[^`\n]+`", r"``[^`\n]+``", r"`[^`\n]+`_")
        return min(0.9, 0.25 * sum(bool(re.search(sign, text, re.MULTILINE)) for sign in signs))

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document. Raises ReadError where docutils gives up."""
        text = prepared(decode(source).replace("\r\n", "\n"), source)
        if not text.strip() or ("{{" in text and "_templates" in source.path.split("/")):
            source.warn("a template that its site fills in: not a document" if text.strip() else "empty: no document")
            return
        builder, around = TreeBuilder(), objects.Objects()
        tree = read_into(builder, text, source, around, load_plugins().theme_of(options).roles)
        document = builder.finish(Source(source.path, self.name))
        _settle(document, tree)
        anchors = (anchor for section in document.sections() for anchor in section.anchors)
        terms = (f"label:{normalize(anchor)}" for anchor in anchors if anchor.startswith(TERM))
        described = (f"object:{name}" for name in around.ids)
        document.names = tuple(dict.fromkeys((*path_names(source.path), *labels(tree), *terms, *described)))
        yield document

    def parts(self, source: SourceFile) -> set[str]:
        """Return paths of the files that a file takes in whole by `include`; they are not documents of their own."""
        return included_files(source, included_whole, MAX_INCLUDED, lambda file, _: is_listed(file, source))

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Yield an object or label here or anywhere in the corpus, else a path."""
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
    """Return a text as docutils reads it: with what it includes, and with what its site defines."""
    return _LONG_NUMBER.sub(r"\1\\", with_site_text(with_includes(text, source, source), source))


def read_into(
    builder: TreeBuilder, text: str, source: SourceFile, around: objects.Objects, roles: Mapping[str, str]
) -> nodes.document:
    """Tell a builder what a text says. around: gets what it describes. roles: of the user's own, those that they are
    like. Raises ReadError where docutils gives up."""
    own = {"objects": around, "source": source, "default_role": default_role(source), "own_roles": roles}
    try:
        tree = publish_doctree(text, source.path, parser=PageParser(), settings_overrides={**_SETTINGS, **own})
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


def _settle(document: Document, tree: Any) -> None:
    """Give references without text the title of what they point to, or the words of a label elsewhere, and let labels
    that docutils makes no id of, as those in Chinese, be anchors too.
    """
    titles = unnamed.titles_by_label(tree)

    def named(label: str, _: bool) -> str:
        place = str(tree.nameids.get(nodes.fully_normalize_name(label)) or nodes.make_id(label))
        return titles.get(place) or unnamed.words(label.rpartition(":")[2].strip() or label)

    is_by_heading = document.title == document.root.title
    name_references(document, named)
    if is_by_heading:
        document.title = document.root.title
    labels: dict[str, list[str]] = {}
    for name, place in tree.nameids.items():
        if place and nodes.make_id(name) != place:
            labels.setdefault(place, []).append(name)
    for section in document.sections():
        section.anchors += tuple(name for anchor in section.anchors for name in labels.get(anchor, ()))


def _mark(node: Any) -> tuple[MarkKind | None, str]:
    """Return a node's kind of mark, None if it has none, and its detail."""
    kind, detail = _MARKS.get(type(node)), ""
    if isinstance(node, nodes.title):
        around = type(node.parent)
        kind = MarkKind.CAPTION if around is nodes.table else MarkKind.TITLE if around in _MARKS else None
    elif isinstance(node, nodes.container):  # of a directive, by its name without the domain's: prf:theorem
        names = (name.rpartition(":")[2] for name in node.get("classes", ()))
        detail = next((name for name in names if name in NOTES), "")
        kind = MarkKind.NOTE if detail else None
    elif isinstance(node, nodes.literal):
        kind = next((ROLE_MARKS[name] for name in node.get("classes", ()) if name in ROLE_MARKS), kind)
    elif isinstance(node, nodes.enumerated_list):
        detail = str(node.get("start", 1))
    elif isinstance(node, nodes.row):
        detail = "header" if isinstance(node.parent, nodes.thead) else ""
    elif isinstance(node, nodes.doctest_block):
        detail = "python"
    elif isinstance(node, nodes.literal_block):
        classes = node.get("classes", ())
        detail = classes[1].lower() if len(classes) > 1 and classes[0] == "code" else ""
        detail = "" if detail in _NO_LANGUAGES else detail
    elif isinstance(node, nodes.Admonition | nodes.topic | nodes.sidebar) and not isinstance(node, nodes.admonition):
        detail = str(node.tagname)
    return kind, detail


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
        with self._builder.marked(*_mark(node)):
            self._content(node, depth)

    def _content(self, node: Any, depth: int) -> None:
        builder = self._builder
        is_placed = isinstance(node, (nodes.Text, nodes.section, nodes.target, nodes.footnote))
        if not is_placed and node["names"]:  # its own, by `:name:`
            builder.add_anchor(*node["ids"])
        if isinstance(node, nodes.Text):
            self._flush()
            builder.flow(node.astext())
        elif isinstance(node, nodes.system_message) and node["level"] >= _ERROR:
            builder.paragraph()
            for source in node.findall(nodes.literal_block):  # what docutils cannot read, without its marks
                for line in map(str.strip, source.astext().split("\n")):
                    if any(map(str.isalnum, line)) and not line.startswith((":", "..")):
                        builder.text(line)
                        builder.line()
            builder.paragraph()
        elif isinstance(node, _UNSEEN):
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
            with builder.marked(MarkKind.CELL):
                self._children(node, depth)
        elif isinstance(node, nodes.paragraph) and isinstance(node.parent, _OF_LINES):
            if node.parent.index(node):
                builder.line()
            self._children(node, depth)
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
            is_related = isinstance(node, nodes.container) and "seealso" in node.get("classes", ())
            self._related += is_related
            builder.paragraph()
            if is_related:
                builder.marked_text(MarkKind.TITLE, "See also:")
            self._children(node, depth)
            builder.paragraph()
            self._related -= is_related

    def _reference(self, node: Any, depth: int) -> None:
        builder = self._builder
        name = node.get("refid") or node.get("refname")
        target = node.get("refuri") or (f"#{name}" if name else "")
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
        self._builder.add_anchor(*self._ids)
        self._ids.clear()
