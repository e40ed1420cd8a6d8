"""HTML, and tags in other formats' texts."""

from typing import TYPE_CHECKING

from structformer.formats import Format
from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_html.format import HtmlFormat
    from structformer_html.tables import TableBuilder
    from structformer_html.tags import NO_LANGUAGES, PARTS, SCRIPTS, SPANS, Tag, has_prose, parse_attributes, tokens

__all__ = [
    "NO_LANGUAGES", "PARTS", "SCRIPTS", "SPANS", "HtmlFormat", "TableBuilder", "Tag", "has_prose",
    "parse_attributes", "tokens",
]  # fmt: skip
__getattr__ = lazy_names(__name__)


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_html.format import HtmlFormat

    return [HtmlFormat()]
