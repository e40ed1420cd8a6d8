"""Strings and nothing but strings: names, headings, passages, words."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.text.headings import SEE_ALSO_PHRASES, github_slug, is_see_also
    from structformer.text.id_marks import version_names, version_of, version_order
    from structformer.text.languages import language_name
    from structformer.text.lexical_analysis import analyzer, analyzer_of, any_term_query, query_terms
    from structformer.text.lines import lines_of
    from structformer.text.passages import (
        Passage,
        as_typed,
        cut_section,
        document_overview,
        section_passages,
        section_prose,
        sentences,
        spliced,
        with_path,
    )
    from structformer.text.query_like import is_imperative, plain, stands_alone
    from structformer.text.stop_words import function_words
    from structformer.text.visible_text import CONTROLS, visible, without_controls
    from structformer.text.words import FOLDING, IGNORABLE, WRITTEN, asked, bare_words, names_of, spaced, written_words

__all__ = [
    "CONTROLS", "FOLDING", "IGNORABLE", "SEE_ALSO_PHRASES", "WRITTEN", "Passage", "analyzer", "analyzer_of",
    "any_term_query", "as_typed", "asked", "bare_words", "cut_section", "document_overview", "function_words",
    "github_slug", "is_imperative", "is_see_also", "language_name", "lines_of", "names_of", "plain", "query_terms",
    "section_passages", "section_prose", "sentences", "spaced", "spliced", "stands_alone", "version_names",
    "version_of", "version_order", "visible", "with_path", "without_controls", "written_words",
]  # fmt: skip
__getattr__ = lazy_names(__name__)
