"""Kinds of fenced blocks, by the words after the fence: code of a language, a formula, raw text.

Sources: CommonMark 4.5; GitHub's documentation (math); Pandoc's and Quarto's manuals ({.python}, {python}, {=html});
MyST's documentation ({code-block} python); Docusaurus's and VitePress's (comments that highlight lines)."""

import re

from structformer.document import MarkKind

from structformer_html import NO_LANGUAGES

DIRECTIVE = re.compile(r"\{([\w:-]+)\}[ \t]*(.*)")
# Directives whose content is not Markdown.
CODE_DIRECTIVES = frozenset(
    "code code-block code-cell sourcecode math mermaid graphviz raw parsed-literal r python".split()
)
_WITH_LANGUAGE = frozenset({"code", "code-block", "code-cell", "sourcecode", "raw"})  # it is their argument
_WITHOUT_LANGUAGE = frozenset({"parsed-literal", "math"})
_NAME = r"(?:lang(?:uage)?-)?([A-Za-z][\w+#-]{0,39})(?![\w+#-])"
_LANGUAGE = re.compile(rf"[\s{{]*{_NAME}(?!\s*=)")
_CLASS = re.compile(rf"\{{(?:[^{{}}]*?\s)??\.{_NAME}")
_RAW = re.compile(rf"\{{=\s*{_NAME}")
_OPENS = r"(?<![ \t])[ \t]*+(?://|#|--|;|%|<!--|\{?/\*)[ \t]*"
_CLOSES = r"[ \t]*+(?:-->|\*/\}?)?[ \t]*"
_SITE_COMMENT = re.compile(
    rf"^{_OPENS}(?:highlight-(?:next-line|start|end)|\[!code [^\[\]\n]*\]){_CLOSES}(?:\n|\Z)"
    rf"|{_OPENS}\[!code [^\[\]\n]*\]{_CLOSES}$",
    re.MULTILINE,
)
HIDDEN_LINE = re.compile(r"^([ \t]*)#(?: |(#)|$)", re.MULTILINE)  # begins so, in Rust, at the reader's wish
_CALLED_OTHERWISE = {"ipython": "python", "ipython3": "python", "graphviz": "dot"}
# Words that name no language either: the options of Rust's documentation.
_NO_LANGUAGE = NO_LANGUAGES | frozenset("ignore no_run should_panic compile_fail notrust".split())


def fence_mark(info: str, *, extended: bool) -> tuple[MarkKind, str]:
    """Return the block's kind and its detail. extended: as GitHub, Pandoc and MyST have it, not CommonMark alone."""
    info = info.strip()
    if extended and (raw := _RAW.match(info)) is not None:
        return MarkKind.RAW, raw[1].lower()
    if extended and (found := DIRECTIVE.match(info)) is not None and found[1] in CODE_DIRECTIVES:
        kind = {"math": MarkKind.FORMULA, "raw": MarkKind.RAW}.get(found[1], MarkKind.CODE)
        named = "" if found[1] in _WITHOUT_LANGUAGE else found[2] if found[1] in _WITH_LANGUAGE else found[1]
        return kind, language(named)
    if extended and info.split(None, 1)[:1] == ["math"]:
        return MarkKind.FORMULA, ""
    return MarkKind.CODE, language(info)


def shown_code(code: str) -> str:
    """Return code as its site shows it: without the comments that highlight lines."""
    return _SITE_COMMENT.sub("", code) if "highlight-" in code or "[!code " in code else code


def language(info: str) -> str:
    """Return the language that the first word names, or the first class, in lower case; "" where none is named."""
    found = _LANGUAGE.match(info) or _CLASS.match(info)
    if found is None:
        return ""
    name = found[1].lower()
    return "" if name in _NO_LANGUAGE else _CALLED_OTHERWISE.get(name, name)
