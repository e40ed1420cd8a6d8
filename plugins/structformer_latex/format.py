"""The LaTeX format, plainest form: sectioning commands, labels, references and text of one file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structformer.builder import TreeBuilder
from structformer.document import Document, Link, LinkKind, Source
from structformer.names import normalize, path_names
from structformer.sources import SourceFile, decode

_LEVELS = {"part": 0, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}
_COMMAND = re.compile(r"\\(?P<name>[a-zA-Z]+\*?|.)(?:\s*\[[^\[\]]*\])?", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
_ARGUMENT = re.compile(r"\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_REFERENCES = {"ref": LinkKind.XREF, "eqref": LinkKind.XREF, "autoref": LinkKind.XREF, "cref": LinkKind.XREF, "cite": LinkKind.CITATION}
_DROPPED = frozenset({"begin", "end", "usepackage", "documentclass", "input", "include", "bibliography", "bibliographystyle"})


class LatexFormat:
    """One file as it stands: no \\input, no macros of the user's own."""

    name = "latex"
    suffixes = (".tex", ".latex")
    media_types = ("application/x-tex", "text/x-tex")
    completeness = "plain: sectioning, \\label, \\ref, \\cite, \\href, \\url and text of single files; no \\input, no user macros yet"

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is LaTeX, from its first bytes."""
        return 0.95 if re.search(rb"\\documentclass|\\begin\{document\}", head) else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document."""
        text = _COMMENT.sub(r"\1", decode(source).replace("\r\n", "\n"))
        if not text.strip():
            source.warn("empty: no document")
            return
        title = re.search(r"\\title\s*\{([^{}]*)\}", text)
        body = re.search(r"\\begin\{document\}", text)
        builder = TreeBuilder()
        _walk(text[body.end() :] if body else text, builder)
        document = builder.finish(Source(source.path, self.name), title=" ".join(title[1].split()) if title else None)
        labels = tuple(normalize(anchor) for section in document.sections() for anchor in section.anchors)
        document.names = (*path_names(source.path), *(f"label:{label}" for label in labels))
        yield document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """The label in this file, else the file of the project that has it."""
        label = normalize(link.target)
        if link.kind is LinkKind.XREF:
            yield f"{document.id}#{label}"
            yield f"label:{label}#{label}"
        else:
            yield label


def _walk(text: str, builder: TreeBuilder) -> None:
    position = 0
    while (start := text.find("\\", position)) >= 0:
        _text(text[position:start], builder)
        command = _COMMAND.match(text, start)
        if command is None:
            return
        position = command.end()
        name = command["name"].rstrip("*")
        argument = _ARGUMENT.match(text, position) if name.isalpha() else None
        if name in _LEVELS and argument:
            builder.open_heading(_LEVELS[name])
            _walk(argument[1], builder)
            builder.close_heading()
        elif name == "label" and argument:
            builder.add_anchor(argument[1].strip())
        elif name in _REFERENCES and argument:
            for target in argument[1].split(","):
                builder.add_link(target.strip(), "", _REFERENCES[name])
        elif name in ("href", "url") and argument:
            shown = _ARGUMENT.match(text, argument.end()) if name == "href" else argument
            builder.open_link(argument[1].strip())
            if shown:
                _walk(shown[1], builder)
            builder.close_link()
            argument = shown or argument
        elif name in _DROPPED:
            builder.paragraph()
        elif not name.isalpha():
            builder.text(name if name in "%&#$_{}" else " ")
            continue
        else:
            continue  # an unknown command's argument is text
        if argument:
            position = argument.end()
    _text(text[position:], builder)


def _text(text: str, builder: TreeBuilder) -> None:
    for number, paragraph in enumerate(re.split(r"\n[ \t]*\n", text)):
        if number:
            builder.paragraph()
        builder.text(re.sub(r"\s+", " ", paragraph.replace("{", "").replace("}", "").replace("~", " ")))
