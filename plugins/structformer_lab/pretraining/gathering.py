"""Reading the corpora of a list and drawing their pairs; what an earlier run drew is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from structformer.corpus import Corpus
from structformer.errors import StructformerError
from structformer.ingestion import ingest
from structformer.retrieval import build_index
from structformer.storage import write_bytes

from structformer_lab.pretraining.corpora import ListedCorpus, fetch
from structformer_lab.pretraining.pairs import Pair, draw_pairs, is_near_copy, judged_runs

_MOST_COPIED = 1 / 3  # of a corpus's pairs; beyond, it is a copy itself


def gather(
    listed: Sequence[ListedCorpus], beside: Path, cache: Path, apart: Sequence[Path], say: Callable[[str], None]
) -> tuple[dict[str, list[Pair]], dict[str, str]]:
    """Fetch, read and draw from all corpora; gives, by the corpus's name, their pairs, and why corpora were left out.
    beside: the folder of the list; apart: workspaces kept for judging.
    """
    judged = judged_runs(apart)
    pairs: dict[str, list[Pair]] = {}
    left_out: dict[str, str] = {}
    for number, corpus in enumerate(listed, 1):
        try:
            drawn = _drawn(corpus, beside, cache)
        except StructformerError as error:
            left_out[corpus.name] = str(error)
            say(f"{corpus.name} left out: {error}")
            continue
        kept = [pair for pair in drawn if not is_near_copy(pair, judged)]
        if drawn and len(kept) < (1 - _MOST_COPIED) * len(drawn):
            say(f"{corpus.name} left out: {len(drawn) - len(kept)} of its {len(drawn)} passages are judged elsewhere")
        else:
            pairs[corpus.name] = kept
            say(f"{number} of {len(listed)}: {corpus.name}, {len(kept)} pairs")
    return pairs, left_out


def _drawn(corpus: ListedCorpus, beside: Path, cache: Path) -> list[Pair]:
    """Return a corpus's pairs; those of an earlier run if the corpus is the same."""
    workspace = cache / "workspaces" / corpus.name
    ingest(fetch(corpus, beside, cache / "documents"), workspace)
    file = cache / "pairs" / f"{corpus.name}-{Corpus.open(workspace).fingerprint[:12]}.jsonl"
    if not file.exists():
        build_index(workspace, encoders=[])
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, "".join(f"{json.dumps(asdict(pair))}\n" for pair in draw_pairs(workspace)).encode())
    return [Pair(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
