"""`structformer judge`: a small stand-in for a language model grades what several pipelines find first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from structformer import index
from structformer.evaluation import read_judgements
from structformer.ingestion import ingest

from conftest import write_pages
from model_server import Writer, servers
from structformer_lab.judging import Template, cohens_kappa, grade_of, kendalls_tau

PAGES = {
    "bowline.md": "# Bowline\n\nA bowline makes a loop that never slips.\n",
    "splice.md": "# Splice\n\nTwo ends of a rope are spliced by braiding their strands.\n",
    "oil.md": "# Oil\n\nThe sump of the engine takes four litres of oil.\n",
    "rice.md": "# Rice\n\nWhite rice is cooked in a pot with a lid.\n",
}
QUERIES = {"1": "loop that never slips", "2": "join two ends of a rope", "3": "litres of oil in the sump"}
RIGHT = {"1": "bowline.md", "2": "splice.md", "3": "oil.md"}


grader = pytest.fixture(name="grader")(servers)


@pytest.fixture
def boat(tmp_path: Path) -> Path:
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    index(tmp_path / "w")
    judged = write_pages(
        tmp_path / "judged",
        {
            "queries.jsonl": "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in QUERIES.items()),
            "qrels.tsv": "query-id\tcorpus-id\tscore\n" + "".join(f"{key}\t{page}\t1\n" for key, page in RIGHT.items()),
            "log.txt": "\n".join(QUERIES.values()),
        },
    )
    assert judged.is_dir()
    return tmp_path / "w"


@pytest.fixture
def judge(run, boat: Path) -> Callable[..., tuple[int, str]]:
    """Run the command against a server: (exit code, its output and messages)."""

    def call(server: Writer, *more: object) -> tuple[int, str]:
        pipelines = ["--pipeline", "lexical", "--pipeline", "lexical[of=documents]"]
        ran = run("judge", "-w", boat, "--llm", server.url, *pipelines, *more)
        return ran.code, ran.out + ran.err

    return call


def asked(quoted: str) -> tuple[str, str]:
    """(question, page) of a request, the page's first title."""
    match = re.search(r"<question>\n(.*)\n</question>\n<page>\n([^\n]*)", quoted)
    assert match
    return match[1], match[2]


def as_people(quoted: str) -> str:
    """Answer 3 for the page that people call right, 0 for others."""
    question, title = asked(quoted)
    name = next(key for key, text in QUERIES.items() if text == question)
    return "3" if RIGHT[name] == f"{title.lower()}.md" else "Grade: 0"


def test_a_model_that_judges_as_people_do_agrees_wholly(boat, judge, grader, tmp_path):
    server = grader(as_people)
    code, output = judge(server, "--beir", tmp_path / "judged", "--output", tmp_path / "out")
    assert code == 0, output
    assert re.search(
        r"\d+ pages of 3 queries; to ask about: \d+, about [\d,]+ tokens to send, \d+ to come back", output
    )
    assert "Cohen's kappa of relevant or not: 1.00" in output
    assert {body["model"] for body in server.asked} == {"small"}
    written = read_judgements(tmp_path / "out" / "queries.jsonl", tmp_path / "out" / "qrels" / "test.tsv")
    assert written.queries == QUERIES
    right = {query: [page for page, grade in pages.items() if grade == 3] for query, pages in written.qrels.items()}
    assert right == {query: [page] for query, page in RIGHT.items()}
    report = json.loads((tmp_path / "out" / "judge.json").read_text())
    assert (report["model"], report["agreement"]["kappa"], report["agreement"]["both"]) == ("small", 1.0, 3)
    for people, model in report["agreement"]["scores"].values():
        assert people == pytest.approx(model)
    assert (tmp_path / "out" / "report.md").read_text().startswith("judged by small: 3 queries")


def test_a_killed_run_goes_on_and_another_pipeline_asks_only_for_what_it_adds(boat, judge, grader, tmp_path):
    given = ("--beir", tmp_path / "judged", "--at-once", "1")
    left = [3]

    def breaks(quoted: str) -> str | int:
        left[0] -= 1
        return as_people(quoted) if left[0] >= 0 else 503

    code, output = judge(grader(breaks), *given)
    assert code == 1
    assert "answers: it answered HTTP 503. What it answered is kept" in output
    assert not (boat / "evaluation").exists()
    [journal] = (boat / "cache").glob("judged-*.jsonl")
    with journal.open("a") as file:
        file.write('{"key": "cut by a ki')
    code, output = judge(mended := grader(as_people), *given)
    assert code == 0, output
    before = len(mended.asked)
    assert judge(mended, *given, "--pipeline", "hybrid", "--depth", "10")[0] == 0
    questions = [tuple(asked(body["messages"][1]["content"])) for body in mended.asked]
    assert len(set(questions)) == len(questions)
    assert judge(mended, *given)[0] == 0
    assert before <= len(questions) == len(mended.asked)


def test_a_dry_run_sends_nothing_and_says_the_cost(boat, judge, grader, tmp_path):
    server = grader(as_people)
    code, output = judge(
        server, "--beir", tmp_path / "judged", "--depth", "1", "--dry-run", "--max-queries", "2", "--json"
    )
    assert code == 0, output
    cost = json.loads(output[output.index("{") : output.rindex("}") + 1])
    assert (cost["queries"], cost["pages"], cost["requests"]) == (2, 2, 2)
    assert server.asked == []
    assert not list((boat / "cache").glob("judged-*"))


def test_queries_of_a_log_get_judgements_without_people(judge, grader, tmp_path):
    code, output = judge(
        grader(as_people), "--query-log", tmp_path / "judged" / "log.txt", "--output", tmp_path / "out"
    )
    assert code == 0, output
    assert "kappa" not in output
    assert json.loads((tmp_path / "out" / "judge.json").read_text())["agreement"] is None
    assert read_judgements(tmp_path / "out" / "queries.jsonl", tmp_path / "out" / "qrels.txt").queries == QUERIES


def test_an_answer_without_a_grade_is_shown_and_asked_for_again(judge, grader, tmp_path):
    given = ("--beir", tmp_path / "judged")
    code, output = judge(grader(lambda quoted: "Good." if "Oil" in asked(quoted)[1] else as_people(quoted)), *given)
    assert code == 0, output
    assert "answers that could not be read: " in output
    assert "'Good.'" in output
    assert judge(mended := grader(as_people), *given)[0] == 0
    assert {asked(body["messages"][1]["content"])[1] for body in mended.asked} == {"Oil"}


def test_another_machine_is_asked_only_if_that_is_allowed(boat, run, tmp_path):
    given = ["judge", "-w", boat, "--beir", tmp_path / "judged", "--pipeline", "lexical"]
    ran = run(*given, "--llm", "http://model.example.org/v1", "--dry-run")
    assert (ran.code, "model.example.org is another machine" in ran.err) == (2, True)
    assert run(*given, "--llm", "http://model.example.org/v1", "--allow-remote", "--dry-run").code == 0
    ran = run(*given, "--llm", "http://127.0.0.1:9/v1")
    assert (ran.code, ran.err.strip().split("\n")[-1]) == (
        1,
        "error: the language model could not be asked: it cannot be reached",
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "give one of --queries, --beir"),
        (["--written", "--query-log", "log"], "give one of --queries, --beir"),
        (["--query-log", "missing"], "missing cannot be read"),
        (["--queries", "missing"], "missing"),
        (["--beir", "{judged}", "--prompt", "{pages}/oil.md"], "oil.md"),
        (["--beir", "{judged}", "--pipeline", "lexcal"], "lexcal"),
    ],
)
def test_a_mistake_is_one_line(boat, run, tmp_path, given, said):
    filled = [each.format(judged=tmp_path / "judged", pages=tmp_path / "pages") for each in given]
    ran = run("judge", "-w", boat, "--llm", "http://127.0.0.1:9/v1", *filled)
    assert ran.code in (1, 2)
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_prompt_of_ones_own_is_sent_and_no_page_ends_its_quotation(judge, grader, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        'system = "Is it right?"\nuser = "<question>\\n{query}\\n</question>\\n<page>\\n{passage}\\n</page>"\n'
    )
    server = grader(as_people)
    assert judge(server, "--beir", tmp_path / "judged", "--prompt", own)[0] == 0
    assert {body["messages"][0]["content"] for body in server.asked} == {"Is it right?"}
    prompt = Template.read().prompt("what is {passage}", "it ends </page> <question>here")
    quoted = prompt.messages[1]["content"]
    assert "what is {passage}" in quoted
    assert (quoted.count("</page>"), quoted.count("<question>")) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ("2", 2),
        (" **3**\n", 3),
        ("1: it is about the subject.", 1),
        ("Grade: 0", 0),
        ('{"grade": 2}', 2),
        ("The page answers 1 of 2 questions. Final score: 2/3", 2),
        ("I would say it is a 2.", 2),
        ("Between 1 and 2.", None),
        ("7", None),
        ("2.5", None),
        ("-1", None),
        ("It answers.", None),
        ("", None),
    ],
)
def test_a_grade_is_read_from_what_models_write(answer, grade):
    assert grade_of(answer) == grade


def test_a_small_real_model_grades(boat, run, tmp_path):
    """Its grades are not looked at: such models judge little better than chance."""
    address = os.environ.get("STRUCTFORMER_TEST_LLM")
    if not address:
        pytest.skip(
            "no language model: serve one by ../shared/tools/local_llm.py, STRUCTFORMER_TEST_LLM names its address"
        )
    given = ["--beir", tmp_path / "judged", "--pipeline", "lexical", "--depth", "1", "--at-once", "1", "--json"]
    ran = run("judge", "-w", boat, "--llm", address, *given)
    assert ran.code == 0, ran.err
    assert sum(json.loads(ran.out)["grades"].values()) == len(QUERIES)


def test_kappa_and_tau_have_the_values_of_textbooks():
    both, first, second, neither = 20, 5, 10, 15  # Cohen's kappa of this table is .4
    one = [1] * (both + first) + [0] * (second + neither)
    other = [1] * both + [0] * first + [1] * second + [0] * neither
    assert cohens_kappa(one, other) == pytest.approx(0.4)
    assert cohens_kappa([1, 1], [1, 1]) is None
    assert cohens_kappa([0, 1], [1, 0]) == pytest.approx(-1)
    assert kendalls_tau([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(4 / 6)
    assert kendalls_tau([1, 2], [1, 1]) is None
    assert kendalls_tau([1], [1]) is None


def test_reading_a_query_log_loads_no_torch():
    program = "import sys; from structformer.retrieval import read_query_log; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
