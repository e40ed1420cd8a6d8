"""LaTeX for structformer: projects of many files, the user's macros, references, bibliographies, glossaries."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_latex.format import LatexFormat

    return [LatexFormat()]
