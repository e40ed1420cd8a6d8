"""Every experiment of the package runs to its end: all rows trained for a step with a tiny model, searched and tested."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer.evaluation.experiment import experiment_names, read_experiment
from structformer.evaluation.judgements import Judgements
from structformer.evaluation.running import RowTraining, run_experiment
from structformer.ingestion import ingest
from structformer.models.base import packaged_minilm
from structformer.retrieval.index import build_index

from boats import LINKED, linked_pages
from conftest import write_pages

TINY = [
    *("base_model=scratch", "size=tiny", "max_steps=1", "max_seconds=none", "document_tokens=48", "groups=2"),
    *("sample.min_words=5", "sample.min_document_words=5", "precision=no"),
]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(packaged_minilm() is None, reason="structformer[offline] is not installed"),
]


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pages with sections, links in sentences, and see-also lists."""
    folder = tmp_path_factory.mktemp("harbour")
    pages = {
        f"{topic}.md": f"{linked_pages()[f'{topic}.md']}\n## See also\n\n- [{before}]({before}.md)\n"
        for before, topic in zip((LINKED[-1], *LINKED), LINKED, strict=False)
    }
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w")
    build_index(folder / "w", encoders=["base"])
    return folder / "w"


@pytest.mark.parametrize("name", experiment_names())
def test_an_experiment_of_the_package_runs_to_its_end(name, harbour, tmp_path):
    judged = Judgements({t: f"clean the {t}" for t in LINKED}, {t: {f"{t}.md": 1} for t in LINKED})
    experiment = read_experiment(name)
    said: list[str] = []
    result = run_experiment(harbour, judged, experiment, RowTraining(TINY), output=tmp_path / "out", say=said.append)
    assert [line for line in said if line.startswith("left out")] == []
    assert [row.label for row in result.rows] == [row.label for row in experiment.rows]
    assert set(result.measures) == {measure for row in result.rows for measure in row.scores}
    for row in result.rows:
        compared = {f"vs {label}" for label in experiment.baselines if label != row.label}
        assert set(row.tests) == compared
        assert all(set(by_measure) == set(result.measures) for by_measure in row.tests.values())
    assert (tmp_path / "out" / "report.md").exists()
