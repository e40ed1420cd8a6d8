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
# Commands and their arguments that are not text, in the form that `Cursor.drop` takes.
DROPPED = by_value(
    {
        "": """fbox mbox newblock phantomsection twocolumn onecolumn tikzstyle IEEEauthorblockN columnbreak glsresetall
        makeglossaries printglossaries frenchspacing normalfont ExplSyntaxOn keywords setbox
        nolinenumbers""",
        "{": """newlength setheight hyperbaseurl hypersetup logo thanks pgfkeys theoremheaderfont theorembodyfont
        tabletail tablelasttail graphicspath pagestyle thispagestyle hyphenation sisetup bookmarksetup stepcounter value pgfplotsset tikzset
        hspace hspace* cline hhline Xhline adjustbox setbeamercovered SetAlFnt SetAlgoSkip SetAlCapSkip SetCommentSty
        SetArgSty SetFuncSty SetKwSty SetDataSty SetAlCapFnt SetAlCapNameFnt cdashlinelr addvspace enlargethispage
        needspace Needspace arabic alph Alph roman Roman fnsymbol chaptermark sectionmark newgeometry microtypesetup
        chapterstyle setsecnumdepth maxsecnumdepth maxtocdepth settocdepth urlstyle KOMAoptions floatstyle restylefloat
        includeonly setcitestyle setminted usemintedstyle tcbuselibrary tcbset mdfsetup sethlcolor pdfinfo everypar
        everymath AddToShipoutPicture AtEndDocument ExecuteBibliographyOptions backgroundsetup titlerunning
        authorrunning tocauthor toctitle pubyear pagerange IEEEpubid @ifpackageloaded @ifclassloaded""",
        "[": "printglossary printindex lettrine IEEEPARstart allowdisplaybreaks pause makeindex",
        "{{": """defcitealias setlength addtolength setcounter addtocounter resizebox fontsize markboth addtocontents settowidth
        multicolumn DeclareMathOperator DeclareTextFontCommand DeclareOption floatname pgfmathsetmacro Xcline SetInd
        lstdefinestyle DeclareUnicodeCharacter PassOptionsToPackage PackageWarning counterwithin counterwithout
        @addtoreset setkeys addtokomafont setkomafont AtBeginEnvironment AtEndEnvironment BeforeBeginEnvironment
        AfterEndEnvironment appto preto crefalias creflabelformat defbibheading floatplacement titleformat*
        discretionary DeclareUrlCommand @ifpackagelater""",
        "{[": "scalebox newcounter cdashline",
        "[{": """date subjclass address curraddr dedicatory translator affiliation affil ead cortext fntext vspace vspace* bibliographystyle pagenumbering index hphantom phantom vphantom geometry
        setstretch linespread bibliographyunit nocite markright definecolor* pdfbookmark* usetikzlibrary captionsetup*
        theoremstyle refstepcounter altaffiliation pagecolor normalfont* fontencoding fontfamily fontseries fontshape
        raisebox* usetheme usecolortheme usefonttheme setbeamertemplate* institute logo*
        numberwithin* DeclareGraphicsExtensions lstloadlanguages crefname* Crefname* babelfont* setmainfont*
        setsansfont* setmonofont* bibpunct* theoremsymbol keywords* newblock* nobibliography typeout message
        PackageWarning* errmessage write special pdfoutput shorthandoff shorthandon frenchspacing* makeindex*
        frenchbsetup NeedsTeXFormat ProvidesPackage ProvidesClass PassOptionsToPackage* arraystretch* noalign rowcolor* rowcolors* columncolor cellcolor* multirowsetup* documentstyle rotatebox
        textcolor colorbox color captionsetup setlist column cellcolor arrayrulecolor includepdf setbeamerfont*
        setbeamercolor* SetCell SetRow glsadd againframe bookmark fancyhead fancyfoot fancyhf lhead chead rhead lfoot
        cfoot rfoot""",
        "[[": "makebox framebox",
        "{{{": """definecolor addcontentsline DeclareFontFamily crefname Crefname providecolor DeclarePairedDelimiter
        newlist rowcolors specialrule SetAlgorithmName SetNlSty deffootnote protected@write""",
        "{[{": "newcolumntype acrodefplural",
        "{[[": "raisebox setbeamertemplate",
        "[({": "cmidrule",
        "[[[": "ffigbox ttabbox",
        "[{{": "rule DeclareFieldFormat fcolorbox numberwithin pdfbookmark setbeamerfont setbeamercolor colorlet",
        "[{[": "setmainfont setsansfont setmonofont fontspec",
        "{{{{": "DeclareMathSymbol usefont cftaddtitleline DeclareGraphicsRule apptocmd pretocmd",
        "{{{{[": "titlespacing",
        "{{{[": "newfloat",
        "{[{{{{[": "titleformat",
        "[{[{": "lstdefinelanguage babelfont",
        "[{[{[": "multirow",
        "[{[[[": "floatbox",
        "[{[[": "rowcolor",
        "[[[{": "parbox",
        "{{{{{": "DeclareSymbolFont DeclareMathAlphabet",
        "[{{{{{": "patchcmd",
        "{{{{{{": "SetMathAlphabet DeclareFontShape",
        "[{{{{{{": "bibpunct",
        "{{{{{{{{{": "newtheoremstyle",
    }
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
