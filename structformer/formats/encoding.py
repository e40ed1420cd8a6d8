"""The encodings that bytes show by themselves, without a mark or a declaration: UTF-16 by its zero bytes, the
seven-bit ones of ISO 2022 by their escape sequences.

Sources: RFC 1468 (ISO-2022-JP), RFC 1557 (ISO-2022-KR); WHATWG Encoding Standard, "ISO-2022-JP decoder", for what each
byte means.
"""

import codecs
import re
import unicodedata
from functools import cache

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 4096
_LEAST_BYTES = 8  # fewer tell nothing
_ISO_2022_JP = re.compile(rb"\x1b\$[@B](?:[\x21-\x7e]{2})+\s*\x1b\([BJ]")
_ISO_2022_KR = re.compile(rb"\x0e(?:[\x21-\x7e]{2}|\s)+\x0f")
_SHIFT = re.compile(rb"\x1b(\([BIJ]|\$[@B])")
_PAIR_OR_BYTE = re.compile(r"[\x21-\x7e]{2}|[^\s]")
_ROMAN = {0x5C: "¥", 0x7E: "‾"}
_TEXT_CONTROLS = "\t\n\r\f\x1a"
_CONTROLS = bytes(byte for byte in range(1, 32) if byte not in b"\t\n\f\r\x1b")
_NO_TEXT = ("Cc", "Cn", "Co", "Cs")  # controls, unassigned, private, halves of pairs


def shown_encoding(data: bytes) -> str | None:
    """UTF-16 or ISO 2022: "utf-16-le", "utf-16-be", "iso-2022-jp" or "iso-2022-kr"; None for anything else."""
    if b"\x00" in data[:_SAMPLE_BYTES]:
        return _wide(data[:_SAMPLE_BYTES])
    if b"\x1b" in data and data.isascii():
        if _ISO_2022_JP.search(data):
            return "iso-2022-jp"
        return "iso-2022-kr" if b"\x1b$)C" in data and _ISO_2022_KR.search(data) else None
    return None


def decoded(data: bytes, encoding: str) -> str:
    """Return text in an encoding by its name; bad bytes become U+FFFD."""
    return _iso_2022_jp(data) if encoding == "iso-2022-jp" else data.decode(encoding, "replace")


def as_utf8(data: bytes) -> bytes:
    """Return the bytes, or their text as UTF-8 where they are marked as UTF-16 or UTF-32 or show their encoding."""
    for mark, encoding in BOMS[1:]:
        if data.startswith(mark):
            return data.decode(encoding, "replace").encode()
    encoding_shown = shown_encoding(data)
    return decoded(data, encoding_shown).encode() if encoding_shown else data


def _wide(sample: bytes) -> str | None:
    """UTF-16 without its mark; of two byte orders that give text the one with more line breaks, then more ASCII."""
    if len(sample) < _LEAST_BYTES:
        return None
    candidates = [(signs, name) for name in ("utf-16-le", "utf-16-be") if (signs := _as_wide(sample, name))]
    return max(candidates)[1] if candidates else None


def _as_wide(sample: bytes, name: str) -> tuple[int, int] | None:
    """Return (line breaks, ASCII characters) of the sample in this byte order; None where it is not text in it."""
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample)
    except UnicodeDecodeError:
        return None
    ascii_ = sum(" " <= character <= "~" or character in _TEXT_CONTROLS for character in text)
    if ascii_ * 1000 < len(text) or _is_bytes(sample, name):  # line breaks at least are ASCII in every script
        return None
    odd = sum(unicodedata.category(each) in _NO_TEXT and each not in _TEXT_CONTROLS for each in text)
    return (text.count("\n") + text.count("\r"), ascii_) if odd * 100 <= len(text) else None


def _is_bytes(sample: bytes, name: str) -> bool:
    """Whether the sample is UTF-8 with zero bytes in it: not where this byte order has them, or few, and few other
    controls, which are the high bytes of many scripts.
    """
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    high, low = sample[name == "utf-16-le" :: 2].count(0), sample[name == "utf-16-be" :: 2].count(0)
    others = len(sample) - len(sample.translate(None, _CONTROLS))
    return low * 4 > high or ((high + low) * 5 < len(sample) and others * 20 < len(sample))


def _iso_2022_jp(data: bytes) -> str:
    """As browsers read it: Microsoft's signs, which Python's codec lacks, and half-width katakana too."""
    first, *rest = _SHIFT.split(data)
    parts = [first.decode("ascii", "replace")]
    for shift, run in zip(rest[::2], rest[1::2], strict=True):
        if shift[:1] == b"$":
            parts.append(_PAIR_OR_BYTE.sub(lambda found: _jis_character(found[0]), run.decode("latin-1")))
        elif shift == b"(I":
            parts.append("".join(chr(byte + 0xFF40) if 0x21 <= byte <= 0x5F else chr(byte) for byte in run))
        else:
            text = run.decode("ascii", "replace")
            parts.append(text.translate(_ROMAN) if shift == b"(J" else text)
    return "".join(parts)


@cache
def _jis_character(pair: str) -> str:
    """A character of JIS X 0208 with Microsoft's additions, by its two bytes; they are those of Shift_JIS, moved."""
    if len(pair) != 2:
        return "\ufffd"
    row, cell = ord(pair[0]), ord(pair[1])
    first = (row + 1) // 2 + (0x70 if row <= 0x5E else 0xB0)
    return bytes((first, cell + (0x1F + (cell >= 0x60) if row % 2 else 0x7E))).decode("cp932", "replace")
