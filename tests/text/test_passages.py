"""Cutting text to sentences and passages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from structformer.document import MarkKind, Section, Source
from structformer.formats.builder import TreeBuilder
from structformer.text.passages import PASSAGE_WORDS, as_typed, cut_section, section_passages, section_prose, sentences


def test_sentences_end_at_stops_and_line_breaks_not_at_abbreviations():
    assert list(sentences("Use e.g. Linux. It works! Does it?\nlist item")) == [
        "Use e.g. Linux.",
        "It works!",
        "Does it?",
        "list item",
    ]
    assert list(sentences("版本一。版本二。")) == ["版本一。", "版本二。"]


def test_a_table_row_is_asked_by_its_longest_cell():
    assert as_typed("--rm | bool | Remove the container on exit") == "Remove the container on exit"


def test_short_paragraphs_share_a_passage_and_long_ones_are_cut():
    text = "one two\n\nthree four\n\n" + " ".join(["word."] * 9)
    assert [passage.text for passage in cut_section(Section("", 0, text), 4)] == [
        "one two\n\nthree four",
        "word. word. word. word.",
        "word. word. word. word.",
        "word.",
    ]


@given(st.text(alphabet="ab .\n|", max_size=200), st.integers(1, 8))
def test_no_word_is_lost_and_no_passage_is_too_long(text, most):
    found = [passage.text for passage in cut_section(Section("", 0, text), most)]
    assert " ".join(found).split() == text.split()
    assert all(0 < len(passage.split()) <= most for passage in found)


def section_of(*tell) -> Section:
    """A section of what the functions tell a builder."""
    builder = TreeBuilder()
    for each in tell:
        each(builder)
        builder.paragraph()
    return builder.finish(Source("page.x", "x")).root


def prose(words: int):
    return lambda builder: builder.text(" ".join(["word"] * words))


def code(text: str):
    return lambda builder: builder.code(text, "sh")


def table(rows: int, header: str = "Option | What it does"):
    def tell(builder: TreeBuilder) -> None:
        builder.open_mark(MarkKind.TABLE)
        for number, row in enumerate([header, *(f"--option-{n} | does it {n}" for n in range(rows))]):
            builder.line()
            builder.open_mark(MarkKind.ROW, "" if number else "header")
            builder.text(row)
            builder.close_mark(MarkKind.ROW)
        builder.close_mark(MarkKind.TABLE)

    return tell


def test_code_that_fits_is_never_cut():
    lines = "docker run x\n\ndocker ps\n\n" * 20
    found = list(section_passages(section_of(prose(100), code(lines), prose(5))))
    assert [len(passage.text.split()) for passage in found] == [100, 105]
    assert found[1].text.startswith("docker run x\n\ndocker ps")
    assert found[1].text.endswith("\n\nword word word word word")
    [part] = found[1].stretches
    assert part.kind is MarkKind.CODE
    assert found[1].text[part.start : part.end] == lines.strip("\n")


def test_a_table_that_is_cut_has_its_column_titles_in_every_passage():
    found = list(section_passages(section_of(prose(3), table(100))))
    assert len(found) > 2
    assert all("Option | What it does\n--option-" in passage.text for passage in found)
    assert "\n".join(passage.text for passage in found).count("--option-99 | does it 99") == 1
    assert all(len(passage.text.split()) <= PASSAGE_WORDS for passage in found)


def test_column_titles_without_end_are_not_repeated():
    def tell(builder: TreeBuilder) -> None:
        for number in range(200):
            builder.line()
            builder.open_mark(MarkKind.ROW, "" if number else "header")
            builder.open_mark(MarkKind.CELL)
            builder.text("one two three" if number else "x" * 10_000)
            builder.close_mark(MarkKind.ROW)

    section = section_of(tell)
    assert sum(len(passage.text) for passage in section_passages(section)) <= len(section.text)


def test_what_is_no_prose_asks_nothing():
    section = section_of(prose(2), code("rm -rf /"), table(1), prose(1))
    [passage] = section_passages(section)
    assert passage.prose.split() == ["word"] * 3
    assert len(passage.prose) == len(passage.text)
    assert section_prose(section) == passage.prose


@given(st.lists(st.one_of(
    st.builds(prose, st.integers(1, 200)),
    st.builds(code, st.text(alphabet="ab \n", min_size=1, max_size=600).filter(str.strip)),
    st.builds(table, st.integers(1, 60)),
), max_size=6))  # fmt: skip
def test_blocks_lose_no_word_either(tell):
    section = section_of(*tell)
    found = list(section_passages(section))
    kept = "\n".join(passage.text for passage in found)
    assert [word for word in kept.split() if word[0] in "-wab"] == [
        word for word in section.text.split() if word[0] in "-wab"
    ]
    for passage in found:
        assert 0 < len(passage.text.split()) <= PASSAGE_WORDS + 5
        for kind, start, end in passage.stretches:
            assert 0 <= start < end <= len(passage.text)
            assert kind is MarkKind.TABLE or "--option" not in passage.text[start:end]
        assert not {"Option", "a", "b"} & set(passage.prose.split())
