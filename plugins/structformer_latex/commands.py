"""LaTeX's commands and environments, as readers see them. Of unknown commands the arguments alone are text."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

# Called with the part of the reader that it is a method of and the command's name without a star; the command's
# arguments are next in the text.
Handler = Callable[[Any, str], None]


def by_name(*groups: tuple[str | Iterable[str], Handler]) -> dict[str, Handler]:
    """Return each command's handler by its name; the names of a group are the words of a string, or a collection."""
    return {name: handler for names, handler in groups for name in (names.split() if isinstance(names, str) else names)}


def by_value(groups: Mapping[T, str]) -> dict[str, T]:
    """Return a table that names the words of each value."""
    return {word: value for value, words in groups.items() for word in words.split()}


def by_pair(pairs: str) -> dict[str, str]:
    """Return a table of word=value."""
    return dict(pair.split("=", 1) for pair in pairs.split())


# Levels as LaTeX numbers them: a part is 0, a chapter 1.
SECTIONS = by_value(
    {
        0: "part addpart",
        1: "chapter addchap",
        2: "section addsec",
        3: "subsection",
        4: "subsubsection frametitle",
        5: "paragraph subsubsubsection",
        6: "subparagraph minisec",
    }
)
REFERENCES = frozenset(
    """ref eqref autoref cref Cref vref Vref pageref nameref fullref labelcref labelcpageref cpageref Cpageref vpageref subref thref
    prettyref zref Autoref lcnamecref namecref nameCref footref refp tref fref sref hyperrefref titleref currefrange""".split()
)
# Environments whose content is not text.
SKIPPED = frozenset(
    """comment tikzpicture picture pspicture pgfpicture asy filecontents filecontents* axis psmatrix forest tikzcd xy diagram pycode luacode
    sagesilent CCSXML overpic circuitikz scope""".split()
)
VERBATIM = frozenset(
    "verbatim verbatim* Verbatim Verbatim* BVerbatim LVerbatim lstlisting minted alltt listing* sourcecode code semiverbatim tcblisting".split()
)
MATH = frozenset(
    """equation equation* align align* alignat alignat* aligned gather gather* multline multline* flalign flalign* eqnarray eqnarray* displaymath
    math subequations* dmath dmath* array* split IEEEeqnarray IEEEeqnarray* xalignat xalignat* numcases subnumcases empheq empheq*""".split()
)
TABLES = by_value(
    {
        1: "tabular longtable longtable* array supertabular xtabular tblr longtblr talltblr tabu longtabu deluxetable NiceTabular",
        2: "tabular* tabularx tabulary xltabular",
    }
)
LISTS = frozenset(
    "itemize enumerate description compactitem compactenum inparaenum trivlist list itemize* enumerate* description* asparaenum questions parts subparts choices tasks labeling".split()
)
THEOREMS = {
    **{
        name: name.capitalize()
        for name in """theorem lemma proposition corollary definition remark example conjecture claim proof note
        exercise problem""".split()
    },
    **by_pair("thm=Theorem lem=Lemma prop=Proposition cor=Corollary defn=Definition rem=Remark"),
}
CONDITIONALS = frozenset(
    """if ifx ifnum ifdim ifcase ifodd ifmmode ifvmode ifhmode ifinner iftrue iffalse ifdefined ifcsname ifeof ifcat ifvoid ifhbox ifvbox ifpdf
    ifxetex ifluatex ifPDFTeX ifXeTeX ifLuaTeX ifpdftex unless""".split()
)
PARAGRAPHS = frozenset(
    """par bigskip medskip smallskip newpage clearpage cleardoublepage pagebreak maketitle tableofcontents centerline endgraf hrule
    tcblower""".split()
)
ROW_ENDS = frozenset({"tabularnewline", "cr"})
LINES = ROW_ENDS | {"newline", "linebreak"}
LENGTHS = frozenset(
    """parindent parskip hsize vsize textwidth textheight oddsidemargin evensidemargin topmargin baselineskip leftskip rightskip tabcolsep
    arraycolsep hskip vskip kern hoffset voffset columnsep abovedisplayskip belowdisplayskip lineskip tolerance hbadness vbadness
    emergencystretch penalty widowpenalty clubpenalty hfuzz vfuzz fboxsep fboxrule topskip headheight headsep footskip pageno mag
    interlinepenalty displaywidowpenalty brokenpenalty predisplaypenalty postdisplaypenalty exhyphenpenalty hangindent hangafter parfillskip
    maxdepth skip dimen count toks itemsep parsep topsep partopsep labelsep labelwidth leftmargin rightmargin itemindent
    listparindent jot arrayrulewidth doublerulesep intextsep textfloatsep floatsep columnseprule abovecaptionskip
    belowcaptionskip hyphenpenalty looseness binoppenalty relpenalty pretolerance interfootnotelinepenalty
    interdisplaylinepenalty pdfpagewidth pdfpageheight pdfcompresslevel extrarowheight lefthyphenmin
    righthyphenmin""".split()
)
