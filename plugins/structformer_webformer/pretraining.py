"""Pre-training from beginning to end: read the corpus, learn, keep the text encoder."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import torch
from structformer.corpus import Corpus
from structformer.errors import ModelError
from structformer.models import load_encoder, load_tokenizer, resolve_base_model
from structformer.storage import bytes_digest, write_json
from structformer.training import (
    Checkpoints,
    MaskedHead,
    Masker,
    learning_rate,
    memory_errors,
    read_optimizer,
    read_state,
    read_weights,
)
from structformer.workspace import Workspace, new_folder

from structformer_webformer.batches import batch_of, draw_masked, shuffled_batches
from structformer_webformer.model import LOSSES, Webformer
from structformer_webformer.trees import Tree, branch_of, trees_of

RECORD = "webformer.json"
_CHECKPOINTS = "webformer-"  # the beginning of their folders' names
_SCHEDULE: dict[str, Any] = {"schedule": "linear", "warmup": 0.1, "step_at": 0, "step_factor": 1.0}
_WEIGHT_DECAY = 0.01
_LARGEST_GRADIENT = 1.0
_SHARES = 10_000  # of the way, as the schedule counts it
_LATEST = 100  # steps whose losses are told

Report = Callable[[int, int], None]  # how far it has come, and of how much


@dataclass(frozen=True, slots=True)
class PretrainingOptions:
    """Options of a pre-training: what the model starts from, and how it is trained."""

    base_model: str = "auto"
    """The model to start from: auto, a folder, or a hub name."""
    max_tokens: int = 256
    """Tokens that a text has at most, [CLS] included."""
    batch_tokens: int = 8192
    """Tokens of all texts of a step; one tree may have half of them at most."""
    learning_rate: float = 5e-5
    epochs: int = 1
    max_steps: int | None = None
    """Steps after which the training ends, even if not all epochs have passed; None for no limit."""
    seed: int = 0
    save_seconds: float = 600.0
    """Seconds between checkpoints."""


@dataclass(frozen=True, slots=True)
class Pretrained:
    """Result of a pre-training."""

    steps: int
    documents: int
    seconds: float
    losses: dict[str, float]
    """Means of the losses over the last steps, by the losses' names."""


@memory_errors("while training")
def pretrain(
    workspace: str | Path | Workspace,
    target: Path,
    options: PretrainingOptions | None = None,
    *,
    force: bool = False,
    resume: bool = False,
    note: Callable[[str], None] = lambda line: None,
    report: Report = lambda done, total: None,
) -> Pretrained:
    """Learn from the corpus's trees, and write the text encoder to a folder that --base-model takes.

    resume: go on from the newest checkpoint of a run with the same options. report: told how far it has come, and of
    how much. The same options, corpus and threads give the same weights, resumed or not. Raises ModelError without a
    base model, a text to learn from, or a finite loss; UsageError where the folder must not be written."""
    options, started = options or PretrainingOptions(), time.monotonic()
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    with workspace.writing("structformer webformer"), new_folder(target, workspace, force=force) as made:
        base = resolve_base_model(options.base_model, "cross-encoder")
        if base.scratch:
            raise ModelError("Webformer goes on from a trained base model: name one with --base-model")
        if base.note:
            note(base.note)
        same = replace(options, base_model=base.location, save_seconds=0.0)  # what a run has that goes on
        digest = bytes_digest(json.dumps([corpus.fingerprint, asdict(same)]).encode())
        checkpoints = Checkpoints(workspace.cache / f"{_CHECKPOINTS}{digest[:16]}")
        if not resume:
            for folder in workspace.cache.glob(f"{_CHECKPOINTS}*"):
                Checkpoints(folder).clear()
        elif checkpoints.newest() is None:
            note("no checkpoint to continue from: starting over")
        model, tokenizer = _start(base.location, options)
        steps, losses = _learn(model, tokenizer, corpus, options, checkpoints, report)
        model.encoder.save_pretrained(made, safe_serialization=True)
        tokenizer.save_pretrained(made)
        result = Pretrained(steps, corpus.document_count, time.monotonic() - started, losses)
        chosen = {**asdict(options), "base_model": f"{base.name}@{base.revision}" if base.revision else base.name}
        write_json(made / RECORD, {"options": chosen, "corpus": corpus.fingerprint, "steps": steps, "losses": losses})
    checkpoints.clear()
    return result


def _start(location: str, options: PretrainingOptions) -> tuple[Webformer, Any]:
    tokenizer, encoder = load_tokenizer(location), load_encoder(location)
    longest = int(getattr(encoder.config, "max_position_embeddings", options.max_tokens))
    if options.max_tokens > longest:
        raise ModelError(f"{location} reads at most {longest} tokens: use --max-tokens {longest}")
    torch.manual_seed(options.seed)
    model = Webformer(encoder, MaskedHead.of(encoder, location), tokenizer)
    return model.to("cuda" if torch.cuda.is_available() else "cpu").train(), tokenizer


def _learn(
    model: Webformer,
    tokenizer: Any,
    corpus: Corpus,
    options: PretrainingOptions,
    checkpoints: Checkpoints,
    report: Report,
) -> tuple[int, dict[str, float]]:
    """Return (steps, mean losses of the last of them)."""
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=options.learning_rate, weight_decay=_WEIGHT_DECAY)
    masker = Masker(tokenizer, whole_words=True)
    on_gpu = model.words.device.type == "cuda"
    before, latest = _restored(checkpoints, model, optimizer)
    step, saved = 0, time.monotonic()
    for share, chosen in _course(corpus, tokenizer, options):
        step += 1
        if step <= before:
            continue
        passed = max(share, (step - 1) / options.max_steps if options.max_steps else 0.0)
        place = min(_SHARES - 1, int(passed * _SHARES))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(place, _SHARES, options.learning_rate, **_SCHEDULE)
        # Each step has numbers of its own, so that one that is passed over when resuming need not draw them.
        rng = Random(f"webformer/{options.seed}/step/{step}")
        torch.manual_seed(rng.getrandbits(60))
        batch = batch_of(chosen)
        with torch.autocast("cuda", torch.bfloat16, enabled=on_gpu):
            losses = model(batch, draw_masked(batch, rng), masker, rng)
        loss = torch.stack([value.float() for value in losses.values()]).sum()  # they weigh the same
        if not torch.isfinite(loss):
            raise ModelError(f"the loss is {float(loss)}: take a smaller --learning-rate")
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(learned, _LARGEST_GRADIENT)
        optimizer.step()
        latest = [*latest[1 - _LATEST :], {name: float(value.detach()) for name, value in losses.items()}]
        if time.monotonic() - saved >= options.save_seconds:
            states: Mapping[torch.Tensor, dict[str, torch.Tensor]] = optimizer.state
            named = {name: states[each] for name, each in model.named_parameters() if each in states}
            checkpoints.save(step, model.state_dict(), named, {"losses": latest})
            saved = time.monotonic()
        report(int(share * _SHARES), _SHARES)
        if step == options.max_steps:
            break
    if not step:
        raise ModelError("the corpus has no text of five tokens: there is nothing to learn from")
    recent = {name: [each[name] for each in latest if name in each] for name in LOSSES}
    return step, {name: sum(values) / len(values) for name, values in recent.items() if values}


def _restored(
    checkpoints: Checkpoints, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, list[dict[str, float]]]:
    """Return (steps done, their latest losses), with model and optimizer as they were then; (0, []) without a
    checkpoint. Raises ModelError on one that cannot be read.
    """
    checkpoints.prepare()
    newest = checkpoints.newest()
    if newest is None:
        return 0, []
    state = read_state(newest)
    model.load_state_dict(read_weights(newest))
    known = dict(model.named_parameters())
    for name, values in read_optimizer(newest).items():
        # Adam counts its steps on the CPU.
        moved = {key: value if key == "step" else value.to(known[name].device) for key, value in values.items()}
        optimizer.state[known[name]] = moved
    return int(state["step"]), list(state["losses"])


def _course(
    corpus: Corpus, tokenizer: Any, options: PretrainingOptions
) -> Iterator[tuple[float, list[tuple[int, Tree]]]]:
    """Yield (share of the way before it, trees) of each step."""

    def tokens(texts: list[str]) -> Any:
        return tokenizer(texts, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]

    longest, largest = options.max_tokens - 1, options.batch_tokens // 2
    share = 0.0
    for epoch in range(options.epochs):
        documents = (each for shard in range(len(corpus.shards)) for each in corpus.shard_documents(shard, links=False))
        trees = (trees_of(branch_of(each.root), tokens, longest=longest, largest=largest) for each in documents)
        rng = Random(f"webformer/{options.seed}/epoch/{epoch}")
        for read, chosen in shuffled_batches(trees, options.batch_tokens, rng):
            yield share, chosen
            share = (epoch + read / corpus.document_count) / options.epochs
