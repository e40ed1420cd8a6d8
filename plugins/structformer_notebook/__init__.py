"""Jupyter notebooks for structformer: their Markdown and their code."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_notebook.format import NotebookFormat

    return [NotebookFormat()]
