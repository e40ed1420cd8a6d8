"""What the parts of a LaTeX document's text are: lists, tables, theorems, code, formulas, words that stand out."""

from __future__ import annotations

import time

import pytest
from structformer.document import INLINE, Block, Document, MarkKind, Section

from reading import Folder, one
from structformer_devkit.formats import mark_problems
from structformer_latex.format import LatexFormat


def parts(page: str) -> list[object]:
    """The blocks of a page of one section as nested lists: kinds with their details, and the texts of the leaves."""
    root = one(page, "latex").root
    assert not root.children
    assert not list(mark_problems(root.text, root.marks))
    return shown(root, root.blocks)


def shown(section: Section, blocks: list[Block]) -> list[object]:
    found: list[object] = []
    for block in blocks:
        name = f"{block.kind.value} {block.detail}".strip()
        words = section.text[block.start : block.end]
        if block.kind is MarkKind.PARAGRAPH:
            found.append(words)
        else:
            found.append((name, words) if block.is_leaf else [name, *shown(section, block.children)])
    return found


def spans(page: str | Document) -> list[tuple[str, str]]:
    document = one(page, "latex") if isinstance(page, str) else page
    return [
        (mark.kind.value, section.text[mark.start : mark.end])
        for section in document.sections()
        for mark in section.marks
        if mark.kind in INLINE
    ]


def test_lists_in_lists():
    page = r"""Take: \begin{itemize}
\item a rope
\begin{enumerate}[start=3] \item new \item[b)] or old \end{enumerate}
of hemp
\item a post\footnote{Of oak.}
\end{itemize}
and pull."""
    assert parts(page) == [
        "Take:",
        [
            "list",
            ["item", "a rope", ["list 3", ["item", "new"], ["item", "b) or old"]], "of hemp"],
            ["item", "a post"],
        ],
        "Of oak.",
        "and pull.",
    ]


def test_terms_and_what_they_mean():
    page = r"""\begin{description}
\item[Bight] a loop
\item[Bend] joins ropes: \begin{itemize}\item two \end{itemize}
\end{description}"""
    assert parts(page) == [
        [
            "definitions",
            ["term", "Bight"],
            ["definition", "a loop"],
            ["term", "Bend"],
            ["definition", "joins ropes:", ["list", ["item", "two"]]],
        ]
    ]


def test_a_table_that_floats_with_its_caption_and_column_titles():
    page = r"""\begin{table}[h]\caption{Strength of \emph{knots}}
\begin{tabular}{lc}
\toprule
Knot & Strength \\
     & in \% \\ \midrule
Bowline & \\
{\bf Eight} & \shortstack{60 \\ or 70} \\
\bottomrule
\end{tabular}
\end{table}"""
    assert parts(page) == [
        [
            "table",
            ["caption", "Strength of knots"],
            ["row header", ["cell", "Knot"], ["cell", "Strength"]],
            ["row header", ["cell"], ["cell", "in %"]],
            ["row", ["cell", "Bowline"], ["cell"]],
            ["row", ["cell", "Eight"], ["cell", "60 or 70"]],
        ]
    ]


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        (r"\hline a & b \\ \hline c & d \\ e & f \\ \hline", ["row header", "row", "row"]),
        (r"\hline a & b \\ \hline c & d \\ \hline", ["row header", "row"]),
        (r"\hline a & b \\ \hline c & d \\ \hline e & f \\ \hline", ["row", "row", "row"]),
        (r"a & b \\ c & d \\", ["row", "row"]),
        (r"\caption{C}\\ a & b \tabularnewline[2pt] \midrule c & d", ["caption", "row header", "row"]),
    ],
)
def test_column_titles_stand_above_a_rule_of_their_own(rows, kinds):
    [table] = parts(rf"\begin{{longtable}}{{ll}} {rows} \end{{longtable}}")
    assert [part if isinstance(part, str) else part[0] for part in table] == ["table", *kinds]


@pytest.mark.parametrize(
    "rules",
    [
        r"\cmidrule(lr){1-2}",
        r"\cmidrule[1pt](l{2pt}r){1-1} \cmidrule(r){2-2}",
        r"\cmidrule{1-2} \morecmidrules \cmidrule{1-2}",
        r"\specialrule{.1em}{.05em}{.05em} \addlinespace[3pt]",
        r"\cline{1-2} \hhline{|=|=|} \hdashline \cdashline{1-2}[1pt/2pt]",
        r"\Xhline{2pt} \noalign{\smallskip} \rowcolor[gray]{.9}[1pt]",
    ],
)
def test_rules_of_tables_are_no_text(rules):
    page = rf"\begin{{tabular}}{{ll}} a & b \\ {rules} \multirow{{2}}*{{c}} & \diagbox{{d}}{{e}} \\ \end{{tabular}}"
    assert parts(page) == [["table", ["row", ["cell", "a"], ["cell", "b"]], ["row", ["cell", "c"], ["cell", "d / e"]]]]


@pytest.mark.parametrize(
    "heads",
    [
        r"H & I \\ \midrule \endfirsthead H & I \\ \midrule \endhead Go on \\ \endfoot \hline \endlastfoot",
        r"H & I \\ \endhead Go on \\ \endfoot",
        r"H & I \\ \endfirsthead \multicolumn{2}{l}{More} \\ H & I \\ \endhead",
    ],
)
def test_a_long_table_has_its_head_once(heads):
    [table] = parts(rf"\begin{{longtable}}[c]{{ll}} {heads} a & b \\ \end{{longtable}}")
    assert table == ["table", ["row header", ["cell", "H"], ["cell", "I"]], ["row", ["cell", "a"], ["cell", "b"]]]


@pytest.mark.parametrize(
    "heads",
    [
        r"\tablehead{H & I \\ \midrule}\tabletail{\multicolumn{2}{r}{Go on} \\}",
        r"\tablefirsthead{H & I \\ \hline}\tablehead{More \\}\tablelasttail{\bottomrule}",
    ],
)
def test_a_table_over_pages_has_the_head_that_is_told_before_it(heads):
    [table] = parts(rf"{heads}\begin{{supertabular}}{{ll}} a & b \\ \end{{supertabular}}")
    assert table == ["table", ["row header", ["cell", "H"], ["cell", "I"]], ["row", ["cell", "a"], ["cell", "b"]]]


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (r"\renewcommand\LTcaptype{}\longtable", r"\endlongtable"),
        (r"\begin{center}\tabular", r"\endtabular\end{center}"),
    ],
)
def test_an_environment_of_the_user_s_own_that_another_one_s_commands_begin_and_end(begin, end):
    row = ["row", ["cell", "a"], ["cell", "b"]]
    assert parts(rf"\newenvironment{{T}}{{{begin}}}{{{end}}}\begin{{T}}{{ll}} a & b \\ \end{{T}}") == [["table", row]]
    lists = r"\newenvironment{L}{\list{}{\leftmargin 0pt}}{\endlist}\begin{L}\item a\end{L}"
    assert parts(lists) == [["list", ["item", "a"]]]
    assert parts(r"\newenvironment{E}{\equation}{\endequation}\begin{E}a_1\end{E}") == [("formula", "a_1")]


def test_a_long_table_s_last_foot_stands_below_it():
    [table] = parts(r"\begin{longtable}{l} H \\ \endhead Source: Low \endlastfoot a \\ \end{longtable}")
    assert table[1:] == [["row header", ["cell", "H"]], ["row", ["cell", "a"]], ["row", ["cell", "Source: Low"]]]


def test_a_row_is_a_line_whatever_blocks_its_cells_hold():
    page = r"\begin{tabular}{ll} \begin{tabular}{c} a \\ b \end{tabular} & c \\ d & e \end{tabular}"
    assert parts(page) == [["table", ["row", ["cell", "a b"], ["cell", "c"]], ["row", ["cell", "d"], ["cell", "e"]]]]
    cells = r"a & \begin{center}b\end{center} & \begin{minipage}{2cm}c\par d\end{minipage} & \begin{itemize}\item e \item f\end{itemize}"
    assert one(rf"\begin{{tabular}}{{llll}} {cells} \\ g & h & i & j \end{{tabular}}", "latex").root.text == (
        "a | b | c d | e f\ng | h | i | j"
    )


def test_a_figure_has_the_words_of_its_image_and_its_caption():
    page = r"""\begin{figure*}[t]\includegraphics[width=3cm, alt={A rope}]{rope.png}
\caption{The rope\label{r}}\end{figure*} See \cref{r}."""
    assert parts(page) == [["figure", "A rope", ["caption", "The rope"]], "See Figure 1."]


def test_code_has_the_language_that_its_environment_names():
    page = r"""\lstset{basicstyle=\small, language=Python}
\begin{lstlisting}
if a:

    b()
\end{lstlisting}
\begin{lstlisting}[numbers=left,language={[LaTeX]TeX}]
\a
\end{lstlisting}
\begin{minted}[linenos]{Rust}
let a;
\end{minted}
\begin{minted}{text}
plain
\end{minted}
\begin{verbatim}
a & b
\end{verbatim}"""
    assert parts(page) == [
        ("code python", "if a:\n\n    b()"),
        ("code tex", "\\a"),
        ("code rust", "let a;"),
        ("code", "plain"),
        ("code", "a & b"),
    ]


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (r"\DefineVerbatimEnvironment{shell}{Verbatim}{gobble=2}\begin{shell}|$ ls|\end{shell}", ("code", "$ ls")),
        (r"\newminted{go}{linenos}\begin{gocode}|a := 1|\end{gocode}", ("code go", "a := 1")),
        (
            r"\DefineVerbatimEnvironment{Highlighting}{Verbatim}{commandchars=\\\{\}}"
            r"\begin{Highlighting}[]|\KeywordTok{def}\NormalTok{ f\_1():}|  \textcolor{red}{\{\textbackslash{}n\}}|\end{Highlighting}",
            ("code", "def f_1():\n  {\\n}"),
        ),
        (r"\begin{alltt}|a \textbf{b} \$c|\end{alltt}", ("code", "a b $c")),
    ],
)
def test_code_keeps_its_lines_without_the_commands_that_act_in_it(page, code):
    assert parts(page.replace("|", "\n")) == [code]


def test_rows_whose_cells_are_boxes_or_commands():
    pandoc = r"""\begin{longtable}{ll}\toprule\noalign{}\begin{minipage}[b]{1cm}\raggedright
A
\end{minipage} & \begin{minipage}[b]{1cm}B\end{minipage} \\
\midrule\noalign{}
\endhead
a & b \\
\end{longtable}"""
    assert one(pandoc, "latex").root.text == "A | B\na | b"
    assert [mark.detail for mark in one(pandoc, "latex").root.marks if mark.kind == "row"] == ["header", ""]
    stars = r"""\begin{deluxetable}{cc}\tablecaption{Stars}\tablehead{\colhead{Name} & \colhead{Size}}
\startdata Vega & 2 \enddata\tablenotetext{a}{Seen.}\tablecomments{Far.}\end{deluxetable}"""
    assert one(stars, "latex").root.text == "Stars\n\nName | Size\nVega | 2\na Seen.\nFar."


def test_captions_of_the_old_subfigure_package_and_vector_graphics():
    page = r"\begin{figure}\subfigure[Left]{\includesvg[width=1cm]{a}}\caption{Both}\end{figure}"
    root = one(page, "latex").root
    assert (root.text, [link.target for link in root.links]) == ("Left\n\nBoth", ["a"])


def test_environments_for_code_of_the_user_s_own():
    page = r"""\lstnewenvironment{rcode}[1][]{\lstset{language=R}}{}\DefineVerbatimEnvironment{shell}{Verbatim}{gobble=2}
\newtcblisting{demo}[2][]{title={#2}}\newminted{go}{linenos}
\begin{rcode}[a=b]
x_1 <- \a
\end{rcode}
\begin{shell}
$ ls
\end{shell}
\begin{demo}{T}
a & b
\end{demo}
\begin{gocode}
a := 1
\end{gocode}
\begin{tcblisting}{listing only, title=Hello}
%d
\end{tcblisting}
\mintinline{c}{x = {1}} \lstinline{y}"""
    assert [part if isinstance(part, str) else part[1] for part in parts(page)] == [
        *("x_1 <- \\a", "$ ls", "a & b", "a := 1", "Hello", "%d", "x = {1} y")
    ]


def test_the_parts_of_a_figure_have_captions():
    page = r"""\begin{figure}\subfloat[Bow\label{b}]{\includegraphics{b}}
\subcaptionbox{Stern}[2cm]{\includegraphics{s}}\caption{A boat}\end{figure}"""
    assert parts(page) == [["figure", ["caption", "Bow"], ["caption", "Stern"], ["caption", "A boat"]]]
    assert one(page, "latex").root.anchors == ("b",)


def test_theorems_are_notes_of_their_kind():
    page = r"""\newtheorem{thm}{Theorem}\newtheorem{satz}{Hauptsatz}
\begin{thm}[Gauss]\label{g} If \[ x = y \] then \begin{itemize}\item $y$\end{itemize}\end{thm}
\begin{proof} By \ref{g}. \end{proof}
\begin{satz} Ja. \end{satz}"""
    assert parts(page) == [
        ["note theorem", "Theorem 1 (Gauss). If", ("formula", "x = y"), "then", ["list", ["item", "$y$"]]],
        ["note proof", "Proof. By 1."],
        ["note hauptsatz", "Hauptsatz 1. Ja."],
    ]


def test_boxes_and_quotations():
    page = r"""\begin{alertblock}{Beware of \emph{knots}} They slip.

All do.\end{alertblock}
\begin{tcolorbox}[title=T] Framed. \end{tcolorbox}
\begin{quote} Quoted. \end{quote} Not. \epigraph{Be ripe.}{A. Low}"""
    assert parts(page) == [
        ["note important", ["title", "Beware of knots"], "They slip.", "All do."],
        ["note note", ["title", "T"], "Framed."],
        ["quote", "Quoted."],
        "Not.",
        ["quote", "Be ripe.\nA. Low"],
    ]


def test_a_list_of_references():
    page = r"\begin{thebibliography}{9} \bibitem{a} Ashley. \bibitem{b} Day. \end{thebibliography} After."
    [references] = one(page, "latex").root.children
    assert shown(references, references.blocks) == [["list", ["item", "Ashley."], ["item", "Day."]], "After."]


def test_words_that_stand_out():
    page = r"""\newcommand{\term}[1]{\emph{#1}}\newcommand{\cmd}[1]{\texttt{#1}}
A \term{knot in \textbf{two} ropes}, {\it often \bf twice}, by \cmd{tie}, \verb|a_b| or \lstinline{c d}, for $n^2$ and \(m\)."""
    assert spans(page) == [
        ("emphasis", "knot in two ropes"),
        ("strong", "two"),
        ("emphasis", "often twice"),
        ("strong", "twice"),
        ("code_span", "tie"),
        ("code_span", "a_b"),
        ("code_span", "c d"),
        ("formula_span", "$n^2$"),
        ("formula_span", "$m$"),
    ]


def test_what_stands_out_ends_with_its_group_its_environment_or_its_paragraph():
    page = r"""\begin{tabular}{ll} \bf a & b \\ \bf c & {\bf d} e \end{tabular}
\begin{center}\bf Title\end{center} plain {\em first

second} third \emph{fourth} \em fifth \emph x"""
    assert spans(page) == [
        *(("strong", words) for words in ("a", "c", "d", "Title")),
        ("emphasis", "first"),
        ("emphasis", "fourth"),
    ]


def test_a_title_has_no_marks():
    document = one(r"\section{On \emph{knots} in \verb|C|} Tie \emph{one}.", "latex")
    assert [section.title for section in document.root.children] == ["On knots in C"]
    assert spans(document) == [("emphasis", "one")]


def test_marks_move_with_the_numbers_that_references_show():
    page = r"""\section{One}\label{one}
See \cref{one} and \emph{then \ref{two} again}, \textbf{\ref{nowhere}} and \texttt{x}.
\begin{tabular}{ll} \ref{one} & a \\ \ref{nowhere} b & \nameref{two} \end{tabular}
\section{Two}\label{two}"""
    section = one(page, "latex").root.children[0]
    assert not list(mark_problems(section.text, section.marks))
    assert shown(section, section.blocks) == [
        "See Section 1 and then 2 again, and x.",
        ["table", ["row", ["cell", "1"], ["cell", "a"]], ["row", ["cell", "b"], ["cell", "Two"]]],
    ]
    assert [text for _, text in spans(one(page, "latex"))] == ["then 2 again", "x"]


def test_files_that_a_document_takes_in_stand_where_they_are_taken_in():
    files = Folder(
        {
            "main.tex": r"\documentclass{article}\begin{document}\begin{itemize}\input{items}\end{itemize}\end{document}",
            "items.tex": r"\item a \item b",
        }
    )
    [document] = LatexFormat().read(files.source("main.tex"), {})
    assert shown(document.root, document.root.blocks) == [["list", ["item", "a"], ["item", "b"]]]


@pytest.mark.parametrize(
    "page",
    [
        r"\emph{" * 40_000 + "x",
        r"{\em {\bf " * 20_000 + "x",
        r"\begin{itemize}\item " * 10_000 + "x" + r"\end{itemize}" * 10_000,
        r"\begin{tabular}{l} a & " * 8_000,
        r"\begin{tabular}{l}" + r"a & \\ \midrule " * 20_000,
        "$a " * 50_000,
        "$\\$" * 50_000,
        "\\%" * 100_000,
        r"\begin{algorithm}" + r"\eIf{a}{" * 20_000,
        r"\begin{longtable}{l}\endhead x " * 5_000,
        r"\enquote{" * 20_000,
        r"\unknown{x" * 40_000,
        r"\autocites(" * 20_000,
        r"\mintinline{c}{" * 20_000,
        r"\begin{align}" + r"{\\" * 50_000,
        r"\newcommand{\be}{\begin{equation}}" + r"\be " * 10_000,
    ],
    ids=[
        *("emph", "groups", "lists", "tables", "rows", "formulas", "signs", "percents"),
        *("branches", "heads", "quotes", "arguments", "citations", "code", "align", "abbreviations"),
    ],
)
def test_hostile_nesting_is_read_in_linear_time(page):
    start = time.process_time()
    document = one(page, "latex")
    assert time.process_time() - start < 10
    for section in document.sections():
        assert not list(mark_problems(section.text, section.marks))
