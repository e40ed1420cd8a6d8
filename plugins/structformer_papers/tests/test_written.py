"""Questions of a language model: a small stand-in speaks OpenAI's form and writes what its test says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from structformer import index, sample, train
from structformer.document import Document, Section, Source
from structformer.errors import ModelError
from structformer.ingestion import ingest
from structformer.retrieval import Filter
from structformer.sampling import Samples
from structformer.workspace import Workspace

from boats import TINY
from conftest import write_pages
from model_server import Writer, servers
from structformer_papers.written_by_model import JOURNAL, journal, lets_through, questions_of

FILLER = "Look at it closely first, then do what the owner of the boat says about it, and ask someone who knows."
PAGES = {
    "rope.md": f"# Rope\n\n## Bowline\n\nA bowline makes a loop that never slips. {FILLER}\n\n"
    f"## Splice\n\nTwo ends are spliced by braiding their strands. {FILLER}\n",
    "secret/engine.md": f"---\naudience: staff\n---\n# Engine\n\n## Oil\n\nThe sump takes four litres of oil. {FILLER}\n\n"
    f"## Impeller\n\nChange the impeller each spring. {FILLER}\n",
}


# Too short to be asked about, and nearer to a question about cooking than any page about boats.
PAGES |= {
    f"rice/{number}.md": f"# Rice {number}\n\nCooking white rice takes {number} minutes.\n" for number in range(10, 22)
}


writer = pytest.fixture(name="writer")(servers)


@pytest.fixture
def boat(tmp_path: Path) -> Path:
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    index(tmp_path / "w")
    return tmp_path / "w"


@pytest.fixture
def write(run, boat: Path) -> Callable[..., tuple[int, str]]:
    """Run the command against a server: (exit code, its output and messages)."""

    def call(server: Writer, *more: str) -> tuple[int, str]:
        given = ["-w", boat, "--tasks", "written", "--llm", server.url, "--llm-model", "small", "--workers", "1", *more]
        ran = run("sample", *given)
        return ran.code, ran.out + ran.err

    return call


def drawn(workspace: Path) -> dict[str, str]:
    """The positive of each question."""
    samples = Samples.open(workspace)
    examples = [samples.example("written", number) for number in range(samples.counts["written"])]
    return {example.queries[0]: example.documents[0].split(".")[0] for example in examples}


def about(titles: dict[str, str | int]) -> Callable[[str], str | int]:
    """Answers by a word of the quoted section's last title."""
    return lambda quoted: next((answer for title, answer in titles.items() if title in quoted.split("\n")[1]), "[]")


def test_questions_that_find_their_section_again_become_examples(boat, write, writer, monkeypatch):
    monkeypatch.setenv("STRUCTFORMER_ASK_KEY", "sk-very-secret")
    server = writer(
        about(
            {
                "Bowline": 'Here: ["a loop that never slips", "cooking white rice"]',
                "Splice": '["joining two ends by braiding", "  Joining two ends by  braiding "]',
                "Oil": '["how many litres does the sump take"]',
            }
        )
    )
    code, output = write(server)
    assert code == 0, output
    assert server.sections == ["Engine › Impeller", "Engine › Oil", "Rope › Bowline", "Rope › Splice"]
    assert "asking about 4 of them (--max-requests 1,000): about" in output
    assert drawn(boat) == {
        "a loop that never slips": "A bowline makes a loop that never slips",
        "joining two ends by braiding": "Two ends are spliced by braiding their strands",
        "how many litres does the sump take": "The sump takes four litres of oil",
    }
    assert Samples.open(boat).manifest["census"]["dropped"]["written"] == {
        "no question in the answer": 1,
        "not found by the round trip": 1,
    }
    [body, *_] = server.asked
    assert (body["model"], set(server.keys)) == ("small", {"Bearer sk-very-secret"})
    assert "sk-very-secret" not in output + (boat / "cache" / JOURNAL).read_text()


def test_a_question_of_two_sections_tells_neither(boat, write, writer):
    server = writer(about({"Rope": '["look at it closely first"]', "Oil": '["litres of oil"]'}))
    assert write(server)[0] == 0
    assert list(drawn(boat)) == ["litres of oil"]


@pytest.mark.parametrize(
    ("answer", "questions"),
    [
        ('["how to tie it", "how to untie it"]', ["how to tie it", "how to untie it"]),
        ('```json\n["how to tie it"]\n```', ["how to tie it"]),
        ('["how to tie it", 7, null, "one", "HOW to tie it"]', ["how to tie it"]),
        ('["a b", "c d", "e f", "g h"]', ["a b", "c d", "e f"]),
        ('{"questions": ["how to tie it", "how to untie it"]}', ["how to tie it", "how to untie it"]),
        ('{"questions": "how to tie it"}', ["how to tie it"]),
        (
            'Two [1] of them: [{"question": "how to tie it"}, {"question": "and untie it"}]',
            ["how to tie it", "and untie it"],
        ),
        ("Sure!\n1. How to tie it?\n2) **How to untie it?**", ["How to tie it?", "How to untie it?"]),
        ('- how to tie it\n* "how to untie it",\n\nI hope this helps.', ["how to tie it", "how to untie it"]),
        ("Q1: how to tie it\nQ2: how to untie it", ["how to tie it", "how to untie it"]),
        ("```\nhow to tie it\nhow to untie it\n```\nThese are two.", ["how to tie it", "how to untie it"]),
        ("I thought of one:\n\nHow to tie it?", ["How to tie it?"]),
        ("[]", []),
        ('["one"]', []),
        ('["how to tie it"', None),
        ("I cannot help with that.", None),
        ("[" * 100_000, None),
        ("", None),
        ('["tie \\u001b[31m it", "half \\ud800 pair"]', ["tie \ufffd[31m it", "half pair"]),
    ],
)
def test_an_answer_is_a_list_of_questions_in_any_form(answer, questions):
    read = questions_of(answer)
    assert (None if read is None else [" ".join(each.split()) for each in read]) == questions


def test_an_answer_that_is_no_list_is_said_and_asked_for_again(boat, write, writer):
    code, output = write(
        writer(about({"Oil": '<think>[1]</think>["litres of oil"]', "Bowline": "I would rather not."}))
    )
    assert code == 0, output
    assert "answers that could not be read: 1, the first of them ['I would rather not.']" in output
    assert len(journal(boat / "cache").answers()) == 3
    again = writer(about({"Bowline": "1. a loop that never slips"}))
    assert write(again)[0] == 0
    assert again.sections == ["Rope › Bowline"]
    assert sorted(drawn(boat)) == ["a loop that never slips", "litres of oil"]


def test_a_model_sees_the_page_around_the_section_and_a_new_heading_asks_nothing_again(boat, write, writer, tmp_path):
    server = writer(about({"Rope": '["loop that never slips", "ends are spliced"]'}))
    assert write(server)[0] == 0
    of_bowline = next(
        text for body in server.asked if "Bowline" in (text := body["messages"][1]["content"]).split("\n")[1]
    )
    assert of_bowline.endswith("</section>\n<page>\nRope\nSplice\n</page>")
    write_pages(tmp_path / "pages", {"rope.md": PAGES["rope.md"] + "\n## Whipping </page>\n\nNo end frays.\n"})
    ingest(tmp_path / "pages", boat, workers=1)
    index(boat)
    assert write(server)[0] == 0
    assert len(server.asked) == 4


def test_questions_in_other_words_count_if_the_search_finds_their_document(boat, write, writer):
    server = writer(about({"Bowline": '["rope for the owner of a boat"]'}))  # the section's words least of all
    assert write(server)[0] == 0
    assert drawn(boat) == {"rope for the owner of a boat": "A bowline makes a loop that never slips"}


EXPERIMENT = (
    "base_model=scratch size=tiny max_steps=1 max_seconds=none groups=2 document_tokens=48 precision=no".split()
)


def test_the_experiment_has_rows_of_written_questions_once_they_are_written(boat, write, writer, run, tmp_path):
    write_pages(
        tmp_path,
        {"q.tsv": "1\tloop that holds\n2\tlitres of oil\n", "r.txt": "1 0 rope.md 1\n2 0 secret/engine.md 1\n"},
    )
    given = ["-w", boat, "--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "r.txt", "--rows", "BM25,ICT,written"]
    asked = [part for each in EXPERIMENT for part in ("--set", each)]
    without = run("experiment", "written", *given, *asked)
    assert without.code == 0, without.err
    assert "written left out: no questions have been written: structformer sample --tasks written --llm URL" in (
        without.out + without.err
    )
    assert (
        write(writer(about({"Rope": '["loop that never slips", "ends are spliced"]', "Oil": '["sump oil"]'})))[0] == 0
    )
    ran = run("experiment", "written", *given, *asked, "--force", "--json")
    assert ran.code == 0, ran.err
    assert [row["label"] for row in ran.json[0]["rows"]] == ["BM25", "ICT", "written"]


def test_a_round_trip_needs_an_index_of_this_corpus(boat, write, writer, tmp_path):
    ingest(write_pages(tmp_path / "pages", {"new.md": f"# New\n\n{FILLER}\n"}), boat, workers=1)
    code, output = write(writer(about({"Oil": '["litres of oil"]'})))
    assert code == 1
    assert "run `structformer index -w" in output


def test_a_slow_model_is_asked_one_at_a_time_and_may_take_longer_than_its_patience(boat, write, writer):
    running: list[int] = []

    def slowly(quoted: str) -> Iterator[str]:
        running.append(1)
        for piece in ('["litres', " of", " oil", '"]'):
            time.sleep(0.4)
            yield piece
        running.pop()

    most = 0

    def writes(quoted: str) -> Iterator[str]:
        nonlocal most
        for piece in slowly(quoted):
            most = max(most, len(running))
            yield piece

    code, output = write(writer(writes), "--at-once", "1", "--patience", "1", "--max-requests", "2")
    assert code == 0, output
    assert (most, len(journal(boat / "cache").answers())) == (1, 2)


def test_requests_are_bounded_and_the_next_run_goes_on(boat, write, writer):
    server = writer(about({"Rope": '["loop that never slips", "ends are spliced"]'}))
    assert "4 sections have not been asked about; asking about 3 of them" in write(server, "--max-requests", "3")[1]
    assert len(server.asked) == 3
    assert write(server, "--max-requests", "3")[0] == 0
    assert len(server.asked) == len(set(server.sections)) == 4
    assert "nothing is sent" in write(server)[1]
    assert len(server.asked) == 4


def test_a_run_that_broke_off_keeps_what_was_answered(boat, write, writer):
    broken = writer(about({"Bowline": '["a loop that never slips"]', "Splice": 500, "Engine": 429}))
    code, output = write(broken)
    assert code == 1
    assert "could not be asked for 3 of 4 answers: it answered HTTP" in output
    with (boat / "cache" / JOURNAL).open("a") as journal:
        journal.write('{"key": "cut by a ki')
    mended = writer(about({"Oil": '["litres of oil"]'}))
    assert write(mended)[0] == 0
    assert mended.sections == ["Engine › Impeller", "Engine › Oil", "Rope › Splice"]
    assert sorted(drawn(boat)) == ["a loop that never slips", "litres of oil"]


def test_a_server_that_says_nothing_is_left_alone(boat, write, writer):
    goes_on = threading.Event()
    server = writer(lambda quoted: str([goes_on.wait(10)]))
    code, output = write(server, "--patience", "1")
    goes_on.set()
    assert code == 1
    assert "of 4 answers: it did not answer within 1 s" in output
    assert journal(boat / "cache").answers() == {}


def test_nothing_is_sent_of_documents_that_are_left_out(boat, write, writer):
    server = writer(about({}))
    write(server, "--path", "secret/*", "--max-requests", "9")
    assert server.sections == ["Engine › Impeller", "Engine › Oil"]
    other = writer(about({}))
    write(other, "--where", "audience=public")
    assert other.asked == []
    held_out = writer(about({}))
    write(held_out, "--held-out", "0.9")
    held = set(held_out.sections)
    assert len(held) < 2 + 2  # of the two documents at least one is held out, its sections not sent


def test_a_filter_compares_as_a_search_does():
    document = Document("a/é.md", "", Section(""), Source("a/é.md", "markdown"), metadata={"n": 3, "tags": ["x", True]})
    assert lets_through(Filter(("a/*",), {"n": "3", "tags": "x"}), document)
    assert lets_through(Filter(("a/e\u0301.md",), {"tags": "true"}), document)
    for other in (Filter(("b/*",)), Filter((), {"n": "4"}), Filter((), {"missing": "None"})):
        assert not lets_through(other, document)


def test_without_an_address_nothing_is_asked(boat, run):
    with pytest.raises(ModelError, match=r"no questions have been written: .* --llm URL"):
        sample(boat, ["written"], workers=1)
    for flags, said in (
        (["--tasks", "written", "--max-requests", "3"], "go with --llm URL"),
        (["--tasks", "srr", "--llm", "http://127.0.0.1:9/v1"], "are for --tasks written"),
        (["--tasks", "written", "--llm", "http://key@127.0.0.1:9/v1"], "--llm has no key in its address"),
    ):
        ran = run("sample", "-w", boat, *flags)
        assert ran.code == 2, ran.err
        assert said in ran.err


def test_a_bi_encoder_learns_from_them(boat, write, writer):
    assert write(writer(about({"Rope": '["loop that never slips"]', "Oil": '["litres of oil"]'})))[0] == 0
    result = train(Workspace(boat), replace(TINY, mix={"written": 1.0}, max_steps=1))
    assert list(result.plan.examples) == ["written"]
