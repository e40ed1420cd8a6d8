"""The search without a server, in a real browser: its quality on judged queries against BM25, the hybrid of the same
static encoder and the server's default, its bytes over the wire, its time.

    python benchmarks/static_site.py WORKSPACE QUERIES QRELS [WORKSPACE QUERIES QRELS ...]

Exports each workspace's site, gives it by `python -m http.server`'s own handler, and asks every query in Chromium. The
search is worth having with vectors where it beats BM25 by 0.02 nDCG@10."""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from structformer import Retriever
from structformer.evaluation.judgements import read_judgements
from structformer.evaluation.measures import Evaluator, parse_measure, randomisation_test

from structformer_serve.static_site import export_site

_DEPTH = 100
_FIRST_BYTES, _LATER_BYTES, _WIN = 400_000, 100_000, 0.02


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or len(arguments) % 3:
        sys.exit(__doc__)
    for start in range(0, len(arguments), 3):
        measure(*map(Path, arguments[start : start + 3]))


def measure(workspace: Path, queries: Path, qrels: Path) -> None:
    """Export, ask and tell."""
    judged = read_judgements(queries, qrels)
    asked = judged.asked()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        report = export_site(workspace, Path(folder) / "site")
        print(
            f"\n{workspace.name}: {report.passages} passages, {report.files} files, {report.bytes / 1e6:.1f} MB, "
            f"made in {time.perf_counter() - begun:.0f} s"
        )
        runs, cost = in_browser(Path(folder) / "site", list(asked.items()))
    retriever = Retriever.open(workspace)
    for name, pipeline in (
        ("BM25", "lexical"),
        ("hybrid:structure, served", "hybrid:structure"),
        ("the default, served", None),
    ):
        found = retriever.rank_documents(list(asked.values()), pipeline, _DEPTH)
        runs[name] = dict(zip(asked, found, strict=True))
    evaluator = Evaluator([parse_measure("nDCG@10")], {query: judged.qrels[query] for query in asked})
    values = {name: {query: value for _, query, value in evaluator.values(run)} for name, run in runs.items()}
    bm25 = [values["BM25"].get(query, 0.0) for query in asked]
    for name, its in values.items():
        scores = [its.get(query, 0.0) for query in asked]
        mean, difference = sum(scores) / len(scores), (sum(scores) - sum(bm25)) / len(scores)
        p = randomisation_test(scores, bm25) if name != "BM25" else 1.0
        print(f"  {name:24} nDCG@10 {mean:.3f}  {difference:+.3f} against BM25 (p {p:.4f})")
    print(
        f"  first search {cost['first'] / 1000:.0f} kB ({cost['first'] / _FIRST_BYTES:.2f} of the limit), later ones "
        f"{cost['later'] / 1000:.1f} kB on average ({cost['later'] / _LATER_BYTES:.2f}), {cost['ms']:.0f} ms each"
    )


def in_browser(site: Path, asked: list[tuple[str, str]]) -> tuple[dict[str, Any], dict[str, float]]:
    """Runs with and without vectors; bytes of the first search in a fresh browser and of the later ones, mean time."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            return

    handler = functools.partial(Quiet, directory=str(site))
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    flags = ["--no-sandbox", "--disable-gpu"]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page()
        taken: list[int] = []
        page.on("response", lambda response: taken.append(len(response.body())) if response.ok else None)
        page.goto(f"http://127.0.0.1:{server.server_port}/?q={asked[0][1].replace(' ', '+')}")
        page.locator(".results li").first.wait_for()
        page.wait_for_timeout(300)
        first, taken[:] = sum(taken), []
        ask = """async ([queries, options]) => {
            const found = [];
            for (const query of queries) {
                const answer = await window.structformer.search(query, options);
                found.push([answer.hits.map((hit) => [hit.document, hit.score]), answer.milliseconds]);
            }
            return found;
        }"""
        runs: dict[str, Any] = {}
        times: list[float] = []
        for name, options in (("static", {"k": 10}), ("static, words alone", {"k": 10, "meaning": False})):
            found = page.evaluate(ask, [[query for _, query in asked], options])
            runs[name] = {
                query: [(document, float(len(hits) - place)) for place, (document, _) in enumerate(hits)]
                for (query, _), (hits, _) in zip(asked, found, strict=True)
            }
            if name == "static":
                times = [milliseconds for _, milliseconds in found]
                later = sum(taken) / max(1, len(asked) - 1)
        browser.close()
        server.shutdown()
    return runs, {"first": first, "later": later, "ms": sum(times) / len(times)}


if __name__ == "__main__":
    main()
