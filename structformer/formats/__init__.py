"""Names that format plugins import: the protocol, the source, the tree builder; and the check of a format."""

from structformer.formats.builder import TreeBuilder, promote_to_root, stem_title, without_garbage_collection
from structformer.formats.encoding import BOMS, as_utf8, decoded, shown_encoding
from structformer.formats.generators import (
    BARE,
    FILE,
    FOLDER,
    HTML,
    MIRROR,
    HtmlPages,
    HtmlRules,
    NavEntry,
    SearchBox,
    SiteFacts,
    SiteFiles,
    SiteGenerator,
    SitePage,
    is_address,
)
from structformer.formats.link_names import (
    INDEX_STEMS,
    is_external,
    join,
    link_names,
    normalize,
    path_candidates,
    path_names,
    split_fragment,
    url_names,
    wiki_name,
    without_suffix,
)
from structformer.formats.protocol import (
    CompositeFormat,
    Format,
    FormatOption,
    FragmentFormat,
    Frame,
    StreamFormat,
    format_options,
)
from structformer.formats.references import UNNAMED, UNNAMED_TITLE, UNNAMED_WITH_KIND, name_references
from structformer.formats.scripts import OF_MATHML, Script, script_text
from structformer.formats.source import (
    Limits,
    Neighbours,
    SourceFile,
    decode,
    guess_encoding,
    included_files,
    without_spans,
)

__all__ = [
    "BARE", "BOMS", "FILE", "FOLDER", "HTML", "INDEX_STEMS", "MIRROR", "OF_MATHML", "UNNAMED", "UNNAMED_TITLE",
    "UNNAMED_WITH_KIND", "CompositeFormat", "Format", "FormatOption", "FragmentFormat", "Frame", "HtmlPages",
    "HtmlRules", "Limits", "NavEntry", "Neighbours", "Script", "SearchBox", "SiteFacts",
    "SiteFiles", "SiteGenerator", "SitePage", "SourceFile", "StreamFormat", "TreeBuilder", "as_utf8", "decode",
    "decoded", "format_options", "guess_encoding", "included_files", "is_address", "is_external", "join",
    "link_names", "name_references", "normalize", "path_candidates", "path_names", "promote_to_root",
    "script_text", "shown_encoding", "split_fragment", "stem_title", "url_names", "wiki_name",
    "without_garbage_collection", "without_spans", "without_suffix",
]  # fmt: skip
