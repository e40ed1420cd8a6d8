"""AsciiDoc's two kinds of attributes: those of a document, `{name}`, and those of an element, `[style,name=value]`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from structformer.formats import is_external

# What Asciidoctor defines when it makes HTML, for conditions that ask; and its names for characters.
_DEFINED = "asciidoctor backend-html5 basebackend-html doctype-article empty blank zwsp wj"
_VALUES = """backend=html5 basebackend=html doctype=article outfilesuffix=.html plus=+ asterisk=* tilde=~ caret=^
    apos=' quot=" lsquo=‘ rsquo=’ ldquo=“ rdquo=” lt=< gt=> amp=& vbar=| startsb=[ endsb=] backslash=\\ backtick=`
    two-colons=:: two-semicolons=;; cpp=C++ pp=++ deg=° litdd=-- docdir=."""
_GIVEN = {"sp": " ", "nbsp": "\u00a0", **dict.fromkeys(_DEFINED.split(), "")}
_GIVEN |= {name: value for name, _, value in (pair.partition("=") for pair in _VALUES.split())}
_REFERENCE = re.compile(r"(\\?)\{(\w[\w-]*)\}")
_ENTRY = re.compile(r":(!?)(\w[\w-]*)(!?):(?:[ \t]+(.*))?")
_MOST_SPELT = 4_000_000  # characters that references may add to one document
_PART = re.compile(r"""\s*(?:([\w.:-]+)\s*=\s*)?("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[^,]*)\s*(?:,|\Z)""", re.DOTALL)
_SHORTHAND = re.compile(r"([#.%])([^#.%]+)")


class Attributes:
    """The attributes of a document: what is given from outside holds whatever the document says."""

    def __init__(self, given: Mapping[str, str], image: Callable[[str], str] | None = None) -> None:
        """image: where an image is, where the folder of images does not tell."""
        self._fixed = dict(given)
        self._image = image
        self._values = {**_GIVEN, **given}
        self._left = _MOST_SPELT

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def get(self, name: str, default: str = "") -> str:
        return self._values.get(name.lower(), default)

    def spelt_out(self, text: str) -> str:
        """Replace a text's attribute references, up to a limit on what they add; unknown ones stay."""
        return _REFERENCE.sub(self._value, text) if "{" in text else text

    def _value(self, found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        value = self._values.get(found[2].lower(), found[0])
        self._left -= len(value)
        return value if self._left > 0 else found[0]

    def enter(self, line: str) -> bool:
        """Take a line that defines an attribute or takes one away; False for any other line."""
        entry = _ENTRY.fullmatch(line) if line.startswith(":") else None
        if entry is None:
            return False
        name = entry[2].lower()
        if name in self._fixed:
            return True
        if entry[1] or entry[3]:
            self._values.pop(name, None)
        elif name == "leveloffset" and (entry[4] or "")[:1] in ("+", "-"):
            self._values[name] = str(self.level_offset + number(entry[4]))
        else:
            self._values[name] = self.spelt_out(entry[4] or "")
        return True

    @property
    def own(self) -> dict[str, str]:
        """Those that lines have defined."""
        return {name: value for name, value in self._values.items() if value != _GIVEN.get(name)}

    def image(self, target: str) -> str:
        """Return the path of an image as seen from the document, or its address."""
        folder = self.get("imagesdir").rstrip("/")
        if self._image is not None:
            return self._image(target)
        return target if not folder or is_external(target) or target.startswith("/") else f"{folder}/{target}"

    @property
    def level_offset(self) -> int:
        """By how much headings are deeper than written."""
        return number(self.get("leveloffset"))


def number(text: str) -> int:
    """Return a small whole number; 0 where a text is none."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,4}", text) else 0


@dataclass(slots=True)
class Element:
    """Attributes before a block: its style, ids, options, title, and the content of its attribute list."""

    style: str = ""
    title: str = ""
    ids: list[str] = field(default_factory=list)
    options: set[str] = field(default_factory=set)
    positional: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Take an attribute list, without its brackets."""
        positional, named = element_attributes(text)
        if positional and (first := positional[0]):
            style = re.split(r"[#.%]", first, maxsplit=1)[0].strip()
            short = _SHORTHAND.findall(first)
            self.ids += [value.strip() for sign, value in short if sign == "#"]
            self.options |= {value.strip() for sign, value in short if sign == "%"}
            self.style = style or self.style
        if len(positional) > 1 or not self.positional:
            self.positional = positional
        if "id" in named:
            self.ids.append(named["id"])
        self.options |= {each.strip() for key in ("options", "opts") for each in named.get(key, "").split(",")}
        self.named |= named

    def value(self, place: int, name: str) -> str:
        """Return an attribute by its name, else by its place."""
        return self.named.get(name) or (self.positional[place] if len(self.positional) > place else "")


def element_attributes(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the values without a name, in order, and those with one."""
    positional: list[str] = []
    named: dict[str, str] = {}
    for part in _PART.finditer(text):
        value = part[2].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1].replace("\\" + value[0], value[0])
        if part[1]:
            named[part[1]] = value
        elif part[0]:  # at the end of the text, the pattern matches nothing
            positional.append(value)
    return positional, named
