"""structformer from Python and in notebooks: what is shown, what is served, and what a wrong name is answered with."""

from __future__ import annotations

import json
import sys
import types
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError

import pytest
import structformer
from structformer.document import Document, Link, LinkKind, Section, Source
from structformer.evaluation.judgements import Judgements
from structformer.notebook import in_notebook, tree
from structformer.training.report.logs import run_html

from conftest import PAGES, write_pages


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three pages on boats, read and indexed, with a link that leads nowhere and a page that would like to run a script."""
    folder = tmp_path_factory.mktemp("api")
    more = {"evil.md": "# `<script>alert(1)</script>`\n\nA fender <b>is</b> \u202eno toy. See [it](gone.md).\n"}
    structformer.ingest(write_pages(folder / "pages", {**PAGES, **more}), folder / "ws", workers=1)
    structformer.index(folder / "ws", encoders=["structure"])
    return folder / "ws"


class Seen(HTMLParser):
    """The tags and the text of HTML; every tag that is opened must be closed in its order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in ("br", "progress"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "progress":
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += "" if self._open[-1:] == ["style"] else data + " "


def shown(thing: object) -> str:
    """What a notebook shows of a thing, which has no scripts and nothing that a page of the corpus wrote as HTML."""
    seen = Seen(thing._repr_html_())  # type: ignore[attr-defined]
    assert not {"script", "b", "img", "iframe"} & set(seen.tags)
    assert "\u202e" not in seen.text
    return " ".join(seen.text.split())


def test_a_corpus_and_its_documents_are_shown(workspace: Path):
    corpus = structformer.Corpus.open(workspace)
    assert repr(corpus).startswith("Corpus(4 documents, 10 sections")
    assert "Corpus of 4 documents, 10 sections" in shown(corpus)
    assert "parts/sails.md Sails markdown 3" in shown(corpus)
    knots = shown(corpus.document("knots.md"))
    assert knots.index("Knots") < knots.index("Bowline 29 words") < knots.index("Clove hitch") < knots.index("1 link")
    assert "<script>alert(1)</script>" in shown(corpus.document("evil.md"))  # as text


def test_only_the_first_of_many_are_shown(tmp_path: Path):
    write_pages(tmp_path / "pages", {f"{number:02}.md": f"# Page {number}\n" for number in range(30)})
    structformer.ingest(tmp_path / "pages", tmp_path / "ws", workers=1)
    assert "... and 20 more documents" in shown(structformer.Corpus.open(tmp_path / "ws"))
    root = Section("Deep")
    section = root
    for depth in range(1, 3000):
        section.children.append(Section(f"Level {depth}", depth))
        section = section.children[-1]
    seen = shown(Document("deep", "Deep", root, Source("deep", "markdown")))
    assert "Level 59" in seen
    assert "Level 60" not in seen
    assert "... and 2,940 more sections" in seen


def test_a_tree_may_begin_anywhere_and_go_back():
    assert tree(iter([(0, "a"), (2, "b"), (2, "c"), (0, "d")])) == (
        "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li><li>d</li></ul>"
    )


def test_the_graph_shows_what_became_of_the_links(workspace: Path):
    seen = shown(structformer.ReferenceGraph.open(workspace))
    assert "Reference graph of 4 documents, 3 see-also edges" in seen
    assert "a link that leads nowhere evil.md gone.md" in seen


def test_hits_say_whether_they_are_what_was_asked_for(workspace: Path):
    retriever = structformer.Retriever.open(workspace)
    hits = retriever.search("bowline loop", k=2)
    assert (len(hits), hits.confident, hits.pipeline) == (2, True, "hybrid:structure")
    assert hits[0].address == "knots.md#bowline"
    assert "confidence" not in shown(hits)
    assert "<mark>bowline</mark>" in hits._repr_html_()
    assert 0.42 < hits.likely < 1
    assert retriever.search("zxqv kubernetes", k=3).likely < 0.42
    assert not retriever.search("zxqv", pipeline="lexical").confident  # there is nothing
    assert shown(retriever.search("zxqv", pipeline="lexical")) == "No hits for: zxqv"
    with pytest.raises(structformer.UsageError, match="k=0: ask for 1 hit or more"):
        retriever.search("knots", 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (((None,), {}), "a query is text, not NoneType"),
        (((b"mast",), {}), "a query is text, not bytes"),
        ((("mast",), {"k": 1.5}), "k=1.5: ask for 1 hit or more"),
        ((("mast",), {"where": {"a": None}}), "where is a Filter, not dict"),
        ((("mast",), {"where": []}), "where is a Filter, not list"),
    ],
)
def test_arguments_of_another_type_are_named(workspace, arguments, said):
    positional, named = arguments
    with pytest.raises(structformer.UsageError, match=said):
        structformer.Retriever.open(workspace).search(*positional, **named)


def test_hits_without_confidence_are_shown_as_the_nearest():
    hit = structformer.Hit("a.md", "A", ("A",), "", "what it says", "what it says", 0.1)
    assert "no sure match; closest pages:" in shown(structformer.Hits([hit], query="b", likely=0.1))
    assert "and 15 more hits" in shown(structformer.Hits([hit] * 25, query="b"))


def test_an_evaluation_is_shown_as_its_table(workspace: Path):
    judged = Judgements({"1": "loop at the end of a rope"}, {"1": {"knots.md": 1}})
    result = structformer.evaluate(workspace, judged, pipelines=["lexical", "hybrid:structure"])
    seen = shown(result)
    assert "judged queries: 1 query" in seen
    assert "BM25" in seen
    assert f"{result.rows[1].scores['nDCG@10']:.3f}" in seen


def test_a_training_run_is_shown_with_its_curves(tmp_path: Path):
    lines = [{"step": step, "losses": {"ict": 2.0 / step}, "development": 0.5 + step / 100} for step in range(1, 9)]
    (tmp_path / "training.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    html = run_html(tmp_path, "nDCG@10")
    seen = Seen(html)
    assert seen.tags.count("svg") == 2
    assert "held-out nDCG@10" in seen.text
    assert "loss, ict" in seen.text
    assert "This run is not finished." in seen.text


def test_a_wrong_option_is_answered_with_the_right_one(workspace: Path, tmp_path: Path):
    retriever = structformer.Retriever.open(workspace)
    for call, cure in (
        (lambda: structformer.ingest(tmp_path, tmp_path / "new", worker=2), r"'worker': did you mean workers\?"),
        (lambda: structformer.index(workspace, encoder=["structure"]), "did you mean encoders"),
        (lambda: structformer.train(workspace, max_seconds=9), r"options=TrainingOptions\(max_seconds=...\)"),
        (lambda: structformer.TrainingOptions(max_time=9), "did you mean max_seconds"),
        (lambda: structformer.SamplingOptions(min_word=9), "did you mean min_words"),
        (lambda: structformer.evaluate(workspace, metrics=["MAP"]), "did you mean measures"),
        (lambda: structformer.sample(workspace, task="ict"), "did you mean tasks"),
        (lambda: retriever.search("knots", n=3), "did you mean k"),
        (lambda: retriever.search("knots", zzz=3), "it has query, k, pipeline, where, group"),
        (lambda: structformer.serve(workspace, titel="Boats"), "did you mean title"),
        (lambda: structformer.up(workspace, train="5m"), "did you mean train_seconds"),
    ):
        with pytest.raises(TypeError, match=cure):
            call()
    assert not (tmp_path / "new").exists()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def test_up_reads_indexes_and_serves_until_it_is_stopped(pages: Path, tmp_path: Path):
    with structformer.up(pages, tmp_path / "ws", improve=False, title="Boats & co") as page:
        assert json.loads(get(f"{page.url}api/search?q=bowline"))["hits"][0]["document"] == "knots.md"
        assert "Boats &amp; co" in get(page.url)
        assert page.url in shown(page)
        with pytest.raises(structformer.UsageError, match="in use by another program"):
            structformer.up(pages, tmp_path / "other", port=int(page.url.rstrip("/").rpartition(":")[2]))
        assert not (tmp_path / "other").exists()  # said before anything was read
    assert not page.is_running
    assert "stopped" in repr(page)
    assert "stopped" in shown(page)
    with pytest.raises(URLError):
        get(page.url)
    (pages / "anchors.md").write_text("# Anchors\n\nAn anchor holds a boat where it is, on sand or mud.\n")
    with structformer.up(pages, tmp_path / "ws", improve=False) as page:  # read again, and indexed again
        assert json.loads(get(f"{page.url}api/search?q=anchor"))["hits"][0]["document"] == "anchors.md"


def test_serve_asks_for_an_index_and_ends_twice(workspace: Path, tmp_path: Path):
    page = structformer.serve(workspace, pipelines={"exact": "lexical"})
    assert json.loads(get(f"{page.url}api/search?q=halyard&pipeline=exact"))["hits"]
    page.stop()
    page.stop()
    with pytest.raises(structformer.WorkspaceError, match="ingest"):
        structformer.serve(tmp_path / "nothing")
    with pytest.raises(structformer.UsageError, match="None for no training"):
        structformer.up(tmp_path, tmp_path / "ws", train_seconds=0)


@pytest.mark.parametrize("address", ["https://boats.example/docs/", Path("https://boats.example/docs")])
def test_a_website_is_answered_with_the_command_that_reads_it(tmp_path: Path, address: str | Path):
    for call in (
        lambda: structformer.ingest(address, tmp_path / "ws"),
        lambda: structformer.ingest([tmp_path, address], tmp_path / "ws"),
        lambda: structformer.up(address, tmp_path / "ws"),
        lambda: list(structformer.read(address)),
    ):
        with pytest.raises(structformer.UsageError, match=r"`structformer ingest https://boats\.example/docs"):
            call()
    assert not (tmp_path / "ws").exists()


def test_export_says_what_it_wrote_and_what_goes_together(workspace: Path, tmp_path: Path):
    assert structformer.export("site", tmp_path / "site", workspace, title="Boats").count == 4
    assert (tmp_path / "site" / "index.html").exists()
    made = structformer.export("beir", tmp_path / "beir", workspace)
    assert (made.path, made.count, made.what) == (tmp_path / "beir", 4, "documents")
    made = structformer.export("docsearch", tmp_path / "records.jsonl", workspace, base_url="https://boats.example")
    first = json.loads((tmp_path / "records.jsonl").read_text().splitlines()[0])
    assert made.count > 9
    assert first["url"].startswith("https://boats.example/")
    for options, cure in (
        ({"form": "siet", "target": "x"}, r"did you mean site\?"),
        ({"form": "site"}, "name the folder or file"),
        ({"form": "static", "target": "x"}, "model=NAME"),
        ({"form": "beir", "target": "x", "base_url": "https://x.org"}, "base_url goes with site and docsearch"),
        ({"form": "site", "target": tmp_path / "site"}, "force"),
    ):
        with pytest.raises(structformer.UsageError, match=cure):
            structformer.export(workspace=workspace, **options)


def test_a_notebook_draws_a_bar_for_each_stage(pages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    drawn: list[str] = []
    shell = types.SimpleNamespace(kernel=object())
    handle = types.SimpleNamespace(update=drawn.append)
    kernel = types.ModuleType("IPython")
    kernel.get_ipython = lambda: shell  # type: ignore[attr-defined]
    display = types.ModuleType("IPython.display")
    display.HTML = str  # type: ignore[attr-defined]
    display.display = lambda html, display_id: drawn.append(html) or handle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    structformer.ingest(pages, tmp_path / "ws", workers=1)
    seen = [Seen(html).text.split() for html in drawn]
    assert ["reading", "100%"] in seen
    assert seen[-1] == ["resolving", "links", "100%"]
    drawn.clear()
    told: list[str] = []
    structformer.ingest(pages, tmp_path / "ws", workers=1, progress=lambda stage, done, total: told.append(stage))
    assert told
    assert not drawn
    del shell.kernel  # IPython on a terminal
    assert not in_notebook()


def anchor(says: str = "An anchor with a chain holds a boat on sand.") -> Document:
    """A document that a program makes, with a link to a page that was read from a file."""
    text = f"{says} Tie it with the bowline."
    link = Link(LinkKind.HYPERLINK, "../knots.md#bowline", "bowline", len(text) - 8, len(text) - 1)
    return Document(
        "faq/anchor", "Anchors", Section("Anchors", 0, text, links=[link]), Source("faq/anchor", "markdown")
    )


def test_documents_are_added_replaced_and_deleted_as_objects(pages: Path, tmp_path: Path):
    ws = tmp_path / "ws"
    (pages / "moor.md").write_text("# Mooring\n\nWhere you moor, see [anchors](faq/anchor).\n")
    structformer.ingest(pages, ws, workers=1)
    structformer.index(ws, encoders=["structure"])
    before = structformer.Corpus.open(ws)
    assert structformer.ReferenceGraph.open(ws).statistics["links"]["hyperlink"]["unresolved"] == 1
    assert structformer.upsert(anchor(), ws).added == ("faq/anchor",)
    after = structformer.Corpus.open(ws)
    assert after.shards[: len(before.shards)] == before.shards  # no file was read again
    assert after.check() == []
    found = structformer.Retriever.open(ws).search("anchor chain", k=1)[0]  # the index was brought up to date
    assert (found.address, found.text) == ("faq/anchor", anchor().root.text)
    assert structformer.ReferenceGraph.open(ws).statistics["links"]["hyperlink"]["unresolved"] == 0  # both ways
    again = structformer.upsert([anchor()], ws)
    assert (again.unchanged, bool(again)) == (("faq/anchor",), False)
    assert structformer.Corpus.open(ws).folder == after.folder  # nothing was written
    (pages / "knots.md").unlink()
    report = structformer.ingest(workspace=ws, workers=1)  # which keeps what a program gave
    assert (report.documents, report.parsed) == (4, 0)
    assert structformer.upsert(anchor("A rope will do."), ws, index=False).replaced == ("faq/anchor",)
    assert structformer.Corpus.open(ws).document("faq/anchor").root.text.startswith("A rope")
    gone = structformer.delete(["faq/anchor", "faq/nothing"], ws)
    assert str(gone) == "1 deleted, 1 unknown"
    assert list(structformer.Corpus.open(ws).document_ids()) == ["index.md", "moor.md", "parts/sails.md"]
    assert not structformer.Retriever.open(ws).search("rope will do", k=1, pipeline="lexical")


def test_a_corpus_may_be_of_objects_alone(tmp_path: Path):
    source = tmp_path / "reefing.md"
    source.write_text(PAGES["parts/sails.md"])
    read = list(structformer.read(source))
    assert structformer.upsert([anchor(), *read], tmp_path / "ws").added == ("faq/anchor", "reefing.md")
    kept = structformer.Corpus.open(tmp_path / "ws").document("reefing.md")
    assert kept == read[0]  # with its tree, links, marks and metadata
    structformer.delete(["faq/anchor", "reefing.md"], tmp_path / "ws")
    assert structformer.Corpus.open(tmp_path / "ws").document_count == 0


def test_a_file_and_a_program_do_not_give_the_same_document(pages: Path, tmp_path: Path):
    ws = tmp_path / "ws"
    structformer.ingest(pages, ws, workers=1)
    knots = Document("knots.md", "Knots", Section("Knots"), Source("knots.md", "markdown"))
    for call, cure in (
        (lambda: structformer.upsert(knots, ws), "read from the file knots.md: change or delete the file"),
        (lambda: structformer.delete("knots.md", ws), "read from the file knots.md"),
        (lambda: structformer.upsert([{"id": "1"}], ws), "dict is not a Document"),
        (lambda: structformer.upsert(Document("a", "A", Section("A"), Source("a", "mardown")), ws), "no format"),
        (lambda: structformer.upsert(Document("", "A", Section("A"), Source("a", "html")), tmp_path / "new"), "the id"),
    ):
        with pytest.raises(structformer.UsageError, match=cure):
            call()
    assert not (tmp_path / "new").exists()
    structformer.upsert(anchor(), ws)
    (pages / "a.jsonl").write_text('{"_id": "faq/anchor", "title": "Anchors", "text": "From a file."}\n')
    with pytest.raises(structformer.UsageError, match=r"structformer.delete\('faq/anchor'\)"):
        structformer.ingest(workspace=ws, workers=1)
