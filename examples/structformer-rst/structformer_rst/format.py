"""The reStructuredText format: docutils' tree to Documents, with the roles and directives that Sphinx adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from structformer.document import Document, Link, LinkKind, Source
from structformer.errors import ReadError
from structformer.formats.builder import TreeBuilder
from structformer.formats.source import SourceFile, decode
from structformer.text.names import link_names, normalize, path_names

_SETTINGS = {
    "file_insertion_enabled": False,  # nothing but the given bytes is read
    "raw_enabled": False,
    "halt_level": 5,
    "report_level": 5,
    "warning_stream": None,
    "_disable_config": True,
    "input_encoding": "unicode",
    "doctitle_xform": False,
    "line_length_limit": 1_000_000,
    "syntax_highlight": "none",
}
_NAMED = re.compile(r"(.*?)\s*<([^<>]+)>", re.DOTALL)
_ENTRY = re.compile(r"(?:(.+?)\s*<([^<>]+)>|([^:\s].*))")
_REFERENCES = ("ref", "doc", "numref", "any", "term", "download")
_TEXTS = (
    "func",
    "meth",
    "class",
    "mod",
    "attr",
    "data",
    "exc",
    "obj",
    "const",
    "option",
    "program",
    "command",
    "envvar",
    "file",
    "kbd",
    "guilabel",
    "menuselection",
    "abbr",
    "dfn",
    "pep",
    "rfc",
    "token",
    "keyword",
    "opcode",
    "c:func",
    "c:type",
    "py:func",
    "py:class",
    "py:meth",
    "py:mod",
    "source",
    "issue",
    "gh",
    "samp",
    "makevar",
    "mailheader",
    "manpage",
    "regexp",
)
_ADMONITIONS = (
    "seealso",
    "versionadded",
    "versionchanged",
    "deprecated",
    "todo",
    "index",
    "glossary",
    "productionlist",
    "centered",
    "hlist",
    "only",
    "tabs",
    "tab",
    "function",
    "class",
    "method",
    "attribute",
    "data",
    "module",
    "exception",
    "describe",
    "option",
    "program",
    "envvar",
    "confval",
    "automodule",
    "autoclass",
    "autofunction",
    "currentmodule",
    "py:function",
    "py:class",
)


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[Any], list[Any]]:
    named = _NAMED.fullmatch(text)
    shown, target = (named[1], named[2]) if named else (text, text)
    if name in _REFERENCES:
        return [nodes.reference(rawtext, shown, refuri=target if name == "doc" else f"#{target}")], []
    return [nodes.literal(rawtext, shown.lstrip("!~"))], []


class _Block(Directive):  # type: ignore[misc]
    """A Sphinx directive: its argument is a paragraph, its content is read as reStructuredText."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = None

    def run(self) -> list[Any]:
        block = nodes.container(classes=[self.name])
        if self.arguments and self.name not in ("index", "currentmodule", "only", "module"):
            found, _ = self.state.inline_text(self.arguments[0], self.lineno)
            block += nodes.paragraph("", "", *found)
        body = [line for line in self.content if not re.match(r":[\w-]+:", line)]
        if body:
            self.state.nested_parse(self.content, self.content_offset, block)
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
                paragraph = nodes.paragraph("", "", nodes.reference("", entry[1] or target, refuri=target))
                listed += nodes.list_item("", paragraph)
        return [listed] if len(listed) else []


for _name in (*_REFERENCES, *_TEXTS):
    roles.register_local_role(_name, _role)
for _name in _ADMONITIONS:
    directives.register_directive(_name, _Block)
directives.register_directive("toctree", _Contents)


class RstFormat:
    """Sections, targets, references and text, of plain reStructuredText and of Sphinx's."""

    name = "rst"
    suffixes = (".rst", ".rest")
    media_types = ("text/x-rst",)
    completeness = "complete: docutils' grammar, Sphinx's roles and directives as text and links"

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is reStructuredText, from its first bytes."""
        text = head.decode("utf-8", "replace")
        signs = (
            r"^\.\. [\w-]+::",
            r"^\.\. _[^:\n]+:",
            r"^([=~^*#\"-])\1{3,}$",
            r":\w+:`[^`\n]+`",
            r"``[^`\n]+``",
            r"`[^`\n]+`_",
        )
        return min(0.9, 0.25 * sum(bool(re.search(sign, text, re.MULTILINE)) for sign in signs))

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document. Raises ReadError where docutils gives up."""
        text = decode(source)
        if not text.strip():
            source.warn("empty: no document")
            return
        try:
            tree = publish_doctree(text, source_path=source.path, settings_overrides=_SETTINGS)
            builder = TreeBuilder()
            _Reader(builder).read(tree)
        except RecursionError as error:
            raise ReadError("nested too deep for docutils") from error
        except Exception as error:  # docutils raises whatever its directives do
            raise ReadError(f"docutils gives up on it ({type(error).__name__}: {error})") from error
        document = builder.finish(Source(source.path, self.name))
        labels = (f"label:{normalize(anchor)}" for section in document.sections() for anchor in section.anchors)
        document.names = tuple(dict.fromkeys((*path_names(source.path), *labels)))
        yield document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """A label here or anywhere in the corpus, else a path."""
        yield from link_names(document.id, document.source.path, link.target)
        if link.target.startswith("#"):
            label = normalize(link.target[1:]).lower().replace("_", "-")
            yield f"{document.id}#{label}"
            yield f"label:{label}#{label}"


class _Reader:
    """Walks docutils' nodes and tells a TreeBuilder what it finds."""

    def __init__(self, builder: TreeBuilder) -> None:
        self._builder = builder
        self._related = 0  # lists of related pages around
        self._ids: list[str] = []  # targets that stand before a heading name it

    def read(self, tree: Any) -> None:
        self._children(tree, 0)
        self._flush()

    def _children(self, node: Any, depth: int) -> None:
        for child in node.children:
            self._node(child, depth)

    def _node(self, node: Any, depth: int) -> None:
        builder = self._builder
        if isinstance(node, nodes.Text):
            self._flush()
            builder.flow(str(node))
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
            self._ids += [node["refid"]] if "refid" in node else list(node.get("ids", ()))
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
        elif isinstance(
            node,
            (nodes.list_item, nodes.term, nodes.definition, nodes.row, nodes.field, nodes.option_list_item, nodes.line),
        ):
            builder.line()
            self._children(node, depth)
            builder.line()
        elif isinstance(node, nodes.entry):
            if node.parent.index(node):
                builder.text(" | ")
            self._children(node, depth)
        elif isinstance(node, nodes.paragraph) and isinstance(
            node.parent, (nodes.list_item, nodes.entry, nodes.definition, nodes.field_body)
        ):
            if node.parent.index(node):
                builder.line()
            self._children(node, depth)
        elif isinstance(node, nodes.container) and "seealso" in node.get("classes", ()):
            self._related += 1
            builder.paragraph()
            builder.text("See also:")
            self._children(node, depth)
            builder.paragraph()
            self._related -= 1
        elif isinstance(node, nodes.Inline):
            self._children(node, depth)
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
        kind = LinkKind.XREF if target.startswith("#") else LinkKind.HYPERLINK
        builder.open_link(target, LinkKind.SEE_ALSO if self._related else kind)
        self._children(node, depth)
        builder.close_link()

    def _flush(self) -> None:
        for identifier in self._ids:
            self._builder.add_anchor(identifier)
        self._ids.clear()
