"""`structformer gaps`: what people ask and the documents do not answer."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index
from structformer.retrieval.pipeline import as_pipeline

from structformer_serve.feedback import Searches
from structformer_serve.gaps import find_gaps


def log(workspace: Path, *events: dict[str, object]) -> None:
    folder = workspace / "feedback"
    folder.mkdir(exist_ok=True)
    with (folder / "2026-01.jsonl").open("a") as lines:
        lines.writelines(json.dumps({"time": "2026-01-05T10:00Z", "shown": [], **event}) + "\n" for event in events)


@pytest.fixture
def asked(workspace: Path) -> Path:
    """Words alone: the same question three times without an answer, one that is answered, one said to be not."""
    build_index(workspace, encoders=[])
    log(
        workspace,
        *[
            {"event": "search", "query": text}
            for text in ("Dinghy insurance", "dinghy  insurance", "insurance: dinghy")
        ],
        {"event": "search", "query": "tie a bowline", "shown": ["knots.md"]},
        {"event": "click", "query": "tie a bowline", "shown": ["knots.md"], "document": "knots.md"},
        {"event": "search", "query": "trim <b>spinnaker</b> sail", "shown": ["parts/sails.md"]},
        {"event": "not_found", "query": "trim <b>spinnaker</b> sail", "shown": ["parts/sails.md"]},
        {"event": "search", "query": "reef a sail", "shown": ["parts/sails.md"]},
        {"event": "search", "query": "???"},
    )
    return workspace


def test_gaps_are_what_found_nothing_and_what_was_said_to_be_missing(run, asked):
    found = run("gaps", "-w", asked, "--json").json
    assert [(gap["question"], gap["searches"], gap["not_found"]) for gap in found["gaps"]] == [
        ("Dinghy insurance", 3, 0),
        ("trim <b>spinnaker</b> sail", 1, 1),
    ]
    assert [each["query"] for each in found["gaps"][0]["asked"]] == ["Dinghy insurance", "insurance: dinghy"]
    assert found["gaps"][0]["nearest"] is None
    assert found["gaps"][1]["nearest"]["document"] == "parts/sails.md"
    assert (found["searches"], found["unanswered"]) == (6, 4)
    assert [gap["question"] for gap in run("gaps", "-w", asked, "--least", "2", "--json").json["gaps"]] == [
        "Dinghy insurance"
    ]


def test_what_search_toml_would_answer_is_proposed_as_it_is_to_be_written(run, asked):
    proposed = run("gaps", "-w", asked).out.partition("[pins]\n")[2]
    pins, _, synonyms = proposed.partition("[synonyms]\n")
    assert tomllib.loads(pins.partition("\nor say")[0]) == {"trim <b>spinnaker</b> sail": "parts/sails.md"}
    assert tomllib.loads(synonyms)["spinnaker"] in ("Sails", "Trimming", "Reefing")


def test_what_was_written_since_is_no_gap(run, pages, asked):
    (pages / "insurance.md").write_text("# Insurance\n\nA dinghy needs no insurance on most lakes.\n")
    ingest(pages, asked, workers=1)
    build_index(asked, encoders=[])
    found = run("gaps", "-w", asked, "--json").json
    assert [gap["question"] for gap in found["gaps"]] == ["trim <b>spinnaker</b> sail"]


def test_the_page_has_searches_by_week_and_door_what_was_opened_and_thumbs(run, asked, tmp_path):
    log(
        asked,
        {
            "event": "search",
            "query": "tie a bowline",
            "shown": ["knots.md"],
            "time": "2026-01-12T08:00Z",
            "door": "mcp",
        },
        {"event": "search", "query": "sails", "shown": [], "time": "2026-01-18T08:00Z", "door": "box"},
        {"event": "answer_good", "query": "tie a bowline", "time": "2026-01-13T08:00Z"},
        {"event": "search", "query": "when", "time": "never", "door": ["<b>"]},
    )
    assert run("gaps", "-w", asked, "--output", tmp_path / "gaps.html").code == 0
    page = (tmp_path / "gaps.html").read_text()
    rows = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in re.findall(r"<tr>.*?</tr>", page)]
    head = next(row for row in rows if row[0] == "week of")
    weeks = [dict(zip(head, row, strict=True)) for row in rows if row[0].startswith("2026-")]
    assert [week["week of"] for week in weeks] == ["2026-01-12", "2026-01-05"]  # Mondays
    assert {name: weeks[0][name] for name in ("searches", "mcp", "box", "page", "nothing found", "helped")} == {
        "searches": "2", "mcp": "1", "box": "1", "page": "0", "nothing found": "1", "helped": "1",
    }  # fmt: skip
    assert (weeks[1]["opened"], weeks[1]["nothing fits"]) == ("1", "1")
    bowline = next(row for row in rows if row[0] == "tie a bowline")
    assert bowline == ["tie a bowline", "2", "1", "0", "1", "0"]


def test_the_page_shows_what_was_asked_as_text_and_says_nothing_of_who(run, asked, tmp_path):
    page = tmp_path / "gaps.html"
    assert run("gaps", "-w", asked, "--output", page).code == 0
    text = page.read_text()
    assert "Dinghy insurance" in text
    assert "&lt;b&gt;spinnaker" in text
    assert "10:00" not in text  # a week, not a time
    assert run("gaps", "-w", asked, "--output", page).code == 2
    assert run("gaps", "-w", asked, "--output", page, "--force").code == 0


def test_a_log_without_searches_is_said(run, workspace):
    build_index(workspace, encoders=[])
    answer = run("gaps", "-w", workspace)
    assert (answer.code, answer.out) == (
        0,
        "nothing was searched for yet, or it was not kept: serve with --feedback\n",
    )


class _Ranked(str):
    """A query in the place of its ranking."""

    likely = 0.0


class _Searches:
    """A search of which nothing is ever sure. Question n asks about subject n % 300, and subjects are at right angles;
    every subject has its page among ten."""

    def __init__(self) -> None:
        self.opened = SimpleNamespace(
            lexical=SimpleNamespace(terms=str.split), stop_terms=frozenset(), encoder=lambda name: (self, None, None)
        )

    def encode_queries(self, queries):
        return np.eye(300)[[int(query.split()[0]) % 300 for query in queries]]

    def pipeline(self, pipeline):
        return pipeline

    def rank(self, queries, pipeline):
        return list(map(_Ranked, queries))

    def hits(self, ranking, count, *, group, sections):
        subject = int(ranking.split()[0]) % 300
        page = 0 if subject < 120 else subject % 10
        return [SimpleNamespace(document_id=f"page{page}.md", also_in=())]


def test_questions_that_mean_the_same_are_one_group():
    asked = [Searches(f"{number:04} question", 1) for number in range(3000)]
    gaps = find_gaps(_Searches(), asked, pipeline=as_pipeline("dense"))  # type: ignore[arg-type]
    of = {int(gap.question.split()[0]): [int(each.query.split()[0]) for each in gap.asked] for gap in gaps}
    assert all(len({number % 300 for number in members}) == 1 for members in of.values())
    assert all(of[subject] == list(range(subject, 3000, 300)) for subject in (0, 99, 121, 299))


def test_a_question_is_compared_with_the_first_hundred_groups_of_its_page_and_no_more():
    """So ten times as many questions take ten times as long."""
    asked = [Searches(f"{number:04} question", 1) for number in range(3000)]
    gaps = find_gaps(_Searches(), asked, pipeline=as_pipeline("dense"))  # type: ignore[arg-type]
    sizes = {int(gap.question.split()[0]): len(gap.asked) for gap in gaps}
    assert (sizes[99], sizes[100]) == (10, 1)  # page 0 has 138 subjects, the others 18
