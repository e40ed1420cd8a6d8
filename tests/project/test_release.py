"""What is released: the wheel, its licences, the files for the forge and for containers, and what older workspaces meet."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from email import message_from_string
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from structformer._version import __version__
from structformer.storage.files import fast_digest, read_json, write_json
from structformer.storage.seal import SEAL

from conftest import write_pages

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RESEARCH = {f"structformer_{name}" for name in ("agent", "kernels", "lab", "papers", "webformer")}
MOST_BYTES, MOST_BYTES_OF_DATA = 1_500_000, 128_000  # docs/design.md says why
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORGE = [
    *(ROOT / ".github").rglob("*.yml"),
    ROOT / ".pre-commit-config.yaml",
    ROOT / "CITATION.cff",
    *(ROOT / "deploy").glob("*.yaml"),
]


def script(name: str) -> ModuleType:
    """A script of .ci as a module."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(folder: Path, project: Path = ROOT) -> Path:
    """A project's wheel, built in a process of its own: the build begins in the project's folder."""
    pytest.importorskip("hatchling")
    folder.mkdir()
    code = f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"
    environment = {"SOURCE_DATE_EPOCH": "1700000000", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], cwd=project, env=environment, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel") / "dist")


# -- the wheel -------------------------------------------------------------------------------------------------------


def test_the_wheel_is_small_and_holds_the_packages_alone(wheel):
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        metadata = message_from_string(opened.read(f"structformer-{__version__}.dist-info/METADATA").decode())
        sizes = {each.filename: each.compress_size for each in opened.infolist()}
    # Nothing but code grows: its words, templates and pages stay small beside it.
    assert sum(size for name, size in sizes.items() if not name.endswith((".py", "RECORD"))) < MOST_BYTES_OF_DATA
    plugins = {path.name for path in (ROOT / "plugins").glob("structformer_*")}
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"structformer", f"structformer-{__version__}.dist-info", *(plugins - RESEARCH)}
    assert not [name for name in names if re.search(r"/tests?/|/test_|__pycache__|\.py[co]$|conftest|~$", name)]
    assert {"structformer/py.typed", "structformer_demo/command.py", "structformer/recipes/docs.toml"} <= set(names)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert f"structformer-{__version__}.dist-info/licenses/LICENSE" in names


def test_research_is_a_wheel_of_its_own(wheel, tmp_path):
    """An installation for a documentation has neither its code nor its commands; a checkout has both."""
    with zipfile.ZipFile(built(tmp_path / "research", ROOT / "plugins")) as opened:
        tops = {name.partition("/")[0] for name in opened.namelist()}
        [metadata] = [name for name in opened.namelist() if name.endswith("METADATA")]
        assert f"Requires-Dist: structformer=={__version__}\n" in opened.read(metadata).decode()
        assert not [name for name in opened.namelist() if "/tests/" in name]
        assert "structformer_papers/recipes/bprop.toml" in opened.namelist()
    assert {top for top in tops if "dist-info" not in top} == RESEARCH
    with zipfile.ZipFile(wheel) as opened:
        [entry_points] = [name for name in opened.namelist() if name.endswith("entry_points.txt")]
        assert not [name for name in RESEARCH if name in opened.read(entry_points).decode()]
    assert (ROOT / "plugins" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_two_builds_are_the_same_bytes(wheel, tmp_path):
    assert built(tmp_path / "again").read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_wheel_alone_makes_a_search(wheel, tmp_path):
    """As `uvx` and `pipx run` do it: an environment of its own, the wheel from a local folder."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = next(
        path for path in (environment / "bin" / "python", environment / "Scripts" / "python.exe") if path.exists()
    )
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--find-links", wheel.parent, "structformer"],
        check=True,
    )
    # The dependencies are those of the tests' environment; structformer itself comes from the wheel.
    site = next(each for each in sys.path if each.endswith("site-packages"))
    own = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    (Path(own.stdout.strip()) / "dependencies.pth").write_text(site + "\n")
    where = subprocess.run(
        [python, "-c", "import structformer; print(structformer.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(environment) in where.stdout
    made = subprocess.run(
        [python, "-m", "structformer", "demo", "--pages", "12", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["pages"] == 12


def test_the_demo_reads_what_is_installed_and_asks_what_no_page_repeats(run, tmp_path):
    made = run("demo", "--pages", 8, "--folder", tmp_path / "demo", "--json")
    assert made.code == 0, made.err
    documents = list((tmp_path / "demo" / "documents").glob("*.*"))
    assert made.json["pages"] == 8
    rows = made.json["report"]["results"][0]["rows"]
    assert [row["pipeline"] for row in rows] == ["lexical", "hybrid:structure"]
    for line in (tmp_path / "demo" / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        page = next(path for path in documents if path.stem == query["_id"])
        assert query["text"] not in page.read_text(encoding="utf-8")


def test_nothing_is_opened_in_the_platforms_own_encoding():
    """On Windows a text file without an encoding is not read as UTF-8."""
    paths = [*(ROOT / "structformer").rglob("*.py"), *(ROOT / "plugins").glob("*/*.py")]
    wrong = {
        path.relative_to(ROOT).as_posix()
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _in_platform_encoding(node)
    }
    assert not wrong
    assert _in_platform_encoding(ast.parse("x.write_text(y)").body[0].value)
    assert _in_platform_encoding(ast.parse("x.open('a')").body[0].value)
    assert not _in_platform_encoding(ast.parse("x.write_text(y, encoding='utf-8')").body[0].value)


def _in_platform_encoding(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or any(each.arg == "encoding" for each in call.keywords):
        return False
    if ast.unparse(call.func.value) == "formatter":  # of click: it writes no file
        return False
    if call.func.attr == "open":  # of a path, in a mode for text
        return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value in ("r", "w", "a", "x")
    return (call.func.attr, len(call.args)) in (("read_text", 0), ("write_text", 0), ("write_text", 1))


# -- licences --------------------------------------------------------------------------------------------------------


def test_every_dependency_is_listed_with_its_licence():
    listed = dict(
        re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|", (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    there = script("third_party").rows()
    assert {name: listed.get(name) for name in there} == {name: terms for name, (terms, _) in there.items()}
    assert "not stated" not in listed.values()


def test_what_every_installation_brings_has_no_copyleft():
    for name, (terms, by) in script("third_party").rows().items():
        if by == "every installation" and name != "docutils":
            assert "GPL" not in terms, name


# -- the forge -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORGE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_for_the_forge_can_be_read(path):
    assert [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if isinstance(each, dict)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_is_there_with_few_rights(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake (\w+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    extras = {extra for each in re.findall(r"\)\[([a-z,-]+)\]", text) for extra in each.split(",")}
    assert extras <= set(PROJECT["optional-dependencies"])
    for job in workflow["jobs"].values():
        assert job.get("timeout-minutes") or "needs" in job  # what hangs is ended
        ran = "\n".join(step.get("run", "") for step in job["steps"])
        ran += "".join(rule_of(makefile, target) for target in re.findall(r"\bmake (\w+)", ran))
        uploads = [step for step in job["steps"] if "/upload-" in step.get("uses", "")]
        for written in (each for step in uploads for each in step["with"]["path"].split()):
            assert re.search(rf"(?<![\w/.]){re.escape(written.rstrip('/'))}(?![\w.])", ran), written


def rule_of(makefile: str, target: str) -> str:
    """The commands that make runs for a target."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert found is not None
    return found[1]


def test_versions_that_are_tested_are_those_that_are_promised():
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]["wheel"][
        "strategy"
    ]["matrix"]
    promised = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each]
    assert matrix["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_one_version_is_named_everywhere():
    server = read_json(ROOT / "deploy" / "server.json")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {server["version"], server["packages"][0]["version"], str(citation["version"])} == {__version__}
    assert server["packages"][0]["runtimeArguments"][0]["value"] == f"structformer[serve]=={__version__}"
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    pinned = re.search(r"^ruff==(.*)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert pinned is not None
    assert hooks[0]["rev"] == f"v{pinned[1]}"


def test_one_command_writes_the_next_version_everywhere(tmp_path):
    release = script("release")
    names = {*release.PLACES, *release.OWNED, "CHANGELOG.md"}
    write_pages(tmp_path, {name: (ROOT / name).read_text(encoding="utf-8") for name in names})
    release.prepare("7.8.9rc1", "2030-01-02", "acme", tmp_path)
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}
    assert "\n## 7.8.9rc1 (2030-01-02)\n" in texts.pop("CHANGELOG.md")
    for name, text in texts.items():
        assert "OWNER" not in text, name
        assert not re.search(rf"(?<!minilm-l6-v2==){re.escape(__version__)}(?![\d.])", text), name
    assert texts["deploy/server.json"].count("7.8.9rc1") == 3
    assert '"name": "io.github.acme/structformer"' in texts["deploy/server.json"]
    assert 'Repository = "https://github.com/acme/structformer"' in texts["pyproject.toml"]


def test_a_package_index_shows_a_readme_whose_links_lead_to_this_version(wheel):
    with zipfile.ZipFile(wheel) as opened:
        metadata = message_from_string(opened.read(f"structformer-{__version__}.dist-info/METADATA").decode())
    assert metadata["Description-Content-Type"] == "text/markdown"
    urls = dict(each.split(", ") for each in metadata.get_all("Project-URL"))
    shown, repository = metadata.get_payload(), urls["Repository"]
    assert "\npip install 'structformer[serve]'   # with Python 3.11 or newer\n" in shown
    assert "'.[" not in shown
    links = re.findall(r"\]\((.+?)\)", shown)
    assert f"{repository}/raw/v{__version__}/docs/images/why.png" in links
    assert f"{repository}/blob/v{__version__}/docs/benchmarks.md#does-training-help" in links
    for link in links:
        name = link.removeprefix(f"{repository}/").partition(f"/v{__version__}/")[2].partition("#")[0]
        assert (ROOT / name).is_file(), link
    assert set(urls) == {"Documentation", "Repository", "Changelog", "Issues"}
    assert all(url.startswith(repository) for url in urls.values())
    # The registry of MCP servers reads the name up to the next space; it takes descriptions of 100 characters.
    server = read_json(ROOT / "deploy" / "server.json")
    assert f"<!-- mcp-name: {server['name']} -->" in shown.splitlines()
    assert len(server["description"]) <= 100


def commands() -> list[tuple[str, list[str]]]:
    """The commands that containers and clients run."""
    compose = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"))["services"]
    objects = yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text(encoding="utf-8"))
    deployment = next(each for each in objects if each["kind"] == "Deployment")
    container = re.findall(r"^CMD (\[.*\])$", (ROOT / "deploy/Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    return [
        *((f"compose: {name}", service["command"]) for name, service in compose.items()),
        ("kubernetes", deployment["spec"]["template"]["spec"]["containers"][0]["args"]),
        *(("Containerfile", json.loads(each)) for each in container),
    ]


@pytest.mark.parametrize(("place", "arguments"), commands())
def test_containers_run_commands_that_are_there(run, place, arguments):
    helped = run(*(each for each in arguments[:1] if each != "--help"), "--help")
    assert helped.code == 0
    for option in arguments:
        if option.startswith("--"):
            assert re.search(rf"{option}\b", helped.out), option


def test_the_image_copies_what_is_there_and_runs_as_nobody():
    text = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split())
    stages = text.split("\nFROM ")
    assert [stage for stage in stages if "ENTRYPOINT" in stage] == [
        stage for stage in stages if "\nUSER 10001" in stage
    ]
    serve = text[text.index(" AS serve") :]
    assert "torch" not in serve
    assert not [each for each in requires("structformer") or [] if each.startswith("torch") and "extra ==" not in each]


# -- workspaces of earlier versions ----------------------------------------------------------------------------------


def aged(workspace: Path, part: str) -> None:
    """Give a part the format version before this one, as an earlier structformer would have left it."""
    generation = read_json(workspace / "workspace.json")["current"][part]
    folder = workspace / part / generation
    manifest = read_json(folder / "manifest.json")
    write_json(folder / "manifest.json", {**manifest, "format_version": manifest["format_version"] - 1})
    seal = read_json(folder / SEAL)
    seal["files"]["manifest.json"] = fast_digest(folder / "manifest.json")
    write_json(folder / SEAL, seal)


@pytest.mark.parametrize(
    ("part", "asked", "mended_by"),
    [
        ("index", ["search", "rope"], ["index"]),
        ("graph", ["graph", "stats"], ["ingest"]),
        ("corpus", ["search", "rope"], ["ingest"]),
    ],
)
def test_a_part_of_an_earlier_version_names_the_command_that_mends_it(run, tmp_path, part, asked, mended_by):
    pages = write_pages(
        tmp_path / "pages",
        {
            "a.md": "# Ropes\n\nA rope is long and holds a boat at its place.\n\nSee [b](b.md).\n",
            "b.md": "# Boats\n\nA boat floats on water.\n",
        },
    )
    workspace = tmp_path / "w"
    for command in (["ingest", pages], ["index", "--encoder", "none"]):
        assert run(*command, "-w", workspace).code == 0
    aged(workspace, part)
    refused = run(*asked, "-w", workspace)
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert f"{mended_by[0]}" in refused.err
    assert run(*mended_by, *([pages] if part != "index" else []), "-w", workspace).code == 0
    if part == "corpus":
        assert run("index", "--encoder", "none", "-w", workspace).code == 0
    assert run(*asked, "-w", workspace).code == 0


def test_a_workspace_of_a_later_version_is_left_alone(run, tmp_path):
    pages = write_pages(tmp_path / "pages", {"a.md": "# Ropes\n\nA rope is long.\n"})
    assert run("ingest", pages, "-w", tmp_path / "w").code == 0
    marker = tmp_path / "w" / "workspace.json"
    write_json(
        marker,
        {**{key: value for key, value in read_json(marker).items() if key != "digest"}, "format_version": 99},
        digest=True,
    )
    before = marker.read_bytes()
    refused = run("ingest", pages, "-w", tmp_path / "w")
    assert refused.code == 1
    assert "format version 99" in refused.err
    assert marker.read_bytes() == before
