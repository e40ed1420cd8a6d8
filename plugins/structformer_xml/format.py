"""The XML format: bytes to one Document by the document's vocabulary, and the names that its links may mean."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

from lxml import etree
from structformer.document import Document, Link, LinkKind, Source
from structformer.errors import ReadError
from structformer.formats import (
    FormatOption,
    SourceFile,
    as_utf8,
    included_files,
    link_names,
    name_references,
    normalize,
    path_names,
    stem_title,
    without_garbage_collection,
)
from structformer.text import github_slug

from structformer_html import TableBuilder
from structformer_xml.dita import References
from structformer_xml.entities import DECLARATIONS, REFERENCE, external_entities
from structformer_xml.including import Inclusions, included_paths
from structformer_xml.parsing import BIG, NotWellFormed, content, parse, parse_before_damage, stream, words_of
from structformer_xml.reader import XmlReader, identifier_of
from structformer_xml.suggest import suggest_mapping
from structformer_xml.vocabulary import ABOVE_ALL, BUILT_IN, RANKS, Vocabulary, built_in, choose, from_toml

XINCLUDE = b"http://www.w3.org/2001/XInclude"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_OTHERS = re.compile(
    rb"<(?:mediawiki|html|svg|project|rss|feed|urlset|plist|xsl:stylesheet|xsd?:schema|wsdl)[\s>:]", re.IGNORECASE
)

# Drawings, stylesheets, schemas and settings, by the first element.
_NO_DOCUMENTS = frozenset(
    b"""svg mxfile stylesheet schema plist wsdl ncx container opensearchdescription urlset sitemapindex opml
    browserconfig relationships web-app testsuites testsuite coverage xliff tmx""".split()
)
_SETTINGS = re.compile(  # elements that are documents of other vocabularies too
    rb"<(?:project\b[^>]*(?:\bdefault=|maven|msbuild|\bsdk=|toolsversion)|package\b[^>]*(?:opf|nuspec)"
    rb"|book\b[^>]*devhelp|beans\b[^>]*springframework|manifest\b[^>]*android|resources\b[^>]*android"
    rb"|project\b[^>]*>\s*<meta>|grammar\b[^>]*relaxng\.org|resources\b[^>]*>(?>\s+|<!--.*?-->)*+<string"
    rb"|root\b[^>]*>(?>\s+|<!--.*?-->)*+<(?:xsd:schema|resheader|data name=)"
    rb"|configuration>\s*<(?:configsections|runtime|startup|system))",
    re.IGNORECASE | re.DOTALL,
)
_MAPS = frozenset({"map", "bookmap"})  # of DITA: their references are what they say
_HEAD = 4096
_TITLED = re.compile(  # and an empty title is none
    rb"(?>\s+|<!--.*?-->)*+<(?:[\w.-]+:)?(?:title\b[^>/]*>\s*(?!</)\S|(?:\w*info|refmeta|refnamediv)\b)", re.DOTALL
)
# Where a target has no anchor: DITA's full stop for the topic that refers, and lines or parts of a text (RFC 5147).
_NO_ANCHOR = re.compile(r"(?<=#)\./|#(?:line(?:-range)?|char|token)=.*")
_FIRST = re.compile(  # behind instructions, remarks and a DOCTYPE with what it declares
    rb"(?s)(?>[^<]*+<(?:\?.*?\?>|!--.*?-->|!DOCTYPE(?:[^\[>]*+\[[^\]]*+\])?[^>]*+>))*+[^<]*+<(?:[\w.-]+:)?([\w.-]+)",
    re.DOTALL,
)


class XmlFormat:
    """JATS, DocBook, TEI, DITA, and any other vocabulary by its titles or by a mapping of the user's."""

    # Of a document's source, what is no text: comments, instructions, declarations, tags.
    not_text = re.compile(r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE.*?>|<[^<>]*>", re.DOTALL)

    name = "xml"
    suffixes = (".xml", ".nxml", ".dbk", ".docbook", ".dita", ".ditamap", ".tei", ".jats")
    media_types = ("application/xml", "text/xml")
    options = (
        FormatOption("mapping", "a vocabulary of your own, as TOML", check=lambda text: from_toml(text, "mapping")),
    )
    completeness = "complete: DocBook, JATS, TEI, DITA, RFC, Mallard, others by titles or mapping; entities, xi:include"

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file of unknown suffix is XML, from its first bytes."""
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if DECLARATIONS.match(start):
            return 0.0
        if start.startswith(b"<?xml") or (start[:1] == b"<" and _namespaces().match(start)):
            return 0.55 if _OTHERS.search(head) else 0.8
        return 0.3 if path.lower().endswith(self.suffixes) else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document. Option `mapping`: a vocabulary of one's own as TOML text. Raises ReadError with the line."""
        own = from_toml(options["mapping"], "mapping") if options.get("mapping") else None
        data, completed = content(source)
        if not data.strip():
            raise ReadError("empty: not XML")
        name = _first_element(data[:_HEAD])
        if own is None and (name.lower() in _NO_DOCUMENTS or _SETTINGS.search(data[:_HEAD])):
            source.warn(f"{name.decode()}: not a document")
            return
        with without_garbage_collection():
            document = self._document(source, data, own, completed=completed)
        if document is None:
            source.warn("no text: not a document")
        else:
            yield document

    def _document(self, source: SourceFile, data: bytes, own: Vocabulary | None, *, completed: bool) -> Document | None:
        """None where all is in attributes."""
        events: Iterator[tuple[str, Any]] | None = None
        damage: NotWellFormed | None = None
        if len(data) >= BIG:
            events = stream(data)
            first = next(events, ("", None))
            root = first[1]
            if root is None:
                raise ReadError("no element")
            events = chain([first], events)
        else:
            try:
                root = parse(data, completed=completed)
            except NotWellFormed as error:
                damage, root = error, parse_before_damage(data)
                if root is None:
                    raise
            for menus in root.findall("project") if root.tag == "document" else ():  # Anakia's pages take them in
                root.remove(menus)
            if XINCLUDE in data:
                Inclusions(source).carry_out(root)
        vocabulary = own or choose(root, data)
        if vocabulary.name == "dita" and events is None and root.tag not in _MAPS:
            References(source).carry_out(root)
        works = _prepare_rfc(root) if own is None and vocabulary.name == "rfc" and events is None else {}
        builder = TableBuilder(slugs=False)
        reader = XmlReader(builder, vocabulary)
        if events is None:
            reader.read_tree(root)
        else:
            try:
                reader.read_stream(events)
            except NotWellFormed as error:
                damage = error
        if damage is None and builder.is_empty and not (reader.title or reader.metadata.get("refname")):
            return None
        document = builder.finish(
            Source(source.path, self.name),
            title=reader.title or (None if reader.titled else reader.metadata.get("refname")),
            language=root.get(_LANGUAGE) or root.get("lang"),
            metadata={"vocabulary": vocabulary.name, **reader.metadata},
            promote=not reader.title,
        )
        if damage is not None:
            # A document holds a section with a text of its own, itself one if it has a title.
            titled = document.root.title != stem_title(source.path)
            if not any(section.text and (section.level or titled) for section in document.sections()):
                raise damage
            source.damaged(f"{damage}: what precedes it is kept")
        _link_ids(document)
        titles = works | _titles(root) if events is None else {}
        name_references(document, lambda anchor, _: titles.get(anchor, ""))
        document.names = _names(document)
        return document

    def parts(self, source: SourceFile) -> set[str]:
        """Paths of the files that a file takes in whole, by xi:include or as entities, and that are not documents of
        their own: a chapter of a book, but not a page in a page.
        """
        rank = RANKS.get(_first_element(as_utf8(source.read())[:_HEAD]), ABOVE_ALL)
        declared: dict[bytes, str] = {}
        return included_files(
            source,
            lambda data: _includes(data, declared),
            stands_alone=lambda _, data: RANKS.get(_first_element(data[:_HEAD]), 0) >= rank,
        )

    def fragments(self, source: SourceFile) -> set[str]:
        """Return paths of the files that hold no document, of which a file takes pieces by xi:include."""
        data = as_utf8(source.read())
        opened = map(source.open, included_paths(data, pieces=True) if len(data) < BIG else ())
        return {file.path for file in opened if file is not None and _is_fragment(as_utf8(file.read()))}

    def suggest_mapping(self, source: SourceFile) -> str:
        """Return a mapping for the source's vocabulary, as TOML."""
        return suggest_mapping(content(source)[0])

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Yield an id in this document, else the document that has it, else a page of that name, else a path."""
        if link.target.startswith("name:"):
            yield _name(link.target[5:])
            yield _name(re.sub(r"\(\w+\)$", "", link.target[5:]))
            return
        yield from link_names(document.id, document.source.path, link.target)
        page, hash, fragment = link.target.partition("#")
        if page.startswith("/") and not fragment:  # laws call their divisions by paths, and link to these
            yield f"{document.id}#{normalize(page)}"
            yield f"id:{normalize(page)}#{normalize(page)}"
        if document.metadata.get("vocabulary") == "mallard" and page:  # a page's file has its id's name
            yield from link_names(document.id, document.source.path, f"{page}.page{hash}{fragment}")
        if fragment:
            identifier = normalize(fragment.partition("/")[0])
            yield f"id:{identifier}#{normalize(fragment.rpartition('/')[2])}"
            if not page:
                yield f"id:{identifier}"


def _first_element(head: bytes) -> bytes:
    """Return the local name of the first element that begins in the first bytes of a file; empty where none does."""
    found = _FIRST.match(head)
    return found[1] if found is not None else b""


def _titles(root: Any) -> dict[str, str]:
    """Return the texts of references to figures, tables and their like, by the ids of these."""
    titled = root.iter(*(f"{{*}}{name}" for name in ("figure", "table", "example", "equation")))
    named = ((identifier_of(each.attrib), each.find("{*}title"), each.find("{*}name")) for each in titled)
    return {id: words_of(each) for id, *words in named for each in words if id and each is not None}


def _prepare_rfc(root: Any) -> dict[str, str]:
    """Put the cells of RFC 7749's tables, which stand alone, in rows, tell references to ids from addresses, and take
    out the contents that were generated. Returns what references to works, which may be in other files, show.
    """
    etree.strip_elements(root, "toc", "boilerplate", with_tail=False)
    for table in root.iter("texttable"):
        columns = len(table.findall("ttcol"))
        for place, cell in enumerate([*table.iterchildren("ttcol", "c")]):
            if not columns or place % columns == 0:
                cell.addprevious(row := etree.Element("tr"))
            row.append(cell)
    own = {each.get("anchor") for each in root.iter("{*}*") if each.tag != "reference"}
    references = [*root.iter("xref")]
    for each in references:
        each.set("linkend", each.attrib.pop("target", ""))
    return {target: f"[{target}]" for each in references if (target := each.get("linkend")) not in own}


def _link_ids(document: Document) -> None:
    """Make references to the document's own ids, which some vocabularies write in other ways, what they are."""
    ids = {anchor for section in document.sections() for anchor in section.anchors}
    for link in document.links():
        link.target = _NO_ANCHOR.sub("", link.target) if "#" in link.target else link.target
        if link.target in ids and link.kind is not LinkKind.EMBED:
            link.target = f"#{link.target}"
            link.kind = LinkKind.XREF if link.kind is LinkKind.HYPERLINK else link.kind


def _includes(data: bytes, declared: dict[bytes, str]) -> list[str]:
    """The paths that a file takes in, by xi:include or as entities; those of the files around it are declared."""
    declared |= external_entities(data)
    own = included_paths(data) if len(data) < BIG else []  # a stream carries none out
    return own + [declared[name] for name in (REFERENCE.findall(data) if declared else ()) if name in declared]


def _is_fragment(data: bytes) -> bool:
    """Whether a file holds something of DocBook that is neither a document nor a section with a title."""
    name = _first_element(data[:_HEAD])
    if not name or name in RANKS or not (b"DocBook" in data[:_HEAD] or b"docbook.org/ns" in data[:_HEAD]):
        return False
    if name.decode("ascii", "replace") not in built_in("docbook").sections:
        return True
    begin = re.search(rb"<(?:[\w.-]+:)?%s\b[^>]*>" % re.escape(name), data)
    return begin is not None and _TITLED.match(data, begin.end()) is None


@cache
def _namespaces() -> re.Pattern[bytes]:
    """Return the pattern of a first element that declares a built-in vocabulary's namespace."""
    names = "|".join(re.escape(each) for name in BUILT_IN for each in built_in(name).namespaces)
    return re.compile(rf"<[^<>]*[\"'](?:{names})[\"']".encode())


def _names(document: Document) -> tuple[str, ...]:
    own = github_slug(document.root.title)  # an anchor that nobody wrote
    anchors = (anchor for section in document.sections() for anchor in section.anchors if anchor != own)
    names = [*path_names(document.source.path), *(f"id:{normalize(anchor)}" for anchor in anchors)]
    if isinstance(refnames := document.metadata.get("refname"), str):
        number = document.metadata.get("manvolnum")
        names += [_name(each) for each in refnames.split(", ")]
        if isinstance(number, str):
            names += [_name(f"{each}({number})") for each in refnames.split(", ")]
    return tuple(dict.fromkeys(names))


def _name(name: str) -> str:
    return "name:" + normalize(name).removesuffix("()").casefold()
