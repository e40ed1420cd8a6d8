"""Training: pairs a second beside sentence-transformers' trainers, and what a kill costs.

    python benchmarks/training.py throughput CORPUS_WORKSPACE [--steps 20] [--model minilm] [--groups 16 128]
    python benchmarks/training.py kills DOCUMENTS [--times 50]
    python benchmarks/training.py preparation CORPUS_WORKSPACE
    python benchmarks/training.py memory CORPUS_WORKSPACE [--layers 1]
    python benchmarks/training.py reading [--gigabytes 1]

throughput: the same base model, Examples, lengths, precision and threads for ours and the peer, runs taken in turns;
prints pairs a second after the first five steps and the ratio; on a GPU, where both learn in bf16, also tokens a
second, MFU and peak memory. --model bert-base: BERT-base's size with random weights, which cost what the learned ones
cost. kills: `structformer train` with a checkpoint every step, killed (SIGKILL, with all it started) at random points,
then resumed until it ends; prints how many came to the weights of the undisturbed run. preparation: chunks of 32
Examples of Wikiformer's tasks as a GPU gets them; prints tokens a second of a processor and the share of padding.
memory: what such chunks keep for their gradients, whole and batch by batch. reading: Examples that are not in the page
cache, shuffled as training does and over the whole corpus; prints milliseconds and bytes from the disk an Example, and
their share of the time that an H200 learns from one. What is over 100 % is waited for."""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple


def command(*arguments: object) -> list[str]:
    """Return a structformer command line."""
    return [sys.executable, "-m", "structformer", *map(str, arguments)]


def kills(documents: Path, times: int, steps: int) -> None:
    """Kill and resume, `times` times."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        subprocess.run(command("ingest", documents, "-w", workspace, "-q"), check=True)
        subprocess.run(command("sample", "-w", workspace, "-q"), check=True, stdout=subprocess.DEVNULL)
        flags = (
            "--base-model",
            "scratch",
            "--size",
            "tiny",
            "--batch",
            4,
            "--max-tokens",
            48,
            "--save-steps",
            1,
            "--precision",
            "fp32",
            "--threads",
            1,
            "--max-steps",
            steps,
            "--max-time",
            "none",
            "--name",
            "killed",
        )
        train = command("train", "-w", workspace, *flags)
        model = workspace / "models" / "killed"
        begun = time.monotonic()
        subprocess.run(train, check=True, capture_output=True)
        whole = time.monotonic() - begun
        wanted = digest(model)
        print(f"undisturbed: {whole:.1f} s, {wanted[:16]}", flush=True)
        rng = random.Random(0)
        equal = by_hand = inside = 0
        for number in range(times):
            shutil.rmtree(model)
            shutil.rmtree(workspace / "checkpoints", ignore_errors=True)
            point = rng.uniform(0, whole)
            process = subprocess.Popen(
                train, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(point)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            inside += any((workspace / "checkpoints" / "killed").glob("step-*"))
            resumed = subprocess.run([*train, "--resume"], capture_output=True, text=True, check=False)
            if resumed.returncode:
                by_hand += 1
                print(resumed.stderr[-500:])
                continue
            equal += digest(model) == wanted
            print(f"{number + 1}: killed after {point:.2f} s; {equal} equal, {by_hand} failed", flush=True)
        print(
            f"{equal} of {times} resumed without help to the same sha256; {inside} of the kills "
            f"left checkpoints; {by_hand} needed help"
        )


def digest(model: Path) -> str:
    """sha256 of a model's weights."""
    return hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()


def throughput(workspace: Path, steps: int, rounds: int, model: str, groups: dict[str, int]) -> None:
    """Pairs a second of ours and of the peer, in turns."""
    import torch

    for ranker, number in groups.items():
        learning = Learned(workspace, ranker, number, steps, model)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(our_speed(learning))
            theirs.append(peer_speed(learning))
        ratios = sorted(mine.pairs / other.pairs for mine, other in zip(ours, theirs, strict=True))
        peer = "CrossEncoderTrainer" if ranker == "cross-encoder" else "SentenceTransformerTrainer"
        where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{torch.get_num_threads()} threads"
        print(f"\n{ranker}: medians of {rounds} rounds of {steps} steps of {number} Examples, {where}")
        print(f"{'':28} {'pairs/s':>10} {'tokens/s':>10} {'peak GB':>8}")
        for name, speeds in (("structformer", ours), (peer, theirs)):
            pairs = statistics.median(speed.pairs for speed in speeds)
            tokens = statistics.median(speed.tokens for speed in speeds)
            memory = max((speed.memory for speed in speeds if speed.memory), default=None)
            taken = "not known" if memory is None else f"{memory / 1e9:.2f}"
            print(f"{name:28} {pairs:10,.1f} {tokens:10,.0f} {taken:>8}")
        used = [speed.mfu for speed in ours if speed.mfu is not None]
        print(
            f"{'ratio':28} {statistics.median(ratios):10.2f}  ({ratios[0]:.2f} - {ratios[-1]:.2f}); "
            f"MFU {f'{statistics.median(used):.1%}' if used else 'not known'}; "
            f"waiting for input {max(speed.idle for speed in ours):.2%}",
            flush=True,
        )


class Learned(NamedTuple):
    """What ours and the peer learn from."""

    workspace: Path
    ranker: str
    groups: int
    steps: int
    model: str


class Speed(NamedTuple):
    """Of a training's steps after the first ones; memory: the most bytes that tensors took of the GPU."""

    pairs: float
    tokens: float
    memory: int | None
    mfu: float | None = None
    idle: float = 0.0


WARM_UP = 5  # steps in which kernels are loaded
GROUPS = {"cross-encoder": 4, "bi-encoder": 32}
MIX = {"cross-encoder": {"srr": 1.0, "ict": 1.0}, "bi-encoder": {"srr": 1.0, "ict": 3.0}}
TOKENS = {"cross-encoder": 256, "bi-encoder": 256}


def random_bert_base(folder: Path) -> Path:
    """Return a model of BERT-base's size with random weights and MiniLM's tokenizer, whose vocabulary is BERT's."""
    from structformer.models.base import resolve_base_model
    from structformer.models.loading import load_tokenizer
    from transformers import BertConfig, BertModel

    BertModel(BertConfig()).save_pretrained(folder)
    load_tokenizer(resolve_base_model("minilm", "bi-encoder").location).save_pretrained(folder)
    return folder


def forget_gpu() -> None:
    """Free what an earlier training took of the GPU, and measure from here."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def gpu_peak() -> int | None:
    """Bytes."""
    import torch

    return int(torch.cuda.max_memory_allocated()) if torch.cuda.is_available() else None


def our_speed(learned: Learned) -> Speed:
    """structformer's trainer."""
    import torch
    from structformer.training import TrainingOptions, train_ranker
    from structformer.training.report.logs import read_log

    forget_gpu()
    options = TrainingOptions(
        ranker=learned.ranker,
        base_model=learned.model,
        mix=MIX[learned.ranker],
        groups=learned.groups,
        document_tokens=TOKENS[learned.ranker],
        max_steps=learned.steps,
        max_seconds=None,
        precision="bf16" if torch.cuda.is_available() else "no",
        interpolate=False,
        name="speed",
        max_epochs=1000,
        save_seconds=1e6,
    )
    train_ranker(learned.workspace, options)
    log = [step for step in read_log(learned.workspace / "models" / "speed" / "training.jsonl") if "pairs" in step]
    log = log[WARM_UP:]
    pairs, tokens, idle, seconds = (sum(step[name] for step in log) for name in ("pairs", "tokens", "idle", "seconds"))
    used = [step["mfu"] for step in log if "mfu" in step]
    mfu = statistics.median(used) if used else None
    return Speed(pairs / seconds, tokens / seconds, gpu_peak(), mfu, idle / seconds)


def peer_speed(learned: Learned) -> Speed:
    """sentence-transformers' trainer on the same Examples in the same order, with the same lengths. Its tokens are not
    counted.
    """
    import torch
    from datasets import Dataset
    from structformer.models.base import resolve_base_model
    from structformer.sampling import Samples
    from structformer.training.data.example_order import ExampleOrder
    from transformers import TrainerCallback

    forget_gpu()
    _, ranker, groups, steps, model = learned
    samples = Samples.open(learned.workspace)
    order = ExampleOrder(samples, MIX[ranker], groups, 0)
    steps_of = [order.examples(order.places(step)) for step in range(steps)]
    location = resolve_base_model(model, ranker).location
    folder = tempfile.mkdtemp()
    common: dict[str, Any] = {
        "output_dir": folder,
        "max_steps": steps,
        "learning_rate": 3e-5,
        "report_to": "none",
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        "use_cpu": not torch.cuda.is_available(),
        "bf16": torch.cuda.is_available(),
        "warmup_steps": 0.1,
        "dataloader_drop_last": False,
    }
    torch.manual_seed(0)
    if ranker == "cross-encoder":
        from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
        from sentence_transformers.cross_encoder.losses import ListNetLoss

        examples = [example for step in steps_of for example in step if len(set(example.queries)) == 1]
        rows = [
            {"query": e.queries[0], "docs": list(e.documents), "labels": [1.0] + [0.0] * (len(e.documents) - 1)}
            for e in examples
        ]
        pairs = [
            sum(len(example.documents) for example in examples[start : start + groups])
            for start in range(0, len(examples), groups)
        ]
        encoder = CrossEncoder(location, num_labels=1, max_length=TOKENS[ranker])
        arguments = CrossEncoderTrainingArguments(per_device_train_batch_size=groups, **common)
        trainer: Any = CrossEncoderTrainer(
            model=encoder, args=arguments, train_dataset=Dataset.from_list(rows), loss=ListNetLoss(encoder)
        )
    else:
        from sentence_transformers import (
            SentenceTransformer,
            SentenceTransformerTrainer,
            SentenceTransformerTrainingArguments,
        )
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

        examples = [example for step in steps_of for example in step]
        rows = [{"anchor": example.queries[0], "positive": example.documents[0]} for example in examples]
        pairs = [groups] * steps
        encoder_ = SentenceTransformer(location)
        encoder_.max_seq_length = TOKENS[ranker]
        arguments_ = SentenceTransformerTrainingArguments(per_device_train_batch_size=groups, **common)
        loss = MultipleNegativesRankingLoss(encoder_)
        trainer = SentenceTransformerTrainer(
            model=encoder_, args=arguments_, train_dataset=Dataset.from_list(rows), loss=loss
        )
    ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            ends.append(time.perf_counter())

    trainer.add_callback(Clock())
    trainer.train()
    shutil.rmtree(folder)
    learned_pairs = sum(pairs[WARM_UP : len(ends)])
    return Speed(learned_pairs / (ends[-1] - ends[WARM_UP - 1]), float("nan"), gpu_peak())


GPU_GROUPS, GPU_TOKENS, LARGEST_GROUP = 32, 512, 32
RECIPE = ("srr", "rwi", "ati", "ltm")


def gpu_chunks(workspace: Path, tasks: list[str], groups: int, number: int) -> list[list[Any]]:
    """Chunks of Examples, the tasks alike."""
    from structformer.sampling import Samples

    samples = Samples.open(workspace)
    found = []
    for chunk in range(number):
        examples = []
        for task in tasks:
            rng = random.Random(f"{task}/{chunk}")
            places = [rng.randrange(samples.counts[task]) for _ in range(groups // len(tasks))]
            examples += [samples.example(task, place) for place in places]
        found.append(examples)
    return found


def reader(layers: int, kept_tokens: int | None) -> Any:
    """Return the objective of a cross-encoder of BERT-base's width with random weights, and a GPU's batches."""
    from structformer.models.base import resolve_base_model
    from structformer.models.cross_encoder import CrossEncoder
    from structformer.models.loading import load_tokenizer
    from structformer.training.data.batching import Batching
    from structformer.training.objectives.objectives import CrossEncoderObjective, ObjectiveOptions
    from transformers import BertConfig, BertForSequenceClassification

    # Without dropout torch keeps no attention weights on a CPU either.
    config = BertConfig(
        num_labels=1, num_hidden_layers=layers, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    tokenizer = load_tokenizer(resolve_base_model("minilm", "cross-encoder").location)
    ranker = CrossEncoder(BertForSequenceClassification(config), tokenizer, GPU_TOKENS)
    batching = Batching("cuda", kept_tokens=kept_tokens)
    options = ObjectiveOptions("softmax", LARGEST_GROUP, document_tokens=GPU_TOKENS, batching=batching)
    return CrossEncoderObjective(ranker, options)


def preparation(workspace: Path, number: int) -> None:
    """Tokens a second and padding."""
    from structformer.sampling import Samples

    known = [task for task in RECIPE if Samples.open(workspace).counts.get(task)]
    objective = reader(1, None)
    for tasks in (["srr"], ["rwi"], ["ltm"], known):
        real = padded = batches = 0
        begun = None
        for examples in gpu_chunks(workspace, tasks, GPU_GROUPS, number + 1):
            prepared = objective.prepare(examples, random.Random(0))
            if begun is None:  # the first one warms the caches up
                begun = time.process_time()
                continue
            counted = prepared.tokens
            real, padded, batches = real + counted[0], padded + counted[1], batches + len(prepared.all_batches)
        spent = time.process_time() - (begun or 0.0)
        print(
            f"{'+'.join(tasks):18} {real / number:8,.0f} tokens a chunk, {batches / number:4.1f} batches, "
            f"padding {1 - real / padded:5.1%}, {real / spent:10,.0f} tokens a processor second",
            flush=True,
        )


class Kept:
    """Counts the bytes that are kept for a backward pass, each storage once and no weights, and the most at once."""

    def __init__(self, model: Any) -> None:
        self.most = self.now = 0
        self.users: dict[int, int] = {}
        self.weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def hold(self, tensor: Any) -> Held:
        """Return what is kept in a tensor's place."""
        return Held(self, tensor)


class Held:
    """A tensor that is kept, counted as long as it is."""

    def __init__(self, kept: Kept, tensor: Any) -> None:
        self.tensor, self.kept = tensor, kept
        storage = tensor.untyped_storage()
        self.place, self.size = storage.data_ptr(), 0 if storage.data_ptr() in kept.weights else storage.nbytes()
        kept.users[self.place] = kept.users.get(self.place, 0) + 1
        if kept.users[self.place] == 1:
            kept.now += self.size
            kept.most = max(kept.most, kept.now)

    def __del__(self) -> None:
        self.kept.users[self.place] -= 1
        if self.kept.users[self.place] == 0:
            self.kept.now -= self.size


def memory(workspace: Path, layers: int) -> None:
    """What chunks keep for their gradients."""
    import torch
    from structformer.training.run.memory import Learning, learn

    for groups in (8, 16, GPU_GROUPS):
        [examples] = gpu_chunks(workspace, ["srr"], groups, 1)
        for kept_tokens in (None, 1):
            objective = reader(layers, kept_tokens).train()
            prepared = objective.prepare(examples, random.Random(0))
            autocast = partial(torch.autocast, "cpu", torch.bfloat16)
            learning = Learning(objective, objective, mean_loss, autocast, torch.autograd.backward, nullcontext)
            kept = Kept(objective.model)
            with torch.autograd.graph.saved_tensors_hooks(kept.hold, lambda held: held.tensor):
                learn(learning, prepared, nullcontext)
            padded = prepared.tokens[1]
            print(
                f"{groups} Examples, {prepared.pairs} pairs, {padded:,} padded tokens, {len(prepared.all_batches)} "
                f"batches, {'whole' if kept_tokens is None else 'batch by batch'}: {kept.most / layers / 1e6:,.0f} MB "
                f"a layer, {kept.most / layers / padded / 1e3:.1f} kB a token and layer",
                flush=True,
            )


PART = 4_000  # Examples of a part; Wikipedia's 45 million are 130 GB
GPU_SECONDS = 0.41 / 128  # that an H200 learned from one Example (docs/reference/training.md)


def reading(gigabytes: float) -> None:
    """What Examples cost to read that the page cache lacks."""
    from structformer.sampling import Example, Samples
    from structformer.sampling.store import PartWriter
    from structformer.training.data.example_order import BLOCK, permuted, shuffled

    rng = random.Random(0)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        with PartWriter(folder / "0") as writer:
            for number in range(PART):
                texts = tuple(rng.randbytes(180).hex() for _ in range(8))
                writer.next_document()
                writer.add(Example("srr", (f"query {number}",) * 8, texts, str(number), tuple(range(8))))
        size = sum(path.stat().st_size for path in (folder / "0").iterdir())
        parts = round(gigabytes * 1e9 / size)
        for part in range(1, parts):
            shutil.copytree(folder / "0", folder / str(part))
        manifest = {"tasks": ["srr"], "parts": [{"name": str(n), "examples": {"srr": PART}} for n in range(parts)]}
        for order, number in ((shuffled, BLOCK), (permuted, BLOCK // 8)):
            forget(folder)
            samples, before, begun = Samples(folder, manifest), bytes_read(), time.perf_counter()
            for place in range(number):
                samples.example("srr", order(place, parts * PART, "0/srr/0"))
            seconds, read = (time.perf_counter() - begun) / number, (bytes_read() - before) / number
            print(
                f"{order.__name__}: {seconds * 1e3:.2f} ms and {read / 1e3:,.0f} kB of the disk for an Example of "
                f"{size / PART / 1e3:.1f} kB, {seconds / GPU_SECONDS:.0%} of the time that an H200 learns from it",
                flush=True,
            )
            del samples


def forget(folder: Path) -> None:
    """Take a folder's files out of the page cache."""
    for path in folder.rglob("*.arrow"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_read() -> int:
    """Return bytes that this process has had from disks."""
    lines = Path("/proc/self/io").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("read_bytes")).split()[1])


def mean_loss(losses: Any, masked: Any) -> Any:
    """Return what is minimised."""
    return losses.mean()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    speed = commands.add_parser("throughput")
    speed.add_argument("workspace", type=Path)
    speed.add_argument("--steps", type=int, default=20)
    speed.add_argument("--rounds", type=int, default=3)
    speed.add_argument("--model", default="minilm")
    speed.add_argument("--rankers", nargs="+", default=list(GROUPS))
    speed.add_argument("--groups", nargs="+", type=int, help="Examples of a step, of each ranker")
    killing = commands.add_parser("kills")
    killing.add_argument("documents", type=Path)
    killing.add_argument("--times", type=int, default=50)
    killing.add_argument("--steps", type=int, default=60)
    preparing = commands.add_parser("preparation")
    preparing.add_argument("workspace", type=Path)
    preparing.add_argument("--chunks", type=int, default=8)
    keeping = commands.add_parser("memory")
    keeping.add_argument("workspace", type=Path)
    keeping.add_argument("--layers", type=int, default=1)
    commands.add_parser("reading").add_argument("--gigabytes", type=float, default=1.0)
    arguments = parser.parse_args()
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("torch", "transformers", "sentence-transformers", "accelerate")
    )
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}", flush=True)
    if arguments.what == "kills":
        kills(arguments.documents, arguments.times, arguments.steps)
    elif arguments.what == "preparation":
        preparation(arguments.workspace, arguments.chunks)
    elif arguments.what == "memory":
        memory(arguments.workspace, arguments.layers)
    elif arguments.what == "reading":
        reading(arguments.gigabytes)
    else:
        groups = arguments.groups or [GROUPS[ranker] for ranker in arguments.rankers]
        with tempfile.TemporaryDirectory() as folder:
            model = str(random_bert_base(Path(folder))) if arguments.model == "bert-base" else arguments.model
            by_ranker = dict(zip(arguments.rankers, groups, strict=True))
            throughput(arguments.workspace, arguments.steps, arguments.rounds, model, by_ranker)


if __name__ == "__main__":
    main()
