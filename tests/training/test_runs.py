"""Runs as users start them: killed and resumed, on two processes, on a full disk, with recipes, taught, fine-tuned, exported."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from structformer import Corpus, Retriever, train
from structformer.cli.main import main
from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.evaluation.judgements import read_judgements
from structformer.ingestion import ingest
from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import CrossEncoder
from structformer.models.kinds import imported, ranker_kind
from structformer.models.onnx_encoder import OnnxEncoder, export_in
from structformer.models.registry import read_record
from structformer.sampling import Samples, SamplingOptions
from structformer.sampling.tasks import tasks
from structformer.training import Listener, TrainingOptions, read_recipe, recipe_names, training_options
from structformer.training.data.example_order import ExampleOrder
from structformer.training.judged.development import judged_development
from structformer.training.report.logs import read_log
from structformer.training.run import loop, trainer
from structformer.training.run.checkpoint import Checkpoints
from structformer.training.run.option_defaults import load_ranker, make_objective, resolve
from structformer.training.run.process_turns import Turns
from structformer.workspace import Workspace

from boats import TINY, TOPICS, boats
from conftest import write_pages, writes_little
from processes import begin, python, structformer, torchrun

resource = pytest.importorskip("resource", reason="limits of a process need a POSIX system")

FLAGS = (
    "--base-model scratch --size tiny --batch 4 --max-tokens 64 --precision fp32 --threads 1 --max-time none".split()
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return boats(tmp_path_factory.mktemp("corpus"))


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def losses(folder: Path) -> list[dict[str, float]]:
    return [line["losses"] for line in read_log(folder / "training.jsonl")]


def assert_alike(first: Path, second: Path, steps: int) -> None:
    """Both runs have learned the same, but for rounding."""
    one, two = losses(first), losses(second)
    assert len(one) == len(two) == steps
    for ours, theirs in zip(one, two, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (first, second))
    # A group's softmax gives the bias of the score no gradient: Adam makes a step of any rounding there.
    learned = ours.keys() - {"classifier.bias"}
    assert [name for name in learned if not torch.allclose(ours[name], theirs[name], atol=1e-5)] == []


def test_a_killed_run_resumes_to_the_same_weights(corpus, run):
    flags = ["train", "-w", corpus, *FLAGS, "--max-steps", 14]
    assert run(*flags, "--name", "whole").code == 0
    process = begin("-m", "structformer", *flags, "--save-steps", 1, "--name", "killed")
    checkpoints = corpus / "checkpoints" / "killed"
    deadline = time.monotonic() + 120
    while not any(checkpoints.glob("step-0000000[3-9]")) and time.monotonic() < deadline:
        time.sleep(0.002)
    assert process.kill() == -signal.SIGKILL
    assert Checkpoints(checkpoints).newest() is not None
    resumed = run("train", "--resume", "--name", "killed", "-w", corpus)  # its options come from the run itself
    assert resumed.code == 0, resumed.err
    assert "going on after step" in resumed.err
    assert digest(corpus / "models" / "killed") == digest(corpus / "models" / "whole")
    assert losses(corpus / "models" / "killed") == losses(corpus / "models" / "whole")
    assert not checkpoints.exists()


class Stop(Exception):
    """What a test stops a run with."""


def stopped_after(corpus: Path, options: TrainingOptions, step: int) -> Path:
    def stop(done) -> None:
        if done.step == step:
            raise Stop

    with pytest.raises(Stop):
        train(corpus, options, listener=Listener(step=stop))
    return corpus / "checkpoints" / str(options.name)


def test_broken_checkpoints_are_passed_over(corpus):
    options = replace(TINY, max_steps=6, save_steps=1, name="broken")
    whole = train(corpus, replace(options, name="unbroken"))
    folder = stopped_after(corpus, options, 4)
    (folder / "step-00000004" / "weights.safetensors").write_bytes(b"half a file")
    (folder / ".tmp-1-step-00000005").mkdir()
    result = train(corpus, options, resume=True)
    assert result.resumed_at == 3
    assert digest(result.folder) == digest(whole.folder)


def test_a_resumed_run_goes_on_with_the_scale_of_its_losses(corpus, monkeypatch):
    """Accelerate gives fp16 its scaler on GPUs alone, so float32 gets one here, that doubles after every two steps."""
    scalers: list[torch.amp.GradScaler] = []

    class Scaling(Accelerator):
        def __init__(self, **options) -> None:
            super().__init__(**options)
            self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
            scalers.append(self.scaler)

    monkeypatch.setattr(trainer, "Accelerator", Scaling)
    options = replace(TINY, max_steps=6, save_steps=1, name="scaled")
    whole = train(corpus, replace(options, name="scaled-at-once"))
    stopped_after(corpus, options, 3)
    resumed = train(corpus, options, resume=True)
    assert resumed.resumed_at == 3
    assert [scaler.get_scale() for scaler in scalers] == [8192.0, 2048.0, 8192.0]
    assert digest(resumed.folder) == digest(whole.folder)


def test_a_checkpoint_of_another_run_is_refused(corpus):
    options = replace(TINY, save_steps=1, name="foreign")
    stopped_after(corpus, options, 2)
    with pytest.raises(ModelError, match=r"of another run \(learning_rate .*: train without --resume"):
        train(corpus, replace(options, learning_rate=1e-3), resume=True)
    notes: list[str] = []
    train(corpus, replace(options, learning_rate=1e-3), listener=Listener(note=notes.append))
    assert "starting over: the checkpoints of an unfinished run (step 2) are dropped" in notes


def test_resuming_what_never_began_begins(corpus, run):
    notes: list[str] = []
    result = train(corpus, replace(TINY, name="fresh"), resume=True, listener=Listener(note=notes.append))
    assert (result.steps, result.resumed_at) == (4, 0)
    assert "no checkpoint to continue from: starting over" in notes
    nothing = run("train", "--resume", "--name", "unheard-of", "-w", corpus)
    assert nothing.code == 2
    assert "no unfinished run called unheard-of" in nothing.err


def test_pairs_to_train_on_are_those_that_the_loss_takes(corpus):
    """An Example is a group of several pairs; infonce takes a query with its positive of each, and the batch's others."""

    def steps(**changed: object) -> int:
        options = replace(TINY, groups=4, max_pairs=40, max_steps=None, max_seconds=None, mix={"srr": 1.0}, **changed)
        return train(corpus, options, dry_run=True).plan.steps

    assert steps(loss="infonce") == 10
    assert steps(loss="softmax") < 10


def test_of_steps_and_epochs_that_are_both_given_the_fewer_count(corpus):
    def plan(**changed: object) -> tuple[int, str]:
        options = replace(TINY, groups=4, mix={"srr": 1.0}, **{"max_steps": None, **changed})
        found = train(corpus, options, dry_run=True).plan
        return found.steps, found.limited_by

    epoch = sum(Samples.open(corpus).counts[task] for task in ("srr",)) // 4
    assert plan(max_epochs=2.0) == (2 * epoch, "2 epochs")
    assert plan(max_epochs=2.0, max_steps=100_000) == (2 * epoch, "2 epochs")
    assert plan(max_epochs=2.0, max_steps=3) == (3, "--max-steps")
    assert plan(max_steps=100_000) == (100_000, "--max-steps")
    assert plan(max_epochs=2.0, max_steps=100_000, max_pairs=10, loss="infonce") == (3, "10 pairs")
    assert plan() == (6 * epoch, "6 epochs")


def test_a_limit_that_is_asked_for_takes_the_place_of_the_recipes():
    def limits(recipe: str, **asked: float) -> tuple[int | None, float | None]:
        options = training_options(recipe, asked)
        return options.max_steps, options.max_epochs

    assert limits("wikiformer") == (100_000, 1000)
    assert limits("wikiformer", max_epochs=2.0) == (None, 2.0)
    assert limits("retromae", max_steps=5) == (5, None)
    assert limits("retromae", max_steps=5, max_epochs=2.0) == (5, 2.0)


def test_a_loss_that_is_no_number_names_its_example_and_keeps_the_last_checkpoint(corpus):
    options = replace(TINY, max_steps=50, learning_rate=1e30, warmup=0.0, save_steps=1, name="nan")
    with pytest.raises(
        ModelError,
        match=r"not a number at step (\d+), Example \w+ \d+ \(document \w+\.md, section \d\); the checkpoint of step",
    ):
        train(corpus, options)
    assert Checkpoints(corpus / "checkpoints" / "nan").newest() is not None


def test_a_file_that_cannot_grow_is_a_message_not_a_traceback(corpus, run):
    limits = {resource.RLIMIT_FSIZE: 200_000}  # as a full disk would, it fails in the middle of the weights
    run("train", "-w", corpus, *FLAGS, "--max-steps", 1, "--name", "before")  # the random weights are there now
    flags = [*FLAGS, "--max-steps", 2, "--save-steps", 1, "--name", "full"]
    failed = structformer("train", "-w", corpus, *flags, limits=limits, env=writes_little())
    assert failed.returncode == 1
    assert "the checkpoint of step 1 could not be saved" in failed.stderr
    assert "make room there, then run `structformer train --resume`" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert run("train", "--resume", "--name", "full", "-w", corpus).code == 0


FSDP = """
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
use_cpu: true
num_processes: 2
num_machines: 1
machine_rank: 0
main_process_port: 29642
mixed_precision: 'no'
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: BertLayer
  fsdp_reshard_after_forward: true
"""
# What `accelerate launch` makes of it.
OF_FSDP = {
    "ACCELERATE_MIXED_PRECISION": "no",
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "true",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
    "FSDP_SYNC_MODULE_STATES": "true",
    "FSDP_TRANSFORMER_CLS_TO_WRAP": "BertLayer",
    "FSDP_USE_ORIG_PARAMS": "true",
    "FSDP_VERSION": "2",
}
SAID = "import json, os\nprint(json.dumps({name: os.environ.get(name) for name in %s}), flush=True)\n"


def test_accelerate_launch_asks_two_processes_for_fsdp_by_their_environment(tmp_path):
    (tmp_path / "fsdp.yaml").write_text(FSDP)
    (tmp_path / "said.py").write_text(SAID % ["RANK", "WORLD_SIZE", *OF_FSDP])
    done = python("-m", "accelerate.commands.launch", "--config_file", tmp_path / "fsdp.yaml", tmp_path / "said.py")
    assert done.returncode == 0, done.stderr[-2000:]
    said = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda each: each["RANK"])
    assert said == [{"RANK": rank, "WORLD_SIZE": "2", **OF_FSDP} for rank in "01"]


# Accelerate gives processes without GPUs DDP whatever its settings say, so they are given FSDP here.
SHARDED = """
import sys
from accelerate import state
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from torch.distributed.tensor import DTensor

begin = state.AcceleratorState.__init__

def sharded(self, *given, **options):
    begin(self, *given, **options)
    self.distributed_type, self.fsdp_plugin = DistributedType.FSDP, FullyShardedDataParallelPlugin()
    state.PartialState._shared_state["distributed_type"] = self.distributed_type

state.AcceleratorState.__init__ = sharded
from structformer.training.run import loop
made = loop.Run.__init__

def seen(run, *given):
    made(run, *given)
    assert all(isinstance(weight, DTensor) for weight in run.module.parameters()), "nothing is sharded"

loop.Run.__init__ = seen
from structformer.cli.main import main
main(["train", *sys.argv[1:]])
"""


def on_one_process(run, launcher: str, *flags: object) -> None:
    """`structformer train` with a chunk for each of the two."""
    with pytest.MonkeyPatch.context() as patched:
        if launcher != "ddp":  # a chunk in one batch, as those of FSDP take it: dropout is drawn for batches
            patched.setattr(trainer, "fitted", lambda objective, **_: replace(objective.batching, whole=True))
        assert run("train", *flags, "--accumulation", 2, "--name", "one").code == 0


def on_two_processes(tmp_path: Path, launcher: str, *flags: object) -> subprocess.CompletedProcess[str]:
    """`structformer train` on two processes."""
    if launcher == "ddp":
        return torchrun(2, "-m", "structformer", "train", *flags)
    (tmp_path / "sharded.py").write_text(SHARDED)
    return torchrun(2, tmp_path / "sharded.py", *flags, env={**os.environ, **OF_FSDP})


@pytest.mark.parametrize("launcher", ["ddp", "fsdp"])
def test_two_processes_do_what_one_with_twice_the_accumulation_does(corpus, tmp_path, run, launcher):
    """Cross-encoders do in the tests of a sharded run and of a killed one."""
    flags = ["-w", corpus, *FLAGS, "--ranker", "bi-encoder", "--max-steps", 4]
    flags += ["--mlm", 0.5, "--batch-tokens", 256] if launcher == "ddp" else []  # more than one batch a chunk
    on_one_process(run, launcher, *flags)
    both = on_two_processes(tmp_path, launcher, *flags, "--name", "two")
    assert both.returncode == 0, both.stderr[-2000:]
    assert both.stdout.count("saved in") == 1
    assert_alike(corpus / "models" / "one", corpus / "models" / "two", steps=4)


def test_a_sharded_run_is_judged_as_a_whole_one_is(corpus, tmp_path, run):
    (tmp_path / "queries.tsv").write_text("1\tmend my mast\n2\tstow the oar\n3\tclean a keel\n")
    (tmp_path / "qrels.txt").write_text("1 0 mast.md 1\n2 0 oar.md 1\n3 0 keel.md 1\n")
    flags = ["-w", corpus, *FLAGS, "--ranker", "cross-encoder", "--max-steps", 3, "--eval-steps", 1]
    flags += ["--dev-queries", tmp_path / "queries.tsv", "--dev-qrels", tmp_path / "qrels.txt"]
    on_one_process(run, "fsdp", *flags)
    both = on_two_processes(tmp_path, "fsdp", *flags, "--name", "two")
    assert both.returncode == 0, both.stderr[-2000:]
    assert_alike(corpus / "models" / "one", corpus / "models" / "two", steps=3)
    one, two = (read_log(corpus / "models" / name / "training.jsonl") for name in ("one", "two"))
    assert [line["development"] for line in one] == pytest.approx([line["development"] for line in two])
    more = [*flags, "--batch-tokens", 256, "--name", "three"]
    refused = torchrun(1, tmp_path / "sharded.py", *more, env={**os.environ, **OF_FSDP})
    assert refused.returncode != 0
    assert "--batch-tokens does not go with FSDP: lower --batch and raise --accumulation" in refused.stderr


def test_a_judge_that_fails_costs_no_step_and_judges_when_the_run_goes_on(corpus, tmp_path, monkeypatch):
    (tmp_path / "queries.tsv").write_text("1\tmend my mast\n2\tstow the oar\n3\tclean a keel\n")
    (tmp_path / "qrels.txt").write_text("1 0 mast.md 1\n2 0 oar.md 1\n3 0 keel.md 1\n")
    judgements = read_judgements(tmp_path / "queries.tsv", tmp_path / "qrels.txt")
    by = judged_development(corpus, judgements.queries, judgements.qrels)
    options = replace(TINY, max_steps=4, eval_steps=2, name="failed")
    whole = train(corpus, replace(options, name="whole"), development=by)
    judge = loop.development_score
    scores = iter([0.0, Stop])

    def fails(*given: object) -> float:
        if next(scores) is Stop:
            raise Stop
        return judge(*given)

    monkeypatch.setattr(loop, "development_score", fails)
    with pytest.raises(Stop):
        train(corpus, options, development=by)
    monkeypatch.undo()
    resumed = train(corpus, options, resume=True, development=by)
    assert (resumed.resumed_at, resumed.best_step) == (4, whole.best_step)
    assert digest(resumed.folder) == digest(whole.folder)

    def judged(folder: Path) -> list[tuple[int, dict[str, float], float | None]]:
        return [(line["step"], line["losses"], line.get("development")) for line in read_log(folder / "training.jsonl")]

    assert judged(resumed.folder) == judged(whole.folder)


SLOW_JUDGE = """
import sys, time
from datetime import timedelta
from torch.distributed import distributed_c10d
from structformer.training.run import loop

score, judge = loop.Run.score, loop.development_score

def score_impatiently(run):
    distributed_c10d._set_pg_timeout(timedelta(seconds=3))
    return score(run)

def judge_slowly(*arguments):
    time.sleep(5)
    return judge(*arguments)

loop.Run.score, loop.development_score = score_impatiently, judge_slowly
from structformer.cli.main import main
main(["train", *sys.argv[1:]])
"""


def test_processes_wait_for_a_judge_that_takes_longer_than_their_time_limit(corpus, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_JUDGE)
    flags = [*FLAGS, "--ranker", "cross-encoder", "--max-steps", 1, "--eval-steps", 1, "--name", "waited"]
    (tmp_path / "queries.tsv").write_text("1\tmend my mast\n2\tstow the oar\n")
    (tmp_path / "qrels.txt").write_text("1 0 mast.md 1\n2 0 oar.md 1\n")
    judged = ["--dev-queries", tmp_path / "queries.tsv", "--dev-qrels", tmp_path / "qrels.txt"]
    both = torchrun(2, tmp_path / "slow.py", "-w", corpus, *flags, *judged)
    assert both.returncode == 0, both.stderr[-2000:]
    [line] = read_log(corpus / "models" / "waited" / "training.jsonl")
    assert 0 < line["development"] <= 1


def test_the_chunks_of_a_step_are_its_examples_once(corpus):
    order = ExampleOrder(Samples.open(corpus), {"ict": 3.0, "srr": 1.0}, 24, seed=1)
    for step in range(5):
        whole = order.places(step)
        for chunks in (1, 2, 4):
            assert sorted(place for number in range(chunks) for place in order.chunk(step, number, chunks)) == sorted(
                whole
            )


def test_the_best_of_the_evaluated_checkpoints_is_kept(tmp_path):
    topics = [f"{side} {topic}" for side in ("port", "lee", "spare", "ancient") for topic in TOPICS]
    pages = {
        f"{topic}.md": f"# The {topic}\n\nWhoever has a {topic} on board will know when it was oiled.\n\n"
        f"## Care\n\nTo clean the {topic} first look at the {topic} closely, then take a cloth.\n"
        for topic in topics
    }
    ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w", workers=1)
    # A rate far too high: the score falls, so that an early step is the best.
    options = replace(TINY, max_steps=9, eval_steps=3, learning_rate=5e-2, warmup=0.0, groups=8, name="best")
    result = train(tmp_path / "w", options)
    scores = {
        line["step"]: line["development"]
        for line in read_log(result.folder / "training.jsonl")
        if "development" in line
    }
    assert sorted(scores) == [3, 6, 9]
    assert result.best_step == max(scores, key=lambda step: (scores[step], -step))
    assert result.development[1.0] == pytest.approx(max(scores.values()), abs=1e-6)


def test_every_recipe_reads_and_any_key_can_be_set(run):
    assert {"ares", "bprop", "docs", "harp", "ict", "ict-mlm", "prop", "wikiformer", "wlp-mlm"} <= set(recipe_names())
    listed = run("train", "--help", "--all").out.partition("Recipes:")[2].partition("Tasks:")[0]
    assert re.findall(r"^  (\S+)", listed, re.MULTILINE) == recipe_names()
    for name in recipe_names():
        assert read_recipe(name).description
        assert set(read_recipe(name).train.get("mix", {})) <= set(tasks())
        training_options(name, {})
    paper = training_options(
        "wikiformer", {"learning_rate": 2e-5, "seed": None}, ["select-after=10", "sample.negatives=3"]
    )
    assert (paper.ranker, paper.learning_rate, paper.schedule, paper.step_at, paper.select_after) == (
        "cross-encoder",
        2e-5,
        "step",
        50_000,
        10,
    )
    assert paper.sampling == {
        "negatives": 3,
        "negatives_from": "siblings",
        "every_child": False,
        "draws": 4,
        "min_words": 20,
    }
    assert paper.max_seconds is None
    assert training_options("docs", {}, ["sample.negatives=all"]).sampling["negatives"] is None
    harp = training_options("harp", {})
    assert (harp.max_steps, harp.max_epochs, harp.sampling) == (None, 10, {"min_document_words": 100})
    assert {name: training_options(name, {}).pair_query_tokens for name in ("harp", "wlp-mlm", "wikiformer")} == {
        "harp": 128,  # of whole sentences
        "wlp-mlm": 64,
        "wikiformer": 30,
    }
    assert training_options("wikiformer", {}, ["max_steps=none"]).max_steps is None


@pytest.mark.slow
def test_the_paper_s_recipe_is_measured_at_the_shape_of_bert_base(tmp_path):
    """Forwards and backwards; a recipe's whole step at this shape is a test of B-PROP and ARES."""
    settings = ["max_seconds=none", "sample.min_words=3"]
    chosen = {"base_model": "scratch", "size": "base", "max_steps": 1, "groups": 1, "name": "paper"}
    options = training_options("wikiformer", chosen, settings)
    plan = train(boats(tmp_path), options, dry_run=True).plan
    assert (plan.steps, plan.base) == (1, "scratch (base)")
    assert plan.pairs_per_second > 0
    assert (options.document_tokens, options.schedule, options.sampling["negatives"]) == (512, "step", None)


def test_triples_are_trained_on(corpus, tmp_path):
    train(corpus, replace(TINY, ranker="cross-encoder", name="before", max_steps=1))
    lines = [f"how to mend the {name}\tmend the {name} like this\tstow it well" for name in ("mast", "keel", "oar")]
    (tmp_path / "triples.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8-sig")  # as Windows' editors write
    command = ["finetune", "-w", str(corpus), "--model", "before", "--max-steps", "2", "--loss", "pointwise"]
    with pytest.raises(SystemExit) as exit:
        main([*command, "--triples", str(tmp_path / "triples.tsv")])
    assert exit.value.code == 0
    assert read_record(Workspace(corpus), "before-finetuned").training["steps"] == 2
    assert [example.queries[0] for example in Samples.open(corpus, "judged")] == [line.split("\t")[0] for line in lines]
    (tmp_path / "broken.tsv").write_text(lines[0] + "\nonly two\tparts\n")
    asked_for = ["--triples", str(tmp_path / "triples.tsv"), "--negatives", "3"]  # a line of triples has one
    for wrong in (["--triples", str(tmp_path / "broken.tsv")], [], ["--queries", "q"], asked_for):
        with pytest.raises(SystemExit) as exit:
            main([*command, *wrong])
        assert exit.value.code == 2


def test_documents_are_cut_as_if_queries_were_full(corpus):
    model = CrossEncoder.load(str(train(corpus, replace(TINY, ranker="cross-encoder", name="cut", max_steps=1)).folder))
    model.max_tokens = 64
    encoded = model.encode_pairs(["mast", "mast " * 100], ["oar " * 500] * 2, [30, 10], cut_documents=True)
    assert [len(ids) for ids in encoded["input_ids"]] == [1 + 3 + 64 - 3 - 30, 10 + 3 + 64 - 3 - 10]


def test_judged_queries_choose_the_checkpoint_where_they_are_given(corpus, tmp_path):
    documents = [document for document in Corpus.open(corpus).documents() if document.root.children]
    queries = tmp_path / "queries.tsv"
    queries.write_text("".join(f"q{n}\t{document.title}\n" for n, document in enumerate(documents[:12])))
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("".join(f"q{n} 0 {document.id} 1\n" for n, document in enumerate(documents[:12])))
    command = ["train", "-w", str(corpus), "--ranker", "cross-encoder", "--base-model", "scratch", "--size", "tiny"]
    command += ["--max-steps", "2", "--name", "judged", "--json"]
    with pytest.raises(SystemExit) as exit:
        main([*command, "--dev-queries", str(queries), "--dev-qrels", str(qrels)])
    assert exit.value.code == 0
    card = (corpus / "models" / "judged" / "README.md").read_text()
    assert read_record(Workspace(corpus), "judged").training["options"]["dev_qrels"] == str(qrels)
    assert "judged" in card
    with pytest.raises(SystemExit) as exit:
        main([*command, "--dev-queries", str(queries)])
    assert exit.value.code == 2


@pytest.mark.parametrize(
    ("recipe", "setting", "message"),
    [
        (
            "nonsense",
            "",
            "choose from: ares, bprop, cocondenser, condenser, cotmae, docs, dupmae, harp, ict, ict-mlm, insent, prop, "
            "retromae, seal, wikiformer, wlp-mlm",
        ),
        ("docs", "foo=1", "no key foo; choose from: accumulation"),
        ("docs", "warmup", "write key=value"),
        ("docs", "warmup=soon", "warmup is 'soon': it must be float or int"),
        ("docs", "sample.negatives_from=nowhere", "choose document, siblings, random, lexical"),
        ("docs", "loss=mse", "a bi-encoder has no loss 'mse'; choose from: infonce"),
    ],
)
def test_mistakes_in_recipes_are_named(corpus, recipe, setting, message):
    with pytest.raises(UsageError, match=message):
        train(
            corpus,
            replace(
                training_options(recipe, {"base_model": "scratch", "size": "tiny"}, [setting] if setting else []),
                max_steps=1,
            ),
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train = 5", r"own.toml, \[train\]: no key 5"),
        ("sample = []", r"own.toml, \[sample\]: no key \[\]"),
        ("[train]\nreport_to = 5", "report_to is 5"),
        ("[train]\nreport_to = [5]", "no report_to '5'; choose from: tensorboard"),
        ("[train]\nseed = 99999999999999999999", "seed is 99999999999999999999: over 64 bits"),
        ("[train]\nmix = { srr = 0 }", "mix is {'srr': 0}: a task's weight must be a number above 0"),
        ("[train]\nmix = { srr = 'much' }", "mix is {'srr': 'much'}"),
        ("[train]\nmax_seconds = inf", "max_seconds must be above 0 and finite"),
        ("[train]\nhard_negatives = -3", "hard_negatives must be finite and at least 0"),
        ("[train]\nmlm = nan", "mlm must be finite and at least 0"),
        ("[train]\nweight_decay = -0.1", "weight_decay must be finite and at least 0"),
        ("[train]\nwarmup = 10", "warmup is 10: it is a share of the steps"),
    ],
)
def test_what_a_recipe_may_not_be_is_named(tmp_path, text, message):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        training_options(str(tmp_path / "own.toml"), {})


def test_a_recipes_sampling_options_are_drawn_with(corpus, tmp_path):
    shutil.copytree(corpus, tmp_path / "w")
    notes: list[str] = []
    options = replace(TINY, max_steps=1, sampling={"negatives": 2, "negatives_from": "lexical"})
    train(tmp_path / "w", options, listener=Listener(note=notes.append))
    flags = "--set sample.negatives=2 --set sample.negatives_from=lexical"
    assert f"drawing Examples with {flags}, beside those with the default options" in notes
    newest = Workspace(tmp_path / "w").folder("samples").name
    drawn = Samples.open(tmp_path / "w", generation=newest).manifest["options"]
    assert SamplingOptions(**drawn).negatives_from == "lexical"


def test_a_cross_encoder_teaches_the_others(corpus, run):
    teacher = run("train", "--ranker", "cross-encoder", "-w", corpus, *FLAGS, "--max-steps", 2, "--name", "teacher")
    assert teacher.code == 0, teacher.err
    distill = ["distill", "-w", corpus, *FLAGS]
    for student, loss in (("bi-encoder", "margin-mse"), ("late-interaction", "kl"), ("cross-encoder", "kl")):
        done = run(*distill, "--teacher", "teacher", "--student", student, "--loss", loss, "--max-steps", 3)
        assert done.code == 0, done.err
        assert len(losses(corpus / "models" / f"{student}-distilled")) == 3
    wrong = run(*distill, "--teacher", "bi-encoder-distilled", "--max-steps", 1)
    assert wrong.code == 1
    assert "only a cross-encoder teaches" in wrong.err


def test_distilling_brings_the_student_towards_the_teacher(corpus):
    train(
        corpus, replace(TINY, ranker="cross-encoder", learning_rate=1e-3, max_steps=20, mix={"srr": 1.0}, name="master")
    )
    result = train(
        corpus,
        replace(TINY, loss="margin-mse", teacher="master", learning_rate=4e-3, max_steps=30, groups=4, name="pupil"),
    )
    margins = [sum(step.values()) / len(step) for step in losses(result.folder)]
    assert np.mean(margins[-10:]) < 0.7 * np.mean(margins[:5])


def test_fine_tuning_takes_a_users_own_judgements(corpus, tmp_path, run):
    train(corpus, replace(TINY, name="base"))
    queries = [
        json.dumps({"_id": str(number), "text": f"how do I mend my {topic}"})
        for number, topic in enumerate(("mast", "oar", "jib", "keel"))
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(queries))
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n0\tmast.md\t1\n1\toar.md\t1\n2\tjib.md\t1\n2\tkeel.md\t0\n3\tgone.md\t1\n"
    )
    judged = ["--queries", tmp_path / "queries.jsonl", "--qrels", tmp_path / "qrels.tsv", "--model", "base"]
    done = run("finetune", *judged, "-w", corpus, "--max-steps", 3, "--batch", 2, "--precision", "fp32")
    assert done.code == 1  # a judged document is not there
    assert "1 judged documents are not in the corpus: gone.md" in done.err
    samples = Samples.open(corpus, "judged")
    assert samples.counts == {"judged": 3}
    for example, topic in zip(samples, ("mast", "oar", "jib"), strict=True):
        assert example.queries[0] == f"how do I mend my {topic}"
        assert example.documents[0].startswith(f"The {topic} Mend the {topic}\n")
        assert not any(document.startswith(f"The {topic} ") for document in example.documents[1:])
    assert digest(corpus / "models" / "base-finetuned") != digest(corpus / "models" / "base")


def test_two_processes_fine_tune_as_one_with_twice_the_accumulation(corpus, tmp_path):
    train(corpus, replace(TINY, name="start"))
    asked = [(verb, topic) for topic in TOPICS[:11] for verb in ("mend", "stow")]
    lines = [f"{number}\thow do I {verb} my {topic}\n" for number, (verb, topic) in enumerate(asked)]
    (tmp_path / "queries.tsv").write_text("".join(lines))
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{number} 0 {topic}.md 1\n" for number, (_, topic) in enumerate(asked))
    )
    flags = ["--queries", tmp_path / "queries.tsv", "--qrels", tmp_path / "qrels.txt", "--model", "start", "-w", corpus]
    flags += "--max-steps 3 --eval-steps 3 --batch 2 --precision fp32 --max-tokens 64 --max-time none".split()
    with pytest.raises(SystemExit) as exit:
        main(["finetune", *map(str, flags), "--accumulation", "2", "--name", "tuned-by-one"])
    assert exit.value.code == 0
    two = torchrun(2, "-m", "structformer", "finetune", *flags, "--name", "tuned-by-two")
    assert two.returncode == 0, two.stderr[-2000:]
    assert two.stdout.count("saved in") == 1
    logs = [read_log(corpus / "models" / name / "training.jsonl") for name in ("tuned-by-one", "tuned-by-two")]
    for first, second in zip(*logs, strict=True):
        assert first["losses"] == pytest.approx(second["losses"], rel=1e-5)
    assert logs[0][-1]["development"] == pytest.approx(logs[1][-1]["development"])
    first, second = (load_file(corpus / "models" / f"tuned-by-{n}" / "model.safetensors") for n in ("one", "two"))
    assert all(torch.allclose(first[name], second[name], atol=1e-5) for name in first)


SECOND = """
import sys
from types import SimpleNamespace
import torch
from structformer.errors import UsageError
from structformer.training.run.process_turns import Turns
torch.distributed.init_process_group("gloo", init_method=sys.argv[1], world_size=2, rank=1)
turns = Turns(SimpleNamespace(is_main_process=False, num_processes=2))
print(turns.made_by_first(lambda: 1 / 0))
try:
    turns.made_by_first(lambda: 1 / 0)
except UsageError as error:
    print(error)
"""


def test_the_others_get_what_the_first_process_made_and_its_errors(tmp_path):
    meeting = f"file://{tmp_path}/meeting"
    second = begin("-c", SECOND, meeting)
    torch.distributed.init_process_group("gloo", init_method=meeting, world_size=2, rank=0)
    try:
        turns = Turns(SimpleNamespace(is_main_process=True, num_processes=2))
        assert turns.made_by_first(lambda: ["mast"]) == ["mast"]
        with pytest.raises(UsageError, match="no such file"):
            turns.made_by_first(_refused)
        done = second.done(timeout=60)  # who leaves first may fell the other
    finally:
        second.kill()
        torch.distributed.destroy_process_group()
    assert (done.stdout, done.returncode) == ("['mast']\nno such file\n", 0)


def _refused() -> None:
    raise UsageError("no such file")


def test_an_exported_model_scores_alike_and_the_search_uses_it(corpus, run):
    from structformer.retrieval.indexing import build_index

    texts = [
        f"To clean the {topic} first look at the {topic} closely." for topic in ("mast", "oar", "jib", "keel", "quay")
    ] * 3
    for ranker in ("bi-encoder", "cross-encoder"):
        train(corpus, replace(TINY, ranker=ranker, name=ranker))
        folder = corpus / "models" / ranker
        for flags in ([], ["--int8"]):
            done = run("export", ranker, "--onnx", *flags, "-w", corpus)
            assert done.code == 0, done.err
            exported = imported(ranker_kind(ranker).onnx)(str(folder), export_in(folder))
            if isinstance(exported, OnnxEncoder):
                scores = exported.encode_documents(texts[:5]) @ exported.encode_documents(texts[:5]).T
                expected = (
                    BiEncoder.load(str(folder)).encode(texts[:5]) @ BiEncoder.load(str(folder)).encode(texts[:5]).T
                )
            else:
                scores = exported.score(["clean the mast"] * 15, texts)
                expected = CrossEncoder.load(str(folder)).score(["clean the mast"] * 15, texts)
            assert np.abs(scores - expected).max() < (0.02 if flags else 1e-4)
    build_index(corpus, encoders=["bi-encoder"])
    hits = Retriever.open(corpus).search("clean the mast", pipeline="hybrid >> rerank[k=5]")
    assert hits
    (corpus / "models" / "cross-encoder" / "onnx" / "model_int8.onnx").write_bytes(b"no model")
    with pytest.raises(WorkspaceError, match=r"model_int8\.onnx has changed since it was written"):
        Retriever.open(corpus).search("clean the mast", pipeline="hybrid >> rerank[k=5]")


def test_a_runs_page_holds_its_curves_and_nothing_from_elsewhere(corpus, run):
    train(corpus, replace(TINY, name="paged"))
    done = run("report", "paged", "-w", corpus)
    assert done.code == 0, done.err
    page = Path(done.out.strip()).read_text()
    assert page.count("<svg") >= 4
    assert "http" not in page.replace("http-equiv", "").replace("Content-Security", "")
    assert run("report", "unheard-of", "-w", corpus).code == 1


def test_a_models_card_says_what_it_was_made_from(corpus):
    folder = train(corpus, replace(TINY, name="carded", recipe="docs")).folder
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: sentence-transformers\n")
    for part in (
        "20 documents",
        "| ict | ",
        "| recipe | docs |",
        "| loss | infonce |",
        "## Curves",
        "## Scores",
        "## License",
        "SentenceTransformer",
    ):
        assert part in card


def test_trackers_get_the_run(corpus):
    train(corpus, replace(TINY, max_steps=2, report_to=("tensorboard",), name="tracked"))
    assert list((corpus / "logs" / "tracked").rglob("events.out.tfevents*"))
    with pytest.raises(UsageError, match="no report_to 'excel'"):
        TrainingOptions(report_to=("excel",))


def test_gradient_checkpointing_changes_no_loss(corpus):
    plain, other = (
        train(corpus, replace(TINY, name="plain")),
        train(corpus, replace(TINY, gradient_checkpointing=True, name="checkpointed")),
    )
    for first, second in zip(losses(plain.folder), losses(other.folder), strict=True):
        assert first == pytest.approx(second, rel=1e-4)


@pytest.mark.parametrize("ranker", ["bi-encoder", "cross-encoder", "late-interaction"])
def test_how_texts_are_batched_changes_no_loss(corpus, ranker):
    train(corpus, replace(TINY, max_steps=1, name="any"))  # makes the untrained model
    found, passes = [], []
    for budget in (64, 100_000):
        options = replace(TINY, ranker=ranker, batch_tokens=budget)
        settings = resolve(options, "cpu")
        location = str(next((corpus / "cache").glob("scratch-*-tiny-0")))
        torch.manual_seed(0)
        objective = make_objective(load_ranker(options, location, settings), options, settings, location, "cpu").eval()
        samples = Samples.open(corpus)
        examples = [samples.example(task, number) for task in ("ict", "srr", "rwi") for number in range(3)]
        prepared = objective.prepare(examples, Random(0))
        passes.append(sum(len(batches) for batches in prepared.batches.values()))
        with torch.no_grad():
            found.append(objective(prepared)[0])
    assert passes[0] > 2 * passes[1]
    assert torch.allclose(*found, atol=1e-4)


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        (
            {
                "a.md": "no heading at all, but words enough to be a text of its own, if there were only another one to compare it with\n"
            },
            "no structure",
        ),
        ({"a.md": "# A\n\none text of this page\n", "b.md": "# B\n\nanother text of that page\n"}, "no structure"),
    ],
)
def test_tiny_corpora_get_a_message(tmp_path, run, pages, message):
    write_pages(tmp_path / "pages", pages)
    assert run("ingest", tmp_path / "pages", "-w", tmp_path / "w").code == 0
    done = run("train", "-w", tmp_path / "w", *FLAGS, "--max-steps", 2, "--task-mix", "srr,rwi,ltm")
    assert done.code == 1
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_model_that_does_not_fit_is_a_message(corpus, tmp_path):
    with pytest.raises(ModelError, match="reads at most 512 tokens: use --max-tokens 512"):
        train(corpus, replace(TINY, document_tokens=600))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"no (tokenizer|weights) can be loaded from"):
        train(corpus, replace(TINY, base_model=str(tmp_path / "empty"), size=TrainingOptions().size))


def test_running_out_of_memory_says_what_to_make_smaller(corpus):
    flags = [
        "--base-model",
        "scratch",
        "--size",
        "base",
        "--batch",
        64,
        "--max-steps",
        2,
        "--precision",
        "fp32",
        "--threads",
        1,
    ]
    failed = structformer("train", "-w", corpus, *flags, "--name", "big", limits={resource.RLIMIT_DATA: 1_600_000_000})
    assert failed.returncode == 1
    assert "out of memory" in failed.stderr
    assert "a smaller --batch" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_two_documents_are_enough_for_sentences(tmp_path, run):
    text = (
        "The first sentence says something of use. A second one says something else entirely. The third is about boats."
    )
    write_pages(tmp_path / "pages", {"a.md": f"# A\n\n{text}\n", "b.md": f"# B\n\n{text.replace('boats', 'trains')}\n"})
    run("ingest", tmp_path / "pages", "-w", tmp_path / "w")
    done = run("train", "-w", tmp_path / "w", *FLAGS, "--max-steps", 2)
    assert done.code == 0, done.err
    assert "none of srr, rwi, ati, left out" in done.err
    assert "too few questions to hold any out: not judged" in done.err


def test_a_sampler_of_a_plugin_is_drawn_and_trained_on(corpus, tmp_path, monkeypatch):
    from structformer import sample
    from structformer.plugins import load_plugins

    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples" / "structformer-opening")
    import structformer_opening

    shutil.copytree(corpus, tmp_path / "w")
    load_plugins().add(structformer_opening, "opening")
    try:
        samples = sample(tmp_path / "w", ["opening"], options=SamplingOptions(min_words=5), workers=1)
        assert samples.counts["opening"] == 60
        example = samples.example("opening", 0)
        assert example.queries[0].startswith("To clean the anchor first look")
        assert example.documents[0].startswith("Never clean a wet anchor")
        options = replace(TINY, mix={"opening": 1.0}, sampling={"min_words": 5})  # those that are there
        assert train(tmp_path / "w", options).steps == 4
    finally:
        load_plugins.cache_clear()


def test_two_machines_with_folders_of_their_own_do_what_one_does(corpus, tmp_path, run):
    flags = [*FLAGS, "--ranker", "cross-encoder", "--max-steps", 4]
    assert run("train", "-w", corpus, *flags, "--accumulation", 2, "--name", "alone").code == 0
    machines = [tmp_path / f"machine-{rank}" for rank in (0, 1)]
    for machine in machines:
        shutil.copytree(corpus, machine / "w")
    both = torchrun(2, "-m", "structformer", "train", "-w", "w", *flags, "--name", "both", machines=machines)
    assert both.returncode == 0, both.stderr[-2000:]
    [saved] = [path for machine in machines if (path := machine / "w" / "models" / "both").exists()]
    assert_alike(corpus / "models" / "alone", saved, steps=4)


KILLED = """
import os, signal, sys
from structformer.training.run import loop
step = loop.Run._step

def killed(run, number, loader):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(run, number, loader)

loop.Run._step = killed
from structformer.cli.main import main
main(["train", *sys.argv[1:]])
"""


def test_a_killed_run_of_two_processes_goes_on_from_its_checkpoint(corpus, tmp_path, run):
    flags = ["-w", corpus, *FLAGS, "--ranker", "cross-encoder", "--max-steps", 5, "--save-steps", 2]
    flags += ["--mlm", 0.5, "--batch-tokens", 256]  # more than one batch a chunk
    assert run("train", *flags, "--accumulation", 2, "--name", "calm").code == 0
    (tmp_path / "killed.py").write_text(KILLED)
    assert torchrun(2, tmp_path / "killed.py", *flags, "--name", "both").returncode != 0
    again = torchrun(2, "-m", "structformer", "train", *flags, "--name", "both", "--resume")
    assert again.returncode == 0, again.stderr[-2000:]
    assert "going on after step 2" in again.stdout + again.stderr
    assert_alike(corpus / "models" / "calm", corpus / "models" / "both", steps=5)
