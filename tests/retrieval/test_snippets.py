"""What is shown of a passage that was found."""

from __future__ import annotations

import re

import pytest
from structformer.document import MarkKind
from structformer.retrieval.snippet import Matches, snippet
from structformer.text.passages import Stretch
from structformer.text.words import signs_in

PROSE = "Build the image first. Then run a container of it in the background, and look at what it writes."
CODE = "    docker build -t shop .\n    docker run --detach shop\n    docker logs --follow shop"
TEXT = f"{PROSE}\n\n{CODE}\n\nStop it when you are done."
STRETCHES = (Stretch(MarkKind.CODE, len(PROSE) + 2, len(PROSE) + 2 + len(CODE)),)


def matches(*words: str) -> Matches:
    return Matches(words, lambda word: [word.strip("-.,").lower()])


def test_code_and_prose_are_not_run_together():
    found = snippet(TEXT, matches("container", "background"), STRETCHES)
    assert found.text == PROSE + " …"
    assert [found.text[start:end] for start, end in found.highlights] == ["container", "background"]
    assert not found.is_code


def test_code_keeps_its_lines():
    found = snippet(TEXT, matches("docker", "logs", "follow"), STRETCHES)
    assert found.is_code
    assert found.text.split("\n") == ["docker build -t shop .", "docker run --detach shop", "docker logs --follow shop"]
    assert {found.text[start:end] for start, end in found.highlights} == {"docker", "logs", "follow"}


def test_where_both_match_alike_it_is_prose():
    assert not snippet(TEXT, matches("run"), STRETCHES).is_code
    assert snippet(TEXT, matches("nothing"), STRETCHES).text.startswith("Build the image")


def test_of_long_code_the_lines_that_match_are_shown():
    code = "\n".join(f"step {number}" if number != 40 else "step forty of them" for number in range(60))
    found = snippet(code, matches("forty"), (Stretch(MarkKind.CODE, 0, len(code)),))
    assert "step forty of them" in found.text
    assert found.text.count("\n") == 5


def test_of_a_very_long_line_what_is_around_the_match_is_shown():
    line = "x=1;" * 500 + "forty=2;" + "y=3;" * 500
    for stretches, most in ((), 1002), ((Stretch(MarkKind.CODE, 0, len(line)),), 202):
        found = snippet(line, Matches(["forty"], lambda words: re.split(r"\W", words)), stretches)
        assert [found.text[start:end] for start, end in found.highlights] == ["forty"]
        assert found.text.startswith("…x") or found.text.startswith("…1")
        assert len(found.text) <= most


def test_a_word_of_a_script_without_spaces_is_shown_whole():
    terms = Matches(["倉庫", "庫番"], lambda word: [word[at : at + 2] for at in range(max(1, len(word) - 1))])
    found = snippet("これは船だ。" * 20 + "倉庫番が来た。" + "これは船だ。" * 20, terms)
    assert [found.text[start:end] for start, end in found.highlights] == ["倉庫番"]


@pytest.mark.parametrize(
    ("query", "shown"), [("🚢", "🚢"), ("👍", "👍🏽"), ("👨", "👨‍👩‍👧"), (">>=", ">>="), ("ropes ->", "->")]
)
def test_a_sign_is_shown_and_set_off(query, shown):
    text = "and " * 100 + f"here {shown} is." + " and" * 100
    for stretches in (), (Stretch(MarkKind.CODE, 0, len(text)),):
        found = snippet(text, Matches([], lambda word: [word], signs=signs_in(query)), stretches)
        assert [found.text[start:end] for start, end in found.highlights] == [shown]


def test_a_sign_between_words_is_not_set_off():
    assert signs_in("Tom & Jerry - a film?") == []


def test_what_stands_behind_code_says_that_there_is_more():
    found = snippet(TEXT, matches("stop", "done"), STRETCHES)
    assert found.text == "… Stop it when you are done."
    assert [found.text[start:end] for start, end in found.highlights] == ["Stop", "done"]
