"""Inputs and outputs that once did harm, each with its kin."""

from __future__ import annotations

import io
import json
import struct
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import structformer
from structformer import Corpus, read
from structformer.document import Source
from structformer.errors import UsageError
from structformer.evaluation.comparison import default_pipelines
from structformer.formats import Limits, TreeBuilder
from structformer.ingestion import archives, ingest
from structformer.models.registry import ModelRecord, write_record
from structformer.retrieval.index import build_index, default_encoders
from structformer.retrieval.retriever import Retriever
from structformer.sampling import SamplingOptions, sample
from structformer.text.names import path_names
from structformer.text.visible import safe_json, visible
from structformer.training import train
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
    monkeypatch.setattr(archives, "_RATIO_BYTES", 1_000_000)
    members = {f"{n}.md": b"# A\n\n" + b" " * 400_000 for n in range(8)}
    data = zipped({"inner.zip": zipped(members), "other.zip": zipped(members)}) if nested else zipped(members)
    (tmp_path / "bomb.zip").write_bytes(data)
    from structformer.formats.limits import Limits
    from structformer.ingestion.reading import Reader
    from structformer.plugins import load_plugins

    reading = Reader(load_plugins(), {}, Limits()).file("bomb.zip", tmp_path / "bomb.zip")
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


# -- front matter, encodings, controls -------------------------------------------------------------------------------


@pytest.mark.parametrize("nest", ["a: " + "[" * 50_000, "a: " + "{" * 50_000, "- " * 50_000, "a: " + "[{" * 20_000])
def test_front_matter_nested_too_deep_is_a_warning(nest):
    [document] = read(f"---\ntitle: T\n{nest}\n---\n# Heading\n\ntext\n".encode(), "markdown")
    assert "text" in document.root.text


JAPANESE = (
    "港の案内です。船は港に入る前に合図をします。風が強い日には帆を小さくします。ロープの結び方も学びましょう。" * 3
)


@pytest.mark.parametrize("encoding", ["euc_jp", "shift_jis", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_undeclared_encodings_are_guessed_alike_in_every_format(encoding, kind):
    latin = encoding.startswith("utf-16")
    title, text = ("The harbour", "Ships signal before they come in. " * 5) if latin else ("港の案内", JAPANESE)
    page = f"<html><body><h1>{title}</h1><p>{text}</p></body></html>" if kind == "html" else f"# {title}\n\n{text}\n"
    [document] = read(page.encode(encoding), kind)
    assert document.title == title
    assert text.split()[0] in document.root.text


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
    folder = train(boats(tmp_path), TWO_STEPS).folder
    modes = {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert modes == {(folder / "README.md").stat().st_mode & 0o777}


def test_a_dry_run_writes_nothing_into_the_workspace(tmp_path):
    workspace = boats(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.is_file()}
    result = train(workspace, replace(TWO_STEPS, mix={"bfs": 1.0}), dry_run=True)  # its Examples are not there yet
    assert result.plan.examples["bfs"] > 0
    after = {path: path.stat().st_mtime_ns for path in workspace.rglob("*") if path.is_file()}
    assert {path for path in after if "holds" not in path.parts} == {
        path for path in before if "holds" not in path.parts
    }


def recorded(workspace: Workspace, name: str, kind: str, better: bool | None) -> None:
    """A model's record without the model."""
    with workspace.replacing_model(name) as folder:
        write_record(folder, ModelRecord(kind, "scratch", "", "0", {"better_than_base": better}))


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
    from structformer.sampling import DEFAULT_TASKS, Samples

    result = CliRunner().invoke(app, ["sample", "-w", str(workspace), "--min-words", "3"])
    assert result.exit_code == 0, result.output
    assert tuple(Samples.open(workspace).manifest["tasks"]) == DEFAULT_TASKS


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
