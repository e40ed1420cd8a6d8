"""A low-rank adapter of a sentence encoder (LoRA: Hu et al., ICLR 2022, section 4.1), learned from pairs.

A step takes pairs of one corpus, siblings among them, so that passages of the same page are each other's negatives. The
loss is InfoNCE over the batch (van den Oord et al., 2018) by what the search compares: cosines of vectors, and the mean
over the query's tokens of MaxSim (the second look). A passage that scores clearly over the right one is likely an
answer too, and counts as no negative.
"""

import json
import math
import os
import random
import time
from bisect import bisect
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from safetensors.torch import save_file
from structformer.errors import ModelError
from structformer.models import BiEncoder, write_modules
from structformer.training import info_nce
from structformer.workspace import new_folder
from torch import nn
from torch.nn import functional

from structformer_lab.pretraining.corpora import ASKED, ListedCorpus, Pair

_WRAPPER = "base_model.model."
_SCALE = 2.0  # alpha / r
_QUESTION_TOKENS, _PASSAGE_TOKENS = 40, 128
_TEMPERATURE, _LIKELY_ANSWER = 0.05, 0.05
_SIBLINGS = 0.5  # how often a pair of the same document goes with a pair
_WARM_UP, _FULL_RATE = 50, 200  # steps; after them the rate falls with the root, so that a run may go on
_WEIGHTS = {ASKED: 4.0, "link": 2.0, "opening": 2.0}  # of sources, others 1
_MOST_PAIRS = 20_000  # of a corpus that count for its share
_FEWEST_PAIRS = 50  # of a corpus that takes part: about a batch
_SAVE_STEPS = 50
_SHOWN = 20  # steps of a line, which has the means of their losses
_CARD = """# An adapter of {base}

Learned by `structformer pretrain` in {steps} steps of {batch} pairs (rank {rank}, learning rate {learning_rate}, token
loss {token_loss}, seed {seed}); {share} of it is applied.

| corpus | pairs | licence | repository | commit |
|---|---|---|---|---|
{rows}
"""


@dataclass(frozen=True, slots=True)
class PretrainingOptions:
    """How an adapter is learned."""

    steps: int = 2000
    batch: int = 48
    rank: int = 8
    learning_rate: float = 5e-4
    token_loss: float = 0.5
    """Weight of the loss by token vectors."""
    seed: int = 0


class _LowRank(nn.Module):
    """A linear layer plus B A x alpha / r, of which A and B learn."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / math.sqrt(layer.in_features))
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        change = functional.linear(functional.linear(x, self.down), self.up)
        product: torch.Tensor = self.layer(x) + _SCALE * change
        return product


class _Corpus:
    """The pairs of a corpus, drawn by the root of their source's number times its weight."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        counts = Counter(pair.source for pair in pairs)
        shares = (_WEIGHTS.get(pair.source, 1.0) / math.sqrt(counts[pair.source]) for pair in pairs)
        self._reach = list(accumulate(shares))
        self._of_document: dict[int, list[Pair]] = {}
        for pair in pairs:
            self._of_document.setdefault(pair.document, []).append(pair)

    def batch(self, choice: random.Random, size: int) -> list[Pair]:
        """Return at most `size` pairs, no two with the same question or passage."""
        chosen: list[Pair] = []
        seen: set[str | int] = set()

        def add(pair: Pair) -> None:
            if len(chosen) < size and pair.unit not in seen and pair.question not in seen:
                seen.update((pair.unit, pair.question))
                chosen.append(pair)

        for _ in range(8 * size):
            pair = self.pairs[min(bisect(self._reach, choice.random() * self._reach[-1]), len(self.pairs) - 1)]
            add(pair)
            if choice.random() < _SIBLINGS:
                add(choice.choice(self._of_document[pair.document]))
        return chosen


class AdapterRun:
    """An adapter that is being learned. What step follows which depends on the pairs and the options alone."""

    def __init__(
        self, location: str, name: str, pairs: Mapping[str, Sequence[Pair]], options: PretrainingOptions
    ) -> None:
        """location: the base, a folder or hub name; name: what the adapter calls it; pairs: by the corpus's name.
        Raises ModelError if no corpus has pairs enough.
        """
        torch.manual_seed(options.seed)
        self.options, self._name = options, name
        self.encoder = BiEncoder.load(location)
        self._layers = self._adapted(self.encoder.model)
        self._parameters = [each for layer in self._layers.values() for each in (layer.down, layer.up)]
        self._optimizer = torch.optim.AdamW(self._parameters, lr=options.learning_rate, weight_decay=0.01)
        self._corpora = {each: _Corpus(pairs[each]) for each in sorted(pairs) if len(pairs[each]) >= _FEWEST_PAIRS}
        if not self._corpora:
            raise ModelError(f"no corpus of the list gave {_FEWEST_PAIRS} pairs")
        self._shares = [math.sqrt(min(_MOST_PAIRS, len(each.pairs))) for each in self._corpora.values()]
        self.step = 0

    def _adapted(self, model: nn.Module) -> dict[str, _LowRank]:
        """Put A and B beside each linear layer of the Transformer's layers; only these learn."""
        model.eval().requires_grad_(requires_grad=False)
        layers = {}
        for name, module in list(model.named_modules()):
            if isinstance(module, nn.Linear) and ".layer." in f".{name}":
                above, _, own = name.rpartition(".")
                layers[name] = _LowRank(module, self.options.rank).to(module.weight.device)
                setattr(model.get_submodule(above), own, layers[name])
        if not layers:
            raise ModelError(f"{self._name} has no linear layers to adapt")
        return layers

    @property
    def corpora(self) -> dict[str, int]:
        """The corpora that take part, with the number of their pairs."""
        return {name: len(each.pairs) for name, each in self._corpora.items()}

    def learn(self, checkpoint: Path, limit: float | None, say: Callable[[str], None]) -> None:
        """Take the steps that are left, for at most `limit` seconds, and say how far they are. The state is saved every
        50 steps and at the end; a run whose state is there goes on from it. Raises ModelError on a state of another
        run.
        """
        self._resume(checkpoint)
        begun, read, last = time.monotonic(), 0, deque[tuple[float, float]](maxlen=_SHOWN)
        while self.step < self.options.steps and (limit is None or time.monotonic() - begun < limit):
            choice = random.Random(f"{self.options.seed}/{self.step}")
            [corpus] = choice.choices(list(self._corpora.values()), self._shares)
            pairs = corpus.batch(choice, self.options.batch)
            last.append(self._take_step(pairs))
            self.step += 1
            read += len(pairs)
            if self.step % _SHOWN == 0 or self.step == self.options.steps:
                vectors, tokens = (fmean(losses) for losses in zip(*last, strict=True))
                say(
                    f"step {self.step}/{self.options.steps}: loss {vectors:.3f} by vectors, {tokens:.3f} by tokens "
                    f"(chance {math.log(self.options.batch):.2f}), {read / (time.monotonic() - begun):.1f} pairs/s"
                )
            if self.step % _SAVE_STEPS == 0:
                self._save(checkpoint)
        self._save(checkpoint)

    def _take_step(self, pairs: Sequence[Pair]) -> tuple[float, float]:
        """Return the losses by vectors and by tokens."""
        rate = min((self.step + 1) / _WARM_UP, math.sqrt(_FULL_RATE / max(self.step + 1, _FULL_RATE)))
        for group in self._optimizer.param_groups:
            group["lr"] = self.options.learning_rate * rate
        asked, asked_tokens, asked_mask = self._read([pair.question for pair in pairs], _QUESTION_TOKENS)
        told, told_tokens, told_mask = self._read([pair.passage for pair in pairs], _PASSAGE_TOKENS)
        vectors = _contrast(asked @ told.T)
        # (questions, tokens, passages, tokens)
        cosines = torch.einsum("qih,pjh->qipj", asked_tokens, told_tokens).masked_fill(~told_mask[None, None], -2.0)
        best = cosines.amax(-1) * asked_mask[:, :, None]
        tokens = _contrast(best.sum(1) / asked_mask.sum(1, keepdim=True))
        self._optimizer.zero_grad()
        loss = vectors + self.options.token_loss * tokens
        if not torch.isfinite(loss):
            raise ModelError(f"the loss is not a number at step {self.step + 1}: try a lower --learning-rate")
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._optimizer.step()
        return float(vectors.detach()), float(tokens.detach())

    def _read(self, texts: Sequence[str], most: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(texts, dimensions) vectors, (texts, tokens, hidden) unit token vectors, (texts, tokens) which are tokens."""
        encoded = self.encoder.encode_tokens(texts, [most] * len(texts))
        batch = self.encoder.tokenizer.pad(encoded, padding=True, padding_side="right", return_tensors="pt")
        batch = batch.to(self.encoder.model.device)
        hidden = self.encoder.model(**batch).last_hidden_state
        mask = batch["attention_mask"]
        return self.encoder.pool(hidden, mask), functional.normalize(hidden.float(), dim=-1), mask.bool()

    def _identity(self) -> dict[str, Any]:
        return {"base": self._name, "corpora": self.corpora, **asdict(self.options), "steps": 0}

    def _save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {"step": self.step, "identity": self._identity(), "optimizer": self._optimizer.state_dict()}
        torch.save(state | {"weights": [each.data for each in self._parameters]}, path.with_suffix(".part"))
        os.replace(path.with_suffix(".part"), path)

    def _resume(self, path: Path) -> None:
        if not path.exists():
            return
        state = torch.load(path, weights_only=True)
        if state["identity"] != self._identity():
            raise ModelError(f"{path} is of a run with other options or corpora: delete it, or name another folder")
        self.step = state["step"]
        self._optimizer.load_state_dict(state["optimizer"])
        for parameter, value in zip(self._parameters, state["weights"], strict=True):
            parameter.data.copy_(value)

    def write(self, target: Path, share: float, listed: Sequence[ListedCorpus]) -> None:
        """Write the adapter as peft does, in 16 bits, with the modules of its base and a card that names the corpora.

        share: of what was learned, 1 for all of it, 0.5 for half-way to the base (Wortsman et al., CVPR 2022). Raises
        UsageError if there is something else.
        """
        weights = {}
        for name, layer in self._layers.items():
            weights[f"{_WRAPPER}{name}.lora_A.weight"] = layer.down.data.half().cpu()
            weights[f"{_WRAPPER}{name}.lora_B.weight"] = layer.up.data.half().cpu()
        settings = {
            "peft_type": "LORA",
            "base_model_name_or_path": self._name,
            "r": self.options.rank,
            "lora_alpha": share * _SCALE * self.options.rank,
        }
        rows = [
            f"| {each.name} | {self.corpora[each.name]} | {each.licence} | {each.repository or each.folder} | "
            f"{each.commit[:12]} |"
            for each in listed
            if each.name in self.corpora
        ]
        run = {**asdict(self.options), "steps": self.step, "base": self._name, "share": share}
        card = _CARD.format(rows="\n".join(rows), **run)
        with new_folder(target, force=True) as folder:
            save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})
            (folder / "adapter_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
            write_modules(folder, self.encoder.modules, int(self.encoder.model.config.hidden_size))
            (folder / "README.md").write_text(card, encoding="utf-8")


def _contrast(scores: torch.Tensor) -> torch.Tensor:
    """Return the mean InfoNCE of (questions, passages) scores, without passages that are likely answers too."""
    own = scores.detach().diagonal()[:, None]
    return info_nce(scores / _TEMPERATURE, scores.detach() <= own + _LIKELY_ANSWER).mean()
