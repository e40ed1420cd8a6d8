"""Inputs and outputs that once did harm, each with its kin."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import struct
import sys
import tarfile
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import structformer
import zstandard
from structformer import Corpus, read
from structformer.document import Source
from structformer.errors import ReadError, UsageError
from structformer.evaluation.comparison import default_pipelines
from structformer.formats import Limits, TreeBuilder
from structformer.formats.link_names import path_names
from structformer.ingestion import ingest, unpacking_limits
from structformer.ingestion.ranges import pieces
from structformer.ingestion.reading import Reader
from structformer.models.registry import ModelRecord, write_record
from structformer.plugins import load_plugins
from structformer.retrieval.indexing import build_index
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.vectors.encoder_places import default_encoders
from structformer.sampling import SamplingOptions, sample
from structformer.text.visible_text import safe_json, visible
from structformer.training import RunMode, train_ranker
from structformer.training.judged.judging import compared
from structformer.workspace import Workspace

from boats import TINY, boats
from conftest import write_pages


def zipped(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


def messages(path: Path, tmp_path: Path, limits: Limits | None = None) -> str:
    """What an ingest says of one archive."""
    ingest(path, tmp_path / "w", workers=1, limits=limits)
    return "\n".join(message for row in Corpus.open(tmp_path / "w").sources() for message in row["messages"])


# -- archives --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [False, True])
def test_an_archives_ratio_counts_over_all_its_members_and_what_is_nested(nested, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking_limits, "_RATIO_BYTES", 1_000_000)
    members = {f"{n}.md": b"# A\n\n" + b" " * 400_000 for n in range(8)}
    data = zipped({"inner.zip": zipped(members), "other.zip": zipped(members)}) if nested else zipped(members)
    (tmp_path / "bomb.zip").write_bytes(data)
    reading = Reader({}, Limits()).file("bomb.zip", tmp_path / "bomb.zip")
    assert len(list(reading)) < 8
    assert "unpacks to over 500 times its size" in "\n".join(reading.own.messages)


def test_members_that_share_bytes_are_refused_by_name(tmp_path):
    data = zipped({"a.md": b"# A\n\nfine\n", "b.md": b"# B\n\nfine\n", "c.md": b"# C\n"})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first = archive.getinfo("a.md").header_offset
        second = archive.getinfo("b.md").header_offset
    # The central directory's entry of b.md is made to point at a.md's data.
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"b.md"))
    patched = bytearray(data)
    patched[entry + 42 : entry + 46] = struct.pack("<I", first)
    assert second != first
    (tmp_path / "overlap.zip").write_bytes(bytes(patched))
    said = messages(tmp_path / "overlap.zip", tmp_path)
    assert "a.md: overlaps another member: skipped" in said
    assert "b.md: overlaps another member: skipped" in said
    assert list(Corpus.open(tmp_path / "w").document_ids()) == ["overlap.zip/c.md"]


def test_members_and_bytes_of_nested_archives_count_together(tmp_path):
    inner = zipped({f"{n}.md": b"# A\n\ntext\n" for n in range(6)})
    (tmp_path / "many.zip").write_bytes(zipped({"x.zip": inner, "y.zip": inner}))
    assert "over 10 members: the rest is skipped" in messages(
        tmp_path / "many.zip", tmp_path, Limits(archive_entries=10)
    )
    assert Corpus.open(tmp_path / "w").document_count < 12


def tarred(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:xz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def test_the_time_of_an_archive_counts_by_its_packed_size_too():
    limits = Limits()
    assert limits.seconds_for(unpacked=400_000_000, packed=780_000) == 60 + 78  # it was 27 minutes
    assert limits.seconds_for(unpacked=2_000_000, packed=780_000) == 60 + 40


PAGES = {f"p{number:02}.md": b"# Page\n\ntext\n" for number in range(40)}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("many.zip", zipped(PAGES)),
        ("many.tar.xz", tarred(PAGES)),
        ("many.zip", zipped({f"{name}.gz": gzip.compress(page) for name, page in PAGES.items()})),
        ("many.zip", zipped({"inner.zip": zipped(PAGES), "other.tar.xz": tarred(PAGES)})),
    ],
    ids=["zip", "tar", "packed members", "nested"],
)
def test_an_archive_ends_where_its_time_does_and_keeps_what_was_read(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    ticks = itertools.count()  # each look at the clock is a second later
    reading = Reader({}, Limits(seconds=30), now=lambda: float(next(ticks))).file(name, tmp_path / name)
    assert 5 < len(list(reading)) < 40
    assert len(reading.own.messages) <= 2
    assert "took over 30 s of processor time in all, for 0.0" in reading.own.messages[0]
    assert ".md" in reading.own.messages[0].rpartition(": skipped from ")[2]


def test_what_a_caller_does_between_documents_is_not_the_archives_time(tmp_path, monkeypatch):
    (tmp_path / "many.zip").write_bytes(zipped(PAGES))
    now = [0.0]
    monkeypatch.setattr(unpacking_limits.time, "process_time", lambda: now[0])
    ids = set()
    for document in read(tmp_path / "many.zip"):
        ids.add(document.id)
        now[0] += 1000
    assert len(ids) == 40


def test_short_paragraphs_packed_a_thousand_to_one_cost_what_they_are_packed_to(tmp_path):
    page = b"<!doctype html><h1>Page</h1>" + b"<p>a</p>" * 25_000
    write_pages(tmp_path / "pages", {"good.md": "# Good\n\ntext\n"})
    (tmp_path / "pages" / "bomb.zip").write_bytes(zipped({f"p{number:03}.html": page for number in range(200)}))
    limits = Limits(seconds=2, bytes_per_second=1000, packed_bytes_per_second=1_000_000)
    said = messages(tmp_path / "pages", tmp_path, limits)
    assert "took over 2 s of processor time in all, for 0.0" in said
    assert ".html on" in said
    ids = list(Corpus.open(tmp_path / "w").document_ids())
    assert "good.md" in ids
    assert 1 < len(ids) < 201


def test_a_member_that_takes_too_long_costs_only_itself_and_two_of_them_end_the_archive(tmp_path):
    slow = b"![[]()" * 400_000
    members = {
        "a.md": b"# A\n",
        "slow.md": slow,
        "b.md": b"# B\n",
        "z.zip": zipped({"slow.md": slow}),
        "z.md": b"# Z\n",
    }
    (tmp_path / "docs.zip").write_bytes(zipped(members))
    said = messages(tmp_path / "docs.zip", tmp_path, Limits(seconds=1.5)).split("\n")
    assert said[:2] == [
        "slow.md: took over 1.5 s of processor time: skipped",
        "z.zip: slow.md: took over 1.5 s of processor time: skipped",
    ]
    assert said[2:] == ["2 members ended their readers: the rest is skipped"]
    assert list(Corpus.open(tmp_path / "w").document_ids()) == ["docs.zip/a.md", "docs.zip/b.md"]


RECORDS = b"".join(b'{"_id": "%d", "text": "a knot"}\n' % number for number in range(400_000))


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstandard.compress)])
def test_a_packed_dump_ends_where_its_time_or_its_ratio_does(suffix, pack, tmp_path, monkeypatch):
    path = tmp_path / f"records.jsonl{suffix}"
    path.write_bytes(pack(RECORDS))
    ticks = itertools.count()
    records = load_plugins().format("records")
    limits = Limits(seconds=11, packed_bytes_per_second=10**9)
    late = pieces(path, records, limits, workers=1, now=lambda: float(next(ticks)))  # a second for each MB
    assert isinstance(next(late)[0], bytes)
    with pytest.raises(ReadError, match="took over 11 s of processor time in all"):
        list(late)
    monkeypatch.setattr(unpacking_limits, "_RATIO_BYTES", 1_000_000)
    with pytest.raises(ReadError, match="unpacks to over 2 times its size: the rest is skipped"):
        list(pieces(path, records, Limits(ratio=2), workers=1, now=lambda: 0.0))


def test_the_readers_of_a_dumps_pieces_take_from_one_budget(tmp_path, monkeypatch):
    from structformer_records import layout

    monkeypatch.setattr(layout, "PIECE_BYTES", 100_000)
    monkeypatch.setattr(layout, "_READ_BYTES", 100_000)
    (tmp_path / "records.jsonl.gz").write_bytes(gzip.compress(RECORDS))
    said = messages(tmp_path / "records.jsonl.gz", tmp_path, Limits(seconds=3, bytes_per_second=10**9))
    assert "took over 3 s of processor time in all" in said
    assert 0 < Corpus.open(tmp_path / "w").document_count < 400_000


# -- front matter, encodings, controls -------------------------------------------------------------------------------


@pytest.mark.parametrize("nest", ["a: " + "[" * 50_000, "a: " + "{" * 50_000, "- " * 50_000, "a: " + "[{" * 20_000])
def test_front_matter_nested_too_deep_is_a_warning(nest):
    [document] = read(f"---\ntitle: T\n{nest}\n---\n# Heading\n\ntext\n".encode(), "markdown")
    assert "text" in document.root.text


KNOTS = {
    "en": ("The knots", "A bowline makes a loop at the end of a rope. It does not slip and is easy to untie."),
    "de": ("Über Knoten", "Der Palstek bildet eine Schlinge, die sich nicht zuzieht; größere Lasten hält er auch."),
    "ja": (
        "港の案内",
        "　船は港に入る前に合図をします。風が強い日には帆を小さくします。一本のロープの結び方も学びます。" * 3,
    ),
    "ko": ("매듭 안내서", "이 글은 매듭을 설명합니다. 밧줄 끝에 고리를 만든다."),
    "ru": ("Об узлах", "Беседочный узел образует петлю на конце верёвки и не затягивается."),
    "hi": ("गाँठ", "यह गाँठ रस्सी के सिरे पर एक फंदा बनाती है।"),
}
MARKED_UP = {
    "html": "<html><body><h1>{0}</h1><p>{1}</p></body></html>",
    "markdown": "# {0}\n\n{1}\n",
    "rst": "{0}\n================\n\n{1}\n",
    "wikitext": "== {0} ==\n\n{1}\n",
    "latex": "\\begin{{document}}\n\\section{{{0}}}\n{1}\n\\end{{document}}\n",
    "xml": '<?xml version="1.0"?>\n<article><section><title>{0}</title><para>{1}</para></section></article>',
}
UTF_16 = [(order, language) for order in ("utf-16-le", "utf-16-be") for language in KNOTS]
EASTERN = [("euc_jp", "ja"), ("shift_jis", "ja"), ("iso2022_jp", "ja"), ("iso2022_kr", "ko")]


@pytest.mark.parametrize(("encoding", "language"), [*UTF_16, *EASTERN])
@pytest.mark.parametrize("kind", MARKED_UP)
def test_undeclared_encodings_are_guessed_alike_in_every_format(encoding, language, kind):
    if kind == "xml" and encoding in ("euc_jp", "shift_jis"):
        pytest.skip("XML that declares nothing is UTF-8 or UTF-16, or damaged")
    title, text = KNOTS[language]
    [document] = read(MARKED_UP[kind].format(title, text).encode(encoding), kind)
    [section] = [section for section in document.sections() if section.title == title]
    assert text.split()[0] in section.text
    assert "\ufffd" not in document.root.subtree_text()


def test_wide_text_is_told_from_binary_files(tmp_path):
    title, text = KNOTS["ja"]
    markdown = f"# {title}\n\n{text}\n\n## {title}\n\n- {text}\n"
    samples = struct.pack("<2000H", *(3000 + number * 7 % 900 for number in range(2000)))
    files = {
        "notes.txt": markdown.encode("utf-16-le"),
        "marked.txt": markdown.encode("utf-16"),
        "page": "<!doctype html><h1>Größe</h1>".encode("utf-16-be"),
        "sound": samples,
        "levels.dat": struct.pack("<2000H", *(32 + number % 200 for number in range(2000))),
        "names": b"docs/a.md\0docs/index.md\0# a.md\0" * 100,
        "random": bytes(number * number % 251 for number in range(5000)),
        "sound.md": samples,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    ingest(tmp_path, tmp_path / "w", workers=1)
    rows = {row["path"]: row for row in Corpus.open(tmp_path / "w").sources()}
    read_as = {path: (row["format"], row["documents"]) for path, row in rows.items()}
    assert read_as == {
        "marked.txt": ("markdown", 1),
        "notes.txt": ("markdown", 1),
        "page": ("html", 1),
        "sound.md": ("markdown", 0),
    }
    assert rows["notes.txt"]["messages"] == ["no encoding declared; read as utf-16-le"]
    assert "binary content" in rows["sound.md"]["messages"][0]


def test_colours_of_a_terminal_and_zero_bytes_in_a_text_are_no_encoding():
    [document] = read(b"# A\n\n\x1b[31mred\x1b(B\x1b[m and a zero\n\0\nbyte\n", "markdown")
    assert "red" in document.root.text
    assert "byte" in document.root.text


HOSTILE = "a\x1b[31mb\x9bc\u202ed\u2066e\x00f\u2028g"


def test_what_is_shown_carries_no_control_and_no_bidirectional_characters(tmp_path):
    shown = safe_json({"text": HOSTILE, "plain": "Café 日本\n"})
    assert json.loads(shown) == {"text": HOSTILE, "plain": "Café 日本\n"}
    for text in (shown, visible(HOSTILE)):
        assert not {"\x1b", "\x9b", "\u202e", "\u2066", "\x00", "\u2028"} & set(text)
    pages = write_pages(tmp_path / "pages", {"a.md": f"# {HOSTILE}\n\n[{HOSTILE}](gone\u202e.md) \x9b text\n"})
    ingest(pages, tmp_path / "w", workers=1)
    page = (tmp_path / "w" / "corpus" / "report.html").read_text()
    assert not {"\x1b", "\x9b", "\u202e", "\u2066", "\x00"} & set(page)


# -- models ----------------------------------------------------------------------------------------------------------


def test_no_code_from_a_models_folder_is_run(tmp_path, monkeypatch):
    from structformer.errors import ModelError
    from structformer.models.loading import load_encoder

    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    config = {"auto_map": {"AutoConfig": "evil.C", "AutoModel": "evil.M"}, "model_type": "evil"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\ny\n"))
    with pytest.raises(ModelError):
        load_encoder(str(tmp_path))
    assert not (tmp_path / "ran").exists()


TWO_STEPS = replace(TINY, max_steps=2, document_tokens=48, mix={"ict": 1.0}, sampling={"min_words": 5})


def test_weights_may_be_read_by_whoever_may_read_the_workspace(tmp_path):
    folder = train_ranker(boats(tmp_path), TWO_STEPS).folder
    modes = {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert modes == {(folder / "README.md").stat().st_mode & 0o777}


def test_a_dry_run_writes_nothing_into_the_workspace(tmp_path):
    workspace = boats(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.is_file()}
    result = train_ranker(
        workspace, replace(TWO_STEPS, mix={"bfs": 1.0}), RunMode(dry_run=True)
    )  # its Examples are not there yet
    assert result.plan.examples["bfs"] > 0
    after = {path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.is_file()}
    assert {path for path in after if "holds" not in path.parts} == {
        path for path in before if "holds" not in path.parts
    }


def recorded(workspace: Workspace, name: str, kind: str, better: bool | None) -> None:
    """A model's record without the model."""
    with workspace.replacing_model(name) as folder:
        write_record(
            folder, ModelRecord(kind, "scratch", "", "0", {} if better is None else {"judged": judged(better)})
        )


def judged(better: bool) -> dict[str, object]:
    """What a record says of a model that is better than untrained on twenty questions, or worse."""
    before, after = np.full(20, 3), np.full(20, 1 if better else 9)
    return asdict(compared(before, after, np.ones(20), by="held-out questions", against="the untrained model"))


def test_a_model_that_is_not_better_than_its_base_is_not_what_the_search_takes(workspace):
    place = Workspace(workspace)
    recorded(place, "bi-encoder", "bi-encoder", False)
    assert default_encoders(place) == ["base"]
    recorded(place, "bi-encoder", "bi-encoder", True)
    assert default_encoders(place) == ["bi-encoder"]


def test_every_kind_of_trained_model_is_among_the_default_pipelines(workspace):
    place = Workspace(workspace)
    for kind in ("bi-encoder", "cross-encoder", "late-interaction", "knrm"):
        recorded(place, kind, kind, True)
    shown = " ".join(str(pipeline) for pipeline in default_pipelines(place))
    for part in ("dense:bi-encoder", "rerank:cross-encoder", "late:late-interaction", "rerank:knrm"):
        assert part in shown


# -- sampling, options, names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["random", "lexical"])
def test_negatives_never_differ_from_the_positive_in_form(source, tmp_path):
    workspace = boats(tmp_path)
    samples = sample(
        workspace, ["ovs", "ict", "srr"], options=SamplingOptions(min_words=5, negatives_from=source), workers=1
    )
    for example in samples:
        first_lines = {document.split("\n")[0] for document in example.documents[1:]}
        if example.task == "ovs":
            assert len(example.documents) == 1
        elif example.task == "ict" and example.documents[0].startswith("The "):
            assert all(line.startswith("The ") for line in first_lines)


def test_the_command_line_draws_the_tasks_that_the_library_draws(workspace):
    from click.testing import CliRunner
    from structformer.cli.main import app
    from structformer.sampling import Samples, default_tasks

    result = CliRunner().invoke(app, ["sample", "-w", str(workspace), "--min-words", "3"])
    assert result.exit_code == 0, result.output
    assert tuple(Samples.open(workspace).manifest["tasks"]) == default_tasks()


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"flavor": "comonmark"}, "flavor=comonmark: choose gfm, commonmark"),
        ({"flavour": "commonmark"}, "no format option 'flavour'; did you mean flavor?"),
        ({"content": "everything"}, "content=everything: choose main, all"),
        ({"templates": "foo"}, "templates=foo: choose known, text, drop"),
        ({"namespaces": "some"}, "namespaces=some: write numbers"),
        ({"mapping": "not toml"}, "mapping:"),
    ],
)
def test_an_option_that_no_format_has_is_a_usage_error(options, answer, pages, tmp_path):
    with pytest.raises(UsageError, match="^" + answer.replace("?", r"\?")):
        ingest(pages, tmp_path / "w", options=options)
    assert not (tmp_path / "w").exists()
    with pytest.raises(UsageError):
        list(read(pages, **options))


def test_pages_of_every_installed_format_have_names_without_their_suffix():
    assert [len(path_names(f"guide/setup{suffix}")) for suffix in (".md", ".rst", ".dbk", ".mediawiki", ".xyz")] == [
        2,
        2,
        2,
        2,
        1,
    ]


def test_a_title_of_the_formats_own_leaves_a_lone_heading_a_section():
    def built(**options: object) -> list[str]:
        builder = TreeBuilder()
        builder.open_heading(1)
        builder.text("Bowline")
        builder.close_heading()
        builder.text("A loop.")
        return [section.title for section in builder.finish(Source("k.x", "x"), **options).sections()]  # type: ignore[arg-type]

    assert built(title="Knots") == ["Knots", "Bowline"]
    assert built(title="bowline") == ["Bowline"]
    assert built() == ["Bowline"]


def test_the_library_ingests_as_the_command_does(pages, tmp_path):
    report = structformer.ingest(pages, tmp_path / "w")
    assert report.links["hyperlink"]["resolved"] == 1
    assert (tmp_path / "w" / "corpus" / "report.html").exists()
    structformer.sample(tmp_path / "w", ["srr"])
    build_index(tmp_path / "w", encoders=[])
    assert Retriever.open(tmp_path / "w").search("bowline")[0].document_id == "knots.md"


def test_the_root_names_the_whole_way():
    shown = dir(structformer)
    assert {"read", "ingest", "sample", "train", "index", "evaluate", "Retriever", "Corpus", "UsageError"} <= set(shown)
    assert all(callable(getattr(structformer, name)) for name in shown if name != "__version__")
