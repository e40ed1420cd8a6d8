"""What LaTeX's commands for characters stand for."""

from __future__ import annotations

import unicodedata

ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307", "c": "\u0327", "v": "\u030c",
           "H": "\u030b", "k": "\u0328", "r": "\u030a", "u": "\u0306", "d": "\u0323", "b": "\u0331", "t": "\u0361"}  # fmt: skip
SYMBOLS = {
    "ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "i": "i", "j": "j",
    "dag": "†", "ddag": "‡", "S": "§", "P": "¶", "copyright": "©", "pounds": "£", "dots": "…", "ldots": "…", "textellipsis": "…",
    "textemdash": "—", "textendash": "–", "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textbar": "|",
    "textless": "<", "textgreater": ">", "textquoteleft": "‘", "textquoteright": "’", "textquotedblleft": "“", "textquotedblright": "”",
    "textquotesingle": "'", "textquotedbl": '"', "textbullet": "•", "textdegree": "°", "texttrademark": "™", "textregistered": "®",
    "textunderscore": "_", "textbraceleft": "{", "textbraceright": "}", "textdollar": "$", "textvisiblespace": " ", "slash": "/",
    "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "TeX": "TeX", "BibTeX": "BibTeX", "XeLaTeX": "XeLaTeX", "LuaLaTeX": "LuaLaTeX", "AmS": "AmS", "LaTeXML": "LaTeXML",
    "AmSTeX": "AmSTeX", "eTeX": "eTeX", "pdfTeX": "pdfTeX", "euro": "€", "texteuro": "€", "textsection": "§", "textparagraph": "¶",
    "guillemotleft": "«", "guillemotright": "»", "og": "«", "fg": "»", "textperiodcentered": "·", "textmu": "µ", "textohm": "Ω",
    "quad": " ", "qquad": " ", "enspace": " ", "enskip": " ", "thinspace": " ", "space": " ", "nobreakspace": " ", "textrightarrow": "→",
    "textleftarrow": "←", "th": "þ", "TH": "Þ", "dh": "ð", "DH": "Ð", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ", "textonehalf": "½",
    "texttimes": "×", "lbrack": "[", "rbrack": "]", "lbrace": "{", "rbrace": "}", "lq": "‘", "rq": "’", "textcopyright": "©", "today": "",
    "textquestiondown": "¿", "textexclamdown": "¡", "checkmark": "✓", "hyphen": "-", "nobreakdash": "", "textnumero": "№", "textcent": "¢",
    "quotedblbase": "„", "quotesinglbase": "‚", "glqq": "„", "grqq": "“", "glq": "‚", "grq": "‘", "flqq": "«", "frqq": "»", "degree": "°",
}  # fmt: skip


def accented(accent: str, letter: str) -> str:
    """A letter with an accent, composed where there is such a character."""
    return unicodedata.normalize("NFC", (letter[:1] or " ") + ACCENTS[accent]) + letter[1:]
