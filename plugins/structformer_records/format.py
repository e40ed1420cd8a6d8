"""The records format: every record of a file is a Document, under its own id, so that judgements fit.

BEIR's corpus.jsonl and other JSON lines, TREC's <DOC>, MS MARCO's tables, CSV and TSV with a header. Sources: the BEIR
repository's data format; NIST's TREC document format; the MS MARCO datasets' pages."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from html import unescape
from typing import Any

from structformer.document import Document, Link, Source
from structformer.errors import UsageError
from structformer.formats import (
    FormatOption,
    SourceFile,
    TreeBuilder,
    as_utf8,
    decode,
    link_names,
    normalize,
    url_names,
)

from structformer_records.layout import NAMES, PACKED, Layout, layout_of, part, pieces, separator_of, whole_number

_DOC = re.compile(r"<DOC>(.*?)</DOC>", re.DOTALL | re.IGNORECASE)
_TREC_TITLES = ("title", "headline", "head", "ttl", "hl")
_TREC_TEXTS = ("text", "body", "contents")
_TAG = re.compile(r"<[^<>]{1,200}>")
_HEAD_BYTES = 65536
_MOST_FIELD_CHARACTERS = 1 << 30


def _fields(text: str) -> dict[str, str]:
    """Return the names that a user chose for a record's parts. Raises UsageError."""
    chosen: dict[str, str] = {}
    for each in text.split(","):
        key, equals, value = each.partition("=")
        if not equals or key.strip() not in NAMES or not value.strip():
            raise UsageError(f"fields: {each!r}: write id=NAME,title=NAME,text=NAME,url=NAME")
        chosen[key.strip()] = value.strip()
    return chosen


def _chosen(options: Mapping[str, Any]) -> dict[str, str]:
    return _fields(options["fields"]) if options.get("fields") else {}


def _names(head: bytes) -> str:
    """Return the names that the first record has, for a message."""
    names = dict.fromkeys(re.findall(rb'"([^"\\\n]{1,60})"\s*:', head.split(b"\n", 1)[0])) or dict.fromkeys(
        re.split(rb"[\t,]", head.split(b"\n", 1)[0][:200])
    )
    return ", ".join(name.decode("utf-8", "replace").strip() for name in list(names)[:12]) or "nothing"


class RecordsFormat:
    """Files of records, read as streams."""

    name = "records"
    suffixes = ()
    media_types = ("application/jsonl", "text/csv", "text/tab-separated-values")
    options = (FormatOption("fields", "what a record's parts are called: id=docno,text=body", check=_fields),)
    stream_suffixes = (".jsonl", ".ndjson", ".json", ".parquet", ".tsv", ".csv", ".txt", ".trec", ".sgml", ".xml", "")
    own_ids = True  # ids are the records' own
    completeness = (
        "complete: BEIR and JSON lines, arrays of JSON objects, Parquet, TREC documents, MS MARCO, CSV and TSV with a "
        "header; ids are kept"
    )

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file of unknown suffix holds records, from its first bytes."""
        return 0.9 if layout_of(head) is not None else 0.0

    def streams(self, head: bytes, options: Mapping[str, Any]) -> bool:
        """Whether a file is a stream of records, to be read piece by piece; `fields` may name their parts."""
        return layout_of(head, _chosen(options)) is not None

    pieces = staticmethod(pieces)

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield a Document for each record. Option `fields`: what the parts of a record are called."""
        chosen = _chosen(options)
        content = source.read()
        # The first record whole, if it is a line: what its text is called may come late in it.
        head = as_utf8(content[: max(_HEAD_BYTES, content.find(b"\n") + 1 or len(content))])
        layout = layout_of(head, chosen)
        if layout is not None and layout.kind in PACKED:
            for piece in pieces(io.BytesIO(content), len(content)):
                if isinstance(piece, bytes):
                    inner = SourceFile(source.path, piece)
                    inner.warnings = source.warnings
                    yield from self.read(inner, options)
                else:
                    source.warn(piece)
            return
        if layout is None:
            source.warn(
                f"no records: they need an id and a text, and have {_names(head)} (--fields says which is which)"
            )
            return
        text = decode(source).lstrip("\ufeff")
        used: Counter[str] = Counter()
        for number, record in enumerate(_records(text, layout, source), 1):
            identifier, body = part(record, "id", chosen), part(record, "text", chosen)
            title = " ".join(str(part(record, "title", chosen) or "").split())
            if identifier in (None, ""):
                source.warn(f"record {number}: it has no id: left out")
            elif not str(body or "").strip() and not title:
                source.warn(f"record {identifier}: empty: left out")
            else:
                own = str(identifier).strip()
                used[own] += 1
                if used[own] > 1:
                    source.warn(f"record {own}: the id is not the only one: called {own}~{used[own]}")
                    own = f"{own}~{used[own]}"
                yield self._document(source, record, own, title, str(body or ""), chosen)

    def _document(
        self,
        source: SourceFile,
        record: Mapping[str, Any],
        identifier: str,
        title: str,
        body: str,
        chosen: Mapping[str, str],
    ) -> Document:
        builder = TreeBuilder(slugs=False)
        for paragraph in re.split(r"\n[ \t]*\n", body.replace("\r\n", "\n")):
            builder.paragraph()
            for line in paragraph.split("\n"):
                builder.line()
                builder.text(line.strip())
        used = {chosen.get(name) or next((each for each in NAMES[name] if each in record), "") for name in NAMES}
        metadata = {
            str(key): value
            for key, value in record.items()
            if key not in used
            and isinstance(value, str | int | float | bool | dict | list | Decimal)
            and value not in ("", [], {})
        }
        url = address if isinstance(address := part(record, "url", chosen), str) else ""
        metadata |= {"canonical": url} if url else {}
        document = builder.finish(
            Source(source.path, self.name), id=identifier, title=title or identifier, metadata=metadata
        )
        document.names = tuple(dict.fromkeys((normalize(identifier), *url_names(url))))
        return document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Records have no links of their own."""
        return link_names(document.id, document.source.path, link.target)


def _records(text: str, layout: Layout, source: SourceFile) -> Iterator[Mapping[str, Any]]:
    if layout.kind == "trec":
        yield from map(_trec, _DOC.findall(text))
    elif layout.kind == "json":
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line, parse_int=whole_number)
            except (ValueError, RecursionError) as error:
                source.warn(f"record on line {number}: not JSON ({getattr(error, 'msg', error)}): left out")
                continue
            if isinstance(record, dict):
                yield record
            else:
                source.warn(f"record on line {number}: not an object: left out")
    elif layout.kind == "csv":
        csv.field_size_limit(_MOST_FIELD_CHARACTERS)
        rows = csv.DictReader(
            io.StringIO(text.replace("\x00", "\ufffd"), newline=""), delimiter=separator_of(layout.header)
        )
        try:
            yield from (dict(row) for row in rows)
        except csv.Error as error:
            source.warn(f"line {rows.line_num}: not CSV ({error}): what follows is left out")
    else:
        lines = iter(text.split("\n"))
        names = next(lines).rstrip("\r").split("\t") if layout.header else None
        for line in lines:
            cells = line.rstrip("\r").split("\t")
            if names is not None and any(cells):
                yield dict(zip(names, cells, strict=False))
            elif len(cells) > max(layout.columns.values()):
                yield {name: cells[place] for name, place in layout.columns.items()}


def _trec(content: str) -> dict[str, Any]:
    """Return a TREC document: its number, its headline, and the text of its text elements, else of all of it."""

    def element(name: str) -> list[str]:
        return re.findall(rf"<{name}>(.*?)</{name}>", content, re.DOTALL | re.IGNORECASE)

    def plain(parts: list[str]) -> str:
        return "\n\n".join(text for each in parts if (text := unescape(_TAG.sub(" ", each)).strip()))

    titles = next((values for name in _TREC_TITLES if (values := element(name))), [])
    texts = next((values for name in _TREC_TEXTS if (values := element(name))), [])
    if not texts:
        texts = [re.sub(r"<(DOCNO|DOCID|DOCHDR|DATE|TITLE|HEADLINE)>.*?</\1>", " ", content, flags=re.DOTALL)]
    number = plain(element("docno"))
    return {"docno": number, "title": " ".join(plain(titles).split()), "text": plain(texts)}
