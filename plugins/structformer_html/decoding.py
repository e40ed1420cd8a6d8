"""Which encoding an HTML page is in: by its byte-order mark, its meta elements, then its bytes.

Source: HTML Living Standard, "Determining the character encoding", "Prescan a byte stream to ..."."""

import codecs
import re
from contextlib import suppress

import webencodings
from structformer.formats import SourceFile, decoded, guess_encoding, shown_encoding

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
# A comment, a meta element's or another's tag up to its attributes, anything else in such brackets.
_MARKUP = re.compile(
    rb"<!(?=--)(?:.*?-->|.*)|(?P<tag><(?:(?P<meta>meta)(?=[\t\n\f\r /])|/?[a-z][^\t\n\f\r >]*+))|<[!/?][^>]*+",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(  # without a name at the end of a tag; none where the bytes end before it does
    rb"""[\t\n\f\r /]*+(?:(?=>)|(?P<name>[^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?=>)|
    (?P<bare>[^\t\n\f\r >"'][^\t\n\f\r >]*+)(?=[\t\n\f\r >]))|[\t\n\f\r ]++(?!=)|(?=[/>])))""",
    re.VERBOSE,
)
_CHARSET = re.compile(
    rb"""charset[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:(["'])(?:(?P<quoted>.*?)\1)?|\s*+(?P<bare>[^\s;]+))?""", re.DOTALL
)
_XML_ENCODING = re.compile(rb"""<\?xml(?:(?!encoding).)*encoding[\t\n\f\r =]*(["'])(.*?)\1""", re.DOTALL)
_PRESCAN_BYTES = 1024
_DEFAULT = "windows-1252"
_LATE_BYTES = 1_000_000
_SEVERAL_BYTES = frozenset("gbk gb18030 big5 euc-jp shift_jis euc-kr".split())
# Bytes more than characters from which on text in these is not UTF-8 by chance: one in six Chinese characters is.
_SURELY = 8
# Python's names of codecs that the standard knows by others; each is, for the bytes of real pages, a subset of the
# standard's.
_WEB_NAMES = {
    **dict.fromkeys(("cp932", "shift_jis_2004", "shift_jisx0213"), "shift_jis"),
    **dict.fromkeys(("euc_jis_2004", "euc_jisx0213"), "euc-jp"),
    **dict.fromkeys(("cp949", "johab"), "euc-kr"),
    "cp950": "big5",
    "gb2312": "gbk",
    "mac_cyrillic": "x-mac-cyrillic",
    "latin_1": "windows-1252",
}
# Those whose bytes are all ASCII.
_ESCAPED = ("iso-2022-jp", "iso-2022-kr", "hz-gb-2312")
# The standard reads nothing of what these labels declare: such bytes have hidden scripts from filters. Nothing is run
# here, so the text is read; of the other labels that it refuses Python knows none, and they count as no declaration.
_REPLACED = {"iso-2022-kr": "iso-2022-kr", "csiso2022kr": "iso-2022-kr", "hz-gb-2312": "hz-gb-2312"}


def decode_page(source: SourceFile) -> tuple[str, str]:
    """Return (text, the encoding's WHATWG name). Bytes that don't fit it are replaced and reported."""
    data = source.read()
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _decode(source, data[len(mark) :], name), name
    head = data[:_PRESCAN_BYTES]
    declared = prescan(head)
    if declared is None and (found := _XML_ENCODING.match(head[: head.find(b"?>") + 1])) is not None:
        declared = _label(found[2])
    if declared is None and (end := _late_meta(data)):
        declared = prescan(data[:end])  # a parser that comes upon it further down changes over
    if declared is None:
        if (shown := shown_encoding(data)) is not None:
            name = shown.replace("-le", "le").replace("-be", "be")
            source.warn(f"no encoding declared; read as {name}")
            return _decode(source, data, name), name
        if not data.isascii():
            try:
                return data.decode("utf-8"), "utf-8"
            except UnicodeDecodeError as error:
                guessed = guess_encoding(data) or _DEFAULT
                encoding = webencodings.lookup(_WEB_NAMES.get(guessed, guessed.replace("_", "-")))
                name = encoding.name if encoding is not None else _DEFAULT
                source.warn(f"byte {error.start}: not UTF-8 and no encoding declared; read as {name}")
                return _decode(source, data, name), name
        return data.decode("ascii"), _DEFAULT
    # A page on disk has lost its server's header, which ruled: text beyond ASCII that is valid UTF-8 is hardly ever
    # meant otherwise.
    if declared != "utf-8" and not data.isascii():
        with suppress(UnicodeDecodeError):
            text = data.decode("utf-8")
            if declared in _SEVERAL_BYTES and len(data) - len(text) < _SURELY:
                with suppress(UnicodeDecodeError):
                    return _codec(declared).decode(data)[0], declared
            source.warn(f"declared as {declared}, but its bytes are UTF-8: read as UTF-8")
            return text, "utf-8"
    with suppress(UnicodeDecodeError):
        if declared not in _ESCAPED:
            return _codec(declared).decode(data)[0], declared
    return _decode(source, data, declared), declared


def _late_meta(data: bytes) -> int:
    """Return where a meta element after the first bytes that may declare an encoding ends; 0 without one."""
    data = data[:_LATE_BYTES].lower()
    start = data.find(b"<meta", _PRESCAN_BYTES - 200)
    while start >= 0 and (end := data.find(b">", start)) >= 0:
        if data.find(b"charset", start, end) >= 0:
            return end + 2
        start = data.find(b"<meta", end)
    return 0


def _codec(name: str) -> codecs.CodecInfo:
    encoding = webencodings.lookup(name)
    assert encoding is not None
    codec: codecs.CodecInfo = encoding.codec_info
    return codec


def _decode(source: SourceFile, data: bytes, name: str) -> str:
    # WHATWG's windows-1252 gives the five unused bytes the control characters of Latin-1.
    if name == "windows-1252":
        return data.decode("cp1252", "structformer_c1")
    text = decoded(data, name) if name in _ESCAPED else _codec(name).decode(data, "replace")[0]
    if bad := text.count("\ufffd"):
        source.warn(f"{bad} characters that are not valid {name} replaced")
    return text


def _as_control(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("structformer_c1", _as_control)


def _label(label: bytes) -> str | None:
    wanted = label.decode("ascii", "replace")
    encoding = webencodings.lookup(wanted)
    if encoding is None:
        return None
    if encoding.name == "replacement":
        return _REPLACED.get(wanted.strip().lower())
    # A page whose meta can be read as ASCII is not in UTF-16, whatever it says.
    if encoding.name in ("utf-16be", "utf-16le"):
        return "utf-8"
    return _DEFAULT if encoding.name == "x-user-defined" else str(encoding.name)


def prescan(head: bytes) -> str | None:
    """Return the encoding that a meta element in the first bytes declares, as its WHATWG name; None without one."""
    position = 0
    while (match := _MARKUP.search(head, position)) is not None:
        position = match.end()
        if match["tag"]:
            attributes, position = _attributes(head, position)
            if match["meta"] and (declared := _declared(attributes)) is not None:
                return declared
    return None


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    """Return the encoding that a meta element's attributes declare, in their order."""
    charset, needs_pragma = None, False
    for name, value in attributes.items():
        if name == b"charset":
            charset, needs_pragma = _label(value), False
        elif name == b"content" and charset is None:
            match = _CHARSET.search(value)
            label = match and (match["quoted"] or match["bare"])
            if label is not None and (charset := _label(label)) is not None:
                needs_pragma = True
    return None if needs_pragma and attributes.get(b"http-equiv") != b"content-type" else charset


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """Return a tag's attributes in lower case, the first of each name, and the position after them."""
    attributes: dict[bytes, bytes] = {}
    while (match := _ATTRIBUTE.match(head, position)) is not None:
        position = match.end()
        if match["name"] is None:
            return attributes, position
        value = match["double"] or match["single"] or match["bare"] or b""
        attributes.setdefault(match["name"].lower(), value.lower())
    return attributes, len(head)
