"""How raised and lowered text and the parts of a fraction are written in plain text: a number stays that number.

10 with 3 above it is 10³, not 103. Characters as Pandoc's plain text has them; where Unicode has none, `^` and `_`.
What changes no number stays as it is: H2O, 1st, XIXe, a footnote's asterisk.
"""

import re
from enum import Enum


class Script(Enum):
    """How a part of a text is set."""

    RAISED = "raised"
    LOWERED = "lowered"
    OPERAND = "operand"  # on the line: a numerator, or what a mark is put on; in brackets where it has several terms
    DENOMINATOR = "denominator"


# What the children of MathML's elements are, one after the other.
OF_MATHML = {
    "mfrac": (Script.OPERAND, Script.DENOMINATOR),
    "msup": (Script.OPERAND, Script.RAISED),
    "msub": (Script.OPERAND, Script.LOWERED),
    "msubsup": (Script.OPERAND, Script.LOWERED, Script.RAISED),
    "munderover": (Script.OPERAND, Script.LOWERED, Script.RAISED),
}
_RAISED = str.maketrans("0123456789+-−=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
# Numbers, their signs, and what parts the numbers of notes: 1,2 and 3–5 and 1,*.
_OF_DIGITS = re.compile(r"[0-9+\-−=()⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎,;–*†‡§¶ ]*")
_HAS_VALUE = re.compile(r"[0-9+=<>−]|^[-–—]|\b\w-\w\b")  # not words: these change what a number or a name says
_INDEX = re.compile(r"[\w.,]+")
_TERMS = re.compile(r"(?<=[^\s(])[\s+\-−±=/·×]")
_LONE_LETTER = re.compile(r"(?:^|[^\w])[^\W\d_]$|\d$|[⁰¹²³⁴⁵⁶⁷⁸⁹)]$")
_SIGNS = frozenset("abcdefghoABCDEFGHOªº")  # raised, these are signs of notes, or end an ordinal number


def written(script: Script, before: str, content: str) -> tuple[str, str, str]:
    """Return (what precedes the content, it, what follows). before: the two characters before it, "" at a word."""
    joined = before[-1:].strip() != ""
    if script is Script.DENOMINATOR:
        return ("/(", content, ")") if _TERMS.search(content) else ("/", content, "")
    if script is Script.OPERAND:
        space = " " if before[-1:].isdigit() and content[:1].isdecimal() else ""
        return (f"{space}(", content, ")") if _TERMS.search(content) else (space, content, "")
    if not joined or not content or "[" in content:
        return "", content, ""
    return (_raised if script is Script.RAISED else _lowered)(before, content)


def script_text(script: Script, before: str, content: str) -> str:
    """Return the whole of what `written` says."""
    return "".join(written(script, before, content))


def _raised(before: str, content: str) -> tuple[str, str, str]:
    if not _HAS_VALUE.search(content):
        is_power = len(content) == 1 and content.isalpha() and content not in _SIGNS
        return ("^" if is_power and _LONE_LETTER.search(before) else "", content, "")
    return _marked("^", content, _RAISED)


def _lowered(before: str, content: str) -> tuple[str, str, str]:
    runs_on = before[-1:].isdigit() or before[-1:] in "/⁄"
    if (_INDEX.fullmatch(content) and not runs_on) or not _HAS_VALUE.search(content):
        return "", content, ""
    return _marked("_", content, _LOWERED)


def _marked(mark: str, content: str, characters: dict[int, int]) -> tuple[str, str, str]:
    if content[0] in "–—":  # in front of a number it is its minus
        content = "-" + content[1:]
    if _OF_DIGITS.fullmatch(content):
        return "", content.translate(characters), ""
    return (mark, content, "") if len(content) == 1 else (f"{mark}(", content, ")")
