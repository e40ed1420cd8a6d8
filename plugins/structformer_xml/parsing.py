"""Bytes to elements, safely: no network, no file, internal entities within libxml2's limits, external ones never."""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from typing import Any

from lxml import etree
from structformer.errors import ReadError
from structformer.formats import SourceFile, decoded, shown_encoding

from structformer_xml.entities import complete

# What is not damage: entities that multiply, prefixes that nothing declares.
_REFUSED = {
    etree.ErrorTypes.ERR_ENTITY_LOOP,
    etree.ErrorTypes.ERR_RESOURCE_LIMIT,
    etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE,
}
BIG = 8_000_000  # bytes from which a file is parsed as a stream, its elements forgotten as they are read
_ENCODING = re.compile(r"""(<\?xml[^>]*?)\s+encoding\s*=\s*["']([^"']*)["']""")
_XLINK = "prefix xlink for"  # in what the parser says of one that is not declared
_LIMITS = ("huge", "buffer", "excessive depth")  # of what the parser takes, in what it says of them
_UTF_16 = {"utf-16-le": ("utf-16", "utf-16le"), "utf-16-be": ("utf-16", "utf-16be")}
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


_parser = partial(etree.XMLParser, load_dtd=False, no_network=True)
_events = partial(etree.iterparse, resolve_entities="internal", load_dtd=False, no_network=True)


class NotWellFormed(ReadError):
    """The document breaks off or is damaged somewhere; what precedes that place can be read."""


def content(source: SourceFile) -> tuple[bytes, bool]:
    """Return (the source's bytes with its entities declared, whether it had others). Raises ReadError where mark and
    declaration contradict each other.
    """
    data = _in_bytes_of_ascii(source.read())
    completed = complete(source, data)
    return completed, completed != data


def _in_bytes_of_ascii(data: bytes) -> bytes:
    """Return the bytes, or UTF-8 for UTF-16, ISO 2022 and a wrong declaration: entities are looked for as ASCII."""
    mark, encoding = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", ""))
    declared = _ENCODING.match(data[len(mark) : 400].decode(encoding or "latin-1", "replace"))
    if mark and declared and declared[2] and declared[2].lower() not in _UTF_16.get(encoding, ("utf-8",)):
        raise ReadError(
            f"not well-formed (its byte-order mark says {encoding}, its declaration {declared[2]})", "line 1"
        )
    encoding = encoding or shown_encoding(data) or "utf-8"
    if encoding == "utf-8" and (data.isascii() or not declared or (declared[2] or "utf-8").lower() == "utf-8"):
        return data
    try:  # what is UTF-8 beyond ASCII is none of what it is declared to be
        text = decoded(data, encoding) if encoding.startswith("iso") else data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return data  # the parser says where it is damaged
    return _ENCODING.sub(r"\1", text, count=1).encode()


def parse(data: bytes, *, completed: bool = False) -> Any:
    """Return the root element. Raises NotWellFormed with the line where it is damaged, ReadError where it is refused.

    completed: it holds entities from other files, whose text may use prefixes that only the whole document declares.
    """
    parser = _parser(resolve_entities="internal", huge_tree=False, remove_comments=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        if any(sign in (error.msg or "").lower() for sign in _LIMITS):
            return _parse_huge(data, error)
        if "Namespace prefix" in (error.msg or "") and (completed or _XLINK in (error.msg or "")):
            return _parse_without_prefixes(data, error)
        if "not defined" in (error.msg or "") and b"<!ENTITY %" in data:
            return _parse_with_parameters(data)
        raise _not_well_formed(error) from error
    except (ValueError, LookupError) as error:
        raise ReadError(f"cannot be parsed ({error})") from error


def _not_well_formed(error: etree.XMLSyntaxError) -> ReadError:
    kind = ReadError if error.code in _REFUSED else NotWellFormed
    return kind(f"not well-formed ({error.msg})", f"line {error.lineno}")


def parse_before_damage(data: bytes) -> Any:
    """Return the root element of a document that is not well-formed, as far as it is; None where not even that is."""
    root = None
    events = _events(BytesIO(data), events=("start",), huge_tree=b"<!ENTITY" not in data)
    with suppress(etree.XMLSyntaxError):
        for _, element in events:
            if root is None:
                root = element
    return None if root is None or ":" in root.tag.rpartition("}")[2] else root


def _parse_huge(data: bytes, error: etree.XMLSyntaxError) -> Any:
    """Long texts and deep trees are no danger, but with entities of its own a file stays within the limits."""
    if b"<!ENTITY" in data:
        raise ReadError(f"refused ({error.msg})", f"line {error.lineno}") from error
    parser = _parser(resolve_entities=False, huge_tree=True)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as second:
        raise NotWellFormed(
            f"not well-formed or beyond the parser's limits ({second.msg})", f"line {second.lineno}"
        ) from second


def _parse_without_prefixes(data: bytes, error: etree.XMLSyntaxError) -> Any:
    """Prefixes that nothing declares are parts of names, but for `xlink`: everybody means the same by it."""
    parser = _parser(resolve_entities="internal", huge_tree=False, recover=True)
    root = etree.fromstring(data, parser)
    others = [each for each in parser.error_log if each.level_name != "WARNING" and each.domain_name != "NAMESPACE"]
    if root is None or others:
        raise ReadError(
            f"not well-formed ({others[0].message if others else error.msg})", f"line {error.lineno}"
        ) from error
    for element in root.iter(etree.Element):
        for name, value in element.attrib.items():
            if name.startswith("xlink:"):
                del element.attrib[name]
                element.set(f"{{http://www.w3.org/1999/xlink}}{name[6:]}", value)
    return root


def _parse_with_parameters(data: bytes) -> Any:
    """A DTD built of parameter entities, which libxml2 takes for external when it may expand internal ones only."""
    parser = _parser(resolve_entities=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ReadError(f"not well-formed ({error.msg})", f"line {error.lineno}") from error
    for entity in list(root.iter(etree.Entity)):
        replace(entity, [entity.text or ""])
    return root


def words_of(element: Any) -> str:
    """Return all text in an element; "" without one."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def replace(element: Any, parts: list[Any]) -> None:
    """Put elements and texts in the place of an element."""
    above = element.getparent()
    if above is None:
        return
    tail = element.tail or ""
    element.tail = None
    position = above.index(element)
    above.remove(element)
    for part in parts:
        if isinstance(part, str):
            _add_text(above, position, part)
        else:
            part.tail = None
            above.insert(position, part)
            position += 1
    _add_text(above, position, tail)


def _add_text(above: Any, position: int, text: str) -> None:
    if position:
        above[position - 1].tail = (above[position - 1].tail or "") + text
    else:
        above.text = (above.text or "") + text


def stream(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield ("start", element), ("text", text), ("end", element) in document order, elements being emptied once read.

    Comments and processing instructions are left out. Raises NotWellFormed, once all before the damage is given.
    """
    parser = _events(
        BytesIO(data), events=("start", "end"), huge_tree=b"<!ENTITY" not in data, remove_comments=True, remove_pis=True
    )
    try:
        for event, element in parser:
            if event == "start":
                before, above = element.getprevious(), element.getparent()
                text = before.tail if before is not None else above.text if above is not None else None
                if text:
                    yield "text", text
                if before is not None:
                    above.remove(before)
                elif text:
                    above.text = None
                yield event, element
                continue
            last = element[-1] if len(element) else None
            if text := (last.tail if last is not None else element.text):
                yield "text", text
            yield event, element
            element.clear(keep_tail=True)
    except etree.XMLSyntaxError as error:
        raise _not_well_formed(error) from error
    except (ValueError, LookupError) as error:
        raise ReadError(f"cannot be parsed ({error})") from error
