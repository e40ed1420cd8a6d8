"""Files that a site's generator fills in: layouts, and what new pages are made from. They are not pages."""

import re

from structformer.formats import SourceFile

from structformer_markdown.dialects.page import Page

_SYNTAX = re.compile(r"""(?<!\]\()(?<!\]: )(?<!["'<])\{\{(?![<%#])[^{}()\n]*\}\}|\{%[^%{}=\n]*%\}""")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+[^{}\n]*\w[^{}\n]*$|^ {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_TITLE = re.compile(r"(?:\s*\{\{(?![<%#])[^{}\n]*\}\})+\s*")


def is_template(title: object, body: str, source: SourceFile) -> bool:
    """Whether a file's title is a variable, or it has none and half of its text is variables and tags. Those in
    targets of links do not count.
    """
    if isinstance(title, str) and title.strip():
        return _TITLE.fullmatch(title) is not None
    if ("{{" not in body and "{%" not in body) or _HEADING.search(body):
        return False
    text = Page(source).without_code(body)
    syntax = sum(found.end() - found.start() for found in _SYNTAX.finditer(text))
    return syntax > 0 and syntax * 2 >= len(text) - sum(map(str.isspace, text))
