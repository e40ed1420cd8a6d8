"""Pre-training on a list of corpora: what the list says, pairs by structure, an adapter that goes on and is searched by."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file
from structformer.models.bi_encoder import BiEncoder
from structformer.models.onnx_encoder import OnnxEncoder
from structformer.models.scratch import make_scratch_model

from boats import linked_pages
from conftest import write_pages
from structformer_lab.pretraining.corpora import ListedCorpus, draw_pairs, gather, is_near_copy, judged_runs, read_list

PERMISSIVE = r"MIT|ISC|Zlib|PSF-2\.0|CC0-1\.0|Unlicense|Apache-2\.0|BSD-\w-Clause|CC-BY-\d\.\d"
KNOTS = ("bowline", "hitch", "splice", "bend", "whipping", "lashing", "noose", "plait")


def page(knot: str, verb: str) -> str:
    said = " ".join(
        f"The {knot} needs a rope of {number} strands, which a sailor must {verb}." for number in range(2, 9)
    )
    return f"# The {knot}\n\n{said}\n\n## How do I {verb} a {knot}?\n\nFirst hold the end, then {verb} it. {said}\n"


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of two folders and one repository, and a small encoder beside it."""
    folder = tmp_path_factory.mktemp("corpora")
    pages = {f"{verb}/{knot}.md": page(knot, verb) for knot in KNOTS for verb in ("tie", "open", "keep", "learn")}
    write_pages(folder / "knots", pages)
    write_pages(folder / "repository" / "docs", linked_pages())
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder / "repository")]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Docs"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (folder / "list.toml").write_text(
        '[[corpus]]\nname = "knots"\nlicence = "MIT"\nfolder = "knots"\n\n'
        f'[[corpus]]\nname = "boats"\nlicence = "MIT"\nrepository = "file://{folder}/repository"\n'
        f'commit = "{commit}"\nfolder = "docs"\n\n[[corpus]]\nname = "gone"\nlicence = "MIT"\nfolder = "nowhere"\n'
    )
    texts = [*pages.values(), *linked_pages().values()]
    make_scratch_model(lambda: texts, folder / "encoder", size="tiny", seed=0, vocabulary=400)
    return folder


def flags(listed: Path, tmp_path: Path) -> list[object]:
    return [
        *(listed / "list.toml", "--base-model", listed / "encoder", "--cache", tmp_path / "cache"),
        *("--output", tmp_path / "adapter", "--batch", 8, "--rank", 2, "--learning-rate", 0.05),
    ]


def test_an_adapter_is_learned_goes_on_and_searches_without_torch(listed, tmp_path, run):
    first = run("pretrain", *flags(listed, tmp_path), "--steps", 3)
    assert first.code == 1, first.err  # a corpus could not be had
    assert re.search(r"gone left out: gone: .*nowhere is not a folder", first.err)
    assert re.search(r"boats, \d+ pairs", first.err)
    again = run("pretrain", *flags(listed, tmp_path), "--steps", 6, "--max-time", "1h", "--json")
    assert again.out, again.err
    assert again.json["steps"] == 6
    assert set(again.json["corpora"]) == {"knots"}  # boats has too few pairs to take part
    straight = run("pretrain", *flags(listed, tmp_path / "other"), "--steps", 6)
    weights = [load_file(tmp_path / each / "adapter" / "adapter_model.safetensors") for each in (".", "other")]
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[1]), straight.err
    adapter = str(tmp_path / "adapter")
    asked = ["how do I tie a bowline", "rope of 7 strands"]
    by_torch, by_onnx, plain = (
        each.encode_queries(asked)
        for each in (BiEncoder.load(adapter), OnnxEncoder(adapter), OnnxEncoder(str(listed / "encoder")))
    )
    np.testing.assert_allclose(by_torch, by_onnx, atol=1e-5)
    assert abs(by_onnx - plain).max() > 1e-4
    assert "| knots | " in (tmp_path / "adapter" / "README.md").read_text()
    assert run("ingest", listed / "knots").code == 0
    assert run("index", "--encoder", "base", "--base-model", adapter).code == 0
    assert "tie/" in run("search", "how do I tie a bowline", "-k", 1).out


def test_other_options_do_not_go_on_from_a_checkpoint(listed, tmp_path, run):
    run("pretrain", *flags(listed, tmp_path), "--steps", 1)
    other = run("pretrain", *flags(listed, tmp_path), "--steps", 2, "--seed", 1)
    assert other.code == 1
    assert "is of a run with other options or corpora" in other.err


def test_headings_sentences_and_links_ask_for_what_answers_them(listed, tmp_path, run):
    run("ingest", listed / "knots", "-w", tmp_path / "w")
    assert run("index", "-w", tmp_path / "w", "--encoder", "none").code == 0
    pairs = list(draw_pairs(tmp_path / "w"))
    assert pairs == list(draw_pairs(tmp_path / "w"))
    assert all(len(pair.passage.split()) >= 12 for pair in pairs)
    [asked] = [pair for pair in pairs if pair.question == "How do I tie a bowline?"]
    assert "First hold the end, then tie it." in asked.passage
    run("ingest", write_pages(tmp_path / "boats", linked_pages()), "-w", tmp_path / "b")
    run("index", "-w", tmp_path / "b", "--encoder", "none")
    assert any("The ladder is a part" in each.passage for each in draw_pairs(tmp_path / "b") if each.source == "anchor")


def test_a_folder_that_changed_is_drawn_from_again(listed, tmp_path):
    def questions() -> set[str]:
        pairs, _ = gather([ListedCorpus("knots", "MIT", "knots")], tmp_path, tmp_path / "cache", [], str)
        return {pair.question for pair in pairs["knots"]}

    shutil.copytree(listed / "knots", tmp_path / "knots")
    before = questions()
    write_pages(tmp_path / "knots", {"new.md": page("sheepshank", "tie")})
    assert "How do I tie a sheepshank?" in questions() - before


def test_what_is_judged_elsewhere_teaches_nothing(listed, tmp_path, run):
    run("ingest", listed / "knots", "-w", tmp_path / "judged")
    run("index", "--encoder", "none", "-w", tmp_path / "judged")
    runs = judged_runs([tmp_path / "judged"])
    assert all(is_near_copy(pair, runs) for pair in draw_pairs(tmp_path / "judged"))
    done = run("pretrain", *flags(listed, tmp_path), "--apart", tmp_path / "judged")
    assert re.search(r"knots left out: \d+ of its \d+ passages are judged elsewhere", done.err)
    assert "no corpus of the list gave 50 pairs" in done.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"no tables \[\[corpus\]\]"),
        ('[[corpus]]\nname = "A b"\n', "its name is not a-z, 0-9, -"),
        ('[[corpus]]\nname = "a"\nfolder = "x"\n', "corpus 'a': no licence"),
        (
            '[[corpus]]\nname = "a"\nlicence = "MIT"\nrepository = "https://x.org/a"\ncommit = "main"\n',
            "a commit of 40",
        ),
        ('[[corpus]]\nname = "a"\nlicence = "MIT"\nrepository = "ext::sh"\ncommit = "0"\n', "an https:// address"),
        ('[[corpus]]\nname = "a"\nlicence = "MIT"\nwhere = "x"\n', "unknown where"),
        (
            '[[corpus]]\nname = "a"\nlicence = "MIT"\n[[corpus]]\nname = "a"\nlicence = "MIT"\n',
            "two corpora are called a",
        ),
        ("[[corpus", "list.toml: "),
    ],
)
def test_a_list_that_is_wrong_is_named_with_its_place(tmp_path, run, text, why):
    (tmp_path / "list.toml").write_text(text)
    done = run("pretrain", tmp_path / "list.toml", "--output", tmp_path / "adapter", "--base-model", tmp_path)
    assert done.code == 2
    assert re.search(why, done.err)
    assert json.dumps(done.err).count("Traceback") == 0


def test_the_packaged_list_has_no_corpus_that_is_kept_for_judging():
    kept = (
        *"airflow blender bun cilium dbt deno flux freecad gradle helm home-assistant kubernetes postgresql postgres".split(),
        *"salt spring sqlalchemy sqlite supabase twisted cargo docker moby fastapi git loki npm podman prometheus".split(),
        *"cpython python ruff stacks systemd traefik vite php pytest jekyll sphinx vue laravel".split(),
    )
    corpora = read_list(Path(__file__).parents[3] / "benchmarks" / "pretraining.toml")
    assert len(corpora) >= 50
    for corpus in corpora:
        owner, name = corpus.repository.lower().removesuffix("/").split("/")[-2:]
        assert not {owner, name} & {*kept}, corpus.repository
        assert re.fullmatch(
            r"(MIT|ISC|Zlib|PSF-2\.0|CC0-1\.0|Unlicense|Apache-2\.0|BSD-\w-Clause|CC-BY-\d\.\d)", corpus.licence
        )
