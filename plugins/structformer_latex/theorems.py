"""Theorems and their like: \\newtheorem, \\declaretheorem, and how one begins."""

from dataclasses import dataclass, field

from structformer.document import MarkKind

from structformer_latex.commands import THEOREMS, by_name
from structformer_latex.cursor import options
from structformer_latex.output import Part

# Options that name the counter above a theorem's own, and the theorem whose counter it has too.
_WITHIN = ("numberwithin", "number within", "parent", "within")
_SHARED = ("numberlike", "sibling", "sharenumber", "use counter from")


@dataclass(eq=False)
class Theorems(Part):
    """The kinds of theorems: the user's, by the names of their environments, and the usual ones."""

    _titles: dict[str, str] = field(default_factory=dict)
    _unnumbered: set[str] = field(default_factory=set)
    _boxes: dict[str, str] = field(default_factory=dict)  # tcolorbox's theorems, and what their labels begin with

    def __contains__(self, name: str) -> bool:
        return name in self._titles or name.rstrip("*") in THEOREMS

    def begin(self, name: str) -> None:
        """A theorem begins: "Theorem 1 (Gauss)."."""
        builder = self._output.builder
        builder.paragraph()
        title = self._titles.get(name) or THEOREMS.get(name.rstrip("*"), name)
        self._output.open_block(MarkKind.NOTE, THEOREMS.get(name.rstrip("*"), title).lower())
        note = self._cursor.optional()
        if name in self._boxes:
            note, label = self._cursor.argument(), self._cursor.argument()
            self._cursor.push(f"\\label{{{self._boxes[name]}:{label}}}" if label else "")
        number = ""
        if name in self._titles and not name.endswith("*") and name not in self._unnumbered:
            number = self._numbering.begin(name, title)
        numbered = f"{title} {number}".strip()
        self._output.typeset(f"{numbered} ({note})." if note and name != "proof" else f"{note or numbered}.")
        builder.flow(" ")

    def _define(self, command: str) -> None:
        starred = self._cursor.starred
        if command == "newmdtheoremenv":
            self._cursor.optional()
        name = self._cursor.argument().strip()
        shared = self._cursor.optional() or ""
        title = self._cursor.argument()
        self._numbering.theorem(name, shared=shared.strip(), within=(self._cursor.optional() or "").strip())
        if starred:
            self._unnumbered.add(name)
        if command == "spnewtheorem":
            self._cursor.drop("{{")
        self._titles[name] = self._output.plain(title) or name.capitalize()

    def _define_box(self, command: str) -> None:
        """tcolorbox's \\newtcbtheorem[...]{name}{title}{options}{prefix of labels}."""
        given, argument = options(self._cursor.optional() or ""), self._cursor.argument
        name, title = argument().strip(), argument()
        argument()
        self._boxes[name] = argument().strip()
        self._titles[name] = self._output.plain(title)
        self._numbering.theorem(name, shared=_first(given, _SHARED), within=_first(given, _WITHIN))

    def _declare(self, command: str) -> None:
        given = options(self._cursor.optional() or "")
        name = self._cursor.argument().strip()
        self._titles[name] = given.get("name") or name.capitalize()
        self._numbering.theorem(name, shared=_first(given, _SHARED), within=_first(given, _WITHIN))
        if given.get("numbered", "").startswith("no"):
            self._unnumbered.add(name)

    COMMANDS = by_name(
        ("newtheorem spnewtheorem newmdtheoremenv", _define),
        ("newtcbtheorem", _define_box),
        ("declaretheorem", _declare),
    )


def _first(given: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((given[key] for key in keys if key in given), "")
