"""Documents as read from files: sections in a tree, links, marks on the text. The standard library only."""

from structformer.document.document import (
    INLINE,
    VERBATIM,
    Block,
    Document,
    Link,
    LinkKind,
    Mark,
    MarkKind,
    Section,
    Source,
    block_tree,
    inline_marks,
)
from structformer.document.word_counts import (
    ALPHABETS,
    MARKS,
    SPACELESS,
    UNSPACED,
    cut_words,
    first_words,
    has_words,
    pieces_of,
    word_count,
)

__all__ = [
    "ALPHABETS", "INLINE", "MARKS", "SPACELESS", "UNSPACED", "VERBATIM", "Block", "Document", "Link",
    "LinkKind", "Mark", "MarkKind", "Section", "Source", "block_tree", "cut_words", "first_words",
    "has_words", "inline_marks", "pieces_of", "word_count",
]  # fmt: skip
