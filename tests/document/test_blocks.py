"""What the parts of a text are: marks that stand off from it, and the tree that they make."""

from __future__ import annotations

import hashlib
import json
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer.corpus.rows import document_rows, packed_marks, rows_document, unpacked_marks
from structformer.document import INLINE, Block, Document, Mark, MarkKind, Section, Source, block_tree
from structformer.formats.builder import TreeBuilder
from structformer.ingestion import read

from structformer_devkit.formats import mark_problems

K = MarkKind


def built(builder: TreeBuilder) -> Section:
    return builder.finish(Source("page.x", "x")).root


def outline(text: str, blocks: list[Block]) -> list[object]:
    """The tree as nested lists: kinds, and the texts of the leaves."""
    return [
        text[block.start : block.end] if block.kind is K.PARAGRAPH
        else (block.kind.value, text[block.start : block.end]) if block.is_leaf
        else [block.kind.value, *outline(text, block.children)]
        for block in blocks
    ]  # fmt: skip


def test_paragraphs_need_no_marks():
    section = Section("", text="One.\n\nTwo,\nin two lines.")
    assert outline(section.text, section.blocks) == ["One.", "Two,\nin two lines."]


def test_a_list_with_code_in_an_item():
    builder = TreeBuilder()
    builder.text("Steps:")
    builder.paragraph()
    builder.open_mark(K.LIST, "1")
    for step in ("first", "second"):
        builder.line()
        builder.open_mark(K.ITEM)
        builder.text(step)
        if step == "second":
            builder.line()
            builder.code("make\n  all\n", "sh")
        builder.close_mark(K.ITEM)
    builder.close_mark(K.LIST)
    root = built(builder)
    assert root.text == "Steps:\n\nfirst\nsecond\nmake\n  all"
    assert outline(root.text, root.blocks) == [
        "Steps:",
        ["list", ["item", "first"], ["item", "second", ("code", "make\n  all")]],
    ]
    assert [(block.kind, block.detail) for block in root.blocks[1].walk() if block.detail] == [
        (K.LIST, "1"),
        (K.CODE, "sh"),
    ]


def test_empty_cells_keep_their_places():
    builder = TreeBuilder()
    for row in (["a", "", "b"], ["", "", ""], ["", "c", ""]):
        builder.line()
        builder.open_mark(K.ROW)
        for number, cell in enumerate(row):
            if number and any(row):
                builder.text(" | ")
            builder.open_mark(K.CELL)
            builder.text(cell)
            builder.close_mark(K.CELL)
        builder.close_mark(K.ROW)
    root = built(builder)
    assert outline(root.text, root.blocks) == [
        ["table", ["row", ["cell", "a"], ["cell"], ["cell", "b"]], ["row", ["cell"], ["cell", "c"], ["cell"]]]
    ]
    assert not list(mark_problems(root.text, root.marks))


def test_parts_without_their_whole_get_one():
    """HTML and wikitext have items without lists; text between them ends the list."""
    builder = TreeBuilder()
    for item in ("a", "b", "", "c"):
        builder.line()
        if item:
            builder.open_mark(K.ITEM)
            builder.text(item)
            builder.close_mark(K.ITEM)
        else:
            builder.text("between")
    root = built(builder)
    assert outline(root.text, root.blocks) == [
        ["list", ["item", "a"], ["item", "b"]],
        "between",
        ["list", ["item", "c"]],
    ]


def test_a_block_within_a_span_belongs_to_what_is_around_the_span():
    builder = TreeBuilder()
    builder.open_mark(K.QUOTE)
    builder.text("quoted")
    builder.close_mark(K.QUOTE)
    builder.open_mark(K.STRONG)
    builder.paragraph()
    builder.code("x = 1")
    builder.close_mark(K.STRONG)
    root = built(builder)
    assert outline(root.text, root.blocks) == [["quote", "quoted"], ("code", "x = 1")]


def test_a_heading_ends_what_is_open():
    builder = TreeBuilder()
    builder.open_mark(K.QUOTE)
    builder.text("quoted")
    builder.open_heading(2)
    builder.open_mark(K.EMPHASIS)  # a title has no marks
    builder.text("Title")
    builder.close_heading()
    builder.text("plain")
    builder.close_mark(K.QUOTE)
    root = built(builder)
    assert [(mark.kind, mark.start, mark.end) for mark in root.marks] == [(K.QUOTE, 0, 6)]
    assert root.children[0].marks == []


def test_the_only_heading_keeps_its_marks_when_it_becomes_the_root():
    builder = TreeBuilder()
    builder.text("before")
    builder.open_heading(1)
    builder.text("Page")
    builder.close_heading()
    builder.text("Use ")
    builder.code_span("ls")
    root = built(builder)
    assert [root.text[mark.start : mark.end] for mark in root.marks] == ["ls"]


ACTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["open", "close"]), st.sampled_from(sorted(K))),
        st.tuples(st.sampled_from(["text", "verbatim", "flow"]), st.sampled_from(["a", " b ", "c\nd", "\n", " ", "|"])),
        st.tuples(st.sampled_from(["line", "paragraph", "heading", "leave"]), st.just("")),
    ),
    max_size=40,
)


@given(ACTS)
def test_whatever_a_format_says_marks_nest_and_lose_nothing(acts):
    builder = TreeBuilder()
    for act, value in acts:
        if act == "open":
            builder.open_mark(value)
        elif act == "close":
            builder.close_mark(value)
        elif act == "heading":
            builder.open_heading(2)
            builder.text("T")
            builder.close_heading()
        elif act == "leave":
            builder.leave(2)
        elif value:
            getattr(builder, act)(value)
        else:
            getattr(builder, act)()
    document = builder.finish(Source("page.x", "x"))
    for section in document.sections():
        assert not list(mark_problems(section.text, section.marks))
        leaves = [block for top in section.blocks for block in top.walk() if block.is_leaf]
        kept = "".join(section.text[block.start : block.end] for block in leaves)
        assert "".join(kept.split()).replace("|", "") == "".join(section.text.split()).replace("|", "")
        assert not {block.kind for block in leaves} & INLINE
    assert rows_document(*document_rows(document)) == document


def test_nothing_is_too_deep():
    builder = TreeBuilder()
    for _ in range(50_000):
        builder.open_mark(K.QUOTE)
        builder.text("x")
    root = built(builder)
    assert not list(mark_problems(root.text, root.marks))
    assert len(root.marks) == 100
    assert isinstance(rows_document(*document_rows(Document("d", "d", root, Source("p", "x")))), Document)
    assert outline("", block_tree("", [])) == []


# Digests of all texts, titles, anchors and links as they were read before there were marks. A change of reading that is
# meant changes them: then compare what differs, and write the new ones here.
TEXTS = {
    "npm-markdown": "cee62d757c8ea810eadab2e9",
    "docker-markdown": "a65db4f63949eee5a490a83d",
    "cargo-markdown": "f68eca89698bb8a9d7ec1e74",
    "git-html": "6680a2d43a7cfb9b91603d0b",
    "systemd-docbook": "542f85cf3959f3adda12dfa7",
    "jats-articles": "169a8b20515a64478c53e6cc",
}


@pytest.mark.parametrize("name", TEXTS)
def test_marks_change_no_text_of_a_real_corpus(shared, tmp_path, name):
    with tarfile.open(shared / "corpora" / f"{name}.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    digest, kinds = hashlib.sha256(), set()
    for document in read(tmp_path):
        for section in document.sections():
            links = [[link.kind.value, link.target, link.text, link.start, link.end] for link in section.links]
            said = [document.id, document.title, section.level, section.title, section.text, [*section.anchors], links]
            digest.update(json.dumps(said).encode("utf-8", "surrogatepass"))
            assert not list(mark_problems(section.text, section.marks))
            kinds.update(mark.kind for mark in section.marks)
    assert digest.hexdigest()[:24] == TEXTS[name]
    assert len(kinds) >= 5  # of a corpus


@given(
    st.lists(
        st.builds(
            Mark,
            st.sampled_from(sorted(K)),
            st.integers(-5, 2**40),
            st.integers(0, 2**40),
            st.integers(0, 300),
            st.sampled_from(["", "sh"]),
        ),
        max_size=20,
    )
)
def test_marks_of_any_size_are_stored_as_they_are(marks):
    assert unpacked_marks(*packed_marks(marks)) == marks
