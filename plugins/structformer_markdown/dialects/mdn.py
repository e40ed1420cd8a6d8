"""The macros of MDN's pages: `{{domxref("Document.cookie", "cookies")}}`, `{{HTMLElement("abbr")}}`, `{{Compat}}`."""

import re

from structformer_markdown.dialects.page import Dialect, Page, link

_MACRO = re.compile(r"""\{\{[ \t]*([\w-]+)[ \t]*+(?:\(((?:[^(){}"'\n]|"[^"{}\n]*"|'[^'{}\n]*')*+)\))?[ \t]*\}\}""")
_ARGUMENT = re.compile(r"""[ \t]*(?:"([^"]*)"|'([^']*)'|([^,"']*))[ \t]*(?:,|$)""")
_LOCALE = re.compile(r"(?:^|/)files/([a-z]{2}(?:-[a-z]{2})?)/", re.IGNORECASE)
_REFERENCES = {  # below the documentation's root: where a reference leads; whether it is shown as code
    "domxref": ("Web/API/", True),
    "cssxref": ("Web/CSS/", True),
    "jsxref": ("Web/JavaScript/Reference/Global_Objects/", True),
    "htmlelement": ("Web/HTML/Reference/Elements/", True),
    "htmlattrxref": ("Web/HTML/Reference/Global_attributes#", True),
    "svgelement": ("Web/SVG/Reference/Element/", True),
    "svgattr": ("Web/SVG/Reference/Attribute/", True),
    "mathmlelement": ("Web/MathML/Reference/Element/", True),
    "httpheader": ("Web/HTTP/Reference/Headers/", True),
    "httpmethod": ("Web/HTTP/Reference/Methods/", True),
    "httpstatus": ("Web/HTTP/Reference/Status/", True),
    "csp": ("Web/HTTP/Reference/Headers/Content-Security-Policy/", True),
    "webextapiref": ("Mozilla/Add-ons/WebExtensions/API/", True),
    "glossary": ("Glossary/", False),
}
_STATEMENTS = re.compile(r"[a-z]+(?:\.\.\.[a-z]+)?")  # as `for...of`: what is not a global object
_DOT = re.compile(r"(?<!\.)\.(?!\.)")
_OWN = (  # macros that show nothing of their own
    "compat specifications apiref seecompattable cssref htmlsidebar jssidebar jsref htmlref glossarysidebar "
    "httpsidebar addonsidebar svgref mathmlref defaultapisidebar learnsidebar quicklinkswithsubpages "
    "deprecated_header deprecated_inline non-standard_header non-standard_inline optional_inline "
    "experimental_inline readonlyinline securecontext_header securecontext_inline availableinworkers "
    "embedlivesample embedinteractiveexample interactiveexample previousnext previousmenunext previousmenu "
    "nextmenu listsubpages subpageswithsummaries cssinfo embedghlivesample embedyoutube "
    "js_property_attributes inheritancediagram cssxref_sidebar csssyntax allpropertiesinitial "
    "webassemblysidebar xsltref eventref".split()
)
_GONE = frozenset((*_OWN, *"previous next toc index games".split()))
_KNOWN = re.compile(
    rf"\{{\{{[ \t]*(?:(?:{'|'.join(_REFERENCES)})[ \t]*\(|(?:{'|'.join(_OWN)})[ \t]*[(}}])", re.IGNORECASE
)


def _plain(text: str, page: Page) -> str:
    locale = _LOCALE.search(page.path)
    root = f"/{locale[1] if locale else 'en-US'}/docs/"
    return _MACRO.sub(lambda found: _macro(found, root, page), text)


def _macro(found: re.Match[str], root: str, page: Page) -> str:
    name = found[1].lower()
    given: list[str] = [first or second or third.strip() for first, second, third in _ARGUMENT.findall(found[2] or "")]
    given = given[:-1] if given and not given[-1] else given
    first, second = (*given, "", "")[:2]
    if name in _REFERENCES and first:
        folder, is_code = _REFERENCES[name]
        path = first.removesuffix("()").replace(" ", "_")
        if name in ("domxref", "jsxref", "webextapiref") and "/" not in path:
            path = _DOT.sub("/", path.replace(".prototype.", "."))
        if name == "jsxref" and ("/" in first or _STATEMENTS.fullmatch(first)):
            folder = "Web/JavaScript/Reference/"
        shown = second or (f"<{first}>" if name.endswith("element") else first)
        shown = page.keep(f"`{shown}`") if is_code and not second and "`" not in shown else shown
        return link(shown, f"{root}{folder}{path}")
    if name == "rfc" and first:
        return link(f"RFC {first}: {second}".rstrip(": "), f"https://datatracker.ietf.org/doc/html/rfc{first}")
    if name == "bug" and first:
        return link(f"Firefox bug {first}", f"https://bugzil.la/{first}")
    if name in ("livesamplelink", "interwiki") and given:
        return given[-1]
    return "" if name in _GONE or found[2] is not None else found[0]


DIALECT = Dialect("mdn", _plain, {"{{": _KNOWN})
