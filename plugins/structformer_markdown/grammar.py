"""The Markdown block grammar: markdown-it-py with tables, footnotes, definition lists and block attributes.

The inline grammar stays CommonMark's plus strikethrough: bare URLs and wiki-links are found afterwards in the plain
text that is left (inline_text.py), which costs a fraction of what an inline rule costs at every character.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence, html_block
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.attrs import attrs_block_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote.index import footnote_def
from mdit_py_plugins.myst_blocks.index import target

from structformer_markdown.dialects import DIALECTS, pandoc
from structformer_markdown.dialects.containers import ENDS, section_end
from structformer_markdown.dialects.page import LITERAL, SYNTAXES
from structformer_markdown.fence_info import CODE_DIRECTIVES, DIRECTIVE
from structformer_markdown.formulas import MARKS, formula_block, formula_span, line_of, push_paragraph
from structformer_markdown.tables import table

MAX_NESTING = 100
# Deeper inline nesting has no use, and the cost of unbalanced brackets grows with it (markdown-it allows 20).
_MAX_INLINE_NESTING = 8

EXTENDED = "extended"  # key of the environment: whether bare URLs are links and formulas are not Markdown
UNINDENTED = "unindented"  # the same: whether indented lines are no code, as in MDX
_RAW = {"<!--": "-->"} | {f"<{name}": f"</{name}>" for name in ("pre", "script", "style", "textarea")}
_URL_SCHEME = re.compile(r"(?<![A-Za-z0-9])(?:https?|ftp)$")
_URL = re.compile(r"://[^\s<>\[\]|`\\]*[^\s<>\[\]|`\\?!.,:*_~'\")]")
_FOOTNOTE = re.compile(r"\n {0,3}(?:[>*+-]\s*|\d+[.)]\s*)*\[\^")
_DEFINITION = re.compile(r"\n[ >]*[:~][ \t]")
_ATTRIBUTES = re.compile(r"\n[ >*+-]*\{")
_INLINE_MARKS = re.compile(r"[\\`*\[<]|~~|&[#A-Za-z]|(?<![^\W_])_|_(?![^\W_])|  \n")
_MORE_INLINE_MARKS = re.compile(rf"[$~^@]|{_INLINE_MARKS.pattern}")  # of formulas and dialects


def parse(text: str, env: dict[str, Any]) -> list[Token]:
    """markdown-it's tokens. An inline token whose content holds no mark has no children: its content is its text."""
    text = "\n" + text  # so that every line begins after a line break; tokens' lines are counted from here
    needed = {name: marks for name, marks in _NEEDED.items() if name != "code" or UNINDENTED not in env}
    unused = tuple(name for name in _NEEDED if not any(mark in text for mark in needed.get(name, ())))
    extra = tuple(name for name, (mark, pattern) in _EXTRA.items() if mark in text and pattern.search(text))
    if EXTENDED in env:
        extra += tuple(name for name, marks in _EXTENSIONS.items() if any(mark in text for mark in marks))
    names = set(env.get(SYNTAXES, ()))
    if ":::{" in text and "myst" in names:
        names.add("containers")
    extra += tuple(name for name in _RULES if name in names)
    env[ENDS] = {}
    tokens = _grammar(unused, extra).parse(text, env)
    if any(token.level >= MAX_NESTING - 4 for token in tokens):
        env[ENDS] = {}
        tokens = _grammar(unused, (*extra, "too_deep")).parse(text, env)
    return tokens


# Every rule is tried at every block, so those that a text cannot need are left out: the marks that each needs.
_NEEDED = {
    "blockquote": (">",),
    "code": ("    ", "\t"),
    "fence": ("```", "~~~"),
    "html_block": ("<",),
    "reference": ("]:",),
    "table_after_heading": ("|",),
}
_EXTRA = {"footnote": ("[^", _FOOTNOTE), "definition": ("", _DEFINITION), "attribute line": ("{", _ATTRIBUTES)}
_EXTENSIONS = {"formulas": MARKS, "target": (")=",)}
_RULES = {each.name: each for each in (*DIALECTS, pandoc.OWN) if each.blocks or each.inline}


@cache
def _grammar(unused: tuple[str, ...], extra: tuple[str, ...]) -> MarkdownIt:
    """Return the parser without some rules and with some more."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    # A heading line is not a table header, so headings are tried before tables.
    parser.block.ruler.before("lheading", "table_after_heading", table, {"alt": ["paragraph", "reference"]})
    if "footnote" in extra:
        parser.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    if "definition" in extra:
        parser.use(deflist_plugin)
    ends = ["paragraph", "reference", "blockquote", "list"]  # what these rules may end
    dialects = [_RULES[name] for name in extra if name in _RULES]
    for number, rule in enumerate(rule for dialect in dialects for rule in dialect.blocks):
        parser.block.ruler.before("code", f"block {number}", rule, {"alt": ends})
    if "target" in extra:
        parser.block.ruler.before("code", "target", target, {"alt": ends})
    if "attribute line" in extra:
        parser.use(attrs_block_plugin)
    if "formulas" in extra:
        parser.block.ruler.before("table_after_heading", "formulas", formula_block, {"alt": ends[:3]})
    if "too_deep" in extra:
        parser.block.ruler.before("code", "too_deep", _too_deep)
    parser.block.ruler.at("fence", partial(_ended, fence), {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("html_block", partial(_ended, html_block), {"alt": ["paragraph", "reference", "blockquote"]})
    parser.disable(list(unused), True)
    inline = MarkdownIt("commonmark", {"maxNesting": _MAX_INLINE_NESTING}).enable("strikethrough")
    # Targets are recorded, never followed or rendered, so none is refused or rewritten.
    inline.inline.ruler.after("text", "bare_url", _bare_url)
    inline.validateLink = lambda url: True  # type: ignore[method-assign]
    inline.normalizeLink = lambda url: url.replace("\u00a0", "%C2%A0")  # type: ignore[method-assign]

    if "formulas" in extra:
        inline.inline.ruler.before("escape", "formula", formula_span)
    shown = [rule for dialect in dialects for rule in dialect.inline]
    for number, rule in enumerate(shown):
        inline.inline.ruler.before("escape", f"shown {number}", rule)
    inline_marks = _MORE_INLINE_MARKS if shown or "formulas" in extra else _INLINE_MARKS

    def inline_tokens(text: str, state: StateCore) -> list[Token]:
        tokens: list[Token] = []
        if inline_marks.search(text):
            inline.inline.parse(text, inline, state.env, tokens)
        return tokens

    def parse_inline(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.children = inline_tokens(token.content, state)
            elif shown and token.type == "html_block" and not LITERAL.search(token.content):
                for rule in shown:
                    token.content = rule.pattern.sub(rule.shown, token.content)
            elif token.type == "table_row":
                token.meta["parsed"] = [inline_tokens(cell, state) for cell in token.meta["cells"]]

    parser.core.ruler.at("inline", parse_inline)
    return parser


def _ended(rule: Callable[..., bool], state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule of code or raw HTML: what has no end ends at the next heading as high, code at one that is alone."""
    is_block = rule(state, start, end, silent)
    if not is_block or silent or state.line < end:
        return is_block
    token, first, last = state.tokens[-1], line_of(state, start), line_of(state, end - 1).strip()
    close = token.markup or next((_RAW[mark] for mark in _RAW if first.lower().startswith(mark)), "")
    if close in (last if token.markup else token.content.lower()) and (not token.markup or not last.strip(close[0])):
        return True
    alone = (at for at in range(start + 2, end) if state.isEmpty(at - 1) and (at + 1 == end or state.isEmpty(at + 1)))
    directive = DIRECTIVE.match(token.info)
    is_prose = directive is not None and directive[1] not in CODE_DIRECTIVES
    line = section_end(state, start, range(start + 1, end) if is_prose else alone, end)
    if line < end:
        begin = start + (token.type == "fence")
        token.content = state.getLines(begin, line, state.sCount[start], True) + ("" if token.markup else close)
        token.map, state.line = [start, line], line
    return True


def _bare_url(state: StateInline, silent: bool) -> bool:
    """Keep a bare URL together as text, whatever marks it holds: "*" and "_" within one are no emphasis (GFM 6.9)."""
    if EXTENDED not in state.env or not state.src.startswith("://", state.pos):
        return False
    found = _URL.match(state.src, state.pos)
    if found is None or not _URL_SCHEME.search(state.src, max(0, state.pos - 6), state.pos):
        return False
    if not silent:
        state.pending += found[0]
    state.pos = found.end()
    return True


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Make one paragraph of content nested deeper than the parser goes, where markdown-it would drop it."""
    if silent or state.level < MAX_NESTING - 4:
        return False
    lines = [line_of(state, line).lstrip("> \t") for line in range(start, end)]
    state.line = end
    push_paragraph(state, "too_deep", "\n".join(lines).strip(), [start, end])
    state.env.setdefault("too_deep", []).append((max(1, start), end - start))
    return True
