"""What is shown of a passage that was found."""

from __future__ import annotations

from structformer.document import MarkKind
from structformer.retrieval.snippet import Matches, snippet
from structformer.text.passages import Stretch

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


def test_what_stands_behind_code_says_that_there_is_more():
    found = snippet(TEXT, matches("stop", "done"), STRETCHES)
    assert found.text == "… Stop it when you are done."
    assert [found.text[start:end] for start, end in found.highlights] == ["Stop", "done"]
