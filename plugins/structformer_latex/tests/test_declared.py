"""Commands and environments that users declare: in a theme, or by pylatexenc's specs in a plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, VerbatimArgsParser
from structformer import Corpus, read
from structformer.cli.main import main
from structformer.errors import ReadError, UsageError
from structformer.plugins import hookimpl, load_plugins

from conftest import write_pages
from reading import links, one
from structformer_latex.declared import declared

PAGE = r"""\newcommand{\term}[1]{(#1)}
\begin{document}
\topic{Knots} Tie a \term{bowline}. \todo[inline]{Ask \term{Ann}}\fixme{Why?} \site{Ashley}{https://knots.org}
\begin{advice}Wet it.\end{advice}
\begin{boxed}[red]{Sheet bend}Join ropes.\end{boxed}
\begin{sketch}TODO draw\end{sketch}
\end{document}"""
THEME = r"""[macros]
term = '\emph{#1}'
topic = '\section{#1}'
site = '\href{#2}{#1}'
"todo fixme" = {arguments = "[{", text = ""}
[environments]
advice = "tip"
sketch = "comment"
boxed = {arguments = "[{", begin = '\begin{tip}\textbf{#2}\par ', end = '\end{tip}'}
"""
PLUGIN = """from pylatexenc.macrospec import EnvironmentSpec, MacroSpec
from structformer.plugins import hookimpl

@hookimpl
def structformer_latex_specs():
    return [MacroSpec("citeperson", "{[{"), EnvironmentSpec("boxed", "[{")]
"""


def run(*words: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code == 0


@pytest.fixture
def declaring() -> Iterator[Any]:
    """Have a plugin declare specs."""
    plugins: list[object] = []

    def declare(*specs: object) -> None:
        plugins.append(SimpleNamespace(structformer_latex_specs=hookimpl(lambda: list(specs))))
        load_plugins().manager.register(plugins[-1])
        declared.cache_clear()

    yield declare
    for plugin in plugins:
        load_plugins().manager.unregister(plugin)
    declared.cache_clear()


@pytest.mark.parametrize("file", ["acme.toml", "structformer.toml"])
def test_a_theme_says_what_commands_and_environments_are(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    theme = THEME if file == "acme.toml" else THEME.replace("[macros]", "[theme.macros]").replace("[env", "[theme.env")
    write_pages(tmp_path, {"docs/a.tex": PAGE, file: theme})
    run("ingest", "docs", "-w", "w", *(("--theme", file) if file == "acme.toml" else ()))
    document = Corpus.open(tmp_path / "w").document("a.tex")
    section = list(document.sections())[-1]
    assert section.text == "Tie a bowline. Ashley\n\nWet it.\n\nSheet bend\n\nJoin ropes."
    assert links(document) == [("hyperlink", "https://knots.org", "Ashley")]
    assert [mark.kind.value for mark in section.marks] == ["emphasis", "note", "note", "strong"]


def test_a_plugin_of_six_lines_declares_arguments(tmp_path):
    page = r"\citeperson{Ann}[1999]{Ashley} \begin{boxed}[red]{blue}Join ropes.\end{boxed}"
    information = "plugin/structformer_acme-1.dist-info"
    write_pages(
        tmp_path,
        {
            "docs/a.tex": page,
            "plugin/structformer_acme.py": PLUGIN,
            f"{information}/METADATA": "Metadata-Version: 2.1\nName: structformer-acme\nVersion: 1\n",
            f"{information}/entry_points.txt": "[structformer]\nacme = structformer_acme\n",
        },
    )
    path = os.pathsep.join([str(tmp_path / "plugin"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "structformer", "ingest", "docs", "-w", "w"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True)
    document = Corpus.open(tmp_path / "w").document("a.tex")
    assert (document.root.text, links(document)) == ("Ann Ashley\n\nJoin ropes.", [])


def test_specs_of_code_and_formulas(declaring):
    declaring(
        EnvironmentSpec("shell", VerbatimArgsParser("verbatim-environment")),
        EnvironmentSpec("law", is_math_mode=True),
        MacroSpec("cmd", VerbatimArgsParser("verbatim-macro")),
    )
    document = one("Run \\cmd|a{|.\n\\begin{shell}\nls {\n\\end{shell}\n\\begin{law}x=1\\end{law}", "latex")
    assert document.root.text == "Run a{.\n\nls {\n\nx=1"
    assert [mark.kind.value for mark in document.root.marks] == ["code_span", "code", "formula"]


def test_what_pylatexenc_knows_gives_arguments_and_words_around_citations_are_text():
    page = (
        r"\uebung{Knots}[difficult] \textsc{Ash}{ley} \citetext{see \citealp{a}} \mycite{compare \citep{b}} \mycite{c}"
    )
    document = one(page, "latex")
    assert document.root.text == "Knots Ashley see compare"
    assert [target for _, target, _ in links(document)] == ["cite:a", "cite:b", "cite:c"]


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        ("theme = 'x'", "theme is 'x': it must be a table"),
        ("macros = 'x'", "macros is 'x': it must be a table"),
        ("[macros]\nterm = 1", "macros: term is 1: write a text, or a table of texts: arguments, text"),
        ("[macros]\nterm = {txt = ''}", "macros: term is {'txt': ''}"),
        ("[macros]\nterm = {arguments = 'om'}", "arguments 'om': write \\* for a star"),
        ("[environments]\nbox = {arguments = '{', begin = '#2'}", "box: arguments '{'"),
    ],
)
def test_a_faulty_declaration_is_refused(theme, message):
    with pytest.raises(UsageError, match=message):
        list(read(b"Text", format="latex", theme=theme))


def test_a_plugin_that_returns_no_specs_costs_the_file_a_line(declaring):
    declaring("citetext")
    with pytest.raises(ReadError, match="a plugin's structformer_latex_specs failed"):
        list(read(b"Text", format="latex"))
