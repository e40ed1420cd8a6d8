"""The documentation does what it says: its commands exist, its tutorial runs, its links lead somewhere, its own questions are answered."""

from __future__ import annotations

import ast
import configparser
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import click
import pytest
import structformer
import yaml
from bs4 import BeautifulSoup
from structformer.cli.main import app
from structformer.evaluation import Evaluation, Judgements
from structformer.plugins import load_plugins
from structformer.retrieval.curated import read_curated
from structformer.retrieval.pipeline import as_pipeline
from structformer.training import train_ranker

from boats import TINY, boats
from conftest import write_pages
from processes import program, python
from structformer_exports import sphinx
from structformer_lab.experiment import read_experiment
from structformer_lab.pretraining.corpora import read_list
from structformer_serve.http.access import read_tokens

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# Blocks that are not run, by their language: why. What is written in them is read by other programs.
NOT_RUN = {
    "": "commands, which are parsed above; they would train, fetch and serve",
    "html": "needs a browser and a server; plugins/structformer_serve/tests/test_box_targets.py has the box",
    "js": "needs DocSearch's own package and a browser; plugins/structformer_serve/tests/test_serving.py asks in its form",
    "{eval-rst}": "directives of the site, which `make docs` runs without a warning",
    "{toctree}": "a directive of the site, as above",
    "{glossary}": "a directive of the site, as above",
    "{command-reference}": "a directive of the site, as above",
    "{package-names}": "a directive of the site, as above",
    "{code-cell}": "a notebook, which `make docs` runs",
}
# Pages that are run elsewhere, as a whole.
RUN_AS_A_WHOLE = {
    "README.md": "test_the_example_in_the_readme_runs",
    "docs/tutorial.md": "test_the_tutorial_runs_from_its_first_line_to_its_last",
    "docs/contributing.md": "tests/project/test_extending.py",
}
# What a block says that a test cannot have, with what takes its place.
SMALLER = {
    "TrainingOptions(max_seconds=300)": 'TrainingOptions(base_model="scratch", size="tiny", max_steps=2)',  # five minutes
    "undo a commit": "clean the anchor",  # the pages here are about boats
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each block of code."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(page: Path) -> list[list[str]]:
    """What follows `structformer` on each line of a page's blocks that calls it."""
    found = []
    for language, text in blocks(page):
        if language in ("", "sh", "bash"):
            for line in re.sub(r"\\\n", " ", text).splitlines():
                calls = re.split(r"\s(?:&&|\||;)\s", line.removeprefix("$ "))
                found += [shlex.split(each, comments=True)[1:] for each in calls if each.startswith("structformer ")]
    return found


def parsed(words: list[str]) -> None:
    """Raises click's error on a command or an option that is not there."""
    group, context = app, click.Context(app, info_name="structformer")
    while isinstance(group, click.Group):
        name, command, words = group.resolve_command(context, words)
        context = click.Context(command, info_name=name, parent=context)
        group = command
    group.make_parser(context).parse_args(words)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_command_in_the_documentation_exists_with_its_options(page):
    for words in commands(page):
        try:
            parsed(words)
        except click.UsageError as error:
            pytest.fail(f"structformer {shlex.join(words)}: {error.message}")


def test_a_command_that_does_not_exist_would_be_noticed():
    parsed(["search", "how", "-k", "3"])
    with pytest.raises(click.UsageError):
        parsed(["search", "how", "--limit", "3"])


def tutorial_holds(folder: Path, programs: Path, environment: dict[str, str]) -> None:
    """Runs the tutorial in a folder with the programs of an installation. What a step prints is what the page shows, but
    for what a slow machine says meanwhile, and for the next step, which depends on what is installed.
    """
    steps, shown, step = ["set -e"], {}, 0
    for language, text in blocks(DOCS / "tutorial.md"):
        if language in ("sh", "python"):
            step += 1
            steps += [f"echo STEP {step}", f"python - <<'PYTHON'\n{text}PYTHON" if language == "python" else text]
        elif language == "text":
            shown[step] = text
    (folder / "steps.sh").write_text("\n".join(steps))
    done = subprocess.run(
        ["bash", "steps.sh"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environment, "PATH": os.pathsep.join([str(programs), environment["PATH"]])},
        check=False,
    )
    assert done.returncode == 0, done.stdout
    said = re.split(r"^STEP \d+\n", done.stdout.replace(f"{folder}/", ""), flags=re.MULTILINE)
    assert len(shown) >= 5
    for number, text in shown.items():
        printed = re.sub(r"^.* s so far\n", "", said[number], flags=re.MULTILINE)
        assert printed.partition("\nnext: ")[0] == text
    assert "Knots > Bowline" in done.stdout
    assert "Sails > Lowering" in done.stdout  # the section that was written and read later
    assert (folder / "search-page" / "index.html").exists()


@pytest.mark.slow
def test_the_tutorial_runs_from_its_first_line_to_its_last(tmp_path):
    """In the tests' environment, which needs no index of packages; test_released.py begins with an empty one."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    tutorial_holds(tmp_path, program(tmp_path / "programs" / "structformer").parent, {**os.environ, "PATH": path})


def written(language: str) -> list[tuple[str, str]]:
    """The blocks in a language that no page is run for as a whole, each with the page that has it."""
    pages = [(str(page.relative_to(ROOT)), page) for page in PAGES]
    return [
        (name, text)
        for name, page in pages
        if name not in RUN_AS_A_WHOLE
        for kind, text in blocks(page)
        if kind == language
    ]


def of(language: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("page", "text"), written(language), ids=[page for page, _ in written(language)])


def test_every_block_of_code_is_run_or_parsed_or_says_why_not():
    run = {"python", "toml", "json", "ini", "yaml"}
    kinds = {
        kind.partition(" ")[0]
        for page in PAGES
        for kind, _ in blocks(page)
        if str(page.relative_to(ROOT)) not in RUN_AS_A_WHOLE
    }
    assert kinds == run | NOT_RUN.keys()


@pytest.fixture(scope="module")
def boats_searched(tmp_path_factory) -> Path:
    """A folder with the pages `docs`, a workspace of them that is indexed, and in it the cross-encoder `ce`."""
    folder = tmp_path_factory.mktemp("examples")
    boats(folder)
    (folder / "pages").rename(folder / "docs")
    (folder / "w").rename(folder / "workspace")
    structformer.index(folder / "workspace", encoders=["structure"])
    train_ranker(structformer.Workspace(folder / "workspace"), replace(TINY, ranker="cross-encoder", name="ce"))
    return folder


@of("python")
def test_the_python_of_a_page_runs(page, text, boats_searched, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(boats_searched / "docs", "docs")
    if "structformer.ingest(" not in text:
        shutil.copytree(boats_searched / "workspace", "workspace")
    for said, instead in SMALLER.items():
        text = text.replace(said, instead)
    names: dict[str, Any] = {}
    exec(compile(text, page, "exec"), names)
    if "hits" in names:
        assert names["hits"]
        assert isinstance(names["hits"], structformer.Hits)
    elif "document" in names:  # one that is given as text
        assert "knots" in structformer.Corpus.open("workspace").document_ids()
    elif "extensions" in names:  # a conf.py
        settings = {name for name in names if name.startswith("structformer_")}
        added = set()
        app = SimpleNamespace(add_config_value=lambda name, *_: added.add(name), connect=lambda *_: None)
        [extension] = names["extensions"]
        importlib.import_module(extension).setup(app)
        assert settings <= added
    elif "structformer_html_page" in names:
        soup = BeautifulSoup("<p>Text</p><div class=acme-rail>Rail</div>", "lxml")
        names["structformer_html_page"](soup, None)
        assert soup.text == "Text"
    elif "structformer_latex_specs" in names:
        assert [spec.args_parser.argspec for spec in names["structformer_latex_specs"]()] == ["{[{", "[{"]
    else:  # a plugin
        assert [task.name for task in names["structformer_tasks"]()] == ["opening"]


@of("toml")
def test_the_toml_of_a_page_means_something(page, text, tmp_path, run):
    file = tmp_path / "example.toml"
    file.write_text(text, encoding="utf-8")
    value = tomllib.loads(text)
    if "stages" in value:
        assert as_pipeline(str(file)) == as_pipeline('lexical[k=200] >> rerank("models/ce")[k=50]')
    elif "rows" in value:
        assert read_experiment(str(file)).rows[0].label == "BM25"
    elif "tokens" in value:
        assert len(read_tokens(file).by_token) == 2
    elif "corpus" in value:
        assert [each.name for each in read_list(file)] == ["example", "handbook"]
    elif "content" in value:
        assert load_plugins().theme(text).html.pages[0].content == value["content"]
    elif "roles" in value:
        assert load_plugins().theme(text).roles == dict.fromkeys(("acme-func", "acme-call"), "func")
    elif "macros" in value:
        [document] = structformer.read(rb"\term{Knot}\todo{it}", format="latex", theme=text)
        assert document.root.text == "Knot"
    elif "pins" in value:
        assert read_curated(file).expanded("k8s") == "k8s kubernetes"
    else:  # options, which every command takes that has a table: it then looks where the file says
        for command in [name for name, table in value.items() if isinstance(table, dict)]:
            assert value["workspace"] in run(command, "--config", file).err


@of("json")
def test_the_json_of_a_page_starts_what_is_there(page, text):
    [server] = json.loads(text)["mcpServers"].values()
    assert server["command"] == "structformer"
    parsed(server["args"])


@of("yaml")
def test_the_workflows_of_a_page_run_what_is_there(page, text):
    workflow = yaml.safe_load(text)
    steps = workflow if isinstance(workflow, list) else workflow["jobs"]["docs"]["steps"]
    for step in steps:
        if step.get("run", "").startswith("structformer "):
            parsed(shlex.split(step["run"])[1:])
        if "search-check" in step.get("uses", ""):
            action = yaml.safe_load((ROOT / ".github/actions/search-check/action.yml").read_text(encoding="utf-8"))
            assert step["with"].keys() <= action["inputs"].keys()


@of("ini")
def test_the_units_of_a_page_start_what_is_there(page, text):
    units = configparser.ConfigParser()
    units.read_string(text)
    assert units["Socket"]["ListenStream"] == "8765"
    parsed(shlex.split(units["Service"]["ExecStart"])[1:])


def test_the_example_in_the_readme_runs(tmp_path):
    write_pages(
        tmp_path / "docs",
        {"undo.md": "# Undo\n\n## Undo a commit\n\nRevert the commit, or reset to the one before it.\n"},
    )
    [code] = [text for language, text in blocks(ROOT / "README.md") if language == "python"]
    code = code.replace('structformer.index("workspace")', 'structformer.index("workspace", encoders=["structure"])', 1)
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "undo.md#undo-a-commit" in done.stdout


def test_the_readme_opens_with_what_it_is_for_whom_and_three_commands():
    first, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("![")
    assert "It is for " in first
    assert len(first.split("```")[1].strip().splitlines()) == 3
    assert rest.index("make demo") < rest.index("make test")


def test_every_public_name_is_on_the_page_of_the_python_api():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:auto\w+:: |`)structformer\.(\w+)", page))
    assert set(structformer.__all__) <= named
    directives = re.findall(r"auto(\w+):: structformer\.(\w+)", page)
    for directive, name in directives:
        kind = type(getattr(structformer, name))
        assert (directive == "function") == (kind is FunctionType), name
    assert len(directives) == len({name for _, name in directives})


@pytest.fixture(scope="module")
def documentation(tmp_path_factory) -> Path:
    """A workspace of this documentation, searched by words and by what was learned from it: no torch."""
    workspace = tmp_path_factory.mktemp("documentation") / "workspace"
    structformer.ingest(DOCS, workspace, format="markdown")
    structformer.index(workspace, encoders=["structure"])
    return workspace


def answered(workspace: Path) -> Evaluation:
    """docs/questions.tsv: a question, and the pages that answer it."""
    rows = [line.split("\t") for line in (DOCS / "questions.tsv").read_text(encoding="utf-8").splitlines()]
    judgements = Judgements(
        {str(number): question for number, (question, _) in enumerate(rows)},
        {str(number): dict.fromkeys(pages.split(), 1) for number, (_, pages) in enumerate(rows)},
    )
    return structformer.evaluate(
        workspace, judgements, pipelines=["lexical", "hybrid:structure"], measures=["nDCG@10", "Success@3"]
    )


def test_the_documentation_answers_its_sixty_questions(documentation):
    compared = answered(documentation)
    assert compared.queries == 60
    assert compared.unknown_documents == []
    words, both = compared.rows
    assert both.scores["nDCG@10"] >= 0.74  # measured: 0.796, words alone 0.738
    assert both.scores["nDCG@10"] > words.scores["nDCG@10"]


def test_no_link_in_the_documentation_is_dead(documentation, run):
    checked = run("graph", "check", "-w", documentation)
    assert checked.code == 0, checked.out


def test_the_files_that_contributors_are_sent_to_are_there():
    named = re.findall(r"`([\w/]+/[\w/]*(?:\.py)?)`", (DOCS / "contributing.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    for path in named:
        assert "NAME" in path or (ROOT / path).exists() or (ROOT / "structformer" / path).exists(), path


def test_the_pictures_show_the_page_of_today():
    """By a digest of the templates and styles, which is kept beside the pictures."""
    spec = importlib.util.spec_from_file_location("make_pictures", DOCS / "images" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    assert make.DIGEST.read_text().strip() == make.digest(), "run python docs/images/make.py, and look at the pictures"
    shown = {name for page in PAGES for name in re.findall(r"images/([\w-]+)\.png", page.read_text(encoding="utf-8"))}
    assert shown == set(make.SHOTS) == {path.stem for path in (DOCS / "images").glob("*.png")}


def test_a_built_site_gets_a_search_without_a_server(tmp_path):
    page = "<html><head><title>{0}</title></head><body><main><h1 id='top'>{0}</h1><p>{1}</p></main></body></html>"
    write_pages(
        tmp_path,
        {
            "knots.html": page.format("Knots", "The bowline makes a loop that does not slip under load."),
            "parts/sails.html": page.format("Sails", "Reefing makes a sail smaller in strong wind."),
            "genindex.html": page.format("Index", "bowline, sail"),
        },
    )
    built = SimpleNamespace(
        config=SimpleNamespace(structformer_static=True, html_title="Boats", project="boats"),
        builder=SimpleNamespace(format="html", search=True),
        outdir=str(tmp_path),
    )
    sphinx._leave_out_own_search(built)
    context = {"pathto": lambda name, resource=False: f"../{name}" if resource else f"../{name}.html"}
    sphinx._lead_to_search(built, "parts/sails", "page.html", context, None)
    sphinx._add_search(built, None)
    assert built.builder.search is False
    assert context["pathto"]("search") == "../structformer-search/index.html"
    assert context["pathto"]("knots") == "../knots.html"
    folder = tmp_path / "structformer-search"
    assert '"title":"Boats"' in (folder / "meta.json").read_text()
    pages = (folder / "d" / "0.json").read_text()
    assert '"../parts/sails.html"' in pages
    assert "genindex" not in pages
    sphinx._add_search(built, None)  # built again over the same folder
    assert (folder / "index.html").exists()


# Turns that a native technical writer would not use, with what to write instead.
BANNED = {
    r"; there (?:are|is)\b": "choose from:, or begin a sentence",
    r"(?<![Tt]here )\b(?:is|are) no [a-z]": "is not a ..., or has no ...",
    r"\btold (?:of|by|after)\b": "reported, recognised",
    r"\bgone on with\b": "resumes",
    r"\b(?:is|are) to be had\b": "exists, is available",
    r"(?<!as it )(?<!as they )\bstands?\b(?! (?:alone|for|by|out|off|side)\b|-in)": "is, occurs, follows",
    r"\bstood\b": "was",
    r"\breached by\b": "answers to",
    r"\bwhat it is (?:that|which)\b": "what",
}
SOURCES = [
    path
    for folder in ("structformer", "plugins")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "tests" not in path.relative_to(ROOT).parts
]
WIDTH = 100  # of a line of prose; a table, a block of code or one long link may be wider


def helps(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Every help text of a command and of those below it, with where it is shown."""
    found = [(context.command_path, command.help or "")]
    found += [
        (f"{context.command_path} {option.opts[0]}", option.help or "")
        for option in command.params
        if isinstance(option, click.Option)
    ]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found += helps(below, click.Context(below, info_name=name, parent=context))
    return found


def turns(where: str, text: str) -> list[str]:
    """The banned turns of a text, each with its place and what to write instead."""
    text = " ".join(re.sub(r"```.*?```|`[^`]*`", " ", text, flags=re.DOTALL).split())
    return [
        f"{where}: ...{text[max(0, match.start() - 40) : match.end() + 20]!r}: write {better!r}"
        for pattern, better in BANNED.items()
        for match in re.finditer(pattern, text)
    ]


def test_the_documentation_has_none_of_the_banned_turns():
    found = [turn for page in PAGES for turn in turns(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_the_help_has_none_of_the_banned_turns():
    found = [
        turn for where, text in helps(app, click.Context(app, info_name="structformer")) for turn in turns(where, text)
    ]
    assert not found, "\n".join(found)


def test_a_banned_turn_would_be_noticed():
    assert turns("here", "no stage x; there are: a, b\nA run that was killed is gone on with.")
    assert not turns("here", "A sentence that stands alone, on a stand-in; `it stands`.")


def private_docstrings(tree: ast.AST) -> set[ast.expr]:
    """What is written for those who read the code: docstrings of names that begin with an underscore, and within."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and re.match(r"_(?!_)", node.name):
            inner = [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef | ast.ClassDef)]
            found |= {each.body[0].value for each in inner if isinstance(each.body[0], ast.Expr)}
    return found


def sentences(source: str) -> list[tuple[int, str]]:
    """The texts of a module that somebody may read, each with its line: messages, help and public docstrings."""
    tree = ast.parse(source)
    inserted = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    passed_over = private_docstrings(tree) | inserted
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            found.append((node.lineno, "".join(map(str, parts))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed_over:
            found.append((node.lineno, node.value))
    return found


@pytest.mark.parametrize("folder", ["structformer", "plugins"])
def test_messages_and_public_docstrings_have_none_of_the_banned_turns(folder):
    found = [
        turn
        for path in SOURCES
        if path.is_relative_to(ROOT / folder)
        for line, text in sentences(path.read_text(encoding="utf-8"))
        for turn in turns(f"{path.relative_to(ROOT)}:{line}", text)
    ]
    assert not found, "\n".join(found)


def test_a_banned_turn_in_a_message_or_a_public_docstring_would_be_noticed():
    source = '''
def find(kind):
    """What stands here."""
    raise UsageError(f"{kind!r} is no kind; there are others")


def _inner():
    """What stands here."""
'''
    assert [line for line, text in sentences(source) for _ in turns("here", text)] == [3, 4, 4]


def wide_lines(text: str) -> list[int]:
    """The lines of prose of a page that are too wide. Tables, code and what cannot be broken may be."""
    text = re.sub(
        r"^( *)(```|~~~).*?^\1\2", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE
    )
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > WIDTH
        and not line.lstrip().startswith(("|", "!", "#", "<"))
        and not line.startswith("    ")
        and " " in re.sub(r"`[^`]*`|\]\([^)]*\)", "x", line.strip().removeprefix("- "))
    ]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_prose_is_wrapped(page):
    assert wide_lines(page.read_text(encoding="utf-8")) == []


def test_a_wide_line_would_be_noticed():
    wide = "a word and " * 10
    assert wide_lines(f"Short.\n\n{wide}\n| {wide} |\n```\n{wide}\n```\n- {wide}\n") == [3, 8]
