"""Entities that a file uses but does not declare itself: from files inside the ingested root, else HTML's names.

They are put into the file's internal subset, so that libxml2 expands them within its own limits; it never reads a file.
What an external entity names outside the root, or on the network, is not read at all."""

import re
from collections.abc import Sequence
from functools import lru_cache
from html.entities import html5

from structformer.errors import ReadError
from structformer.formats import SourceFile, as_utf8

REFERENCE = re.compile(rb"&([A-Za-z_:\x80-\xff][\w.:\x80-\xff-]*);")
_DECLARATION = re.compile(rb"""<!ENTITY\s+(%\s+)?([^\s%"'<>]+)\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_DTD = re.compile(rb"""\s*(?:SYSTEM|PUBLIC\s+(?:"[^"]*"|'[^']*'))\s+["']([^"':]+)["']""")  # a file, no address
_PARAMETER = re.compile(rb"%([\w.:-]+);")
# a list of entities as XML
_AS_ELEMENT = re.compile(rb"""<entity\s+name=["']([^"']+)["'][^>]*>(.*?)</entity>""", re.DOTALL)
_EXTERNAL = re.compile(
    rb"""<!ENTITY\s+(%\s+)?([^\s%"'<>]+)\s+(?:SYSTEM|PUBLIC\s+(?:"[\w\s'()+,./:=?;!*#@$%-]*"|'[\w\s()+,./:=?;!*#@$%-]*'))"""
    rb"""\s+(?:"([^"]*)"|'([^']*)')\s*>"""  # no NDATA
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_NO_MARKUP = re.compile(_COMMENT.pattern + rb"|<!\[CDATA\[.*?(?:\]\]>|\Z)", re.DOTALL)
_IN_VALUE = re.compile(_NO_MARKUP.pattern + rb"|&#", re.DOTALL)
_BEFORE = rb"(?:\xef\xbb\xbf)?(?>\s+|<\?.*?\?>|<!--.*?-->)*"
DECLARATIONS = re.compile(_BEFORE + rb"<!(?:ENTITY|ELEMENT|ATTLIST|\[)", re.DOTALL)  # how a part of a DTD begins
_DOCTYPE = re.compile(_BEFORE + rb"""<!DOCTYPE\s+[^\s>\[]+((?:[^\[>"']|"[^"]*"|'[^']*')*)""", re.DOTALL)
_SUBSET = re.compile(
    rb"""\[(?>[^\]"'<]|"[^"]*"|'[^']*'|<!--.*?(?:-->|\Z)|<(?>[^>"']|"[^"]*"|'[^']*')*+>)*+\]""", re.DOTALL
)
_PROLOG = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\s[^>]*\?>)?")
_TEXT_DECLARATION = re.compile(rb"^\s*(?:<\?xml\s[^>]*\?>)?\s*(?:<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)?", re.DOTALL)
# Where DocBook has elements alone, of which the first is a title.
_IN_TITLES_PLACE = re.compile(rb"<(?:ref)?sect(?:ion|\d)\b[^<>]*>\s*&([\w.:-]+);")
_PREDEFINED = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_DEEPEST = 10  # files that are named in each other
_MOST_FILES = 100
_LONGEST = 2000  # bytes of a declaration that others are in, or that is in others
_LIMIT = 4_000_000  # bytes of declarations put into one file


def external_entities(data: bytes) -> list[tuple[bytes, str]]:
    """Return (name, system identifier) of the general entities that a file's internal subset declares as files."""
    doctype = _DOCTYPE.match(data)
    if doctype is None or (b"SYSTEM" not in data and b"PUBLIC" not in data):
        return []
    return [(found[2], _text(found)) for found in _EXTERNAL.finditer(_subset(data, doctype)) if not found[1]]


def complete(source: SourceFile, data: bytes) -> bytes:
    """Return the file with declarations for the entities it uses and doesn't declare as text. Line numbers stay."""
    doctype = _DOCTYPE.match(data) if b"<!DOCTYPE" in data else None
    subset = _subset(data, doctype) if doctype is not None else b""
    external: dict[bytes, str] = {}
    parameter_files: list[str] = []
    if b"SYSTEM" in subset or b"PUBLIC" in subset:
        for found in _EXTERNAL.finditer(subset):
            if found[1]:
                parameter_files.append(_text(found))
                subset = subset.replace(found[0], b"\n" * found[0].count(b"\n")).replace(b"%" + found[2] + b";", b"")
            elif not re.search(rb"<[^<>]*&%s;[^<>]*>" % re.escape(found[2]), data):  # a file it names may use it
                external[found[2]] = _text(found)
                subset = subset.replace(found[0], b"\n" * found[0].count(b"\n"))
        assert doctype is not None
        if external or parameter_files:
            data = data[: doctype.end()] + subset + data[doctype.end() + len(_subset(data, doctype)) :]
    if doctype is not None and (dtd := _DTD.match(doctype[1])) is not None:
        parameter_files.append(dtd[1].decode("utf-8", "replace"))
    declared = {found[2] for found in _DECLARATION.finditer(subset) if not found[1]} if subset else set()
    missing = _used(data, declared)
    if not missing:
        return data
    titles = {found[1] for found in _IN_TITLES_PLACE.finditer(data)}
    strict = not (doctype is not None and doctype[1].strip())
    found_entities = _find(source, missing, declared, external, parameter_files, titles, strict=strict)
    return _insert(data, doctype, found_entities) if found_entities else data


def _used(data: bytes, declared: set[bytes]) -> list[bytes]:
    used = set(REFERENCE.findall(data)) - _PREDEFINED - declared if b"&" in data else set()
    plain = _NO_MARKUP.sub(b"", data) if used and b"<!" in data else data
    return sorted(name for name in used if b"&" + name + b";" in plain)


def _find(
    source: SourceFile,
    missing: list[bytes],
    declared: set[bytes],
    external: dict[bytes, str],
    parameter_files: list[str],
    titles: set[bytes],
    *,
    strict: bool,
) -> dict[bytes, bytes]:
    """Values for the missing entities. titles: those that are a section's title, which a name can stand in for. strict:
    leave unknown names undeclared, so that the parser refuses them.
    """
    known: dict[bytes, bytes] | None = None
    entities: dict[bytes, bytes] = {}
    unknown: list[str] = []
    parts: dict[bytes, bytes] = {}
    size = 0
    while missing:
        name = missing.pop()
        if name in entities or name in declared or name in _PREDEFINED:
            continue
        if name in external:
            value = _with_parts(source, name, external, parts)
        else:
            known = _known(source, parameter_files) if known is None else known
            if name in known:
                value = known[name]
            elif (character := html5.get(name.decode("utf-8", "replace") + ";")) is not None:
                value = "".join(f"&#38;#{ord(c)};" for c in character).encode()
            elif strict and not known:
                continue
            else:
                unknown.append(name.decode("utf-8", "replace"))
                title = b"<title>%s</title>" % name.rpartition(b".")[2].capitalize()
                value = title if name in titles else b"&#38;amp;" + name + b";"
        entities[name] = value
        size += len(value)
        if size > _LIMIT:
            raise ReadError(f"its entities expand to more than {_LIMIT >> 20} MB: skipped")
        missing += [each for each in REFERENCE.findall(value) if each not in _PREDEFINED]
    if unknown:
        names = ", ".join(f"&{name};" for name in sorted(unknown)[:3]) + ", ..." * (len(unknown) > 3)
        source.warn(f"{len(unknown)} entities that no entity file here declares are kept as they stand ({names})")
    return entities


def _known(source: SourceFile, parameter_files: Sequence[str]) -> dict[bytes, bytes]:
    files: list[bytes] = []
    names = list(parameter_files)
    for name in names:  # it grows: files name others
        opened = source.open(name) or next(iter(source.companions("/" + name.rpartition("/")[2])), None)
        if opened is not None and len(files) < _MOST_FILES:
            files.append(as_utf8(opened.read()))
            others = (_text(each) for each in _EXTERNAL.finditer(_COMMENT.sub(b"", files[-1])) if each[1])
            names += [each for each in others if each not in names][: max(0, _MOST_FILES - len(names))]
    files += [as_utf8(file.read()) for file in source.companions(".ent")]
    return _declarations(tuple(files))


@lru_cache(maxsize=4)
def _declarations(files: tuple[bytes, ...]) -> dict[bytes, bytes]:
    entities: dict[bytes, bytes] = {}
    parameters: dict[bytes, bytes] = {}
    grown = 0
    for data in files:
        plain = _COMMENT.sub(b"", data)
        for match in _DECLARATION.finditer(plain):
            value = match[3] if match[3] is not None else match[4]
            if b"%" in value and len(value) < _LONGEST and grown < _LIMIT:
                before = len(value)
                value = _PARAMETER.sub(lambda named: parameters.get(named[1], named[0]), value)
                grown += len(value) - before
            if not match[1]:
                entities.setdefault(match[2], value)
            elif len(value) < _LONGEST:
                parameters.setdefault(match[2], value)
        for match in _AS_ELEMENT.finditer(plain):
            entities.setdefault(match[1], _as_value(match[2]))
    return entities


def _with_parts(source: SourceFile, name: bytes, external: dict[bytes, str], parts: dict[bytes, bytes]) -> bytes:
    """A file as an entity's value, with the files that it names in it: entities in entities count as multiplying."""
    value = parts[name] = parts[name] if name in parts else _part(source, name, external[name])
    for _ in range(_DEEPEST):
        named = [each for each in REFERENCE.findall(value) if each in external]
        parts.update({each: _part(source, each, external[each]) for each in set(named) - parts.keys()})
        if not named or len(value) + sum(len(parts[each]) for each in named) > _LIMIT:
            break
        value = REFERENCE.sub(lambda found: parts.get(found[1], found[0]), value)
    return value


def _part(source: SourceFile, name: bytes, target: str) -> bytes:
    opened = source.open(target)
    if opened is None:
        source.warn(
            f"external entity &{name.decode('utf-8', 'replace')}; ({target}) is not inside the "
            "ingested folder: left out"
        )
        return b""
    return _as_value(_TEXT_DECLARATION.sub(b"", as_utf8(opened.read()), count=1))


def _as_value(text: bytes) -> bytes:
    """Return text of a file as an entity's value, which must keep its character references and its &."""
    return _IN_VALUE.sub(lambda found: found[0].replace(b"&", b"&#38;"), text)


def _insert(data: bytes, doctype: re.Match[bytes] | None, entities: dict[bytes, bytes]) -> bytes:
    # Character references in an entity's value are expanded before it is used, so a mark-up quote stays one.
    quoted = {name: value.replace(b"%", b"&#37;").replace(b'"', b"&#34;") for name, value in sorted(entities.items())}
    declarations = b"".join(b'<!ENTITY %s "%s">' % entity for entity in quoted.items())
    place = doctype or _PROLOG.match(data)
    end = place.end() if place is not None else 0
    if doctype is None:
        return data[:end] + b"<!DOCTYPE any [" + declarations + b"]>" + data[end:]
    if data[end : end + 1] == b"[":
        return data[: end + 1] + declarations + data[end + 1 :]
    return data[:end] + b" [" + declarations + b"]" + data[end:]


def _subset(data: bytes, doctype: re.Match[bytes]) -> bytes:
    found = _SUBSET.match(data, doctype.end())
    return found[0] if found else b""


def _text(found: re.Match[bytes]) -> str:
    return (found[3] if found[3] is not None else found[4]).decode("utf-8", "replace")
