"""Is the approximate index of vectors right to choose? A million passages: what is found, what it costs, beside other
forms and an exact search, in one run; and whether people's judged queries notice.

    python benchmarks/nearest.py SHARED WORKSPACES [--count 1000000] [--bits 32] [--work DIR] [--forms all]

WORKSPACES holds an indexed workspace for each of SHARED's eval/*, with the vectors of `index --encoder base`. The
million are the vectors of their passages, and these again with noise of half their length, made unit vectors again; so
are the overviews. Queries are those of people. Every line says what it is compared with. `--bits 16` stores vectors
as `index --vector-bits 16` does; `--forms none` leaves the comparison out, which holds all of them in memory."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np

NOISE, ASKED, K, CANDIDATES = 0.5, 500, 10, 400
BAR = {"recall@10": 0.98, "CPU ms a query": 5.0, "resident MB": 450.0, "build s": 600.0, "nDCG@10 lost": 0.002}


def texts_of(shared: Path, name: str) -> dict[str, str]:
    """Return judged queries by id."""
    lines = map(json.loads, (shared / "eval" / name / "queries.jsonl").read_text().splitlines())
    return {str(line["_id"]): line["text"] for line in lines}


def noised(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors moved by noise of half their length."""
    moved = vectors + rng.standard_normal(vectors.shape, np.float32) * np.float32(NOISE / vectors.shape[1] ** 0.5)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def made(workspaces: Path, shared: Path, work: Path, count: int, bits: int) -> None:
    """The vectors, overviews, owners and queries of the trial."""
    from structformer.retrieval.opened import OpenedIndex
    from structformer.workspace import Workspace

    if (work / "queries.npy").exists():
        return
    work.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    parts, queries, weight = [], [], 0.0
    for path in sorted(workspaces.iterdir()):
        if not (shared / "eval" / path.name).is_dir():
            continue
        encoder, index, weights = OpenedIndex(Workspace(path)).encoder("base")
        parts.append((np.asarray(index.vectors), np.asarray(index.overviews), index.owners))
        queries.append(encoder.encode_queries(list(texts_of(shared, path.name).values())))
        weight = max(weight, weights.overview)
    kind = np.float16 if bits == 16 else np.float32
    vectors = np.lib.format.open_memmap(work / "units.npy", "w+", kind, (count, parts[0][0].shape[1]))
    overviews, owners, done, first = [], [], 0, True
    while done < count:
        for units, documents, its in parts:
            units = units[: count - done]
            vectors[done : done + len(units)] = units if first else noised(units, rng)
            owners.append(its[: len(units)] + sum(map(len, overviews)))
            overviews.append(documents if first else noised(documents, rng))
            done += len(units)
        first = False
    vectors.flush()
    np.save(work / "units.overviews.npy", np.concatenate(overviews).astype(kind))
    np.save(work / "owners.npy", np.concatenate(owners))
    chosen = np.concatenate(queries)
    np.save(work / "queries.npy", chosen[rng.permutation(len(chosen))[:ASKED]])
    (work / "weight.json").write_text(json.dumps(weight))


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident_mb() -> float:
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024


def side_by_side(work: Path, forms: list[str]) -> None:
    """Forms of the sums of units and overviews, each rescored by the stored vectors."""
    weight = json.loads((work / "weight.json").read_text())
    units, overviews = np.load(work / "units.npy", mmap_mode="r"), np.load(work / "units.overviews.npy")
    owners, queries = np.load(work / "owners.npy"), np.load(work / "queries.npy")
    sums = np.empty(units.shape, np.float32)
    for start in range(0, len(units), 65536):
        place = slice(start, start + 65536)
        sums[place] = units[place] + np.float32(weight) * overviews[owners[place]]
    began = cpu()
    nearest = []
    for query in queries[:50]:
        scores = np.concatenate([sums[start : start + 65536] @ query for start in range(0, len(sums), 65536)])
        nearest.append(np.argpartition(-scores, K)[:K])
    exact = (cpu() - began) / 50 * 1000
    nearest += [np.argpartition(-scores, K)[:K] for scores in queries[50:] @ sums.T]
    print(f"{len(sums):,} passages of {sums.shape[1]} numbers, {len(queries)} queries of people, {K} wanted\n")
    print("| form | build s | MB | recall@10 | CPU ms a query | exact / this |")
    print("|---|---|---|---|---|---|")
    print(f"| every vector, float32 (numpy) | 0 | {sums.nbytes / 1e6:.0f} | 1.000 | {exact:.1f} | 1 |", flush=True)

    def row(name: str, index: faiss.Index, candidates: int, set_up: Callable[[], object] = lambda: None) -> None:
        began = time.monotonic()
        if not index.is_trained:
            rng = np.random.default_rng(0)
            index.train(sums[np.sort(rng.choice(len(sums), min(len(sums), 61_440), replace=False))])
        for start in range(0, len(sums), 65536):
            index.add(sums[start : start + 65536])
        build = time.monotonic() - began
        set_up()
        file = work / "form.faiss"
        faiss.write_index(index, str(file))
        faiss.omp_set_num_threads(1)
        began, found = cpu(), 0
        for query, near in zip(queries, nearest, strict=True):
            _, places = index.search(query[None], candidates)
            kept = np.sort(places[0][places[0] >= 0])
            best = kept[np.argsort(-(units[kept] @ query + weight * (overviews[owners[kept]] @ query)))[:K]]
            found += len(np.intersect1d(best, near))
        spent = (cpu() - began) / len(queries) * 1000
        faiss.omp_set_num_threads(2)
        share = found / K / len(queries)
        size = file.stat().st_size / 1e6
        print(f"| {name} | {build:.0f} | {size:.0f} | {share:.3f} | {spent:.2f} | {exact / spent:.0f} |", flush=True)

    lists, dimensions, inner = 1024, sums.shape[1], faiss.METRIC_INNER_PRODUCT
    wanted: dict[str, Callable[[], None]] = {}
    wanted["flat"] = lambda: row("faiss flat", faiss.IndexFlatIP(dimensions), K)
    for name, factory in (
        ("8 bits a number", f"IVF{lists},SQ8"),
        ("2 bits a number (ours)", f"IVF{lists},PQ{dimensions // 2}x4fs"),
        ("1 bit a number", f"IVF{lists},RaBitQfs"),
    ):

        def listed(name: str = name, factory: str = factory) -> None:
            for probes in (128, 256):
                index = faiss.index_factory(dimensions, factory, inner)
                index.cp.niter = 8
                index.nprobe = probes
                row(f"{lists} lists, {probes} looked into, {name}", index, CANDIDATES)

        wanted[name.split()[0]] = listed

    def graph() -> None:
        index = faiss.IndexHNSWSQ(dimensions, faiss.ScalarQuantizer.QT_8bit, 32, inner)
        index.hnsw.efConstruction = 100
        index.hnsw.efSearch = CANDIDATES
        row("HNSW of 32 links, 8 bits a number", index, CANDIDATES)

    wanted["hnsw"] = graph
    for form, make in wanted.items():
        if "all" in forms or form in forms:
            make()


def ours(work: Path, count: int) -> None:
    """The product's own index, made and asked in processes of their own."""
    for what in ("--build", "--ask"):
        subprocess.run(
            [sys.executable, __file__, "-", "-", "--work", str(work), "--count", str(count), what], check=True
        )


def build(work: Path) -> None:
    from structformer.retrieval.vectors.dense import approximate_files, write_approximate

    began = time.monotonic()
    measured = write_approximate(
        work / "units.npy",
        np.load(work / "units.npy", mmap_mode="r"),
        np.load(work / "units.overviews.npy", mmap_mode="r"),
        np.load(work / "owners.npy"),
        json.loads((work / "weight.json").read_text()),
    )
    spent = time.monotonic() - began
    size = approximate_files(work / "units.npy")[0].stat().st_size / 1e6
    print(
        f"\nstructformer's index: built in {spent:.0f} s (bar {BAR['build s']:.0f}), {size:.0f} MB, {measured}",
        flush=True,
    )


def ask(work: Path) -> None:
    from structformer.retrieval.vectors.dense import ApproximateIndex, DenseIndex

    weight, queries = json.loads((work / "weight.json").read_text()), np.load(work / "queries.npy")
    before, began = resident_mb(), time.monotonic()
    index = DenseIndex(work / "units.npy", np.load(work / "owners.npy"), ApproximateIndex(work / "units.npy"))
    opened = time.monotonic() - began
    faiss.omp_set_num_threads(1)
    began = cpu()
    found = [index.search_all(query[None], K, overview_weight=weight)[0] for query in queries]
    spent = (cpu() - began) / len(queries) * 1000
    held = resident_mb()
    index.nearest = None
    nearest = index.search_all(queries, K, overview_weight=weight)
    share = np.mean([len({u for u, _ in a} & {u for u, _ in b}) / K for a, b in zip(found, nearest, strict=True)])
    print(
        f"recall@10 {share:.4f} (bar {BAR['recall@10']}), {spent:.2f} CPU ms a query (bar {BAR['CPU ms a query']}), "
        f"opened in {opened:.2f} s, resident {held:.0f} MB, of which {held - before:.0f} are the index's "
        f"(bar {BAR['resident MB']:.0f})",
        flush=True,
    )


def judged(shared: Path, workspaces: Path) -> None:
    """nDCG@10 of the hybrid with every vector looked at, and with the approximate index."""
    import ir_measures
    from structformer.retrieval.opened import OpenedIndex
    from structformer.retrieval.pipeline import parse_pipeline
    from structformer.retrieval.vectors.dense import ApproximateIndex, write_approximate
    from structformer.workspace import Workspace

    print("\n| judged queries | exact nDCG@10 | approximate | difference (bar 0.002) |\n|---|---|---|---|")
    for path in sorted(workspaces.iterdir()):
        if not (shared / "eval" / path.name).is_dir():
            continue
        opened = OpenedIndex(Workspace(path))
        _, index, weights = opened.encoder("base")
        place = workspaces.parent / f"nearest-{path.name}.npy"
        write_approximate(place, index.vectors, index.overviews, index.owners, weights.overview)
        texts = texts_of(shared, path.name)
        lines = (shared / "eval" / path.name / "qrels.tsv").read_text().splitlines()[1:]
        rows = (line.split("\t") for line in lines)
        qrels = [ir_measures.Qrel(query, document, int(score)) for query, document, score in rows]
        scores = []
        for index.nearest in (None, ApproximateIndex(place)):
            rankings = opened.run(list(texts.values()), parse_pipeline("hybrid:base"))
            run = []
            for name, ranking in zip(texts, rankings, strict=True):
                best: dict[str, float] = {}
                for unit, score in ranking.ranked:
                    best.setdefault(opened.units[unit].document_id, score)
                run += [ir_measures.ScoredDoc(name, document, score) for document, score in best.items()]
            scores.append(ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10])
        print(f"| {path.name} | {scores[0]:.4f} | {scores[1]:.4f} | {scores[1] - scores[0]:+.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("workspaces", type=Path)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, choices=(16, 32), default=32)
    parser.add_argument("--work", type=Path, default=Path("nearest-work"))
    parser.add_argument("--forms", nargs="*", default=["all"])
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.build or args.ask:
        (build if args.build else ask)(args.work)
        return
    made(args.workspaces, args.shared, args.work, args.count, args.bits)
    ours(args.work, args.count)
    if args.forms != ["none"]:
        judged(args.shared, args.workspaces)
        side_by_side(args.work, args.forms)


if __name__ == "__main__":
    main()
