"""Words that stand out: \\emph{...}, \\textbf{...}, \\texttt{...}, and their like that last to the end of a group."""

from typing import ClassVar

from structformer.document import MarkKind

from structformer_latex.commands import Handler, by_name
from structformer_latex.output import Part

_KINDS = {
    **dict.fromkeys("emph textit textsl em it itshape sl slshape".split(), MarkKind.EMPHASIS),
    **dict.fromkeys("textbf bf bfseries".split(), MarkKind.STRONG),
    **dict.fromkeys("texttt tt ttfamily".split(), MarkKind.CODE_SPAN),
}


class Fonts(Part):
    """Marks what is set in another font; the text stays as it is."""

    def _of_argument(self, name: str) -> None:
        self._cursor.skip_option()
        if self._cursor.peek() == "<":
            self._cursor.skip_overlay()
        if self._cursor.peek() == "{":  # its end is found where it is read, so that nesting costs nothing
            self._cursor.position += 1
            self._output.groups.depth += 1
            self._output.groups.span(_KINDS[name], self._output.builder)

    def _of_group(self, name: str) -> None:
        self._cursor.skip_option()
        if not self._output.groups.is_document:  # set so to its end, nothing in it stands out
            self._output.groups.span(_KINDS[name], self._output.builder)

    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        ("emph textit textsl textbf texttt", _of_argument),
        ("em it itshape sl slshape bf bfseries tt ttfamily", _of_group),
    )
