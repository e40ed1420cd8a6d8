"""LaTeX for structformer. For now the plainest form: sectioning commands, references and text of single files."""

from __future__ import annotations

from structformer.formats.protocol import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_latex.format import LatexFormat

    return [LatexFormat()]
