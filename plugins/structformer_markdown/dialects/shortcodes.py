"""Shortcodes: `{{< card title="T" >}}`, `{{% heading "x" %}}`, `{{< ref "page" >}}`, `{{< meta title >}}`."""

import re
from collections import Counter

from structformer_markdown.dialects.page import Dialect, Page, arguments, code_block, image, link

_ESCAPED = re.compile(r"(\{\{[<%])/\*([^{}\n]*?)\*/([>%]\}\})")  # what writes about shortcodes
_SHORTCODE = re.compile(r"\{\{[<%](?![ \t]*/\*)([^{}]*)[>%]\}\}")
_NAME = re.compile(r"[ \t\n]*(/?)[ \t]*([\w./-]*[\w-])")
_FIRST = re.compile(r"""[ \t\n]*(?:"([^"]*)"|“([^”]*)”|([^\s"'=]++)(?![ \t]*=))""")
_REFERENCE = re.compile(r"""(?:path=)?["'“]?([^"'”\s]+)""")
_SHOWN = ("title", "caption", "alt", "label", "name", "heading", "summary", "text", "header", "subtitle", "question")
_UNNAMED_FIRST = frozenset("heading tab details expand badge kbd abbr".split())  # whose first argument is shown
# What `heading` shows in Kubernetes' documentation.
_HEADINGS = {"whatsnext": "What's next", "seealso": "See also"}
_IMAGES = frozenset("figure img image imgproc picture".split())
_CODE = re.compile(r"highlight|mermaid|plantuml|graphviz|kroki|d2|(?!.*(?:group|tabs)).*code.*", re.IGNORECASE)
_HOLDS_OTHERS = re.compile(r"\s*\{\{[<%]")
_VALUES = ("param", "meta", "var")  # show a value of the page or its site
_SAYS_CODE = re.compile(r"""\bcode=["']?true\b|\bcodelang=""")
_SAYS_TEXT = re.compile(r"""\btext=["']?true\b""")


def _plain(text: str, page: Page) -> str:
    page.change_code(lambda code: _ESCAPED.sub(r"\1\2\3", code))
    text = _ESCAPED.sub(lambda found: page.keep("".join(found.groups())), text)
    codes: list[tuple[re.Match[str], re.Match[str] | None]] = []  # each with the one that closes it, the last first
    closing: dict[str, re.Match[str]] = {}  # the next shortcode that closes one of a name
    for code in reversed([*_SHORTCODE.finditer(text)]):
        name = _NAME.match(code[1])
        codes.append((code, closing.get(name[2]) if name is not None else None))
        if name is not None and name[1]:
            closing[name[2]] = code
    out: list[str] = []
    linked = Counter[str]()
    place = 0
    holds_code = False  # whether the tabs here do, as in a pane that does not say that they are text
    for code, end in reversed(codes):
        if code.start() < place:  # in what is shown as code
            continue
        out.append(text[place : code.start()])
        place = code.end()
        if (name := _NAME.match(code[1])) is None:
            continue
        called = page.shortcodes.get(name[2], name[2])
        rest = code[1][name.end() :].rstrip()
        if rest[-2:] in ("/", " /", '"/', "'/"):  # which closes itself
            rest, end = rest[:-1], None
        is_text = code[0][2] == "%" or _SAYS_TEXT.search(rest) is not None
        if called == "tabpane":
            holds_code = not name[1] and not is_text
        if name[1]:
            if linked[called]:
                linked[called] -= 1
                out.append("</a>")
        elif end is not None and (
            (_CODE.fullmatch(called) and not _HOLDS_OTHERS.match(text, place))
            or _SAYS_CODE.search(rest)
            or (called == "tab" and holds_code and not is_text)
        ):
            out += [_shown(called, rest), _code(rest, text[place : end.start()], page)]
            place = end.end()
        else:
            if called in _VALUES:  # of the page's front matter, else of the site's settings or variables
                key = rest.strip(" \t\n\"'")
                shown = (page.metadata.get(key) if called != "var" else None) or page.site_value(called, key) or ""
            else:
                shown = _shown(called, rest)
            given = arguments(rest)
            target = next((given[key].replace('"', "") for key in ("link", "href", "url") if given.get(key)), "")
            if called not in _IMAGES and target and not shown and end is not None:
                linked[called] += 1
                out.append(f'<a href="{target}">')
            elif called not in _IMAGES and target:
                out.append(link(shown, target))
            else:
                out.append(f"{shown} " if shown and text[place : place + 1].isalnum() else shown)
    out.append(text[place:])
    return "".join(out)


def _shown(name: str, rest: str) -> str:
    """Return the text that a reader sees of a shortcode."""
    if name in ("ref", "relref"):
        found = _REFERENCE.match(rest.strip())
        return found[1] if found else ""
    given = arguments(rest)
    if name == "tabs":  # its name is an anchor's
        given.pop("name", None)
    first = _FIRST.match(rest)
    words = [given[key] for key in given if key in _SHOWN and given[key] not in ("", "true")]
    if not words and name == "glossary_tooltip" and "term_id" in given:
        words = [given["term_id"].replace("-", " ")]
    if not words and name in _UNNAMED_FIRST and first is not None:
        word = first[1] or first[2] or first[3] or ""
        words = [_HEADINGS.get(word, word) if name == "heading" else word]
    if name in _IMAGES and "src" in given:
        alternative = given.get("alt") or given.get("caption") or given.get("title") or ""
        others = [word for word in dict.fromkeys(words) if word != alternative]
        return " ".join([image(alternative, given["src"]), *others])
    return " ".join(words)


def _code(rest: str, inside: str, page: Page) -> str:
    content = page.restored(inside).strip("\n")
    if content.lstrip().startswith(("```", "~~~")):
        return inside
    given = arguments(rest)
    return f"\n{code_block(content, given.get('lang') or given.get('codelang') or rest, page)}\n"


DIALECT = Dialect("shortcodes", _plain, {"{{<": None, "{{%": None})
