"""The rules for format plugins: kept by the first-party ones, and broken ones are caught."""

from __future__ import annotations

import os

import pytest
from structformer.document import Document, Link, LinkKind, Section, Source
from structformer.plugins import load_plugins

from processes import python
from structformer_devkit.formats import RULES, Sample, check_format

SAMPLES = {
    "asciidoc": "= One\n:a: b\n\nText https://e.org[x], <<two>> and *{a}*.\n\n[[two]]\n== Two\n\n* one\n+\n----\ncode <1>\n----\n\nterm:: said\n\n|===\n|a |b\n\n|1 |2\n|===\n",
    "markdown": "---\ntitle: T\n---\n# One\n\nText [a](b.md) and *more*.\n\n| a | b |\n|--|--|\n| 1 | [c](d) |\n\n## See also\n\n- [x](y.md)\n",
    "html": "<html lang=en><title>T</title><body><main><h1 id=a>One</h1><p>Text <a href=b.html>a</a>.</p><h2>Two</h2><pre>x\n  y</pre></main></body></html>",
    "wikitext": "Lead [[A|b]] ''i''.\n== One ==\n{| class=x\n! a !! b\n|}\n* [[C]] {{main|D}}\n=== Two ===\n<ref>[http://e.org x]</ref>\n== See also ==\n* [[E]]\n",
    "latex": "\\documentclass{article}\\newcommand{\\x}[1]{<#1>}\\begin{document}\\section{One}\\label{a} \\x{y} $a$ \\ref{a}\n\n\\subsection{Two} \\url{http://e.org}\\end{document}\n",
    "notebook": '{"metadata": {}, "cells": [{"cell_type": "markdown", "source": ["# One\\n", "\\n", "[a](b.md)"]}]}',
    "org": "#+TITLE: One\nText [[https://e.org][x]], [[*Two]] and *bold*.\n\n* TODO Two :tag:\n:PROPERTIES:\n:CUSTOM_ID: two\n:END:\n- one\n  #+begin_src sh\n  ls\n  #+end_src\n\n| a | b |\n|---+---|\n| 1 | 2 |\n",
    "records": '{"_id": "1", "title": "One", "text": "Text.\\n\\nMore."}\n{"_id": "2", "text": "Two", "url": "http://e.org/2"}\n',
    "rst": "One\n===\n\n.. _a:\n\nTwo\n---\n\nText `x <http://e.org>`_, :ref:`a`.\n\n.. seealso:: :doc:`b`\n",
    "xml": "<article><title>T</title><section id='a'><title>One</title><para>Text <link linkend='a'>x</link>.</para></section></article>\n",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_first_party_plugins_keep_every_rule(name):
    format = load_plugins().format(name)
    assert (
        check_format(format, [Sample("folder/sample" + (*format.suffixes, ".jsonl")[0], SAMPLES[name].encode())]) == []
    )


class Careless:
    """Breaks most rules there are."""

    name = "Careless"
    suffixes = (".CRL",)
    media_types = ()
    completeness = ""

    def __init__(self) -> None:
        self.reads = 0

    def sniff(self, head, path):
        return 7.0

    def read(self, source, options):
        if not source.read().startswith(b"fine"):
            raise KeyError("careless")
        self.reads += 1
        inner = Section("B", 1, "text", links=[Link(LinkKind.HYPERLINK, "t", "other", 0, 3)])
        root = Section("A", 3, "text\n", children=[Section("", 2, children=[inner])])
        yield Document(f"elsewhere{self.reads}", "A", root, Source("x", "y"), metadata={"a": (1, 2)})

    def resolve(self, link, document):
        yield 3


def test_every_rule_catches_who_breaks_it():
    broken = {each.rule for each in check_format(Careless(), [Sample("folder/s.crl", b"fine\nlines")])}
    assert broken == set(RULES) - {"line_ends_do_not_matter"}


def test_commands_that_are_imported_when_they_run_are_checked_with_their_plugin(run):
    assert "export keeps all 1 rules" in run("plugins", "check", "exports").out


def test_tasks_that_need_more_than_a_small_corpus_are_not_said_to_break_a_rule(run):
    for name in ("rqp", "rop"):  # a model's attention; the words of the whole collection
        checked = run("plugins", "check", name)
        assert (checked.code, f"the task {name} asks a model or all pages" in checked.out + checked.err) == (0, True)
    for name in ("ict", "ltm"):  # the second contrasts no pages that are nearly the same
        assert f"{name} keeps all 4 rules" in run("plugins", "check", name).out


def test_a_new_plugin_works_at_once_and_passes_its_own_tests(tmp_path):
    def run(*command: object, code: int = 0, **environment: str) -> str:
        done = python("-m", *command, cwd=tmp_path, env={**os.environ, **environment})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    # Without the plugins of the packages that the tests' environment has beside, which take longer to load than the tests.
    pytest_alone = ("pytest", "-q", *"-p no:langsmith_plugin -p no:schemathesis -p no:anyio".split())
    assert "structformer_textile/format.py" in run("structformer", "plugins", "new", "textile")
    assert "is there already" in run("structformer", "plugins", "new", "textile", code=2)
    assert "lower-case word" in run("structformer", "plugins", "new", "Ascii Doc", code=2)
    package = tmp_path / "structformer-textile"
    run(*pytest_alone, package, PYTHONPATH=str(package))
    # What pip leaves of it: the entry point by which it is found.
    information = package / "structformer_textile-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: structformer-textile\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text("[structformer]\ntextile = structformer_textile\n")
    shown = run("structformer", "plugins", "check", "textile", package / "tests" / "samples", PYTHONPATH=str(package))
    assert "textile keeps all 8 rules on 1 samples" in shown
    by_pytest = run(
        *pytest_alone,
        "--structformer-format",
        "textile",
        "--structformer-samples",
        package / "tests" / "samples",
        package,
        PYTHONPATH=str(package),
    )
    assert "11 passed" in by_pytest
    assert "does not exist" in run("structformer", "plugins", "check", "markdown", "nowhere.md", code=2)
