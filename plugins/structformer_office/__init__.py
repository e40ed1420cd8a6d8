"""PDF, Word, PowerPoint and Excel files for structformer, where the extra `office` is installed."""

import importlib.util

from structformer.formats import Format
from structformer.plugins import hookimpl

_PACKAGES = ("mammoth", "openpyxl", "pptx", "pypdfium2")


@hookimpl
def structformer_formats() -> list[Format]:
    """None without the packages: such files are then counted, with the line that installs what reads them."""
    if any(importlib.util.find_spec(name) is None for name in _PACKAGES):
        return []
    from structformer_office.format import OfficeFormat
    from structformer_office.pdf import PdfFormat

    return [OfficeFormat(), PdfFormat()]
