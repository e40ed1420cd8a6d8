"""LaTeX: sections, macros, references, projects of many files."""

from __future__ import annotations

import cProfile

import pytest
from structformer import read
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest

from reading import Folder, links, one, outline, text
from structformer_latex.format import LatexFormat


def read_project(files: dict[str, str], main: str):
    source = Folder(files).source(main)
    return list(LatexFormat().read(source, {})), source


def test_a_document():
    page = r"""\documentclass{article}\title{The Title}\begin{document}
\section{One}\label{sec:one} See \ref{sec:two} and \cite{knuth,lamport}. % comment
\subsection{Two}\label{sec:two} Go to \href{https://x.y/a\%20b}{the site}.\end{document}"""
    document = one(page, "latex")
    assert outline(document) == [(0, "The Title"), (1, "One"), (2, "Two")]
    assert links(document) == [
        ("xref", "#sec:two", ""),
        ("citation", "cite:knuth", ""),
        ("citation", "cite:lamport", ""),
        ("hyperlink", "https://x.y/a%20b", "the site"),
    ]
    assert "comment" not in text(document)
    assert [section.anchors for section in document.sections()][1:] == [("sec:one",), ("sec:two",)]


def test_macros_of_the_users_own():
    page = r"""\newcommand{\kind}[2][sheet]{#2 of #1}\def\pair#1;#2.{<#1|#2>}\newif\ifdraft\newenvironment{story}{Once: }{ End.}
\newcommand{\mysec}[1]{\section{On #1}}
\mysec{knots} \kind{bend} \kind[rope]{end} \pair a;b. \ifdraft hidden\else shown\fi \begin{story}upon\end{story}"""
    document = one(page, "latex")
    assert outline(document)[1:] == [(1, "On knots")]
    assert document.root.children[0].text == "bend of sheet end of rope <a|b> shownOnce: upon End."


def test_macros_that_never_end_are_cut_and_said():
    source = Folder({"m.tex": "\\newcommand{\\x}{\\x\\x}\\section{Head} word \\x\n"}).source("m.tex")
    [document] = LatexFormat().read(source, {})
    assert "word" in text(document)
    assert "macros" in source.warnings[0]


@pytest.mark.parametrize("define", [r"\newcommand{\x}[1]{%s}", r"\NewDocumentCommand{\x}{mO{%s}}{#2}"])
def test_a_long_argument_is_not_put_in_often(define):
    page = define % ("#1" * 20_000) + rf"\section{{Head}} word \x{{{'y' * 50_000}}} end"
    assert len(text(one(page, "latex"))) < 200_000


def test_text_as_its_readers_see_it():
    page = r"""\section{Caf\'e \& ``tea''} na\"{\i}ve---stra\ss e~1 $x^2$ \verb|\section{no}| \footnote{below}
\begin{itemize}\item one \item[two] b\end{itemize}
\begin{tabular}{ll} a & b \\ c & d \end{tabular}
\begin{verbatim}
\section{no}
\end{verbatim}
\iffalse\section{no}\fi
\begin{equation}\label{eq:e} a=b \end{equation}
\newtheorem{thm}{Satz}\begin{thm}[Main]\label{t} True.\end{thm}
\begin{figure}\includegraphics[width=3cm]{f.png}\caption{A figure}\end{figure}"""
    document = one(page, "latex")
    section = document.root.children[0]
    assert section.title == "Café & “tea”"
    for part in (
        "naïve—straße 1 $x^2$ \\section{no}",
        "one\ntwo b",
        "a | b\nc | d",
        "\\section{no}",
        "a=b",
        "Satz 1 (Main). True.",
        "A figure",
        "below",
    ):
        assert part in section.text
    assert section.anchors == ("eq:e", "t")
    assert ("embed", "f.png", "") in links(document)


def test_a_project_of_many_files():
    files = {
        "main.tex": "\\documentclass{book}\\usepackage{mine}\\title{Book}\\begin{document}\\include{ch/one}\\input ch/two \\subfile{three}\\end{document}",
        "mine.sty": "\\newcommand{\\sail}{a sail}",
        "ch/one.tex": "\\chapter{One}\\label{c:one} \\sail{} \\input{ch/part}",
        "ch/part.tex": "the part \\input{main}",
        "ch/two.tex": "\\chapter{Two} see \\ref{c:one}",
        "three.tex": "\\documentclass[main]{subfiles}\\begin{document}\\chapter{Three}\\end{document}",
        "secret.tex": "not asked for",
    }
    [document], source = read_project(files, "main.tex")
    assert outline(document) == [(0, "Book"), (1, "One"), (1, "Two"), (1, "Three")]
    files["ch/one.tex"] += "\n\\endinput\n"  # ends this file, not the one that takes it in
    [document], source = read_project(files, "main.tex")
    assert outline(document) == [(0, "Book"), (1, "One"), (1, "Two"), (1, "Three")]
    assert document.root.children[0].text == "a sail the part"
    assert LatexFormat().parts(Folder(files).source("main.tex")) == {
        "ch/one.tex",
        "ch/two.tex",
        "ch/part.tex",
        "three.tex",
    }
    assert "mine.sty" in source.dependencies


def test_bibliographies():
    bib = "@article{k, author={D. Knuth}, title={The {TeX}book}, year=1984, doi={10.1000/XYZ}} @string{j = {J}} @book(other, title={O})"
    page = "\\documentclass{article}\\begin{document}\\section{A} \\citep[p.~3]{k}\\bibliography{refs}\\end{document}"
    [document], _ = read_project({"m.tex": page, "refs.bib": bib}, "m.tex")
    assert outline(document)[-1] == (1, "References")
    assert document.root.children[1].text == "D. Knuth. The TeXbook. 1984."
    keels = r"@misc{k, title={On $k_1$}, howpublished={\url{https://k.example/a_b}}}"
    [kept], _ = read_project({"m.tex": page, "refs.bib": keels}, "m.tex")
    assert kept.root.children[1].text == "On $k_1$. https://k.example/a_b."
    assert links(kept)[-1][:2] == ("hyperlink", "https://k.example/a_b")
    assert LatexFormat().sniff(rb"@misc{k, note={\cite{a} \ref{b} \label{c}}}", "refs.bib") == 0
    assert document.metadata["works"] == {"k": ["doi:10.1000/xyz"]}
    bbl = "\\begin{thebibliography}{9}\\bibitem{k} Knuth, \\emph{TeX}.\\end{thebibliography}"
    [document], _ = read_project({"m.tex": page, "m.bbl": bbl}, "m.tex")
    assert document.root.children[1].text == "Knuth, TeX."
    assert document.root.children[1].anchors == ("cite:k",)


def test_what_the_inputenc_package_declares():
    assert "Café" in text(one("\\usepackage[latin1]{inputenc}\\section{Café}".encode("latin-1"), "latex"))


def test_labels_of_other_documents_resolve(tmp_path):
    pages = tmp_path / "p"
    pages.mkdir()
    (pages / "a.tex").write_text(
        "\\documentclass{article}\\externaldocument[b-]{b}\\begin{document}\\section{A} \\ref{b-s} \\ref{only-in-c}\\end{document}"
    )
    (pages / "b.tex").write_text("\\begin{document}\\section{B}\\label{s}\\end{document}")
    (pages / "c.tex").write_text("\\begin{document}\\section{C}\\label{only-in-c}\\end{document}")
    ingest(pages, tmp_path / "w")
    graph = ReferenceGraph.open(tmp_path / "w")
    assert {(edge["source_document"], edge["target_document"], edge["target_section"]) for edge in graph.edges()} == {
        (0, 1, 1),
        (0, 2, 1),
    }


def test_every_row_of_the_table_of_dropped_commands_can_be_reached():
    from structformer_latex.declared import built_in
    from structformer_latex.reader import HANDLERS
    from structformer_latex.symbols import SYMBOLS

    assert [name for name in built_in()[1] if name.removesuffix("*") in HANDLERS or name in SYMBOLS] == []


@pytest.mark.parametrize(
    "text", [r"\iffalse ", r"\item[", r"\else ", r"\iftrue ", r"\cite[", r"\iffalse x\fi ", r"\[", r"\section["]
)
def test_unclosed_commands_cost_no_more_than_their_length(text):
    """Twice the text costs about twice the work, counted in calls, not in seconds."""
    costs = []
    for count in (2_000, 4_000):
        profile = cProfile.Profile()
        profile.runcall(lambda data: list(read(data, "latex")), (text * count).encode())
        costs.append(sum(entry.callcount for entry in profile.getstats()))
    assert costs[1] < 2.6 * costs[0]


def test_conditionals_end_where_tex_ends_them():
    [document] = read(rb"\section{A} \iffalse no \iftrue no \else no \fi no \else yes \fi \iffalse never", "latex")
    assert "yes" in document.root.children[0].text
    assert "no" not in document.root.children[0].text.replace("not", "")


def paper(body: str, preamble: str = "") -> str:
    return f"\\documentclass{{article}}{preamble}\\begin{{document}}{body}\\end{{document}}"


def test_an_authors_own_commands_for_labels_and_references_are_told_by_their_names():
    body = r"""\section{Moor}\seclabel{moor} Tie the bow.
\section{Row}\mylabel[sec]{row} See \secref{moor}, \myref[long]{row} and \tideref{low water}."""
    document = one(paper(body), "latex")
    assert [section.anchors for section in document.root.children] == [("moor",), ("row",)]
    assert [link.target for link in document.links()] == ["#moor", "#row"]
    assert document.root.children[1].text == "See 1, 2 and low water."


def test_an_authors_own_commands_for_headings_are_told_by_their_names():
    body = r"""\bookchapter[short]{har}{The \emph{Harbour}} Quays.
  \mysection{Moor}
Tie the bow. A \crosssection{cut} is no heading.
\SubSection{Springs} They hold."""
    (chapter,) = one(paper(body), "latex").root.children
    (moor,) = chapter.children
    assert [chapter.title, moor.title, moor.children[0].title] == ["The Harbour", "Moor", "Springs"]
    assert moor.text == "Tie the bow. A cut is no heading."


def test_references_show_what_latex_prints():
    body = r"""\section{Curves}\label{s}\begin{thm}\label{t}True.\end{thm}As in Theorem~\ref{t} (see \eqref{e}), \cref{t,u} and \nameref{u}.
\begin{equation}a=b\label{e}\end{equation}\section{Solution to \ref{t}}\label{u}\subsection{Deep}\label{d}\autoref{d}, not \ref{gone} .
\begin{enumerate}\item\label{i} a \item\label{j} b\end{enumerate}By \ref{j}.\appendix\section{More}\label{m}\Cref{m}"""
    document = one(paper(body, r"\newtheorem{thm}{Theorem}[section]"), "latex")
    curves, solution, more = document.root.children
    assert "As in Theorem 1.1 (see (1)), Theorem 1.1, Section 2 and Solution to 1.1." in curves.text
    assert solution.title == "Solution to 1.1"
    assert solution.children[0].text == "Section 2.1, not.\n\na\nb\n\nBy 2."
    assert more.text == "Appendix A"
    shown = [curves.text[link.start : link.end] for link in curves.links]
    assert shown == ["1.1", "1", "Theorem 1.1", "Section 2", "Solution to 1.1"]
    assert {link.text for link in document.links()} == {""}  # nobody wrote an anchor text


def test_references_to_figures_and_their_parts_have_the_numbers_of_their_captions():
    body = r"""\section{A}\section{B}\begin{wrapfigure}{r}{4cm}\caption{Wrapped}\label{w}\end{wrapfigure}
\begin{figure}\begin{center}\begin{subfigure}{3cm}\caption{Bow}\label{b}\end{subfigure}\subfloat[Stern\label{s}]{x}
\caption{Boat}\label{f}\end{center}\end{figure}\begin{longtable}{l}\caption{Long}\label{l}\\ a \\ \end{longtable}
\begin{table}\caption{Above}\begin{subtable}{3cm}\caption{Part}\label{p}\end{subtable}\end{table}
\captionof{figure}{Alone}\label{a}

Of \ref{w}, \autoref{b}, \ref{s}, \ref{f}, \ref{l}, \ref{p}, \ref{a}."""
    assert text(one(paper(body), "latex")).endswith("Of 1, Figure 2a, 2b, 2, 1, 2a, 3.")


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        (r"\SI{9.81}{\metre\per\second\squared}", "9.81 m/s²"),
        (r"\SI{50}{\percent}", "50 %"),
        (r"\qty{3}{\kilo\metre}", "3 km"),
        (r"\SIrange{4}{9}{\celsius}", "4–9 °C"),
        (r"\si{m.s^{-1}}", "m s⁻¹"),
        (r"\num{1.5e3}, \num{-1e-4}, \ang{45}, \ang{1;2;3}", "1.5 × 10³, -1 × 10⁻⁴, 45°, 1°2′3″"),
        (r"\qty{3e8}{\metre\per\second}, \qtyrange{1}{2e3}{\gram}", "3 × 10⁸ m/s, 1–2 × 10³ g"),
        (r"\acrshort{api}, \glspl{api}, \gls{api}['s], \glslink{api}{it}", "API, Interfaces (APIs), API’s, it"),
        (r"\begin{acronym}\acro{rpm}[RPM]{turns}\end{acronym}\ac{rpm}", "RPM turns\n\nturns (RPM)"),
        (r"\ding{51} \ding{55} \ding{108} \ding{172}", "✓ ✗ ● ①"),
        (r"\enquote{a \enquote{b \enquote{c}}} \textcquote[2]{k}{d}", "“a ‘b “c”’” “d”"),
        (r"\newbool{a}\booltrue{a}\ifbool{a}{yes}{no} \ifthenelse{\not\boolean{a}}{no}{yes}", "yes yes"),
        (r"\texttt{git --all}, \textbf{a--b \texttt{---}}, --", "git --all, a–b ---, –"),
        (r"\tikz[x=1cm]{\draw (0,0);} \tikz \node {a}; \adjustbox{width=1cm}{b}\colorlet{c}{red}", "b"),
        (
            r"\figurename~1, \ensuremath{x^2}, \char`\\, \symbol{92}, \string\foo, \$\~{}\$",
            "Figure 1, $x^2$, \\, \\, \\foo, $~$",
        ),
        (r"\cventry{2010}{Boat builder}{Quay \& Co}{}{}{Hulls}", "2010 Boat builder Quay & Co Hulls"),
        (r"\foreignlanguage[date]{french}{mai} \alt<2>{then}{now} \textbf<2>{b}", "mai then now b"),
        (r"\cicd pipelines, \cicd.", "CI/CD pipelines, CI/CD."),
        (r"a\hyp{}b", "a-b"),
        (r"\gls{api}, \gls{api}, \glspl{api}, \acrlong{api}", "Interface (API), API, APIs, Interface"),
        (r"\iftoggle{ebook}{screen}{paper}", "paper"),
        (r"\nexists \textperthousand", "∄ ‰"),
        (r"\includegraphics[width=1cm, alt={A boat}]{b.png}", "A boat"),
    ],
)
def test_commands_of_common_packages(source, printed):
    preamble = r"\newcommand{\cicd}{CI/CD\xspace}\newacronym{api}{API}{Interface}\newtoggle{ebook}"
    assert one(paper(source, preamble), "latex").root.text == printed


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        (r"\begin{otherlanguage*}{german}Birne\end{otherlanguage*}", "Birne"),
        (r"\begin{adjustwidth}{1cm}{2cm}In.\end{adjustwidth}", "In."),
        (r"\begin{wrapfigure}[9]{r}[2pt]{3cm}In.\end{wrapfigure}", "In."),
        (r"\begin{minipage}[t][3cm][c]{4cm}In.\end{minipage}", "In."),
        (r"\begin{itemize}\itemsep0pt \item In.\end{itemize}", "In."),
        (r"\begin{tasks}(2) \task a \task b\end{tasks}", "a\nb"),
        (
            r"\begin{questions}\question[2] Why?\begin{parts}\part[1] p\end{parts}\end{questions}",
            "(2 points) Why?\n\n(1 points) p",
        ),
    ],
)
def test_what_environments_are_told_is_no_text(source, printed):
    assert one(paper(source), "latex").root.text == printed


@pytest.mark.parametrize(
    ("algorithm", "lines"),
    [
        (
            r"\SetKwFunction{Find}{Find}\For{$i=1$ \KwTo $n$}{read it\;}\eIf{known}{\Find{x}\;}{restart\;}",
            ["for $i=1$ to $n$ do", "read it", "if known then", "Find(x)", "else", "restart"],
        ),
        (
            r"\KwIn{pears}\ForEach{pear}{wash\tcp*[r]{a remark}\Return{x}\;}\Repeat{done}{boil\;}",
            ["Input: pears", "for each pear do", "wash // a remark", "return x", "repeat", "boil", "until done"],
        ),
        (
            r"\uIf{a}{b\;}\uElseIf{c}{d\;}\Else{e\;}\lIf{f}{g}\tcc{h}",
            ["if a then", "b", "else if c then", "d", "else", "e", "if f then g", "/* h */"],
        ),
        (
            r"\SetKwInOut{Input}{in}\SetKwProg{Fn}{Function}{:}{end}\SetKwRepeat{Do}{do}{while}"
            r"\Input{x}\Fn{\Call{f}{x}}{\Do{more}{y\;}}\SetKwIF{Si}{SinonSi}{Sinon}{si}{alors}{sinon si}{sinon}{fin}"
            r"\Si{x}{y\;}\Sinon{z\;}",
            ["in: x", "Function f(x):", "do", "y", "while more", "si x alors", "y", "sinon", "z"],
        ),
    ],
)
def test_algorithms_have_a_line_for_each_step(algorithm, lines):
    page = rf"\begin{{algorithm}}[H]{algorithm}\caption{{Fruit}}\end{{algorithm}} Then 5\;kg."
    assert one(paper(page), "latex").root.text.split("\n") == [*lines, "", "Fruit", "", "Then 5 kg."]


def test_a_remark_above_a_blank_line_ends_the_paragraph():
    assert one("One % a remark\n\ntwo % more\n  three\n%\nfour", "latex").root.text == "One\n\ntwo three four"


def test_a_macro_s_last_command_takes_what_follows_the_macro():
    source = r"""\let\head\section\newcommand{\strong}{\textbf}\newcommand{\twice}[1]{#1#1}\newcommand{\again}{\twice}
    \newcommand{\code}{\lstinline}\newcommand{\hide}{\iffalse}\head{Knots} \strong{a} \again{b} \code|c_d| \hide no \fi e"""
    [section] = one(source, "latex").root.children
    assert (section.title, section.text) == ("Knots", "a bb c_d e")
    assert section.marks[0].kind.value == "strong"


def test_authors_abbreviate_the_beginnings_and_ends_of_formulas():
    source = r"""\newcommand{\be}{\begin{equation}}\newcommand{\ee}{\end{equation}}\def\bea{\begin{eqnarray}}\def\eea{\end{eqnarray}}
    \newenvironment{eq}{\begin{equation}}{\end{equation}}
    By \be x_1\label{a} \ee and \bea y\label{b}\\z\label{c}\eea and \begin{eq}w\end{eq}: \eqref{a}, \eqref{c}."""
    assert one(source, "latex").root.text == "By\nx_1\nand\ny\\\\z\nand\nw\n: (1), (3)."


@pytest.mark.parametrize("definer", [r"\newenvironment{law}[1]", r"\NewDocumentEnvironment{law}{m}"])
def test_an_author_s_environment_for_formulas_has_arguments(definer):
    page = definer + r"{\begin{equation}\label{#1}}{\end{equation}}By \begin{law}{a}x=1\end{law} that is \ref{a}."
    assert one(page, "latex").root.text == "By\nx=1\nthat is 1."


def test_each_row_of_a_formula_has_its_number():
    source = r"""\begin{equation}a\end{equation}\begin{align}b\label{b}\\ c\nonumber\\ {d \\ d}\label{d}\end{align}\[e\]
    \begin{equation}f\tag{*}\label{f}\end{equation}\begin{subequations}\label{g}\begin{align}h\\i\label{i}\end{align}\end{subequations}
    \begin{equation}j\label{j}\end{equation}See \ref{b}, \ref{d}, \ref{f}, \ref{g}, \ref{i}, \ref{j}."""
    assert one(source, "latex").root.text.endswith("See 2, 3, *, 4, 4b, 5.")


def test_items_are_referred_to_as_their_list_counts_them():
    source = r"""\begin{enumerate}\item\begin{enumerate}\item\item\label{a} x\end{enumerate}\item\label{b} y\end{enumerate}
    \begin{enumerate}[label=(\roman*), start=3]\item\label{c} z\end{enumerate}\ref{a}, \ref{b}, \ref{c}"""
    assert one(source, "latex").root.text.endswith("1b, 2, (iii)")


def test_german_quotation_marks_and_umlauts_as_babel_has_them():
    source = (
        r"\usepackage[ngerman]{babel}\begin{document}\"`Die Stra\"se\"', \"Ubung, Nord-\"-West\end{document}".replace(
            '\\"', '"'
        )
    )
    assert one(source, "latex").root.text == "„Die Straße“, Übung, Nord-West"
    assert one('The "area"', "latex").root.text == 'The "area"'


@pytest.mark.parametrize(
    ("preamble", "said"),
    [
        (r"\documentclass[12pt,ngerman,a4paper]{scrbook}\usepackage{babel}", '„Boot“, «See» "–'),
        (r"\documentclass{book}\usepackage[main=ngerman,english]{babel}", '„Boot“, «See» "–'),
        (r"\documentclass{book}\usepackage{polyglossia}\setmainlanguage[babelshorthands]{german}", '„Boot“, «See» "–'),
        (r"\documentclass{book}\usepackage[english,russian]{babel}", "„Boot“, «See» –"),
        (r"\documentclass{book}\usepackage[french]{babel}", '"‘Boot"’, «See» "–'),
        (r"\documentclass[english]{book}", '"‘Boot"’, <<See>> "–'),
    ],
)
def test_quotation_marks_are_those_of_the_language_that_the_class_or_a_package_names(preamble, said):
    page = preamble + r"""\begin{document}"`Boot"', <<See>> "--\end{document}"""
    assert one(page, "latex").root.text == said


def test_headings_that_a_class_makes_of_latex_s_own_command():
    head = r"""\renewcommand\section{\@startsection {section}{1}{\z@}%
        {-3ex \@plus -1ex}{2ex}{\normalfont\bfseries}}"""
    page = head + r"\section{Hull} One. \section*{Keel} Two. \section[S]{Sail\label{s}} Three, as \ref{s} says."
    document = one(page, "latex")
    assert outline(document)[1:] == [(1, "Hull"), (1, "Keel"), (1, "Sail")]
    assert document.root.children[2].text == "Three, as 2 says."


def test_a_switch_that_nobody_has_turned_on():
    page = r"\ifdefined\draft Draft\else Final\fi, \newcommand\long{}\ifdefined\long long\else short\fi"
    assert one(page, "latex").root.text == "Final, long"
    assert one(r"\ifdefined\draft Draft\fi", "latex").root.text == "Draft"


def test_lists_of_citations_have_any_number_of_arguments():
    document = one(r"As \textcites(see)()[1]{a}[2]{b,c}{d} say, \autocites[3]{e}{f}.", "latex")
    assert document.root.text == "As say, ."
    assert [link[1] for link in links(document)] == [f"cite:{key}" for key in "abcdef"]


def test_a_heading_s_footnote_follows_its_first_paragraph():
    [section] = one("\\section{Knots\\footnote{Of rope.}} Tie one.\n\nAnd two.", "latex").root.children
    assert (section.title, section.text) == ("Knots", "Tie one.\n\nOf rope.\n\nAnd two.")


def test_code_of_other_files_stands_where_it_is_listed():
    files = {
        "main.tex": r"\documentclass{article}\begin{document}\lstinputlisting[language=C, firstline=2, lastline=3, caption={Two \emph{lines}}]{src/a.c}"
        r" \inputminted{python}{b.py} \verbatiminput{gone.txt} End.\end{document}",
        "src/a.c": "int a;\nint b;\nint c;\nint d;\n",
        "b.py": "x = {}\n",
    }
    [document], source = read_project(files, "main.tex")
    assert document.root.text == "Two lines\n\nint b;\nint c;\n\nx = {}\n\nEnd."
    assert {"src/a.c", "b.py"} <= set(source.dependencies)


def test_slides():
    page = r"""\documentclass{beamer}\begin{document}\begin{frame}<1->[fragile]{A frame}\begin{itemize}\item<1-> a \item<2-> b\end{itemize}
\begin{columns}\begin{column}{0.5\textwidth}x\end{column}\end{columns}\begin{block}{Mind}this\end{block}\end{frame}\end{document}"""
    document = one(page, "latex")
    assert outline(document)[1:] == [(1, "A frame")]
    assert document.root.children[0].text == "a\nb\n\nx\n\nMind\nthis"


def test_files_that_a_document_carries_are_not_of_it():
    carried = (
        "\\begin{filecontents*}{x.tex}\n\\documentclass{a}\\begin{document}inner\\end{document}\n\\end{filecontents*}\n"
    )
    assert one(carried + paper("Real text."), "latex").root.text == "Real text."


def test_what_is_cut_is_said_with_its_place():
    source = Folder({"a.tex": paper("\n\n\\loop and so on", r"\newcommand{\loop}{\loop x}")}).source("a.tex")
    list(LatexFormat().read(source, {}))
    assert source.warnings == ["line 3: macros nested over 200 deep at \\loop: what it stands for is left out"]


def test_addresses_spell_out_the_user_s_abbreviations():
    source = r"""\newcommand{\repo}{https://e.org/\name}\newcommand{\name}{boats}
    See \href{\repo/issues}{the issues} and \url{\repo/wiki}. \includegraphics{\name/keel}"""
    assert links(one(source, "latex")) == [
        ("hyperlink", "https://e.org/boats/issues", "the issues"),
        ("hyperlink", "https://e.org/boats/wiki", "https://e.org/boats/wiki"),
        ("embed", "boats/keel", ""),
    ]


def test_signs_in_addresses_are_those_that_are_meant():
    source = r"""\href{http://x.y/\~{}foo}{a} \href{http://x.y/{\textasciitilde}foo\#b}{b} \url{http://x.y/a\_b\%c} \path{/usr/bin}"""
    document = one(source, "latex")
    assert [link[1] for link in links(document)] == ["http://x.y/~foo", "http://x.y/~foo#b", "http://x.y/a_b%c"]
    assert document.root.text.endswith(" /usr/bin")
    assert [mark.kind.value for mark in document.root.marks] == ["code_span"]


def test_comments_among_keys_are_none():
    assert [link[1] for link in links(one("\\cite{a,% the first\n  b}, \\ref{c%\n}", "latex"))] == [
        "cite:a",
        "cite:b",
        "#c",
    ]


def test_text_in_one_case_keeps_its_references_and_formulas():
    document = one(r"\section{\MakeTextUppercase{Knots}} \MakeUppercase{see \cite{Lee} and $x$}", "latex")
    assert document.root.children[0].title == "KNOTS"
    assert document.root.children[0].text == "SEE AND $x$"
    assert links(document) == [("citation", "cite:Lee", "")]


def test_numbers_of_authors_are_links():
    document = one(r"Ann\orcidlink{0000-1} and \orcidlinki{Bob}{0000-2}, \orcidlinkc{0000-3}.", "latex")
    assert document.root.text == "Ann and Bob, 0000-3."
    assert [link[1:] for link in links(document)] == [
        ("https://orcid.org/0000-1", ""),
        ("https://orcid.org/0000-2", "Bob"),
        ("https://orcid.org/0000-3", "0000-3"),
    ]


def test_a_bibliography_outside_the_text_costs_nothing_else():
    for source in (
        r"\documentclass{article}\printbibliography\begin{document}Hello\end{document}",
        r"\author{A \begin{thebibliography}{9}\bibitem{x} Y\end{thebibliography}}\begin{document}\maketitle Hello\end{document}",
    ):
        [document] = read(source.encode(), format="latex")
        assert document.root.text == "Hello"


def test_how_much_a_break_is_wanted_is_no_text():
    [document] = read(rb"\begin{document}One\linebreak[4] two\pagebreak[2] three\end{document}", format="latex")
    assert document.root.text.split() == ["One", "two", "three"]


def test_a_paragraph_keeps_its_footnotes_over_a_package():
    [document] = read(rb"\begin{document}One\footnote{A note.}\usepackage{none} two.\end{document}", format="latex")
    assert "A note." in document.root.text


def test_a_command_that_its_author_changed_keeps_its_meaning_under_another_name():
    page = r"""\let\oldsection\section\renewcommand{\section}{\newpage\oldsection}\let\oldemph=\emph
    \renewcommand{\emph}[1]{\oldemph{#1!}}\section{One} \emph{a}\section*{Two} \let\emph\oldemph\emph{b}"""
    document = one(page, "latex")
    assert outline(document)[1:] == [(1, "One"), (1, "Two")]
    assert [section.text for section in document.root.children] == ["a!", "b"]


def test_a_long_document_may_use_more_macros():
    page = r"\newcommand{\boat}{keel}" + "\n" + "Of a boat the \\boat.\n" * 110_000
    assert one(page, "latex").root.text.count("keel") == 110_000


def test_programs_of_latex_3_in_macros_are_no_text():
    page = r"\NewDocumentCommand\seeref{m}{(\clist_map_inline:nn{#1}{\ref{##1}})}\section{A}\label{a} See \seeref{a}."
    assert text(one(page, "latex")).endswith("See 1.")


@pytest.mark.parametrize(
    "tex",
    r"""\addvspace{6mm} \enlargethispage*{1em} \needspace{2\baselineskip} \arabic{page} \counterwithin{figure}{chapter}
    \titleformat{\section}[block]{\bfseries}{\thesection}{1em}{}[x] \titleformat*{\section}{\bfseries}
    \titlespacing*{\section}{0pt}{2ex}{1ex}[0pt] \fancyhead[L]{Head} \lhead{Head} \sectionmark{Head} \looseness=-1
    \newgeometry{margin=1cm} \usefont{T1}{phv}{b}{n} \setkomafont{section}{\rmfamily} \apptocmd{\x}{y}{}{}
    \AtBeginEnvironment{x}{y} \hyphenpenalty=10 \advance\hsize@by@2cm \vskip@2pt@plus@1pt \vskip@0.3in
    \patchcmd{\x}{a}{b}{}{} \discretionary{-}{}{} \nolinenumbers \allowdisplaybreaks[1] \pagerange{\pageref{a}--9}
    \titlerunning{Boats} \line(1,0){250}""".split(),
)
def test_what_sets_the_page_is_no_text(tex):
    assert one(f"One\n{tex.replace('@', ' ')}\ntwo.", "latex").root.text.split() == ["One", "two."]


@pytest.mark.parametrize(
    ("tex", "said"),
    [
        (r"\NewDocumentCommand{\pear}{m O{ripe}}{#2 #1}\pear{fruit}, \pear{plum}[raw]", "ripe fruit, raw plum"),
        (
            r"\NewDocumentCommand\oar{s +m o}{#2\IfBooleanT{#1}{!}\IfValueTF{#3}{ (#3)}{.}}\oar{a} \oar*{b}[c]",
            "a. b! (c)",
        ),
        (r"\NewDocumentEnvironment{box}{m}{Box #1: }{.}\begin{box}{A}in\end{box}", "Box A: in."),
        (r"\NewEnviron{box}[1]{Box #1: \BODY.}\begin{box}{A}in\end{box}", "Box A: in."),
        (r"\NewEnviron{key}{}A.\begin{key}Of the teacher.\end{key} B.", "A. B."),  # environ's, without \BODY
        (r"\newcommand{\foo}{foo}\foo*", "foo*"),
        (r"\begin{tcolorbox}[colback=red,title={Key, point}]In it.\end{tcolorbox}", "Key, point\nIn it."),
        (r"\newtcolorbox{key}[1][Key]{title=#1}\begin{key}In it.\end{key}", "Key\nIn it."),
        (
            r"\begin{algorithmic}\Function{Boil}{$n$}\If{$n>1$}\State \Return \Call{Boil}{1}\Else\State $x$ \Comment{done}\EndIf\EndFunction"
            r"\end{algorithmic}",
            "function Boil($n$)\nif $n>1$ then\nreturn Boil(1)\nelse\n$x$ ▷ done\nend if\nend function",
        ),
        (r"\textbackslash begin, Bee et al.\@ of NASA\@. \hbox to 3cm{One}", r"\begin, Bee et al. of NASA. One"),
        (r"\num{3+-2}, see \cite<see>[p.~1]{bee} it.", "3 ± 2, see it."),
        (
            r"\newabbreviation{bb}{BB}{big boat}\gls{bb}, \gls{bb}\acrodefplural{bb}[BBs]{big boats}",
            "big boat (BB), BB",
        ),
        (r"$a$ if $b \text{ for $c_1$ or \$} d$", r"$a$ if $b \text{ for $c_1$ or \$} d$"),
        (r"\begin{empheq}[box=\fbox]{align}a_1\end{empheq}", "a_1"),
        (r"\tableofcontents[hideallsubsections]A\pause[2] B\againframe{c}", "A B"),
        (r"\begin{overlayarea}{\textwidth}{3cm}A\end{overlayarea}\includegraphics<2>[width=1cm]{b}", "A"),
        (r"\excludecomment{hint}\begin{hint}Not $this\end{hint}That.", "That."),
        (
            r"\algnewcommand\Input{\item[\textbf{Input:}]}\begin{algorithmic}\Input $n$\State $x$\end{algorithmic}",
            "Input: $n$\n$x$",
        ),
        (
            r"\begin{enumerate}[(i)]\item a\item b\label{b}\end{enumerate}\begin{enumerate}[nosep]\item c\label{c}"
            r"\end{enumerate}\ref{b}, \ref{c}",
            "a\nb\n\nc\n\n(ii), 1",
        ),
        (
            r"\newtcbtheorem[number within=section]{law}{Law}{colback=red}{th}\begin{law}{Hooke}{spring}It gives."
            r"\end{law}By \ref{th:spring}.\newmdtheoremenv[a=b]{fact}{Fact}\begin{fact}So.\end{fact}",
            "Law 0.1 (Hooke). It gives.\n\nBy 0.1.\n\nFact 1. So.",
        ),
        (
            r"10\textsuperscript{3} kg, 3\nicefrac{1}{2} cups, H\textsubscript{2}O, \sfrac{a+b}{2}",
            "10³ kg, 3 1/2 cups, H2O, (a+b)/2",
        ),
        (r"\NewDocumentCommand{\pear}{O{#2}m}{#1 and #2}\pear{a}, \pear[b]{a}", "a and a, b and a"),
        (
            r"\newglossaryentry{bb}{name=boat,description={a \emph{hull}},symbol={$b$}}\gls{bb}, \glsdesc{bb}, "
            r"\glsentrydesc{bb}, \glssymbol{bb}\longnewglossaryentry{o}{name=oar}{a blade}, \Glsdesc{o}",
            "boat, a hull, a hull, $b$, A blade",
        ),
        (
            r"Use \cs{num}\oarg{options}\marg{number} or \cmd{\ang}\parg{x} with \meta{an angle}.",
            r"Use \num[⟨options⟩]{⟨number⟩} or \ang(⟨x⟩) with ⟨an angle⟩.",
        ),
        (r"Now.\DescribeMacro{\oar}It rows.\DescribeEnv{boat} It floats.", "Now.\n\\oar It rows.\nboat It floats."),
        (r"\SI{3}{\um}, \SI{2}{\kohm}, \SI{4}{\km}", "3 µm, 2 kΩ, 4 km"),
        (r"{\fontspec{Latin Modern Mono} One}\glossary{two}, three\glossary(n){$n$}{a number}.", "One, three."),
        (
            r"\newcommand\pkg[1]{{\sffamily#1}}\newcommand{\two}[2]{\emph{#1}\quad#2\\#1}\pkg{boat}, \two{a}{3}",
            "boat, a 3\na",
        ),
        (r"\boatsetup{colour = {red}, title = {A \emph{Boat}}}It floats.", "It floats."),
        (r"{\allowdisplaybreaks\begin{align*}a_1\end{align*}}", "a_1"),
        (r"Boats\sidenote[][*1.8]{And ships.} float.", "Boats float.\n\nAnd ships."),
        (r"The keel\nomenclature[k]{$k$}{its length} bends.", "The keel bends.\n\n$k$: its length"),
        (r"\ifnumequal{1}{1}{One}{Two}, \ifnumequal{1}{2}{one}{two}, \ifdefempty{\x}{three}{four}", "One, two, four"),
        (r"\begin{tabbing}Oar \= \'a \\ Sail \> b\end{tabbing}r\=a", "Oar a\nSail b\n\nrā"),
        (r"\IEEEPARstart{T}{his} is it\hfill\textbf{now}", "This is it now"),
        (
            r"\begin{propo}[Hulls and keels]They float.\end{propo}\begin{plate}[!h tb]So.\end{plate}\begin{propo}[Keels]A\end{propo}\begin{box}[plain]B\end{box}",
            "Hulls and keels. They float.\n\nSo.\n\nKeels. A\n\nB",
        ),
    ],
)
def test_what_commands_of_packages_print(tex, said):
    assert one(tex, "latex").root.text == said


def test_addresses_in_a_bibliography_lead_outside():
    [document], _ = read_project(
        {
            "main.tex": r"\documentclass{article}\begin{document}See \cite{k}. \cref{sec:a,{sec:b}}\bibliography{refs}\end{document}",
            "refs.bib": r"@article{k, title={Old Pears}, url={https://z.example/a\_b\#c}}",
        },
        "main.tex",
    )
    assert [(kind, target) for kind, target, _ in links(document)] == [
        ("citation", "cite:k"),
        ("xref", "#sec:a"),
        ("xref", "#sec:b"),
        ("hyperlink", "https://z.example/a_b#c"),
    ]


def test_a_number_within_a_link_to_the_same_place_is_the_link():
    page = r"\section{One}\label{a}\hyperref[a]{Section~\ref*{a}} and \hyperref[a]{there}."
    document = one(page, "latex")
    assert text(document).endswith("Section 1 and there.")
    section = document.root.children[0]
    assert [section.text[link.start : link.end] for link in section.links] == ["1", "there"]


def test_signs_that_the_author_has_made_marks_of_code():
    page = "\\MakeShortVerb{\\|}Use |\\section{x}|\nor |a_b|,\none | alone.\n\\DeleteShortVerb{\\|}Now |\\emph{c}|."
    root = one(page, "latex").root
    assert root.text == r"Use \section{x} or a_b, one | alone. Now |c|."
    assert [root.text[mark.start : mark.end] for mark in root.marks if mark.kind == "code_span"] == [
        r"\section{x}",
        "a_b",
    ]


@pytest.mark.parametrize("name", ["ltxdoc", "ltxguide", "l3doc"])
def test_manuals_of_packages_write_code_between_bars(name):
    page = rf"\documentclass{{{name}}}[2020/01/01]\begin{{document}}Use |\boat{{x}}|, not \verb*|a|.\end{{document}}"
    assert one(page, "latex").root.text == r"Use \boat{x}, not a."
    assert one(page.replace(name, "article"), "latex").root.text == "Use |x|, not a."


def test_a_bibliography_by_natbib_has_no_words_of_its_preamble():
    page = r"""\begin{thebibliography}{1}\expandafter\ifx\csname urlstyle\endcsname\relax
\DeclareUrlCommand\path{\urlstyle{rm}}\providecommand{\doi}[1]{doi: #1}\else\providecommand{\doi}{doi: \begingroup \urlstyle{rm}\Url}\fi
\bibitem[Low(2000)]{low} Low. \newblock \doi{10.1/x}.\end{thebibliography}"""
    assert text(one(page, "latex")).endswith("References\nLow. doi: 10.1/x.")


def test_biblatex_s_bibliography_is_called_as_its_options_say():
    document = one(r"\section{A} b \printbibliography[heading=bibintoc,title={Works cited}]", "latex")
    assert [section.title for section in document.sections()][1:] == ["A", "Works cited"]
    page = r"\addbibresource{r.bib}\section{A}\cite{k}\section{Sources}\printbibliography[heading=none]"
    [document], _ = read_project({"m.tex": page, "r.bib": "@book{k, title={Boats}}"}, "m.tex")
    assert [(section.title, section.text) for section in document.root.children] == [("A", ""), ("Sources", "Boats.")]
    # In a preamble the command prints nothing.
    page = r"\section{A}\printbibliography[heading=none]\begin{document}b\end{document}"
    assert one(page, "latex").root.text == "b"


@pytest.mark.parametrize("unclosed", [r"\ref{keel", r"\footnote{See", r"\href{https://a.example", r"\newcommand{\x}{"])
def test_an_argument_that_does_not_close_ends_with_its_paragraph(unclosed):
    document = one(
        paper(rf"\section{{Boats}} One {unclosed} two.\n\nThree.\section{{Sails}} Four.".replace(r"\n", "\n")), "latex"
    )
    assert [section.title for section in document.root.children] == ["Boats", "Sails"]
    assert document.root.children[0].text.endswith("Three.")


def test_a_thesis_says_its_title_in_the_settings_of_its_class():
    body = r"\section{Hulls} They float."
    assert (
        one(paper(body, r"\boatsetup{zh / title = {Boats \& Sails}, title* = {B}}"), "latex").title == "Boats & Sails"
    )
    assert one(paper(body, r"\boatsetup{title={Boats}}\title{Sails}"), "latex").title == "Sails"


@pytest.mark.parametrize(
    "definition",
    [
        r"\newenvironment{slogan}{\comment}{\endcomment}",
        r"\newenvironment{slogan}{\begin{comment}}{\end{comment}}",
        r"\newenvironment{aside}{\comment}{\endcomment}\newenvironment{slogan}{\begin{aside}}{\end{aside}}",
        r"\newenvironment{slogan}{\begin{center}\begin{tikzpicture}}{\end{tikzpicture}\end{center}}",
        r"\excludecomment{slogan}",
    ],
)
def test_an_environment_made_of_one_that_is_not_read_ends_where_it_does(definition):
    page = definition + r"\section{One}Before. \begin{slogan}hidden\end{slogan} After.\section{Two}Text."
    document = one(page, "latex")
    assert outline(document)[1:] == [(1, "One"), (1, "Two")]
    assert [section.text for section in document.root.children] == ["Before. After.", "Text."]


@pytest.mark.parametrize("begins", [r"\verbatim", r"\begin{lstlisting}[language=C]", r"\begin{Verbatim}"])
def test_an_environment_made_of_code_ends_where_it_does(begins):
    page = rf"\newenvironment{{source}}{{{begins}}}{{}}\section{{One}}\begin{{source}}a & b\end{{source}} After."
    assert one(page, "latex").root.children[0].text == "a & b\n\nAfter."


@pytest.mark.parametrize("name", ["comment", "verbatim", "tikzpicture", "equation"])
def test_an_environment_without_an_end_is_closed_by_the_next_heading_and_told(name):
    source = Folder({"a.tex": f"\\section{{One}}\n\\begin{{{name}}}\nx\n\\section{{Two}}\nIron pans.\n"}).source(
        "a.tex"
    )
    [document] = LatexFormat().read(source, {})
    assert outline(document)[1:] == [(1, "One"), (1, "Two")]
    assert document.root.children[1].text == "Iron pans."
    assert source.warnings == [f"line 2: \\begin{{{name}}} has no end: it is read up to the next heading"]


CHAPTERS = {f"ch/{name}.tex": f"\\chapter{{{name.title()}}}Text of {name}." for name in ("one", "two", "three", "four")}


@pytest.mark.parametrize(
    "inputs",
    [
        r"\newcommand{\at}{ch}\input{\at/one}\include{\at/two}\import{\at/}{three}\input \at/four",
        r"\def\chap#1{\input{ch/#1}}\chap{one}\chap{two}\chap{three}\chap{four}",
        r"\newcommand{\at}{ch}\newcommand*{\chap}[2][\at]{\input{#1/#2.tex}}\chap{one}\chap{two}\chap{three}\chap[ch]{four}",
        r"\RequirePackage{house}\chap{one}\chap{two}\chap{three}\chap{four}",
        r"\input{house.sty}\let\add\chap\add{one}\add{two}\add{three}\add{four}",
        r"\foreach \name in {one, two, three, four} {\input{ch/\name}}",
        r"\foreach \name/\kind in {one/input, two/input, three/include, four} {\input{ch/\name}}",
        r"\newcommand{\top}{ch}\newcommand{\at}[1]{\top/#1}\input{\at{one}}\input{\at{two}}\input{\at{three}}\input{\at{four}}",
        r"\makeatletter\def\input@path{{other/}{ch/}}\makeatother\input{one}\input two \include{three}\input{four.tex}",
        r"\def\at{ch/}\input\at one \input\at two \IfFileExists{\at three}{\input{\at three}}{}\input\at four ",
    ],
)
def test_names_of_files_may_hold_macros(tmp_path, inputs):
    house = {"house.sty": r"\newcommand{\chap}[1]{\include{ch/#1}}"}
    main = {"main.tex": rf"\documentclass{{book}}\begin{{document}}{inputs}"}
    for name, content in {**CHAPTERS, **house, **main}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    [document] = read(tmp_path)
    assert [title for _, title in outline(document)[1:]] == ["One", "Two", "Three", "Four"]
    assert "ch/" not in text(document)


def test_names_of_bibliographies_and_of_code_may_hold_macros(tmp_path):
    names = r"\newcommand{\at}{in}\bibliography{\at/\jobname}\lstinputlisting{\at/pan.c}"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "main.bib").write_text("@book{pans, title = {The Iron Pan}, year = 1901}")
    (tmp_path / "in" / "pan.c").write_text("int pan;")
    (tmp_path / "main.tex").write_text(rf"\documentclass{{book}}\begin{{document}}\cite{{pans}}{names}\end{{document}}")
    [document] = read(tmp_path)
    assert "The Iron Pan. 1901." in text(document)
    assert "int pan;" in text(document)


def test_the_body_of_foreach_stands_once_for_each_of_its_list():
    page = r"\section{A}\foreach \n in {2,...,4}{pan \n; }\foreach \x in {iron,clay}{\foreach \y in {a,b}{\x\y\ }}"
    assert one(page, "latex").root.children[0].text == "pan 2; pan 3; pan 4; irona ironb claya clayb"
    years = r"\section{A}\foreach \y in {2029,...,2031}{\y; }\foreach \z in {1,...,99999999}{pan }here"
    source = Folder({"a.tex": years}).source("a.tex")
    [document] = LatexFormat().read(source, {})
    assert document.root.children[0].text == "2029; 2030; 2031; here"
    assert source.warnings == ["line 1: \\foreach repeats its text 100000 times: it is left out"]


def test_a_file_that_is_not_there_is_told_with_its_line():
    main = "\\documentclass{book}\\begin{document}\nText.\n\\input{missing}\\lstinputlisting{gone.c}\\bibliography{works}\n\\end{document}"
    documents, source = read_project({"main.tex": main}, "main.tex")
    assert len(documents) == 1
    told = ["\\input{missing}: not found: left out", "\\lstinputlisting{gone.c}: not found: left out"]
    assert [warning.partition(": ")[2] for warning in source.warnings[:2]] == told
    assert source.warnings[2:] == ["\\bibliography{works}: not found"]
    assert source.warnings[0].startswith("line 3: ")


def test_arguments_of_layout_are_no_text():
    page = r"""\section{A}\begin{textblock*}{5cm}[0.5,1](1cm,2cm)Corner.\end{textblock*}\begin{floatingfigure}[r]{4cm}Side.
\end{floatingfigure}\defcitealias{knuth}{Paper I}STRA\SS E \citetext{see \citealp{a}}"""
    assert one(page, "latex").root.children[0].text.split() == ["Corner.", "Side.", "STRASSE", "see"]


@pytest.mark.parametrize(
    "definition",
    [
        r"\let\sol\comment\let\endsol\endcomment",
        r"\def\sol{\comment}\def\endsol{\endcomment}",
        r"\newcommand\sol{\comment}\newcommand\endsol{\endcomment}",
        r"\excludeversion{sol}",
    ],
)
def test_an_environment_made_of_two_commands_hides_what_a_comment_does(definition):
    page = definition + r"\begin{document}\section{A}One.\begin{sol}hidden\end{sol}\section{B}Two.\end{document}"
    document = one(page, "latex")
    assert [(section.title, section.text) for section in document.sections()][1:] == [("A", "One."), ("B", "Two.")]


def test_a_file_that_is_there_is_taken_in_after_what_is_said_of_it(tmp_path):
    text = (
        r"\documentclass{article}\begin{document}\InputIfFileExists{oars}{Yes.}{No.} \InputIfFileExists{x}{Yes.}{No.}"
    )
    (tmp_path / "boat.tex").write_text(text + r"\end{document}")
    (tmp_path / "oars.tex").write_text("Of oars.")
    assert [document.root.text for document in read(tmp_path)] == ["Yes. Of oars. No."]
