"""The LaTeX format: a document with the files it takes in to one Document, and the names of its places."""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from structformer.document import Document, Link, MarkKind, Source
from structformer.formats import (
    FormatOption,
    SourceFile,
    TreeBuilder,
    decode,
    link_names,
    name_references,
    normalize,
    path_names,
    without_garbage_collection,
)

from structformer_latex.commands import by_pair
from structformer_latex.declared import Declared, declared
from structformer_latex.inputs import MAIN, taken_files, without_comments
from structformer_latex.reader import TexReader
from structformer_latex.references import plain_address

_CHAPTER_PIECES = 4  # parts of a label, joined by hyphens, that may name a chapter
_INPUTENC = re.compile(rb"\\(?:usepackage|inputencoding)\s*(?:\[([^\[\]]*)\]\s*\{inputenc\}|\{([^{}]*)\})")
_ENCODINGS = by_pair("ansinew=cp1252 applemac=mac-roman macce=mac-latin2 utf8x=utf-8 decmulti=latin-1 next=latin-1")


class LatexFormat:
    """Documents of one file or many, with the user's macros, labels, references, citations and links."""

    # Of a file's source, what is no text: comments, drawings, files that it carries, commands with their options.
    not_text = re.compile(
        r"(?<!\\)%[^\n]*|\\begin\{(tikzpicture|comment|filecontents\*?)\}.*?\\end\{\1\}|\\[a-zA-Z@]+\*?(?:\[[^\[\]]*\])?",
        re.DOTALL,
    )
    text_begins = "\\begin{document}"

    name = "latex"
    suffixes = (".tex", ".latex", ".ltx")
    media_types = ("application/x-tex", "text/x-tex")
    options = (FormatOption("theme", "a theme of your own, in TOML: what --theme FILE holds", check=declared),)
    completeness = (
        "complete: multi-file projects, user macros, labels, references, citations "
        "with .bib and .bbl, hyperref, theorems"
    )

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file of unknown suffix is LaTeX, from its first bytes."""
        if re.search(rb"^[ \t]*(?:\\document(?:class|style)\s*[\[{]|\\begin\s*\{document\})", head, re.MULTILINE):
            return 0.95
        commands = re.findall(rb"\\(?:section|subsection|chapter|label|cite|ref|begin)\s*\{", head)
        return 0.6 if len(commands) >= 3 and not path.endswith(".bib") else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document; none for a file that only defines things."""
        text = _text(source)
        if not text.strip():
            source.warn("empty: no document")
            return
        with without_garbage_collection():
            document = self._document(source, text, declared(str(options.get("theme") or "")))
        if document is None:
            source.warn("only definitions: no document")
            return
        yield document

    def _document(self, source: SourceFile, text: str, declarations: Declared) -> Document | None:
        def files(name: str, suffixes: tuple[str, ...]) -> tuple[str, str] | None:
            for suffix in suffixes:
                opened = source.open(name + suffix)
                if opened is not None:
                    return opened.path, _text(opened)
            return None

        builder = TreeBuilder(slugs=False)
        reader = TexReader(builder, files, declarations)
        reader.read(text, name=source.path, main=MAIN.search(without_comments(text)) is not None)
        _references(reader, builder, files, source.path)
        for warning in reader.warnings:
            source.warn(warning)
        if builder.is_empty and not reader.front_matter.title:
            return None
        metadata = {
            "author": reader.front_matter.author,
            "external_documents": [list(each) for each in reader.references.external],
            "works": reader.bibliography.works(),
        }
        document = builder.finish(
            Source(source.path, self.name),
            title=reader.front_matter.title or None,
            promote=False,
            language=reader.front_matter.language,
            metadata={key: value for key, value in metadata.items() if value},
        )
        name_references(document, reader.numbering.shown)
        labels = dict.fromkeys(normalize(anchor) for section in document.sections() for anchor in section.anchors)
        own = [label for label in labels if not label.startswith("cite:")]
        chapter = PurePosixPath(source.path).parent.name
        document.names = (
            *path_names(source.path),
            *(f"label:{label}" for label in own),
            *(f"label:{chapter}/{label}" for label in own if chapter),
        )
        return document

    def parts(self, source: SourceFile) -> set[str]:
        """Paths of the files that a main file takes in: no documents, but those that have a class of their own."""
        return taken_files(source)

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """A label here, in the document that announced it, or anywhere; a cited work, or its line of the references."""
        if link.target.startswith("cite:"):
            key = link.target.removeprefix("cite:")
            yield from document.metadata.get("works", {}).get(key, ())
            yield f"{document.id}#cite:{normalize(key)}"
            return
        if not link.target.startswith("#"):
            yield from link_names(document.id, document.source.path, link.target)
            return
        label = normalize(link.target[1:])
        yield f"{document.id}#{label}"
        for prefix, file in document.metadata.get("external_documents", ()):
            if label.startswith(prefix):
                path = str(PurePosixPath(document.source.path).parent / file)
                yield f"{path}#{label[len(prefix) :]}"
        # Parts of a book in folders have labels that are unique in their chapter alone; another chapter's may be
        # written with the chapter in front.
        yield f"label:{PurePosixPath(document.source.path).parent.name}/{label}#{label}"
        pieces = label.split("-")
        for count in range(1, min(len(pieces), _CHAPTER_PIECES)):
            rest = "-".join(pieces[count:])
            yield f"label:{'-'.join(pieces[:count])}/{rest}#{rest}"
        yield f"label:{label}#{label}"


_UNUSUAL = ("\x00", "\x1b", "\ufeff")  # signs of UTF-16, of escape sequences, of a mark


def _text(source: SourceFile) -> str:
    data = source.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        declared = _INPUTENC.search(data)
        name = (declared[1] or declared[2] or b"").decode("ascii", "replace").strip() if declared else ""
        encoding = _ENCODINGS.get(name, name)
        try:
            codecs.lookup(encoding)
            text = data.decode(encoding, "replace")
        except LookupError:
            text = decode(source)
    else:
        if any(sign in text for sign in _UNUSUAL):
            text = decode(source)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Files that a document carries with it: what is there is not of this one.
    return _CARRIED.sub("", text) if "filecontents" in text else text


_CARRIED = re.compile(r"\\begin\s*\{filecontents(\*?)\}.*?\\end\s*\{filecontents\1\}", re.DOTALL)


def _references(reader: TexReader, builder: TreeBuilder, files: Any, path: str) -> None:
    """Fill the bibliography: from the .bbl beside the file, else with the cited entries of its .bib files."""
    bibliography = reader.bibliography
    if bibliography.section is None or builder.has_anchor_prefix("cite:"):
        return
    taken = files(PurePosixPath(path).stem, (".bbl",))
    builder.return_to(bibliography.section)
    if taken is not None:
        inside = re.search(
            r"\\begin\s*\{thebibliography\}\s*\{[^{}]*\}(.*)\\end\s*\{thebibliography\}", taken[1], re.DOTALL
        )
        reader.read(inside[1] if inside else taken[1], name=taken[0], main=False)
        return
    reader.warnings.extend(f"\\bibliography{{{name}}}: not found" for name in bibliography.missing)
    keys = bibliography.entries if "*" in bibliography.cited else bibliography.cited
    with builder.marked(MarkKind.LIST):
        for entry in filter(None, map(bibliography.entries.get, keys)):
            builder.line()
            with builder.marked(MarkKind.ITEM):
                builder.add_anchor(f"cite:{entry.key}")
                reader.typeset(entry.line())
                if url := entry.fields.get("url"):
                    builder.add_link(plain_address(url))
            builder.line()
