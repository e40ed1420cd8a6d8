"""Labels, references and links: \\label, \\ref and its like, \\href, \\url, \\externaldocument."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from structformer.document import LinkKind
from structformer.formats import UNNAMED, UNNAMED_TITLE, UNNAMED_WITH_KIND

from structformer_latex.commands import REFERENCES, by_name
from structformer_latex.cursor import keys
from structformer_latex.output import Part

_WITH_KIND = frozenset("autoref Autoref cref Cref vref Vref thref fullref zref".split())
_KEY = re.compile(r"(?:\[[^\[\]]*\])*\{[^{}\\$%\s]+\}")
_SIGN = re.compile(r"\\([%#&_~{}$^])")
_TILDE = re.compile(r"\{?\\(?:textasciitilde|string)\s*(?:\{\})?\}?|\$\\sim\$")
_BREAK = re.compile(r"\\(?:allowbreak|linebreak)(?![a-zA-Z])\s*|\\[-/]")
_REFERENCE_INSIDE = re.compile(r"\\(?:[a-zA-Z]*ref)\*?\s*\{")
_WITH_TITLE = frozenset({"nameref", "titleref"})


def plain_address(address: str) -> str:
    """Return an address without TeX's escapes, and without \\url around it."""
    address = _SIGN.sub(r"\1", re.sub(r"^\s*\\url\s*\{(.*)\}\s*$", r"\1", address.strip()))
    if "\\" in address:
        address = _BREAK.sub("", _TILDE.sub("~", address))
    return re.sub(r"\s+", "", address)


@dataclass(eq=False)
class References(Part):
    """Gives labels their numbers and writes links; what a reference shows is known when all has been read."""

    # Other documents: what their labels begin with here, and the file.
    external: list[tuple[str, str]] = field(default_factory=list)

    # -- labels ----------------------------------------------------------------------------------------------------

    def add_label(self, label: str) -> None:
        """A label is here."""
        self._output.builder.add_anchor(label.strip())
        self._numbering.label(label.strip())

    def mention(self, labels: str) -> None:
        """References to labels from within a formula, where they show nothing."""
        for label in keys(labels):
            self._output.builder.add_link("#" + label.strip(), "", LinkKind.XREF)

    def _label(self, name: str) -> None:
        if not self._output.only_definitions:
            self.add_label(self._cursor.argument())

    def read_own(self, name: str) -> bool:
        """Read \\seclabel{intro}, \\figref{fig:x}, which no file here defines; whether it is such a command."""
        own = next((each for end, each in _OWN.items() if name.endswith(end)), None)
        if own is None or not _KEY.match(self._cursor.text, self._cursor.position):
            return False
        self._cursor.skip_optionals()
        own(self, name)
        return True

    # -- references ------------------------------------------------------------------------------------------------

    def _reference(self, name: str) -> None:
        self._cursor.skip_optionals()
        builder = self._output.builder
        shown = UNNAMED_WITH_KIND if name in _WITH_KIND else UNNAMED_TITLE if name in _WITH_TITLE else UNNAMED
        for place, label in enumerate(keys(self._cursor.argument())):
            if builder.in_link:
                continue
            builder.text(", " if place else "(" if name == "eqref" else "")
            builder.link_text("#" + label.strip(), shown, LinkKind.XREF)
            builder.text(")" if name == "eqref" else "")

    def _external_document(self, name: str) -> None:
        prefix = self._cursor.optional() or ""
        self._cursor.optional()
        self.external.append((prefix.strip(), self._cursor.argument().strip()))
        self._cursor.optional()

    # -- links -----------------------------------------------------------------------------------------------------

    def _link_to_label(self, name: str) -> None:
        cursor = self._cursor
        label = cursor.optional()
        if label is None:  # \hyperref{address}{category}{label}{text}
            cursor.drop("{{")
            label = cursor.argument()
        self._link("#" + label.strip(), cursor.argument(), LinkKind.XREF)

    def _target(self, name: str) -> None:
        label, shown = self._cursor.argument().strip(), self._cursor.argument()
        if name == "hyperlink":
            self._link("#" + label, shown, LinkKind.XREF)
        else:
            self._output.builder.add_anchor(label)
            self._cursor.push(shown)

    def _link_to_address(self, name: str) -> None:
        self._cursor.optional()
        self._link(self._address().replace("~{}", "~"), self._cursor.argument(), LinkKind.HYPERLINK)  # no braces meant

    def _shown_address(self, name: str) -> None:
        address = self._address()
        prefix = "mailto:" if name == "email" else "https://doi.org/" if name == "doi" and "//" not in address else ""
        builder = self._output.builder
        if builder.in_link:
            builder.text(address)
        else:
            builder.link_text(prefix + address, address)

    def _link(self, target: str, shown: str, kind: LinkKind) -> None:
        builder = self._output.builder
        if builder.in_link or (kind is LinkKind.XREF and _REFERENCE_INSIDE.search(shown)):  # the number is the link
            self._output.typeset(shown)
            return
        builder.open_link(target, kind)
        self._output.typeset(shown)
        builder.close_link()

    def _address(self) -> str:
        """Return a URL as it is meant: the user's abbreviations spelt out, its escapes undone."""
        return plain_address(self._macros.spell_out(self._cursor.raw_argument()))

    COMMANDS = by_name(
        ("label", _label),
        (REFERENCES, _reference),
        ("externaldocument", _external_document),
        ("hyperref", _link_to_label),
        ("hyperlink hypertarget", _target),
        ("href", _link_to_address),
        ("url nolinkurl hyperdef email doi", _shown_address),
        ("path", lambda references, name: references._output.builder.code_span(references._cursor.raw_argument())),
    )


# What an author's own commands do, by what their names end with.
_OWN: dict[str, Callable[[References, str], None]] = {"label": References._label, "ref": References._reference}
