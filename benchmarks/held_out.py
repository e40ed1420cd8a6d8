"""How well do a corpus's own openings predict which search serves people? Rank correlation over weightings of four
parts of the hybrid's score, without structure and descriptions.

    python benchmarks/held_out.py WORKSPACE QUERIES QRELS [--encoder base]

For each weighting of passage, overview, BM25 of the passage and BM25 of the document: nDCG@10 of documents for the
opening sentences that weights are learned from, each answered by the rest of its document, and for the judged queries.
Prints both, their Spearman and Kendall correlation, and what the learned weights reach of the best weighting's judged
score.
"""

from __future__ import annotations

import argparse
import math
from functools import lru_cache
from pathlib import Path

from scipy.stats import kendalltau, spearmanr
from structformer import Corpus, Retriever
from structformer.evaluation.judgements import Judgements, read_judgements
from structformer.graph import ReferenceGraph
from structformer.retrieval.learning.pseudo_query_scores import UntrainedSearch
from structformer.retrieval.learning.weights_from_openings import weighed_groups
from structformer.retrieval.questions.pseudo_queries import OPENING, draw_pseudo_queries
from structformer.retrieval.rankings.fusion_weights import FusionWeights, learn_weights

# Of the score's first four parts; the other three count nothing. Chosen to spread over what one might build, before any
# of them was judged.
WEIGHTINGS = [
    (1, 0, 0, 0),
    (0, 1, 0, 0),
    (0, 0, 1, 0),
    (0, 0, 0, 1),
    (1, 0.3, 0, 0),
    (1, 0.6, 0, 0),
    (1, 1, 0, 0),
    (1, 2, 0, 0),
    (1, 0, 0.1, 0),
    (1, 0, 0.3, 0),
    (1, 0, 0.6, 0),
    (1, 0, 0.3, 0.3),
    (0, 0, 1, 1),
    (1, 0.3, 0.1, 0.1),
    (1, 0.6, 0.2, 0.1),
    (1, 0.6, 0.4, 0.4),
    (1, 1, 0.3, 0.3),
    (1, 1, 1, 1),
    (1, 0, 2, 0),
    (0.3, 0.3, 1, 1),
]

_PARTS = len(WEIGHTINGS[0])


def opening_scores(
    workspace: Path, retriever: Retriever, weightings: list[tuple[float, ...]]
) -> tuple[list[float], FusionWeights]:
    """nDCG@10 of the openings under each weighting, and the weights learned from them."""
    opened = retriever.opened
    corpus = Corpus.open(workspace)
    questions = draw_pseudo_queries(corpus, ReferenceGraph.open(workspace, corpus), opened.units, sources=(OPENING,))
    encoder, index, _ = opened.encoder("base")
    index.descriptions = None
    search = UntrainedSearch(opened.units, opened.documents, opened.lexical, index, encoder)
    groups = [(rows, owners) for _, rows, owners in weighed_groups(questions, search)]
    scores = []
    for weights in weightings:
        total, seven = 0.0, FusionWeights(*weights).as_array()
        for rows, owners in groups:
            values = rows @ seven
            better = {owner for owner, value in zip(owners[1:], values[1:], strict=True) if value >= values[0]}
            total += 1 / math.log2(len(better) + 2) if len(better) < 10 else 0.0
        scores.append(total / len(groups))
    return scores, learn_weights([rows for rows, _ in groups])


def judged_scores(
    retriever: Retriever, judgements: Judgements, name: str, weightings: list[tuple[float, ...]]
) -> list[float]:
    """nDCG@10 of the judged queries under each weighting."""
    opened = retriever.opened
    encoder, index, _ = opened.encoder(name)
    index.descriptions = None
    asked = [query for query in judgements.queries if any(judgements.qrels.get(query, {}).values())]
    texts = [judgements.queries[query] for query in asked]
    vectors = encoder.encode_queries(texts)
    encoder.encode_queries = lambda queries: vectors  # type: ignore[method-assign]
    opened.lexical.search = lru_cache(None)(opened.lexical.search)  # type: ignore[method-assign]
    opened.lexical.search_documents = lru_cache(None)(opened.lexical.search_documents)  # type: ignore[method-assign]
    scores = []
    for weights in weightings:
        opened.use_encoder(name, encoder, index, FusionWeights(*weights))
        total = 0.0
        for query, ranked in zip(asked, retriever.rank_documents(texts, f"hybrid:{name}", 10), strict=True):
            grades = judgements.qrels[query]
            found = sum(grades.get(document, 0) / math.log2(rank + 2) for rank, (document, _) in enumerate(ranked))
            best = sum(
                grade / math.log2(rank + 2) for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:10])
            )
            total += found / best
        scores.append(total / len(asked))
    return scores


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("qrels", type=Path)
    parser.add_argument(
        "--encoder",
        default="base",
        help="the encoder whose search is judged; openings always go through the untrained one",
    )
    arguments = parser.parse_args()
    retriever = Retriever.open(arguments.workspace)
    weightings: list[tuple[float, ...]] = list(WEIGHTINGS)
    predicted, learned = opening_scores(arguments.workspace, retriever, weightings)
    chosen = tuple(map(float, learned.as_array()[:_PARTS]))
    judged = judged_scores(
        retriever, read_judgements(arguments.queries, arguments.qrels), arguments.encoder, [*weightings, chosen]
    )
    print("| passage | overview | BM25 | BM25 of document | openings | judged |\n|---|---|---|---|---|---|")
    for weights, one, two in zip(weightings, predicted, judged, strict=False):
        print("| " + " | ".join(f"{weight:g}" for weight in weights) + f" | {one:.3f} | {two:.3f} |")
    print("| " + " | ".join(f"{weight:g}" for weight in chosen) + f" | learned | {judged[-1]:.3f} |")
    print(
        f"\n{len(weightings)} weightings: Spearman {spearmanr(predicted, judged[:-1])[0]:.3f}, "
        f"Kendall {kendalltau(predicted, judged[:-1])[0]:.3f};",
        end=" ",
    )
    print(f"learned weights / best of the table: {judged[-1] / max(judged[:-1]):.3f}")


if __name__ == "__main__":
    main()
