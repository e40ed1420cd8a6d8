"""How fast is the search? 100,000 sections: indexing, lexical and hybrid latency, reranking against
sentence-transformers, cold start.

    python benchmarks/search.py SHARED [--sections 100000] [--work DIR] [--vectors DIR]

SHARED holds corpora/php-docbook.tar.xz and corpora/wikipedia-extracted.tar.xz, whose documents are taken as often as it
needs, and eval/*/queries.jsonl, whose texts are asked. The units' vectors are random unit vectors, since what an exact
search costs does not depend on what they say; an approximate one, from half a million on, wants neighbours: --vectors
names the folder that benchmarks/nearest.py has worked in. Queries go through the real encoder. Every line names its
bar or peer and prints the ratio to it."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import subprocess
import sys
import tarfile
import time
from importlib.metadata import version
from pathlib import Path
from random import Random

import numpy as np


def queries(shared: Path, count: int) -> list[str]:
    """Return texts of judged queries, in random order."""
    texts = [
        json.loads(line)["text"] for path in sorted((shared / "eval").glob("*/queries.jsonl")) for line in path.open()
    ]
    Random(0).shuffle(texts)
    return texts[:count]


def pages(shared: Path, folder: Path, sections: int) -> None:
    """Markdown pages of the corpora's sections' texts, repeated under other titles until there are enough sections."""
    if folder.exists():
        return
    from structformer import Corpus
    from structformer.ingestion import ingest

    texts: list[tuple[str, str]] = []
    for name in ("php-docbook", "wikipedia-extracted"):
        with tarfile.open(shared / "corpora" / f"{name}.tar.xz") as tar:
            tar.extractall(folder.parent / name, filter="data")
        ingest(folder.parent / name, folder.parent / f"{name}-workspace")
        for document in Corpus.open(folder.parent / f"{name}-workspace").documents():
            texts += [
                (section.title, section.text) for section in document.sections() if len(section.text.split()) >= 20
            ]
    folder.mkdir(parents=True)
    for page in range(-(-sections // 9)):  # eight sections and the page's own unit
        parts = [f"# Page {page}\n"]
        for place in range(8):
            title, text = texts[(page * 8 + place) % len(texts)]
            # No more than one passage a section, and nothing that Markdown would take for structure.
            words = " ".join(
                word for word in text.replace("#", "").replace("`", "").split() if word not in ("-", "*", "+", ">")
            )
            parts.append(f"## {title or 'Section'} {page}\n\n{' '.join(words.split()[:140])}\n")
        (folder / f"{page:06}.md").write_text("\n".join(parts), encoding="utf-8")


def percentile(times: list[float], share: float) -> float:
    """Milliseconds below which this share of the times lies."""
    return float(np.quantile(times, share) * 1000)


def report(what: str, value: float, unit: str, bar: float, *, least: bool = False) -> None:
    """One figure with its bar and the ratio that is 1 or less where the bar is met."""
    ratio = bar / value if least else value / bar
    print(
        f"{what:58} {value:10.1f} {unit:12} bar {bar:g}  ratio {ratio:.2f} {'met' if ratio <= 1 else 'MISSED'}",
        flush=True,
    )


def index(corpus: Path, workspace: Path) -> int:
    """Ingest and index; returns the number of units."""
    from structformer.ingestion import ingest
    from structformer.retrieval.indexing import build_index
    from structformer.workspace import Workspace

    if not Workspace(workspace).has("graph"):
        ingest(corpus, workspace)
    begun = time.monotonic()
    manifest = build_index(workspace, encoders=[], language="en")
    seconds = time.monotonic() - begun
    report(
        f"lexical index of {manifest['units']} sections", manifest["units"] / seconds, "sections/s", 10_000, least=True
    )
    return int(manifest["units"])


def random_vectors(workspace: Path, units: int, given: Path | None) -> None:
    """Random or given vectors in the place of the untrained encoder's."""
    from structformer.retrieval.documents.units import IndexedDocuments, Units
    from structformer.retrieval.vectors.dense import (
        APPROXIMATE_FROM,
        approximate_files,
        overview_path,
        write_approximate,
    )
    from structformer.retrieval.vectors.encoder_places import encoder_place
    from structformer.storage import seal
    from structformer.storage.seal import seal_of
    from structformer.workspace import Workspace

    generator = np.random.default_rng(0)
    folder = Workspace(workspace).folder("index")
    name = encoder_place(Workspace(workspace), "base").vectors
    path = folder / "dense" / f"{name}.npy"
    path.parent.mkdir(exist_ok=True)
    documents = len(IndexedDocuments(folder / "documents.arrow"))
    if given is None:
        for target, count in ((path, units), (overview_path(path), documents)):
            vectors = generator.standard_normal((count, 384), dtype=np.float32)
            np.save(target, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    else:
        vectors = np.load(given / "units.npy", mmap_mode="r")
        owners = Units(folder / "units.arrow").numbers("document")
        np.save(path, vectors[np.arange(units) % len(vectors)])
        np.save(overview_path(path), vectors[np.searchsorted(owners, np.arange(documents)) % len(vectors)])
        if units >= APPROXIMATE_FROM:
            stored = [np.load(each, mmap_mode="r") for each in (path, overview_path(path))]
            print(write_approximate(path, *stored, owners, 0.5), approximate_files(path)[0].stat().st_size >> 20, "MB")
    weights = {"dense": 1.0, "overview": 0.5, "lexical": 0.2, "document": 0.1}
    path.with_name(f"{path.stem}.fusion.json").write_text(json.dumps({"weights": weights}))
    for made in (path, overview_path(path)):
        np.save(made.with_name(f"{made.stem}.digests.npy"), np.zeros((len(np.load(made, mmap_mode="r")), 8), np.uint8))
    seal(folder, [made.relative_to(folder).as_posix() for made in path.parent.iterdir()], to=seal_of("dense-random"))


def latency(workspace: Path, asked: list[str]) -> None:
    """p95 of lexical and hybrid searches, hits and snippets included."""
    from structformer import Retriever

    retriever = Retriever.open(workspace)
    million = len(retriever.units) >= 500_000
    for pipeline, bar in (("lexical", 15.0), ("hybrid:base", 150.0 if million else 60.0)):
        retriever.search(asked[0], 10, pipeline)
        times = []
        for query in asked:
            begun = time.perf_counter()
            retriever.search(query, 10, pipeline)
            times.append(time.perf_counter() - begun)
        print(f"{pipeline}: p50 {percentile(times, 0.5):.1f} ms over {len(times)} queries")
        report(f"{pipeline} p95", percentile(times, 0.95), "ms", bar)


def reranking(workspace: Path, folder: Path, asked: list[str]) -> None:
    """50 sections of 256 tokens by the 6-layer model, int8, against sentence-transformers on the same pairs."""
    from sentence_transformers import CrossEncoder as Peer
    from structformer import Retriever
    from structformer.models.base import packaged_minilm
    from structformer.models.cross_encoder import CrossEncoder
    from structformer.models.kinds import ranker_kind
    from structformer.models.onnx_encoder import OnnxCrossEncoder, export_in

    from structformer_exports.onnx_models import export_onnx

    plain = folder.with_name("cross-encoder-plain")
    for target in (folder, plain):
        if not (target / "config.json").exists():
            target.mkdir(exist_ok=True)
            CrossEncoder.load(str(packaged_minilm()), 256).save(target)
    if not (folder / "onnx").exists():
        export_onnx(ranker_kind("cross-encoder"), str(folder), folder, int8=True)
    rankers = {
        "as saved": OnnxCrossEncoder(str(plain)),
        "exported, int8": OnnxCrossEncoder(str(folder), export_in(folder)),
    }
    units = Retriever.open(workspace).units
    texts = [
        " ".join(unit.ranker_text for unit in (units[n * 3], units[n * 3 + 1], units[n * 3 + 2])) for n in range(50)
    ]
    peer = Peer(str(plain), device="cpu", max_length=256)
    for name, fast in rankers.items():
        assert isinstance(fast, CrossEncoder)
        fast.max_tokens = 256
        ours, theirs = [], []
        fast.score([asked[0]] * 50, texts)
        peer.predict([(asked[0], text) for text in texts], show_progress_bar=False)
        for query in asked[:6]:
            begun = time.perf_counter()
            fast.score([query] * 50, texts)
            ours.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            peer.predict([(query, text) for text in texts], show_progress_bar=False)
            theirs.append(time.perf_counter() - begun)
        report(f"rerank 50 sections of 256 tokens, {name}, median", float(np.median(ours)), "s", 1.2)
        report(f"CrossEncoder.predict / ours, {name}", float(np.median(theirs) / np.median(ours)), "x", 2.0, least=True)


def cold_start(workspace: Path, model: Path) -> None:
    """`structformer search` from a shell, best of three."""
    for pipeline, bar in (
        ("lexical", 1.5),
        ("hybrid:base", 4.0),
        (f'lexical[k=50] >> rerank("{model.resolve()}")[k=10]', 4.0),
    ):
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            command = [
                sys.executable,
                "-m",
                "structformer",
                "search",
                "array functions",
                "-w",
                str(workspace),
                "--pipeline",
                pipeline,
                "-q",
            ]
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - begun)
        report(f"cold start, {pipeline.partition('(')[0]}", min(times), "s", bar)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sections", type=int, default=100_000)
    parser.add_argument("--work", type=Path, default=Path(".benchmarks/search"))
    parser.add_argument("--vectors", type=Path)
    arguments = parser.parse_args()
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("torch", "tantivy", "onnxruntime", "sentence-transformers")
    )
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}", flush=True)
    name = hashlib.sha256(str(arguments.sections).encode()).hexdigest()[:6]
    corpus, workspace = arguments.work / f"pages-{name}", arguments.work / f"workspace-{name}"
    arguments.work.mkdir(parents=True, exist_ok=True)
    pages(arguments.shared, corpus, arguments.sections)
    units = index(corpus, workspace)
    random_vectors(workspace, units, arguments.vectors)
    asked = queries(arguments.shared, 200)
    latency(workspace, asked)
    reranking(workspace, arguments.work / "cross-encoder", asked)
    cold_start(workspace, arguments.work / "cross-encoder")


if __name__ == "__main__":
    main()
