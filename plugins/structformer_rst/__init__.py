"""The rst format for structformer; its parts that MyST's Markdown uses."""

from typing import TYPE_CHECKING

from structformer.formats import Format
from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_rst.format import labels, prepared, read_into
    from structformer_rst.objects import (
        ICON,
        NUMBER_PLACE,
        SCOPES,
        SIGNED,
        UNSEEN,
        VERSIONS,
        Objects,
        is_object,
        last_part,
        object_names,
        target_of,
    )
    from structformer_rst.site_text import substitution

__all__ = [
    "ICON", "NUMBER_PLACE", "SCOPES", "SIGNED", "UNSEEN", "VERSIONS", "Objects", "is_object", "labels",
    "last_part", "object_names", "prepared", "read_into", "substitution", "target_of",
]  # fmt: skip
__getattr__ = lazy_names(__name__)


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_rst.format import RstFormat

    return [RstFormat()]
