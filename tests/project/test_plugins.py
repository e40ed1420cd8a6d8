"""Third-party plugins: found by their entry points, and disabled alone when they fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from structformer.plugins import API_VERSION

from processes import structformer

GOOD = '''
import click
from structformer.formats.builder import TreeBuilder
from structformer.document import Source
from structformer.formats.link_names import path_candidates, path_names
from structformer.plugins import hookimpl
from structformer.sampling import Example, Task

class Outline:
    """Lines that begin with stars are headings, as many stars as their level."""
    name = "outline"
    suffixes = (".outline",)
    media_types = ("text/x-outline",)
    completeness = "complete: headings and lines"

    def sniff(self, head, path):
        return 0.9 if head.startswith(b"* ") else 0.0

    def read(self, source, options):
        if b"crash" in source.read():
            raise KeyError("a mistake of the plugin")
        builder = TreeBuilder()
        for line in source.read().decode().splitlines():
            stars = len(line) - len(line.lstrip("*"))
            if stars:
                builder.open_heading(stars)
                builder.text(line[stars:])
                builder.close_heading()
            else:
                builder.line()
                builder.text(line)
        document = builder.finish(Source(source.path, self.name))
        document.names = path_names(source.path)
        yield document

    def resolve(self, link, document):
        return path_candidates(document.source.path, link.target)

def titles(view, rng, census):
    yield Example("titles", (view.document.title,), (view.content(0),), view.document.id, (0,))

@hookimpl
def structformer_formats():
    return [Outline()]

@hookimpl
def structformer_tasks():
    return [Task("titles", titles, default=True)]

@hookimpl
def structformer_commands(app):
    app.add_command(click.Command("hello", help="Greet.", callback=lambda: click.echo("hello from a plugin")))
'''


def install(site: Path, name: str, code: str) -> None:
    """What pip leaves of a package with one module and an entry point."""
    (site / f"{name}.py").write_text(code)
    information = site / f"{name}-1.2.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (information / "entry_points.txt").write_text(f"[structformer]\n{name} = {name}\n")


@pytest.fixture
def run(tmp_path: Path):
    """Run structformer with a working and a broken plugin installed."""
    site = tmp_path / "site"
    site.mkdir()
    install(site, "outline_plugin", GOOD)
    install(site, "broken_plugin", "import a_module_that_is_not_there\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        return structformer(*arguments, env=environment, cwd=tmp_path)

    return call


def test_a_plugins_format_sampler_and_command_work_beside_a_broken_plugin(run, tmp_path):
    listed = run("plugins", "list").stdout
    assert "outline    outline_plugin 1.2  .outline" in listed
    assert "broken_plugin 1.2  disabled: ModuleNotFoundError: No module named 'a_module_that_is_not_there'" in listed
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.outline").write_text("* Top\nlead\n** Part\ntext of the part\n")
    (tmp_path / "docs" / "b.outline").write_text("* crash\n")
    (tmp_path / "docs" / "c.md").write_text("# C\n")
    ingested = run("ingest", "docs")
    assert ingested.returncode == 0, ingested.stderr
    assert "2 documents" in ingested.stdout
    assert "b.outline: the outline plugin failed (KeyError: 'a mistake of the plugin'): skipped" in ingested.stderr
    assert "h2 Part" in run("inspect", "a.outline").stdout
    assert "titles         2" in run("sample", "--tasks", "titles").stdout
    assert re.search(r"titles +2", run("sample").stdout), "drawn unasked, beside ours"
    assert run("hello").stdout == "hello from a plugin\n"
    assert re.search(r"hello +Greet\.", run("--help").stdout)
    assert run("helo").returncode == 2


def test_a_plugin_is_checked_in_all_that_it_supplies(run, tmp_path):
    (tmp_path / "a.outline").write_text("* Top\nlead\n** Part\ntext of the part\n")
    found = run("plugins", "check", "outline_plugin", "a.outline")
    assert found.returncode == 1  # its format fails on bytes that are no UTF-8
    assert "hostile_bytes_are_refused_in_words: a.outline: raises UnicodeDecodeError" in found.stdout
    assert "titles keeps all 4 rules on a small corpus" in found.stdout
    assert "hello keeps all 1 rules" in found.stdout
    as_json = json.loads(run("plugins", "check", "outline_plugin", "a.outline", "--json").stdout)
    assert [next(iter(each.items())) for each in as_json["checked"]] == [
        ("format", "outline"),
        ("task", "titles"),
        ("command", "hello"),
    ]
    assert run("plugins", "check", "titles").returncode == 0
    assert "nowhere.outline does not exist" in run("plugins", "check", "outline_plugin", "nowhere.outline").stderr


def test_a_plugin_for_a_newer_api_is_named_and_left_out(run, tmp_path):
    for name, stated in {"newer": API_VERSION + 1, "current": API_VERSION, "silent": None, "odd": "1.0"}.items():
        line = f"structformer_api = {stated!r}\n" if stated else ""
        code = GOOD.replace('"outline"', f'"{name}"').replace(".outline", f".{name}")
        code = code.replace('"titles"', f'"titles_{name}"').replace('"hello"', f'"hello-{name}"')
        install(tmp_path / "site", f"{name}_plugin", line + code)
    there = {
        plugin["name"]: plugin["error"] for plugin in json.loads(run("plugins", "list", "--json").stdout)["plugins"]
    }
    assert (there["current_plugin"], there["silent_plugin"]) == ("", "")
    needs = f"it needs plugin API {API_VERSION + 1}, this structformer has {API_VERSION}: install a newer one"
    assert there["newer_plugin"] == f"ValueError: {needs}"
    assert "structformer_api is '1.0', not a version of the plugin API" in there["odd_plugin"]
    assert run("hello-current").stdout == "hello from a plugin\n"
    assert run("hello-newer").returncode == 2


def test_the_check_of_a_disabled_plugin_says_why_it_is(run):
    found = run("plugins", "check", "broken_plugin")
    assert found.returncode == 2
    assert "the plugin broken_plugin is disabled: ModuleNotFoundError: No module named" in found.stderr
    missing = run("plugins", "check", "not_there").stderr
    assert (
        "no format, task, ranker, stage, search engine, site generator, command or plugin 'not_there' is installed"
        in missing
    )
