"""An approximate index of vectors finds what a look at all of them finds, nearly always, and says how often."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from structformer.errors import WorkspaceError
from structformer.retrieval.indexing import build_index
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.vectors.dense import (
    FEWEST,
    ApproximateIndex,
    DenseIndex,
    approximate_files,
    overview_path,
    write_approximate,
)
from structformer.workspace import Workspace

faiss = pytest.importorskip("faiss")
UNITS, DOCUMENTS, DIMENSIONS, WEIGHT = 6000, 400, 32, 0.8


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """Vectors of passages that lie about their documents', which lie about forty topics."""
    rng = np.random.default_rng(4)
    path = tmp_path_factory.mktemp("approximate") / "units.npy"
    topics = rng.standard_normal((40, DIMENSIONS))
    documents = unit(topics[rng.integers(40, size=DOCUMENTS)] + 0.6 * rng.standard_normal((DOCUMENTS, DIMENSIONS)))
    owners = np.sort(rng.integers(DOCUMENTS, size=UNITS))
    np.save(path, unit(documents[owners] + 0.15 * rng.standard_normal((UNITS, DIMENSIONS))))
    np.save(overview_path(path), documents)
    write_approximate(path, np.load(path), documents, owners, WEIGHT)
    return path, owners


def queries(path: Path) -> np.ndarray:
    rng = np.random.default_rng(5)
    near = np.load(path)[rng.integers(UNITS, size=60)]
    return unit(near + 0.1 * rng.standard_normal(near.shape))


@pytest.mark.parametrize("weight", [WEIGHT, 0.0])
def test_what_is_nearest_is_found_with_its_exact_score(made, weight):
    path, owners = made
    exact, approximate = DenseIndex(path, owners), DenseIndex(path, owners, ApproximateIndex(path))
    asked = queries(path)
    found, wanted = (index.search_all(asked, 10, overview_weight=weight) for index in (approximate, exact))
    share = np.mean([len({u for u, _ in a} & {u for u, _ in b}) / 10 for a, b in zip(found, wanted, strict=True)])
    assert share > 0.95
    for ours, theirs in zip(found, wanted, strict=True):
        scores = dict(theirs)
        assert all(score == pytest.approx(scores[unit], abs=1e-5) for unit, score in ours if unit in scores)
        assert [score for _, score in ours] == sorted((score for _, score in ours), reverse=True)


def test_scores_are_the_same_where_the_system_cannot_read_at_a_place(made, monkeypatch):
    path, owners = made
    some, [vector] = np.arange(0, UNITS, 7), queries(path)[:1]
    here = DenseIndex(path, owners, ApproximateIndex(path)).scores(vector, some)
    monkeypatch.delattr("os.pread")  # as on Windows
    there = DenseIndex(path, owners, ApproximateIndex(path)).scores(vector, some)
    assert [found.tolist() for found in there] == [found.tolist() for found in here]


def test_a_filter_looks_at_all_that_it_leaves(made):
    path, owners = made
    exact, approximate = DenseIndex(path, owners), DenseIndex(path, owners, ApproximateIndex(path))
    asked = queries(path)[:5]
    found, wanted = (index.search_all(asked, 10, documents=[3, 77]) for index in (approximate, exact))
    assert [[unit for unit, _ in row] for row in found] == [[unit for unit, _ in row] for row in wanted]
    assert {int(owners[unit]) for row in found for unit, _ in row} <= {3, 77}


def test_the_recall_that_is_stated_was_measured(made):
    path, _ = made
    measured = ApproximateIndex(path).measured
    assert 0.9 < measured.recall <= 1
    assert 1 <= measured.probes <= measured.lists
    assert measured.weight == WEIGHT


def test_equal_vectors_give_an_equal_index_with_any_number_of_threads(made, tmp_path):
    path, owners = made
    before = faiss.omp_get_max_threads()
    for threads in (1, 2):
        faiss.omp_set_num_threads(threads)
        write_approximate(tmp_path / f"{threads}.npy", np.load(path), np.load(overview_path(path)), owners, WEIGHT)
    faiss.omp_set_num_threads(before)
    assert (tmp_path / "1.faiss").read_bytes() == (tmp_path / "2.faiss").read_bytes()


def test_a_broken_index_is_said(made, tmp_path):
    file, facts = approximate_files(tmp_path / "x.npy")
    file.write_bytes(b"no index")
    facts.write_bytes(approximate_files(made[0])[1].read_bytes())
    with pytest.raises(WorkspaceError, match="run `structformer index` again"):
        ApproximateIndex(tmp_path / "x.npy")


def test_a_workspace_searches_by_it_and_few_passages_need_none(run, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    rng = np.random.default_rng(6)
    words = np.array("anchor bow cleat deck ebb fender gaff hull jib keel line mast oar port reef sail".split())
    for page in range(FEWEST // 5 + 1):  # of five passages each
        parts = [f"# Page {page}\n"]
        parts += [f"## Part {part} of {page}\n\n{' '.join(rng.choice(words, 6))} {page}.\n" for part in range(4)]
        (folder / f"{page}.md").write_text("\n".join(parts))
    assert run("ingest", folder, "-w", tmp_path / "w").code == 0
    indexed = run("index", "-w", tmp_path / "w", "--encoder", "base", "--nearest", "approximate")
    assert indexed.code == 0
    opened = OpenedIndex(Workspace(tmp_path / "w"))
    assert opened.encoder("base")[1].nearest is not None
    found = run("search", "-w", tmp_path / "w", "--pipeline", "hybrid:base", "Part 2 of 77")
    assert "77.md" in found.out
    exact = build_index(tmp_path / "w", encoders=["base"])
    assert exact["nearest"] == "auto"
    assert OpenedIndex(Workspace(tmp_path / "w")).encoder("base")[1].nearest is None
