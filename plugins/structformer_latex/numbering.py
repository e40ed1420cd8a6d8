"""The numbers that LaTeX prints: of sections, theorems, equations, figures, items; what a reference to a label shows.

An approximation of LaTeX's own counters: "within" and shared counters of \\newtheorem, starred forms and appendices are
followed, other changes of counters are not."""

import re
from collections.abc import Callable, Iterable

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_DEEPEST = 4  # level that is still numbered: a subsubsection
_FLOATS = {"figure": "Figure", "table": "Table", "algorithm": "Algorithm", "listing": "Listing"}
_KINDS = ("Part", "Chapter", "Section", "Section", "Section", "Paragraph", "Paragraph")


class Numbering:
    """Counts as the reader goes on; `current` is what a label here refers to: its kind ("Theorem") and its number."""

    def __init__(self) -> None:
        self.current = ("", "")
        self.labels: dict[str, tuple[str, str]] = {}
        self._counts: dict[str, int] = {}
        self._within: dict[str, str] = {}
        self._shared: dict[str, str] = {}
        self._appendix = False
        self._outer_equation = ""  # the number of equations that have letters
        self._letters = 0
        self.open_float()

    def section(self, level: int, *, starred: bool) -> None:
        """A heading of LaTeX's level (a part is 0, a chapter 1)."""
        if level >= len(_LEVELS):
            return
        if starred or level > _DEEPEST:
            self.current = (_KINDS[level], "")
            return
        name = _LEVELS[level]
        self._step(name)
        kind = "Appendix" if self._appendix and name == self._top() else _KINDS[level]
        self.current = (kind, self._value(name))

    def appendix(self) -> None:
        """From here on chapters, or sections where there are none, are appendices with letters."""
        self._appendix = True
        self._counts[self._top()] = 0

    def theorem(self, name: str, *, shared: str = "", within: str = "") -> None:
        """A theorem's declaration, which may share another one's counter or restart in each section or chapter."""
        if shared:
            self._shared[name] = shared
        if within:
            self._within[name] = within

    def begin(self, name: str, kind: str) -> str:
        """Return the number of an environment that has one: a theorem, an equation, a figure."""
        counter = self._shared.get(name, name)
        self._step(counter)
        number = self._value(counter)
        self.current = (kind, number)
        return number

    def open_float(self) -> None:
        """A figure or table begins, which may have parts."""
        self._parts, self._has_caption = 0, False

    def float(self, names: Iterable[str], *, is_part: bool = False) -> None:
        """Count a figure or table by its caption, or a part of it. names: environments around, the innermost first."""
        kind = next((each for name in names for each in _FLOATS if each in name), None)
        if kind is None:
            return
        if "chapter" in self._counts:
            self._within.setdefault(kind, "chapter")
        if not is_part:
            self._has_caption = True
            self.begin(kind, _FLOATS[kind])
            return
        self._parts += 1
        ahead = not self._has_caption
        self._counts[kind] = self._counts.get(kind, 0) + ahead
        self.current = _FLOATS[kind], f"{self._value(kind)}{_letter(self._parts)}"
        self._counts[kind] -= ahead

    def item(self, number: str) -> None:
        """An item of a numbered list."""
        self.current = ("item", number)

    def equation(self, tag: str = "") -> None:
        """A numbered equation, or one with a tag in the number's place."""
        if tag or self._outer_equation:
            self._letters += not tag
            self.current = "Equation", tag or f"{self._outer_equation}{_letter(self._letters)}"
            return
        if "chapter" in self._counts:
            self._within.setdefault("equation", "chapter")
        self.begin("equation", "Equation")

    def subequations(self, *, begin: bool) -> None:
        """Equations from here on have one number and letters, until they end."""
        self._outer_equation, self._letters = "", 0
        if begin:
            self.equation()
            self._outer_equation = self.current[1]

    def label(self, name: str) -> None:
        """A label here; the first of a name counts."""
        self.labels.setdefault(name, self.current)

    def shown(self, name: str, with_kind: bool) -> str:
        """Return a reference to a label: its number, with its kind in front if asked; "" of an unknown one."""
        kind, number = self.labels.get(name, ("", ""))
        return f"{kind} {number}".strip() if with_kind and number else number

    def _top(self) -> str:
        return "chapter" if "chapter" in self._counts else "section"

    def _step(self, counter: str) -> None:
        self._counts[counter] = self._counts.get(counter, 0) + 1
        if counter in _LEVELS and counter != "part":
            for deeper in _LEVELS[_LEVELS.index(counter) + 1 :]:
                if deeper in self._counts:
                    self._counts[deeper] = 0
        for other, outer in self._within.items():
            if outer == counter or (
                outer in _LEVELS and counter in _LEVELS and 0 < _LEVELS.index(counter) < _LEVELS.index(outer)
            ):
                self._counts[other] = 0

    def _value(self, counter: str) -> str:
        count = self._counts.get(counter, 0)
        if counter == "part":
            return _roman(count)
        own = _letter(count).upper() if self._appendix and counter == self._top() and count else str(count)
        outer = self._within.get(counter, "")
        if counter in _LEVELS:
            place = _LEVELS.index(counter) - 1
            outer = _LEVELS[place] if place > 0 and (_LEVELS[place] in self._counts or place > 1) else ""
        return f"{self._value(outer)}.{own}" if outer else own


def counted(form: str, number: int) -> str:
    """Return a label like (\\alph*) with its number in."""
    return _COUNTER.sub(lambda found: _COUNTERS[found[1]](number), form)


def item_number(numbers: list[int]) -> str:
    """Return LaTeX's number of an item of a list in lists, whose numbers are given from the outermost: 1(a)ii."""
    shown = [counted(form, number) for form, number in zip(_FORMS, numbers, strict=False)]
    if len(shown) > 2:
        shown[1] = f"({shown[1]})"
    return "".join(shown)


def _letter(number: int) -> str:
    return chr(ord("a") + (number - 1) % 26)


def _roman(number: int) -> str:
    numeral = ""
    for value, letters in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while number >= value:
            numeral, number = numeral + letters, number - value
    return numeral


_FORMS = ("\\arabic*", "\\alph*", "\\roman*", "\\Alph*")
_COUNTER = re.compile(r"\\(arabic|alph|Alph|roman|Roman)\*")
_COUNTERS: dict[str, Callable[[int], str]] = {
    "arabic": str,
    "alph": _letter,
    "Alph": lambda number: _letter(number).upper(),
    "roman": lambda number: _roman(number).lower(),
    "Roman": _roman,
}
