"""The Markdown block grammar: markdown-it-py with tables, footnotes, definition lists and block attributes.

The inline grammar stays CommonMark's plus strikethrough: bare URLs and wiki-links are found afterwards in the plain
text that is left (inline_text.py), which costs a fraction of what an inline rule costs at every character.
"""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_core import StateCore
from mdit_py_plugins.attrs import attrs_block_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote.index import footnote_def

MAX_NESTING = 100
# Deeper inline nesting has no use, and the cost of unbalanced brackets grows with it (markdown-it allows 20).
_MAX_INLINE_NESTING = 8


@cache
def grammar() -> MarkdownIt:
    """The parser; its tokens are markdown-it's."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    # A heading line is no table header, so headings are tried before tables.
    parser.block.ruler.before("lheading", "table_after_heading", table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    parser.use(deflist_plugin)
    parser.use(attrs_block_plugin)
    parser.block.ruler.before("code", "too_deep", _too_deep)
    inline = MarkdownIt("commonmark", {"maxNesting": _MAX_INLINE_NESTING}).enable("strikethrough")
    # Targets are recorded, never followed or rendered, so none is refused.
    inline.validateLink = lambda url: True  # type: ignore[method-assign]

    def parse_inline(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.children = token.children or []
                inline.inline.parse(token.content, inline, state.env, token.children)

    parser.core.ruler.at("inline", parse_inline)
    return parser


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """What is nested deeper than the parser goes becomes one paragraph, where markdown-it would drop it."""
    if silent or state.level < MAX_NESTING - 4:
        return False
    lines = [state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].lstrip("> \t") for line in range(start, end)]
    state.line = end
    for kind, nesting in (("too_deep_open", 1), ("inline", 0), ("too_deep_close", -1)):
        token = state.push(kind, "", nesting)  # type: ignore[arg-type]
        token.map = [start, end]
        if kind == "inline":
            token.content = "\n".join(lines).strip()
            token.children = []
    state.env.setdefault("too_deep", []).append((start + 1, end - start))
    return True
