"""Load on a served search: latencies and requests a second of 16 clients, what batching is worth, start, memory, and a
swap of the index under load.

    python benchmarks/serving.py WORKSPACE QUERIES [--clients 16] [--seconds 15] [--requests 100000]

WORKSPACE: an indexed one, of about 10,000 sections for the limits printed; QUERIES: a queries.jsonl. The clients run in
a process of their own on the same cores. Every query is asked once with another number behind it, so that no vector is
known already."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import psutil

RATE = 60.0  # requests a second of all clients together, and then as many as are answered
LIMITS = {"words p95": 25.0, "typing p95": 50.0, "hybrid p95": 120.0}  # milliseconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workspace", type=Path)
    options.add_argument("queries", type=Path)
    options.add_argument("--clients", type=int, default=16)
    options.add_argument("--seconds", type=float, default=15.0)
    options.add_argument("--requests", type=int, default=0, help="Ask so many more and compare the memory.")
    chosen = options.parse_args()
    queries = [json.loads(line)["text"] for line in chosen.queries.read_text().splitlines()]
    batching(chosen.workspace, queries, chosen.clients)
    with served(chosen.workspace) as (process, port, started):
        print(f"started in {started:.2f} s (limit 3), {memory(process):.0f} MB (limit 300)")
        for name, extra in (
            ("words", "&pipeline=words"),
            ("typing", "&typing=true"),
            ("hybrid", ""),
        ):
            limit = LIMITS[f"{name} p95"]
            for pace in (RATE, 0.0):
                times, failed, rate = load(port, queries, extra, chosen.clients, chosen.seconds, pace)
                p50, p95 = times[len(times) // 2], times[int(0.95 * len(times))]
                how = f"at {pace:.0f} requests/s" if pace else "as fast as it answers"
                print(
                    f"{name}, {how}: p50 {p50:.1f} ms, p95 {p95:.1f} ms ({p95 / limit:.2f} of the limit {limit:.0f}), "
                    f"{rate:.0f} requests/s, {failed} failed"
                )
        print(f"after it {memory(process):.0f} MB")
        if chosen.requests:
            flat(process, port, queries, chosen.clients, chosen.requests)
    swapped(chosen.workspace, queries, chosen.clients)


class served:
    """A server process; gives it, its port, and the seconds it took to answer."""

    def __init__(self, workspace: Path) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = int(one.getsockname()[1])
        self.command = [sys.executable, "-m", "structformer", "serve", "-w", str(workspace), "--port", str(self.port)]

    def __enter__(self) -> tuple[subprocess.Popen[str], int, float]:
        begun = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.process.stdout.readline()
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/api/search?q=first")
        connection.getresponse().read()
        return self.process, self.port, time.perf_counter() - begun

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait(20)


def memory(process: subprocess.Popen[str]) -> float:
    """Resident memory in MB."""
    return psutil.Process(process.pid).memory_info().rss / 1e6


def load(
    port: int, queries: list[str], extra: str, clients: int, seconds: float, pace: float = 0.0
) -> tuple[list[float], int, float]:
    """(milliseconds of all answers, sorted; failed ones; answers a second) of clients in a process of their own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(ask_for, (port, queries, extra, clients, seconds, pace))


def ask_for(
    port: int, queries: list[str], extra: str, clients: int, seconds: float, pace: float
) -> tuple[list[float], int, float]:
    """Ask from threads for some seconds; pace: requests a second of all of them together, 0 for no limit."""
    times: list[float] = []
    failed = [0] * clients
    end = time.perf_counter() + seconds

    def client(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        count = 0
        begins = time.perf_counter() + (number / pace if pace else 0.0)
        while time.perf_counter() < end:
            if pace:
                time.sleep(max(0.0, begins + count * clients / pace - time.perf_counter()))
            query = f"{queries[(count * clients + number) % len(queries)]} {number}{count}"
            begun = time.perf_counter()
            connection.request("GET", f"/api/search?q={quote(query[:500])}&k=10{extra}")
            answer = connection.getresponse()
            answer.read()
            times.append(1000 * (time.perf_counter() - begun))
            failed[number] += answer.status != 200
            count += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times), sum(failed), len(times) / seconds


def flat(process: subprocess.Popen[str], port: int, queries: list[str], clients: int, requests: int) -> None:
    """Whether memory stays after many requests."""
    before, asked, begun = memory(process), 0, time.perf_counter()
    while asked < requests:
        times, _, _ = load(port, queries, "&pipeline=words", clients, 60)
        asked += len(times)
    print(f"{asked} more requests in {time.perf_counter() - begun:.0f} s: {before:.0f} -> {memory(process):.0f} MB")


def batching(workspace: Path, queries: list[str], clients: int) -> None:
    """Encodings a second of threads that ask at once, gathered and one by one."""
    from structformer import Retriever

    from structformer_serve.batching import BatchedEncoder

    retriever = Retriever.open(workspace)
    encoder = retriever.opened.encoder(retriever.default_pipeline().first.model)[0]
    alone = threading.Lock()

    def one_by_one(query: str) -> None:
        with alone:
            encoder.encode_queries([query])

    rates = dict.fromkeys((False, True), 0.0)
    for gathers in (False, True, False, True):
        batched = BatchedEncoder(encoder)
        asked = [f"{query} {number}" for number in range(6) for query in queries][:2000]
        ask = (lambda query, all=batched: all.encode_queries([query])) if gathers else one_by_one
        begun = time.perf_counter()
        with ThreadPoolExecutor(clients) as threads:
            list(threads.map(ask, asked))
        rates[gathers] = max(rates[gathers], len(asked) / (time.perf_counter() - begun))
        batched.close()
    print(
        f"queries encoded a second: {rates[False]:.0f} one by one, {rates[True]:.0f} gathered "
        f"({rates[True] / rates[False]:.2f}x, limit 2)"
    )


def swapped(workspace: Path, queries: list[str], clients: int) -> None:
    """A new index while clients ask, and the end by SIGTERM while they do."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "w"
        shutil.copytree(workspace, copy)
        with served(copy) as (process, port, _):
            answers: list[tuple[int, str]] = []
            ended = threading.Event()

            def client(number: int) -> None:
                connection = HTTPConnection("127.0.0.1", port, timeout=20)
                count = 0
                while not ended.is_set():
                    query = queries[(count * clients + number) % len(queries)]
                    try:
                        connection.request("GET", f"/api/search?q={quote(query[:500])}&k=5")
                        answer = connection.getresponse()
                        body = json.loads(answer.read())
                        answers.append((answer.status, body.get("index", "")))
                    except ConnectionRefusedError:
                        return  # it has ended: nothing was taken and not answered
                    except OSError as error:
                        answers.append((0, str(error)))
                        return
                    count += 1

            threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
            for thread in threads:
                thread.start()
            subprocess.run([sys.executable, "-m", "structformer", "index", "-w", str(copy), "-q"], check=True)
            time.sleep(4)
            indexes = {index for _, index in answers}
            before = len(answers)
            process.terminate()
            process.wait(20)
            ended.set()
            for thread in threads:
                thread.join()
        failed = [answer for answer in answers if answer[0] != 200]
        print(
            f"a new index under load: {before} answers of {len(indexes)} indexes; then SIGTERM: "
            f"{len(answers) - before} more; {len(failed)} failed, exit code {process.returncode} {failed[:3]}"
        )


if __name__ == "__main__":
    main()
