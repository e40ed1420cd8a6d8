"""Characters that LaTeX's commands stand for."""

import unicodedata
from functools import cache

from structformer_latex.commands import by_pair, by_value

ACCENTS = dict(
    zip(
        "'`^\"~=.cvHkrudbt",
        "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0327\u030c\u030b\u0328\u030a\u0306\u0323\u0331\u0361",
        strict=True,
    )
)
# Texts that pylatexenc has not, or other ones.
SYMBOLS = {
    **by_pair(
        """SS=SS i=i j=j ddag=‡ S=§ P=¶ copyright=© pounds=£ textasciicircum=^ textbar=| textless=< textgreater=>
        textunderscore=_ textbraceleft={ textbraceright=} slash=/ LaTeX=LaTeX LaTeXe=LaTeX2e TeX=TeX
        BibTeX=BibTeX XeLaTeX=XeLaTeX LuaLaTeX=LuaLaTeX AmS=AmS LaTeXML=LaTeXML AmSTeX=AmSTeX eTeX=eTeX
        pdfTeX=pdfTeX euro=€ og=« fg=» textperiodcentered=· textohm=Ω lbrack=[ rbrack=] lq=‘ rq=’
        checkmark=✓ hyphen=- glqq=„ grqq=“ figurename=Figure tablename=Table chaptername=Chapter
        partname=Part appendixname=Appendix proofname=Proof contentsname=Contents lstlistingname=Listing
        abstractname=Abstract glq=‚ grq=‘ flqq=« frqq=» degree=°"""
    ),
    **by_value(
        {
            " ": "textvisiblespace quad qquad enspace enskip thinspace space nobreakspace hfill hfil dotfill hrulefill",
            "": "today nobreakdash",
        }
    ),
    "textquotedbl": '"',
}

_DINGBATS = dict(zip((37, 42, 43, 72, 108, 110, 115, 116, 117, 119), "☎☛☞★●■▲▼◆◗", strict=True))
_DINGBAT_BLOCKS = ((33, 126, 0x26E0), (172, 181, 0x2460 - 172), (182, 211, 0x2776 - 182))  # codes, and what to add


def accented(accent: str, letter: str) -> str:
    """A letter with an accent, composed where there is such a character; without a letter, what \\~{} is written for."""
    if not letter and accent in "~^":
        return accent
    return unicodedata.normalize("NFC", (letter[:1] or " ") + ACCENTS[accent]) + letter[1:]


def dingbat(number: str) -> str:
    """Return the sign of pifont's \\ding{51}; "" of a number that it has no sign for."""
    place = int(number) if number.strip().isdecimal() and len(number) < 4 else 0
    if place in _DINGBATS:
        return _DINGBATS[place]
    first = next((start for low, high, start in _DINGBAT_BLOCKS if low <= place <= high), None)
    return "" if first is None else chr(first + place)


def symbol(name: str) -> str:
    """Return the text of a command without arguments; "" if it is not known."""
    return SYMBOLS.get(name) or rare_symbols().get(name, "")


@cache
def rare_symbols() -> dict[str, str]:
    """Return the text of each command without arguments, from pylatexenc's tables."""
    from pylatexenc.latex2text import get_default_latex_context_db  # type: ignore[import-untyped]

    specs = get_default_latex_context_db().iter_macro_specs(("latex-base", "advanced-symbols", "latex-approximations"))
    texts: dict[str, str] = {}
    for name, text in ((spec.macroname, spec.simplify_repl) for spec in specs):
        if isinstance(text, str) and "%" not in text and name.isalpha() and name != "today":
            texts.setdefault(name, text)
    return texts
