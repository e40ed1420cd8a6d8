"""What the release's files do, carried out: uvx and pipx, the registry's entry, the list of dependencies, the Action."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from structformer._version import __version__
from structformer.retrieval.indexing import build_index
from test_documentation import blocks, tutorial_holds
from test_release import ROOT, built

from conftest import write_pages

PAGES = {
    "rope.md": "# Ropes\n\nA rope is long and holds a boat at the quay.\n\nSee [boats](boat.md).\n",
    "boat.md": "# Boats\n\nA boat floats on water.\n",
}
TRIES, PAUSE = 1800, 0.5  # pipx alone sets up three environments


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A local index: a folder with the wheel."""
    return built(tmp_path_factory.mktemp("index") / "wheels").parent


def pip_settings() -> dict[str, str]:
    """What pip is told about its index here, in its files and by the environment, which wins."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    pairs = (line.partition("=") for line in listed.splitlines() if "=" in line)
    found = {key.rpartition(".")[2]: str(ast.literal_eval(value)) for key, _, value in pairs}
    of_environment = (name for name in os.environ if name.startswith("PIP_"))
    return found | {name[4:].lower().replace("_", "-"): os.environ[name] for name in of_environment}


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """uv, and an environment in which it uses the index that pip uses, and no cache but its own. Without an index that
    answers, the test is skipped.
    """
    program = Path(pytest.importorskip("uv").find_uv_bin())
    settings, folder = pip_settings(), tmp_path_factory.mktemp("uv")
    environment = {
        **({"UV_DEFAULT_INDEX": settings["index-url"]} if settings.get("index-url") else {}),
        **({"SSL_CERT_FILE": settings["cert"]} if settings.get("cert") else {}),
        **os.environ,
        "UV_CACHE_DIR": str(folder / "cache"),
        "UV_TOOL_DIR": str(folder / "tools"),
        "UV_PYTHON_DOWNLOADS": "never",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": "",
    }
    tried = subprocess.run(
        [program, "pip", "compile", "--quiet", "--no-deps", "--python", sys.executable, "-"],
        input="click\n",
        env={**environment, "UV_HTTP_TIMEOUT": "20", "UV_HTTP_RETRIES": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        pytest.skip(f"no package index can be reached: {tried.stderr.strip().splitlines()[-1:]}")
    return program, environment


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def started(command: list[object], environment: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command with all that it begins, which ends with the block."""
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            [str(each) for each in command],
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


# -- uvx and pipx ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(os.name != "posix", reason="it ends a group of processes")
@pytest.mark.parametrize("tool", ["uvx", "pipx"])
def test_one_command_makes_a_search_page_of_a_folder(tool, uv, wheels, tmp_path):
    program, environment = uv
    write_pages(tmp_path / "docs", PAGES)
    pins = ROOT / "constraints.txt"
    if tool == "uvx":
        runner = [program.with_name("uvx"), "--python", sys.executable, "--find-links", wheels, "--constraints", pins]
        runner += ["--from", "structformer[serve]"]
    else:
        pytest.importorskip("pipx")
        runner = [sys.executable, "-m", "pipx", "run", "--backend", "pip", "--no-cache", "--python", sys.executable]
        # Of a thousand modules that pip would compile, few are imported.
        runner += [f"--pip-args=--no-compile --find-links {wheels} --constraint {pins}"]
        runner += ["--spec", "structformer[serve]"]
        environment = {**environment, "PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    port = free_port()
    command = [*runner, "structformer", "up", "./docs", "--no-open", "--train", "none", "--port", port]
    with started(command, environment, tmp_path) as process:
        asking = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False)
        for _ in range(TRIES):
            assert process.poll() is None, (tmp_path / "said.txt").read_text(encoding="utf-8")
            with suppress(httpx.TransportError):
                if asking.get("/readyz").status_code == 200:
                    break
            time.sleep(PAUSE)
        else:
            pytest.fail((tmp_path / "said.txt").read_text(encoding="utf-8"))
        assert "Ropes" in asking.get("/").text
        hits = asking.get("/api/search", params={"q": "what holds a boat at the quay"}).json()["hits"]
        assert hits[0]["document"] == "rope.md"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert (tmp_path / ".structformer" / "workspace.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the tutorial's commands are for a POSIX shell")
def test_the_tutorial_runs_in_an_environment_that_its_first_lines_make(uv, tmp_path):
    program, environment = uv
    _, install = blocks(ROOT / "docs" / "tutorial.md")[0]
    assert install.splitlines()[-1] == "pip install -c constraints.txt '.[serve]'"
    empty = tmp_path / "empty"
    subprocess.run([program, "venv", "-q", "--python", sys.executable, empty], env=environment, check=True)
    pip = [program, "pip", "install", "-q", "--python", empty / "bin" / "python", "-c", "constraints.txt", ".[serve]"]
    subprocess.run(pip, cwd=ROOT, env=environment, check=True)
    tutorial_holds(tmp_path, empty / "bin", environment)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["", f"@{__version__}"], ids=["newest", "version named"])
def test_the_entry_of_the_registry_starts_the_server_that_assistants_ask(version, uv, wheels, workspace, tmp_path):
    """A client builds the command of the entry's parts, and may put the version behind the package's name."""
    program, environment = uv
    build_index(workspace, encoders=[])
    [entry] = json.loads((ROOT / "deploy/server.json").read_text(encoding="utf-8"))["packages"]
    values = {"--workspace": str(workspace)}
    before, after = (
        [part for each in entry[name] for part in (each.get("name"), each.get("value", values.get(each.get("name"))))]
        for name in ("runtimeArguments", "packageArguments")
    )
    here = ["--python", sys.executable, "--find-links", str(wheels), "--constraints", str(ROOT / "constraints.txt")]
    command = [str(program.with_name(entry["runtimeHint"])), *here, *before, entry["identifier"] + version, *after]
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}) + "\n"
    ran = subprocess.run(
        [each for each in command if each],
        input=asked,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "Boats"  # what it searches


# -- the list of what the wheel needs --------------------------------------------------------------------------------


def step(path: str, name: str) -> str:
    """The commands of a step of a workflow or an Action, by its name or its id."""
    read = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    several = [job["steps"] for job in read["jobs"].values()] if "jobs" in read else [read["runs"]["steps"]]
    [found] = [each["run"] for steps in several for each in steps if name in (each.get("name"), each.get("id"))]
    return found


def bash(commands: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Commands as the forge runs them: it ends at the first that fails."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the workflow's steps are for bash")
def test_the_list_of_the_release_has_each_dependency_with_its_version(uv, wheels, tmp_path):
    program, environment = uv
    shutil.copytree(wheels, tmp_path / "dist")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    environment = {**environment, "PATH": os.pathsep.join([str(program.parent), os.environ["PATH"]])}
    environment |= {"GITHUB_REF_NAME": f"v{__version__}", "UV_PYTHON": sys.executable}
    made = bash(step(".github/workflows/release.yml", "List what the wheel needs (CycloneDX)"), tmp_path, environment)
    assert made.returncode == 0, made.stderr
    listed = json.loads((tmp_path / "structformer.cdx.json").read_text(encoding="utf-8"))
    root = listed["metadata"]["component"]
    assert (root["name"], root["version"]) == ("structformer", __version__)
    there = {canonicalize_name(each["name"]): each for each in listed["components"]}
    assert not there.keys() & {"pip", "setuptools", "torch", "cyclonedx-bom"}
    [direct] = [each["dependsOn"] for each in listed["dependencies"] if each["ref"] == root["bom-ref"]]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in map(Requirement, project["dependencies"] + project["optional-dependencies"]["serve"]):
        if requirement.marker is None or requirement.marker.evaluate():
            component = there[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(component["version"], prereleases=True), requirement
            assert component["bom-ref"] in direct
            assert component["licenses"]
    assert str(tmp_path) not in json.dumps(listed)


# -- the Action ------------------------------------------------------------------------------------------------------

ACTION = ".github/actions/search-check/action.yml"
ASKED = {
    "q1": ("make a loop that does not slip", "knots.md", "# Knots\n\nThe bowline makes a loop that does not slip.\n"),
    "q2": ("smaller sail in strong wind", "sails.md", "# Sails\n\nIn strong wind, reef: take a smaller sail.\n"),
    "q3": ("find the north without a compass", "stars.md", "# Stars\n\nWithout a compass, a star shows the north.\n"),
    "q4": ("how deep is the water here", "lead.md", "# The lead\n\nA line with marks says how deep the water is.\n"),
}


@pytest.fixture
def action(wheels: Path, tmp_path: Path):
    """Runs the Action's second step; the first one has installed the wheel, without an index."""
    install = step(ACTION, "install")
    paths = {name: tmp_path / name for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    environment = {
        **os.environ,
        **{name: str(path) for name, path in paths.items()},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": "",
        "RUNNER_TEMP": str(tmp_path / "temporary"),
        "VERSION": f"{next(wheels.glob('*.whl'))}[serve]",
        # The dependencies are those of the tests' environment; structformer itself comes from the wheel.
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
    }
    installed = bash(install, tmp_path, environment)
    assert installed.returncode == 0, installed.stderr
    binaries = Path(paths["GITHUB_PATH"].read_text(encoding="utf-8").strip())
    [site] = binaries.parent.glob("[Ll]ib/**/site-packages")
    own = (each for each in sys.path if each.endswith("site-packages"))
    (site / "dependencies.pth").write_text("\n".join(own) + "\n", encoding="utf-8")
    environment["PATH"] = os.pathsep.join([str(binaries), os.environ["PATH"]])
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text(
        "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, (text, _, _) in ASKED.items()),
        encoding="utf-8",
    )
    qrels.write_text("".join(f"{name}\t0\t{page}\t1\n" for name, (_, page, _) in ASKED.items()), encoding="utf-8")

    def check(docs: Path, **inputs: object) -> tuple[int, str, Path]:
        """(exit code, the job's summary, the folder of the evaluation)"""
        paths["GITHUB_STEP_SUMMARY"].unlink(missing_ok=True)
        shutil.rmtree(
            Path(environment["RUNNER_TEMP"]) / "structformer-workspace", ignore_errors=True
        )  # a job of its own
        given = {"AT_LEAST": "", "NO_WORSE_THAN": "", "DOCS": docs, "QUERIES": queries, "QRELS": qrels} | inputs
        ran = bash(step(ACTION, "check"), tmp_path, environment | {name: str(value) for name, value in given.items()})
        folder = paths["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()[-1].removeprefix("folder=")
        summary = paths["GITHUB_STEP_SUMMARY"]
        return ran.returncode, summary.read_text(encoding="utf-8") if summary.exists() else ran.stderr, Path(folder)

    return check


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the Action's steps are for bash")
def test_the_action_fails_when_the_documents_answer_worse_than_before(action, tmp_path):
    good = write_pages(tmp_path / "good", {page: text for _, page, text in ASKED.values()})
    code, summary, folder = action(good, AT_LEAST="Success@1>=0.9")
    assert code == 0, summary
    assert "passed" in summary
    before = tmp_path / "before.run"
    [run] = folder.glob("runs/*hybrid*.run")
    shutil.copy(run, before)
    code, summary, _ = action(good, NO_WORSE_THAN=before)
    assert code == 0, summary
    # Someone moves the texts to other pages: what was judged right says nothing of its question any more.
    moved = dict(zip(reversed(list(ASKED.values())), ASKED.values(), strict=True))
    worse = write_pages(tmp_path / "worse", {to[1]: text[2] for to, text in moved.items()})
    for bound in ({"NO_WORSE_THAN": before}, {"AT_LEAST": "Success@1>=0.9"}):
        code, summary, _ = action(worse, **bound)
        assert code == 1, summary
        assert "failed" in summary
    code, said, _ = action(tmp_path / "nowhere")
    assert code == 2, said


def test_no_input_of_the_action_is_written_into_its_commands():
    steps = yaml.safe_load((ROOT / ACTION).read_text(encoding="utf-8"))["runs"]["steps"]
    assert not [each["run"] for each in steps if re.search(r"\$\{\{", each["run"])]
