"""How often is a right first document doubted, and a question without an answer not? By set and by length of question.

    python benchmarks/doubt.py SHARED [--encoder minilm] [--sets vite loki ...] [--work DIR]

SHARED holds corpora/NAME.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv,unanswerable.jsonl}. Without --encoder nothing
pretrained is used. Prints for each set how many first documents are right, how many of these are doubted, and how many
questions without an answer are, then the same of all sets by the number of the question's words."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from structformer import Retriever
from structformer.evaluation import read_judgements
from structformer.retrieval.indexing import build_index
from structformer.retrieval.vectors.encoder_names import UNTRAINED
from structure import CORPORA, ingested

LENGTHS = ("to 5", "6 to 9", "10 to 13", "14 and more")
RIGHT, WRONG, UNANSWERABLE = "right", "wrong", "unanswerable"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what came of it."""

    outcome: str
    length: str
    doubted: bool


def length_of(question: str) -> str:
    """Return the class of a question's length."""
    words = len(question.split())
    return LENGTHS[(words > 5) + (words > 9) + (words > 13)]


def asked(shared: Path, name: str, work: Path, encoder: str) -> Iterator[Asked]:
    """Ask all questions of a set."""
    folder = shared / "eval" / name
    workspace = ingested(shared, CORPORA[name], work / name)
    build_index(workspace, encoders=["structure", UNTRAINED] if encoder else ["structure"], base_model=encoder)
    retriever = Retriever(workspace)
    judgements = read_judgements(folder / "queries.jsonl", folder / "qrels.tsv")
    for query, text in judgements.asked().items():
        hits = retriever.search(text, 1)
        right = bool(hits) and judgements.qrels[query].get(hits[0].document_id, 0) > 0
        yield Asked(RIGHT if right else WRONG, length_of(text), not hits.confident)
    if (file := folder / "unanswerable.jsonl").exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            text = json.loads(line)["text"]
            yield Asked(UNANSWERABLE, length_of(text), not retriever.search(text, 1).confident)


def row(label: str, questions: list[Asked]) -> str:
    """Return a row of the table: shares with the numbers that they are of."""
    counts = Counter((each.outcome, each.doubted) for each in questions)
    cells = []
    for outcome in (RIGHT, WRONG, UNANSWERABLE):
        doubted, all_of_it = counts[outcome, True], counts[outcome, True] + counts[outcome, False]
        cells.append(f"{doubted} of {all_of_it} ({doubted / all_of_it:.0%})" if all_of_it else "")
    return f"| {label} | {' | '.join(cells)} |"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--encoder", default="")
    parser.add_argument(
        "--sets", nargs="+", default=["prometheus", "fastapi", "ruff", "python", "vite", "traefik", "loki"]
    )
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    arguments = parser.parse_args()
    print("| doubted | right firsts | wrong firsts | without an answer |\n|---|---|---|---|", flush=True)
    every: list[Asked] = []
    for name in arguments.sets:
        questions = list(asked(arguments.shared, name, arguments.work, arguments.encoder))
        print(row(name, questions), flush=True)
        every += questions
    for length in LENGTHS:
        print(row(f"{length} words", [each for each in every if each.length == length]))
    print(row("all", every))


if __name__ == "__main__":
    main()
