"""XML for structformer. For now the plainest form: nested sections with titles, references and text."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_xml.format import XmlFormat

    return [XmlFormat()]
