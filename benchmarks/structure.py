"""What is a retriever worth that is learned from a corpus's structure alone, and what is each part of the structure?

    python benchmarks/structure.py SHARED [--sets git docker ...] [--seeds 3] [--sources] [--parts] [--peers]
                                          [--work DIR] [--kept FILE]

SHARED holds corpora/NAME.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}; the set `demo` is fetched, as `make demo`
does. Prints nDCG@10 of documents, all rows of a set from one run: BM25 of sections and of documents, LSA (the static
encoder before it has learned), MiniLM, reciprocal rank fusion, the hybrid without structure (the default before), the
static encoder alone and with words, the hybrid with it; means over the seeds; for every row the mean over the sets, how
many sets are worse than the default before by 0.005, and one randomisation test of all queries of all sets together.
Then seconds, megabytes and milliseconds a query.

With --parts: the default with each part of its score left out, the other weights staying as they are.

With --peers: what else can be learned from a corpus alone: fastText and doc2vec (gensim, 256 dimensions, their defaults
otherwise, 10 epochs), a passage of the former being the mean of its words' vectors, weighted by idf.

With --sources: the static encoder from every source of pairs alone, and from the default ones with each left out or
added, one seed. A workspace that is there already keeps its vectors.

With --kept: every query's scores are kept in FILE, and a set that it holds is not measured again, so that a stopped run
goes on. A file of a run with other options is refused; one of another version of the code is not noticed."""

from __future__ import annotations

import argparse
import json
import platform
import resource
import runpy
import shutil
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from structformer.errors import StructformerError, UsageError
from structformer.evaluation.judgements import Judgements, read_judgements
from structformer.evaluation.measures import Evaluator, parse_measure, randomisation_test
from structformer.ingestion import ingest
from structformer.retrieval import Retriever
from structformer.retrieval.indexing import build_index, train_structure
from structformer.retrieval.learning.structure import StructureLessons, StructureOptions
from structformer.retrieval.learning.structure_pairs import STRUCTURE_SOURCES, structure_sources
from structformer.retrieval.vectors.encoder_names import UNTRAINED
from structformer.sampling import needs_attention
from structformer.static_encoder.contrastive import LearningOptions
from structformer.static_encoder.encoder import unit, words_of
from structformer.storage.files import read_json, write_bytes
from structformer.workspace import Workspace

CORPORA = {
    "npm": "npm-markdown",
    "cargo": "cargo-markdown",
    "docker": "docker-markdown",
    "podman": "podman-markdown",
    "git": "git-html",
    "systemd": "systemd-docbook",
    "man-fr": "man-fr-html",
    "man-zh": "man-zh-html",
    "stacks": "stacks-sections",
    "man": "man-html",
    "prometheus": "prometheus-markdown",
    "fastapi": "fastapi-markdown",
    "ruff": "ruff-markdown",
    "python": "python-html",
    "vite": "vite-markdown",
    "traefik": "traefik-markdown",
    "loki": "loki-markdown",
    "xquad-hi": "xquad-hi",
    "xquad-tr": "xquad-tr",
    "demo": "",  # what `make demo` fetches
}
KINDS = {
    "manuals": ("npm", "cargo", "docker", "podman", "git", "systemd", "man-fr", "man-zh", "man"),
    "sites": ("prometheus", "fastapi", "ruff", "python", "vite", "traefik", "loki", "demo"),
    "others": ("stacks", "xquad-hi", "xquad-tr"),
}
BEFORE = "hybrid, without structure"
BASELINES = {
    "BM25, sections": "lexical",
    "BM25, documents": "lexical[of=documents]",
    "MiniLM": "dense:base",
    "RRF": "hybrid:base[weights=rrf]",
}
ALONE = {"structure": "dense:structure", "structure + words": "hybrid:structure"}
STANDARDISED = {"hybrid with structure": "hybrid:base"}
LEFT_OUT = {  # parts of the score, by the weights that are set to 0
    "without the passage's meaning": ("dense",),
    "without the overview's meaning": ("overview",),
    "without descriptions": ("described",),
    "without anything pretrained": ("dense", "overview", "described"),
    "without words of the passage": ("lexical",),
    "without words of the document": ("document",),
    "without words": ("lexical", "document"),
    "without what is present as typed": ("present",),
    "without what others call it": ("called",),
    "without what structure taught": ("structure", "structure_overview"),
}
_WORSE = 0.005
Values = dict[str, float]  # by query
Scores = dict[str, Values]  # by row
Measured = tuple[Scores, Values]  # with the costs


def ingested(shared: Path, archive: str, work: Path) -> Workspace:
    """Return the workspace of a corpus, which is unpacked beside it once."""
    corpus = work / "corpus"
    if not corpus.exists():
        with tarfile.open(shared / "corpora" / f"{archive}.tar.xz") as tar:
            tar.extractall(corpus, filter="data")
    workspace = Workspace(work / "ws")
    ingest([corpus], workspace)
    return workspace


def fetched_demo(folder: Path) -> None:
    """The pages of `make demo` as folder/corpus, its questions beside them."""
    if not (folder / "corpus").exists():
        demo = runpy.run_path(str(Path(__file__).parent.parent / "examples" / "demo.py"))
        demo["fetch"](folder / "archives")
        demo["collect"](folder, folder / "archives")
        (folder / "docs").rename(folder / "corpus")


def prepared(shared: Path, name: str, work: Path) -> tuple[Workspace, Judgements]:
    """Return a set's workspace, with an index of the untrained encoder alone, and its judgements."""
    folder = shared / "eval" / name if CORPORA[name] else work / name
    if not CORPORA[name]:
        fetched_demo(folder)
    workspace = ingested(shared, CORPORA[name], work / name)
    shutil.rmtree(workspace.models / "structure", ignore_errors=True)
    build_index(workspace, encoders=["base"])
    return workspace, read_judgements(folder / "queries.jsonl", folder / "qrels.tsv")


def scored(
    workspace: Workspace,
    judgements: Judgements,
    pipelines: dict[str, str],
    without: Collection[str] = (),
    *,
    encoder: str = UNTRAINED,
) -> Scores:
    """nDCG@10 of every query by row. without: weights of an encoder's hybrid that count nothing."""
    retriever = Retriever.open(workspace)
    if without:
        model, index, weights = retriever.opened.encoder(encoder)
        retriever.opened.use_encoder(encoder, model, index, replace(weights, **dict.fromkeys(without, 0.0)))
    asked = judgements.asked()
    evaluator = Evaluator([parse_measure("nDCG@10")], {query: judgements.qrels[query] for query in asked})
    found: Scores = {}
    for row, pipeline in pipelines.items():
        ranked = retriever.rank_documents(list(asked.values()), pipeline, k=10)
        run = dict(zip(asked, ranked, strict=True))
        found[row] = dict.fromkeys(asked, 0.0) | {query: value for _, query, value in evaluator.values(run)}
    return found


def mean(values: dict[str, float]) -> float:
    return sum(values.values()) / len(values)


def over_seeds(runs: list[Scores]) -> Scores:
    """Return each query's mean over the seeds."""
    return {
        row: {query: float(np.mean([run[row][query] for run in runs])) for query in runs[0][row]} for row in runs[0]
    }


def measured(
    workspace: Workspace, judgements: Judgements, seeds: int, *, parts: bool
) -> tuple[Scores, dict[str, float]]:
    """Return all rows of a set, and what learning costs."""
    found = scored(workspace, judgements, {**BASELINES, BEFORE: "hybrid:base"})
    runs, seconds = [], []
    for seed in range(seeds):
        shutil.rmtree(workspace.models / "structure", ignore_errors=True)
        train_structure(
            workspace, "structure", StructureOptions(learning=LearningOptions(epochs=0, seed=seed)), force=True
        )
        lsa = scored(workspace, judgements, {"LSA": "dense:structure"})
        options = StructureOptions(learning=LearningOptions(seed=seed))
        train_structure(workspace, "structure", replace(options, alone=True), force=True)
        alone = scored(workspace, judgements, ALONE)
        begun = time.process_time()
        train_structure(workspace, "structure", options, force=True)
        seconds.append(time.process_time() - begun)
        build_index(workspace, encoders=["structure", "base"])
        runs.append(lsa | alone | scored(workspace, judgements, STANDARDISED))
        if parts:
            for row, without in LEFT_OUT.items():
                runs[-1] |= scored(workspace, judgements, {row: "hybrid:base"}, without)
    model = workspace.models / "structure"
    asked = list(judgements.asked().values())
    encoder = Retriever.open(workspace).opened.encoder("structure")[0]
    begun = time.perf_counter()
    for query in asked:
        encoder.encode_queries([query])
    costs = {
        "CPU seconds": float(np.mean(seconds)),
        "MB on disk": sum(path.stat().st_size for path in model.iterdir()) / 1e6,
        "ms a query": 1000 * (time.perf_counter() - begun) / len(asked),
    }
    return found | over_seeds(runs), costs


def by_vectors(retriever: Retriever, judgements: Judgements, passages: np.ndarray, queries: np.ndarray) -> Values:
    """nDCG@10 of every query where a document scores as its best passage's cosine."""
    asked = judgements.asked()
    run = {}
    for query, scores in zip(asked, queries @ passages.T, strict=True):
        best = np.argsort(-scores, kind="stable")[:1000]
        run[query] = retriever.documents_of([(int(place), float(scores[place])) for place in best], 10)
    evaluator = Evaluator([parse_measure("nDCG@10")], {query: judgements.qrels[query] for query in asked})
    return dict.fromkeys(asked, 0.0) | {query: value for _, query, value in evaluator.values(run)}


def mixes() -> dict[str, dict[str, float]]:
    """Return the sources of every row."""
    default = dict.fromkeys(STRUCTURE_SOURCES, 1.0)
    found = {"the default": default}
    for source in _drawn_sources():
        found[f"{source} alone"] = {source: 1.0}
        if source in default:
            found[f"without {source}"] = {other: 1.0 for other in default if other != source}
        else:
            found[f"with {source}"] = {**default, source: 1.0}
    return found


def _drawn_sources() -> list[str]:
    return [source for source in structure_sources() if not needs_attention([source])]


def by_source(workspace: Workspace, judgements: Judgements) -> Scores:
    """Return the static encoder alone, from each source of pairs."""
    retriever = Retriever.open(workspace)
    options = StructureOptions(mix=dict.fromkeys(_drawn_sources(), 1.0))
    lessons = StructureLessons(workspace, retriever.units, retriever.documents, options)
    asked = list(judgements.asked().values())
    found: Scores = {}
    counts: dict[str, int] = {}
    for row, mix in mixes().items():
        learned = lessons.learned(mix=mix)
        encoder = learned.encoder
        passages = encoder.encode_documents(unit.ranker_text for unit in retriever.units)
        found[row] = by_vectors(retriever, judgements, passages, encoder.encode_queries(asked))
        counts |= learned.counts
        print(f"  {row}: {mean(found[row]):.4f} {learned.counts}", file=sys.stderr, flush=True)
    print("pairs:", json.dumps(counts))
    return found


def peers(workspace: Workspace, judgements: Judgements) -> Scores:
    """Static vectors that other tools learn from the same passages, compared as the static encoder's are."""
    from gensim.models import Doc2Vec, FastText
    from gensim.models.doc2vec import TaggedDocument

    retriever = Retriever.open(workspace)
    passages = [words_of(unit.ranker_text) for unit in retriever.units]
    texts = [words_of(text) for text in judgements.asked().values()]
    counts = Counter(word for passage in passages for word in set(passage))
    idf = {word: np.log((1 + len(passages)) / (1 + count)) for word, count in counts.items()}

    def sums(model: FastText, texts: list[list[str]]) -> np.ndarray:
        rare = np.log(1 + len(passages))
        return np.array(
            [sum((idf.get(word, rare) * model.wv[word] for word in text), np.zeros(256, np.float32)) for text in texts]
        )

    fasttext = FastText(passages, vector_size=256, epochs=10, workers=2, seed=1)
    tagged = [TaggedDocument(passage, [number]) for number, passage in enumerate(passages)]
    doc2vec = Doc2Vec(tagged, vector_size=256, epochs=10, workers=2, seed=1)
    found: Scores = {}
    for row, vectors, queries in (
        ("fastText", sums(fasttext, passages), sums(fasttext, texts)),
        ("doc2vec", doc2vec.dv.vectors, np.array([doc2vec.infer_vector(text) for text in texts])),
    ):
        found[row] = by_vectors(retriever, judgements, unit(vectors), unit(queries))
    return found


def kept_before(path: Path, options: dict[str, object]) -> dict[str, Measured]:
    """What a run with these options kept. Raises UsageError on a file of other ones, WorkspaceError on a broken one."""
    if not path.exists():
        return {}
    value = read_json(path)
    if value.get("options") != options:
        raise UsageError(f"{path} is of a run with other options: {value.get('options')}")
    return value["sets"]


def table(results: dict[str, Scores], against: str) -> str:
    """Return a Markdown table: a line for each row, a column for each set and each kind's mean."""
    rows = list(next(iter(results.values())))
    kinds = {kind: its for kind, sets in KINDS.items() if len(its := [name for name in sets if name in results]) > 1}
    lines = [
        f"| nDCG@10 | {' | '.join([*results, *kinds])} | mean | worse by {_WORSE} | p |",
        f"|---|{'---|' * (len(results) + len(kinds) + 3)}",
    ]
    for row in rows:
        values = [mean(scores[row]) for scores in results.values()]
        compared = [mean(scores[against]) for scores in results.values()]
        worse = sum(value < other - _WORSE for value, other in zip(values, compared, strict=True))
        ours = [value for scores in results.values() for value in scores[row].values()]
        theirs = [value for scores in results.values() for value in scores[against].values()]
        p = "" if row == against else f"{randomisation_test(ours, theirs):.4f}"
        values += [np.mean([mean(results[name][row]) for name in its]) for its in kinds.values()]
        cells = " | ".join(f"{value:.3f}" for value in values)
        values = values[: len(results)]
        lines.append(f"| {row} | {cells} | {np.mean(values):.3f} | {'' if row == against else worse} | {p} |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sources", action="store_true")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "tantivy"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}\n")
    options = {name: getattr(arguments, name) for name in ("seeds", "sources", "parts", "peers")}
    try:
        kept = kept_before(arguments.kept, options) if arguments.kept else {}
    except StructformerError as error:
        parser.error(str(error))
    for name in arguments.sets:
        if name not in kept:
            workspace, judgements = prepared(arguments.shared, name, arguments.work)
            if arguments.sources:
                kept[name] = by_source(workspace, judgements), {}
            else:
                scores, costs = measured(workspace, judgements, arguments.seeds, parts=arguments.parts)
                kept[name] = scores | (peers(workspace, judgements) if arguments.peers else {}), costs
            if arguments.kept:
                write_bytes(arguments.kept, json.dumps({"options": options, "sets": kept}).encode())
        scores, costs = kept[name]
        rows = {row: round(mean(values), 4) for row, values in scores.items()}
        print(name, json.dumps(rows), costs or "", flush=True)
    results = {name: kept[name][0] for name in arguments.sets}
    print("\n" + table(results, "the default" if arguments.sources else BEFORE))
    for name in arguments.sets:
        if costs := kept[name][1]:
            print(f"{name}: {', '.join(f'{value:.2f} {what}' for what, value in costs.items())}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
