"""What LaTeX's commands and environments mean to a reader of text. Unknown commands are left out and their arguments are text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

# Called with the part of the reader that it is a method of and the command's name without a star; the command's
# arguments are next in the text.
Handler = Callable[[Any, str], None]


def by_name(*groups: tuple[str | Iterable[str], Handler]) -> dict[str, Handler]:
    """What each command does, by its name; the names of a group are the words of a string, or a collection."""
    return {name: handler for names, handler in groups for name in (names.split() if isinstance(names, str) else names)}


# Levels as LaTeX numbers them: a part is 0, a chapter 1.
SECTIONS = {
    "part": 0,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
    "addpart": 0,
    "addchap": 1,
    "addsec": 2,
    "frametitle": 4,
    "subsubsubsection": 5,
    "minisec": 6,
}
REFERENCES = frozenset(
    """ref eqref autoref cref Cref vref Vref pageref nameref fullref labelcref labelcpageref cpageref Cpageref vpageref subref thref
    prettyref zref Autoref lcnamecref namecref nameCref footref refp tref fref sref hyperrefref titleref currefrange""".split()
)
RANGES = frozenset("crefrange Crefrange vrefrange cpagerefrange".split())
# Commands and how many arguments of theirs are not text: o an optional one, m one in braces.
DROPPED = {
    **dict.fromkeys(
        """vspace vspace* bibliographystyle pagenumbering index glossary vskip hphantom phantom vphantom geometry
        setstretch linespread bibliographyunit nocite markright definecolor* pdfbookmark* usetikzlibrary captionsetup*
        theoremstyle refstepcounter nolinenumbers pagecolor normalfont* fontencoding fontfamily fontseries fontshape
        allowdisplaybreaks raisebox* usetheme usecolortheme usefonttheme setbeamertemplate* institute logo*
        numberwithin* DeclareGraphicsExtensions lstloadlanguages crefname* Crefname* babelfont* setmainfont*
        setsansfont* setmonofont* bibpunct* theoremsymbol keywords* newblock* nobibliography typeout message
        PackageWarning* errmessage write special pdfoutput shorthandoff shorthandon frenchspacing* makeindex*
        frenchbsetup NeedsTeXFormat ProvidesPackage ProvidesClass LoadClass* PassOptionsToPackage* cline cmidrule*
        hhline arraystretch* noalign rowcolor* rowcolors* columncolor cellcolor* multirowsetup*""".split(),
        "om",
    ),
    "documentclass": "omo",
    "documentstyle": "om",
    "setlength": "mm",
    "addtolength": "mm",
    "setcounter": "mm",
    "addtocounter": "mm",
    "rule": "omm",
    "resizebox": "mm",
    "scalebox": "mo",
    "rotatebox": "om",
    "definecolor": "mmm",
    "textcolor": "om",
    "colorbox": "om",
    "fcolorbox": "omm",
    "color": "om",
    "fontsize": "mm",
    "markboth": "mm",
    "addcontentsline": "mmm",
    "addtocontents": "mm",
    "numberwithin": "omm",
    "newlength": "m",
    "settowidth": "mm",
    "setheight": "m",
    "raisebox": "moo",
    "multicolumn": "mm",
    "multirow": "omom",
    "cmidrule": "om",
    "titleformat": "momm",
    "titlespacing": "mmmm",
    "DeclareMathOperator": "mm",
    "DeclareMathSymbol": "mmmm",
    "DeclareSymbolFont": "mmmmm",
    "DeclareMathAlphabet": "mmmmm",
    "SetMathAlphabet": "mmmmmm",
    "DeclareFontFamily": "mmm",
    "DeclareFontShape": "mmmmmm",
    "DeclareTextFontCommand": "mm",
    "DeclareOption": "mm",
    "crefname": "mmm",
    "Crefname": "mmm",
    "providecolor": "mmm",
    "bibpunct": "ommmmmm",
    "captionsetup": "om",
    "parbox": "ooom",
    "makebox": "oo",
    "framebox": "oo",
    "fbox": "",
    "mbox": "",
    "newblock": "",
    "DeclarePairedDelimiter": "mmm",
    "newfloat": "mmmo",
    "floatname": "mm",
    "hyperbaseurl": "m",
    "hypersetup": "m",
    "phantomsection": "",
    "twocolumn": "",
    "onecolumn": "",
    "tikzstyle": "",
    "pdfbookmark": "omm",
    "setbeamertemplate": "moo",
    "logo": "m",
    "acro": "mom",
    "thanks": "m",
    "IEEEauthorblockN": "",
    "SetKwInOut": "mm",
    "pgfmathsetmacro": "mm",
    "pgfkeys": "m",
    "newcolumntype": "mom",
    "lstdefinestyle": "mm",
    "lstdefinelanguage": "omom",
    "lstnewenvironment": "moomm",
    "setlist": "om",
    "newlist": "mmm",
    "theoremheaderfont": "m",
    "theorembodyfont": "m",
    "newtheoremstyle": "mmmmmmmmm",
    "DeclareUnicodeCharacter": "mm",
    "graphicspath": "m",
    "pagestyle": "m",
    "thispagestyle": "m",
    "hyphenation": "m",
    "columnbreak": "",
    "column": "om",
    "sisetup": "m",
    "glsresetall": "",
    "makeglossaries": "",
    "printglossaries": "",
    "printglossary": "o",
    "bookmarksetup": "m",
    "stepcounter": "m",
    "value": "m",
    "pgfplotsset": "m",
    "tikzset": "m",
    "frenchspacing": "",
    "normalfont": "",
    "makeindex": "",
    "rowcolor": "omoo",
    "rowcolors": "mmm",
    "cellcolor": "om",
    "arrayrulecolor": "om",
    "hspace": "m",
    "hspace*": "m",
    "includepdf": "om",
    "ExplSyntaxOn": "",
    "newcounter": "mo",
    "keywords": "",
    "setmainfont": "omo",
    "setsansfont": "omo",
    "setmonofont": "omo",
    "babelfont": "omom",
    "printindex": "o",
    "LoadClass": "omo",
    "PassOptionsToPackage": "mm",
    "PackageWarning": "mm",
    "setbox": "",
}
# Environments whose content is not text.
SKIPPED = frozenset(
    """comment tikzpicture picture pspicture pgfpicture asy filecontents filecontents* axis psmatrix forest tikzcd xy diagram pycode luacode
    sagesilent CCSXML overpic circuitikz algorithm2e* scope""".split()
)
VERBATIM = frozenset(
    "verbatim verbatim* Verbatim Verbatim* BVerbatim LVerbatim lstlisting minted alltt listing* sourcecode code semiverbatim".split()
)
MATH = frozenset(
    """equation equation* align align* alignat alignat* aligned gather gather* multline multline* flalign flalign* eqnarray eqnarray* displaymath
    math subequations* dmath dmath* array* split IEEEeqnarray IEEEeqnarray* xalignat xalignat* numcases subnumcases empheq*""".split()
)
TABLES = {
    "tabular": 1,
    "tabular*": 2,
    "tabularx": 2,
    "tabulary": 2,
    "longtable": 1,
    "array": 1,
    "supertabular": 1,
    "xtabular": 1,
    "tblr": 1,
    "longtblr": 1,
    "xltabular": 2,
    "tabu": 1,
    "longtabu": 1,
    "deluxetable": 1,
}
LISTS = frozenset(
    "itemize enumerate description compactitem compactenum inparaenum trivlist list itemize* enumerate* description* asparaenum".split()
)
THEOREMS = {
    "theorem": "Theorem",
    "lemma": "Lemma",
    "proposition": "Proposition",
    "corollary": "Corollary",
    "definition": "Definition",
    "remark": "Remark",
    "example": "Example",
    "conjecture": "Conjecture",
    "claim": "Claim",
    "proof": "Proof",
    "note": "Note",
    "exercise": "Exercise",
    "problem": "Problem",
    "thm": "Theorem",
    "lem": "Lemma",
    "prop": "Proposition",
    "cor": "Corollary",
    "defn": "Definition",
    "rem": "Remark",
}
CONDITIONALS = frozenset(
    """if ifx ifnum ifdim ifcase ifodd ifmmode ifvmode ifhmode ifinner iftrue iffalse ifdefined ifcsname ifeof ifcat ifvoid ifhbox ifvbox ifpdf
    ifxetex ifluatex ifPDFTeX ifXeTeX ifLuaTeX ifpdftex unless""".split()
)
PARAGRAPHS = frozenset(
    "par bigskip medskip smallskip newpage clearpage cleardoublepage pagebreak maketitle tableofcontents centerline endgraf hrule".split()
)
ROW_ENDS = frozenset({"tabularnewline", "cr"})
LINES = ROW_ENDS | {"newline", "linebreak"}
LENGTHS = frozenset(
    """parindent parskip hsize vsize textwidth textheight oddsidemargin evensidemargin topmargin baselineskip leftskip rightskip tabcolsep
    arraycolsep hskip vskip kern hoffset voffset columnsep abovedisplayskip belowdisplayskip lineskip tolerance hbadness vbadness
    emergencystretch penalty widowpenalty clubpenalty hfuzz vfuzz fboxsep fboxrule topskip headheight headsep footskip pageno mag
    interlinepenalty displaywidowpenalty brokenpenalty predisplaypenalty postdisplaypenalty exhyphenpenalty hangindent hangafter parfillskip
    maxdepth skip dimen count toks""".split()
)
