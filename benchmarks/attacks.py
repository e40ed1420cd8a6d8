"""The attacks of `reliability.py --attack`: each gives how often it was tried, and what failed.

What a test keeps is tried here as often as a night allows. What needs a server asks one of the command's own
processes over loopback."""

from __future__ import annotations

import itertools
import json
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from structformer.corpus import Corpus
from structformer.errors import StructformerError
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index
from structformer.storage import read_json, write_json
from structformer.workspace import Workspace

import load

QUERIES = ("install a package", "remove the container", "list versions", "configuration file", "undo a commit")
HYBRID = "pipeline=best"


@dataclass(slots=True)
class Tried:
    """The result of an attack. failures: a line for each; note: what else was seen."""

    tries: int = 0
    failures: list[str] = field(default_factory=list)
    note: str = ""

    def check(self, kept: bool, what: str) -> None:
        """Count one try."""
        self.tries += 1
        if not kept:
            self.failures.append(what)


def structformer(*arguments: object, cwd: Path | None = None, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    command = [sys.executable, "-m", "structformer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=timeout)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        found: int = one.getsockname()[1]
        return found


@contextmanager
def indexed(documents: Path, encoders: list[str] | None = None) -> Iterator[Path]:
    """A workspace of the documents in a folder of its own, which goes at the end."""
    with tempfile.TemporaryDirectory() as place:
        ingest(documents, Path(place) / "w", workers=2)
        build_index(Path(place) / "w", encoders=encoders or [])
        yield Path(place) / "w"


@contextmanager
def served(workspace: Path, *options: object) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """(port, process) of a server."""
    port = free_port()
    process = load.serve("-w", workspace, "--port", port, "--rate", 0, *options)
    try:
        yield port, process
    finally:
        process.kill()
        process.wait()


def get(port: int, path: str, token: str = "", body: Any = None) -> tuple[int, str]:
    """Return (status, text) of one request."""
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    text = None if body is None else body if isinstance(body, str) else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, text, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode("utf-8", "replace")
    connection.close()
    return found


def resident(process: subprocess.Popen[str]) -> float:
    """Return megabytes of a process."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 / 1e6


def content(folder: Path) -> dict[str, bytes]:
    """Return a folder's files, but for locks and what is remembered."""
    passing = {"compared.json", "structformer.lock", "structformer.lock.json"}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in passing and "holds" not in path.parts
    }


# Files of the user


def outputs(documents: Path) -> Tried:
    """Every command that writes to a place that its user names, onto what must stay."""
    found = Tried()
    writing = (
        ("feedback", "--query-log"),
        ("feedback", "--write-query-log"),
        ("feedback", "--judgements"),
        ("graph", "export"),
        ("export", "--docsearch"),
        ("export", "--write-beir"),
        ("export", "--datasets"),
        ("export", "--training-rows"),
        ("export", "--qry-pos-neg"),
        ("export", "--site"),
        ("export", "--write-word-vectors"),
        ("report", "bi-encoder", "--output"),
        ("evaluate", "--output"),
    )
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        shutil.copytree(documents, home / "pages")
        ingest(home / "pages", home / "w", workers=2)
        build_index(home / "w", encoders=[])
        first = next(path for path in sorted((home / "pages").rglob("*")) if path.is_file()).relative_to(home)
        for name in ("thesis.txt", "edges.parquet", "graph.graphml"):
            (home / name).write_text("four years of work")
        (home / "photos" / "202401").mkdir(parents=True)
        (home / "photos" / "202401" / "1.jpg").write_bytes(b"\xff\xd8")
        (home / "link").symlink_to("thesis.txt")
        before = content(home)
        targets = (
            "thesis.txt",
            "edges.parquet",
            "graph.graphml",
            "photos",
            "link",
            str(first),
            "w/workspace.json",
            "w/graph/000001/edges/00000.parquet",
            "pages/new.parquet",
            "w/new",
        )
        for command, target, typo in itertools.product(writing, targets, (False, True)):
            done = structformer(*command, target, "-w", "typo" if typo else "w", cwd=home)
            found.check(
                content(home) == before and "Traceback" not in done.stderr and not (home / "typo").exists(),
                f"{' '.join(command)} {target}: {done.stderr[-200:]}",
            )
            if content(home) != before:
                break
    return found


def leftovers(documents: Path, times: int = 20) -> Tried:
    """kill -9 while something is written, then the command again: whole, and nothing left beside it."""
    found = Tried()
    rng = random.Random(0)
    commands = (("export", "--docsearch", "out"), ("export", "--write-beir", "out"), ("graph", "export", "o.parquet"))
    with indexed(documents) as workspace:
        home = workspace.parent
        for number in range(times):
            command = commands[number % 3]
            process = subprocess.Popen(
                [sys.executable, "-m", "structformer", *command, "-w", "w"], cwd=home, stdout=subprocess.DEVNULL
            )
            time.sleep(rng.uniform(0.3, 1.5))
            process.kill()
            process.wait()
            done = structformer(*command, "-w", "w", "--force", cwd=home)
            found.check(done.returncode == 0, f"{command}: {done.stderr[-200:]}")
            for name in ("out", "o.parquet"):
                shutil.rmtree(home / name) if (home / name).is_dir() else (home / name).unlink(missing_ok=True)
        time.sleep(6)  # what was killed before it could be locked counts as old after five seconds
        for command in commands:
            structformer(*command, "-w", "w", "--force", cwd=home)
        left = [path.name for path in home.iterdir() if path.name.startswith(".")]
        found.check(not left, f"left: {left}")
    return found


def markers(documents: Path) -> Tried:
    """Markers of strangers."""
    found = Tried()
    names = ("../../photos", "/etc", "..", "graph/../../photos", "photos", "corpus\\x", "", "graph")
    generations = ("202401", "../202401", "/202401", "..", 202401, None, ["202401"])
    with indexed(documents) as workspace:
        photos = workspace.parent / "photos" / "202401"
        photos.mkdir(parents=True)
        (photos / "seal.json").write_text("{}")
        state = Workspace(workspace).state()
        before = content(workspace.parent / "photos")
        for where, part, generation in itertools.product(("kept", "current"), names, generations):
            if (part, generation) == ("graph", "202401"):
                continue  # as ours are called; nothing is there
            value = {**state[where], part: [generation] if where == "kept" else generation}
            write_json(workspace / "workspace.json", {**state, where: value}, digest=True)
            try:
                with Workspace(workspace).writing("the attack"):
                    pass
                kept = False
            except StructformerError as error:
                kept = "\n" not in str(error)
            found.check(kept and content(workspace.parent / "photos") == before, f"{where} {part!r} {generation!r}")
        write_json(workspace / "workspace.json", state, digest=True)
    return found


def read_only(documents: Path) -> Tried:
    """Commands on a workspace that is mounted so that it may only be read."""
    found = Tried()
    commands = (
        "search install",
        "search install --pipeline lexical",
        "search install --pipeline lexical>>bm25",
        "check",
        "graph stats",
        "graph check",
        "inspect",
        "search install --json",
        "search install --group --explain",
    )
    with indexed(documents) as workspace:
        for line in commands:
            command = shlex.join([sys.executable, "-m", "structformer", *line.split(), "-w", str(workspace)])
            script = f"mount --bind -o ro {workspace} {workspace} && exec {command}"
            done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
            wanted = (0, 1) if line == "graph check" else (0,)
            found.check(
                done.returncode in wanted and "Traceback" not in done.stderr and "Lockfile" not in done.stderr,
                f"{line}: {done.stderr[-200:]}",
            )
    return found


# The server


def slow_clients(documents: Path) -> Tried:
    """Half-sent bodies and headers and answers that nobody reads, while others search."""
    found, search = Tried(), "/api/search?q=install&pipeline=words"
    with tempfile.TemporaryDirectory() as place:
        pages = Path(place) / "pages"
        shutil.copytree(documents, pages)
        sections = (f"## Part {number}\n\n{'A long answer takes long to read. ' * 300}" for number in range(400))
        (pages / "large.md").write_text("# Large\n\n" + "\n\n".join(sections))
        with indexed(pages) as workspace, served(workspace) as (port, _):
            for what, held in (
                ("half-sent bodies", lambda: load.half_sent_bodies(port, 70)),
                ("chunked bodies", lambda: load.half_sent_bodies(port, 70, chunked=True)),
                ("half-sent headers", lambda: load.half_sent_headers(port, 400)),
                ("answers not read", lambda: load.never_read(port, 70, "/api/section/large.md?children=true")),
            ):
                with held() as sockets:
                    if what == "answers not read":
                        # Seventy of eight megabytes are work, before nobody reads them; then all must get through.
                        _wait(lambda: all(get(port, search)[0] == 200 for _ in range(20)), 60)
                    answers = load.ask(port, 40, search)
                    for status, count in answers.statuses.items():
                        found.tries += count
                        found.failures += [f"{what}: a search {status}"] * (count if status != 200 else 0)
                    found.check(get(port, "/readyz")[0] == 200, f"{what}: not ready")
                    if what == "answers not read":
                        _wait(lambda: _figure(port, "structformer_connections") <= 1, 90)
                        found.check(True, what)
                        continue
                    for waited in load.closed_after(sockets, 30):
                        found.check(waited < 30, f"{what}: a connection was held for 30 s")
    return found


def _figure(port: int, name: str) -> float:
    """Return a figure of /metrics."""
    lines = get(port, "/metrics")[1].splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith(f"{name} ")))


def full_disk(documents: Path) -> Tried:
    """Searches while feedback cannot be written."""
    found = Tried()
    with indexed(documents) as workspace:
        (workspace / "feedback").mkdir()
        script = (
            f"mount -t tmpfs -o size=16k none {workspace}/feedback && head -c 16000 /dev/zero > {workspace}/feedback/x;"
            f"exec {sys.executable} -m structformer serve -w {workspace} --feedback --rate 0 --port "
        )
        port = free_port()
        process = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c", f"{script}{port}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        try:
            for number in range(300):
                status, _ = get(port, f"/api/search?q={quote(QUERIES[number % 5])}&pipeline=words")
                found.check(status == 200, f"search {number}: {status}")
            found.check("structformer_feedback" in get(port, "/metrics")[1], "what was lost is not counted")
        finally:
            process.kill()
            process.wait()
    return found


HIDDEN = {
    "secret/plan.md": "---\nreleased: false\n---\n# Plan\n\nWe buy: [project bluewhale merger](../public/shared.md).\n",
    "public/shared.md": "---\nreleased: true\n---\n# Shared\n\nA page for all to read.\n",
    "public/guide.md": "---\nreleased: true\n---\n# Guide\n\nRead the [small print](shared.md) first.\n",
}


def permissions(documents: Path) -> Tried:
    """What a token does not let through, over every door; tokens that would let everything through by mistake."""
    found = Tried()
    token = "a secret of this attack alone"
    with tempfile.TemporaryDirectory() as place:
        for name, text in HIDDEN.items():
            (Path(place) / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(place) / "pages" / name).write_text(text)
        with indexed(Path(place) / "pages") as workspace:
            tokens = workspace.parent / "tokens.toml"
            for more in ("paths = []", "where = {}", 'paths = ["public/*"]\nwhere = {}'):
                tokens.write_text(f'[[tokens]]\ntoken = "{token}"\n{more}\n')
                done = structformer("serve", "-w", workspace, "--tokens", tokens, "--port", free_port())
                found.check(done.returncode == 2 and "is empty" in done.stderr, f"{more}: {done.stderr[-200:]}")
            for more in ('paths = ["public/*"]', "where = { released = true }", 'paths = ["nowhere/*"]'):
                tokens.write_text(f'[[tokens]]\ntoken = "{token}"\n{more}\n')
                with served(workspace, "--tokens", tokens) as (port, _):
                    for query, door in itertools.product(
                        ("bluewhale", "bluewhale merger", "project", "merger", "plan", "bluew", "secret"),
                        (
                            "",
                            "&typing=true",
                            "&partial=true",
                            "&pipeline=words",
                            "&explain=true",
                            "&group=false",
                            "&path=*",
                            "&k=100",
                        ),
                    ):
                        status, text = get(port, f"/api/search?q={quote(query)}{door}", token)
                        hits = json.loads(text)["hits"] if status == 200 else None
                        found.check(hits == [], f"{more} {query}{door}: {status} {str(hits)[:100]}")
                    for path in ("/llms.txt", "/api/status", "/", "/?q=plan", "/openapi.json", "/metrics"):
                        _, text = get(port, path, token)
                        found.check("bluewhale" not in text and "secret/plan" not in text, f"{more} {path}")
                    for path in ("/api/document/secret/plan.md", "/api/section/secret/plan.md", "/read/secret/plan.md"):
                        found.check(get(port, path, token)[0] == 404, f"{more} {path}")
                    found.check(get(port, "/api/search?q=shared")[0] == 401, "without a token")
                    if "nowhere" not in more:
                        status, text = get(port, "/api/search?q=shared", token)
                        found.check("public/shared.md" in text, f"{more}: what may be seen is found")
    return found


def odd_requests(documents: Path) -> Tried:
    """Requests that are almost right; names that a page of another site may have itself resolved to."""
    found = Tried()
    with indexed(documents) as workspace, served(workspace, "--host", "0.0.0.0") as (port, _):
        for value in ("Infinity", "-Infinity", "NaN", "1e999", '"x"', "null", "[]", "99999999999999999999"):
            for field_name in ("hitsPerPage", "page", "query"):
                status, _ = get(port, "/1/indexes/a/query", body=f'{{"query": "install", "{field_name}": {value}}}')
                found.check(status in (200, 400, 422), f"{field_name}={value}: {status}")
        for tag in (
            "<b><script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<mark onclick=x>",
            "<svg/onload=alert(1)>",
            "<mark class='x' style='a'>",
            "<script>",
            "<style>",
            '<b class="x"onmouseover=alert(1)>',
            "<a href=javascript:x>",
        ):
            body = {"query": QUERIES[0], "highlightPreTag": tag, "highlightPostTag": "</mark>"}
            status, text = get(port, "/1/indexes/a/query", body=body)
            found.check(status in (200, 422) and tag not in json.dumps(json.loads(text)).replace('\\"', '"'), tag)
        for host, wanted in (
            ("evil.example", 421),
            ("localhost.evil.example", 421),
            ("127.0.0.1.nip.io", 421),
            ("", 421),
            ("127.0.0.1", 200),
            ("localhost", 200),
            ("10.0.0.1", 200),
            ("[::1]", 200),
            (socket.gethostname(), 200),
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
                one.sendall(
                    f"GET /api/search?q=x&pipeline=words HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode()
                )
                status = int(one.recv(64).split()[1])
            found.check(status == wanted, f"host {host!r}: {status}, not {wanted}")
        done = structformer("serve", "-w", workspace, "--host", "nosuch.invalid", "--port", 0)
        found.check(done.returncode == 2 and "taken" not in done.stderr, done.stderr[-200:])
        begun = time.monotonic()
        done = structformer("up", documents, "-w", workspace.parent / "new", "--port", port, "--no-open")
        found.check(
            done.returncode == 2 and not (workspace.parent / "new").exists(), f"taken port: {done.stderr[-200:]}"
        )
        found.note = f"a taken port is said after {time.monotonic() - begun:.1f} s"
    return found


def restarts(documents: Path, requests: int = 1000) -> Tried:
    """SIGTERM under load, the port let go and taken by the next server; and handed over."""
    found = Tried()
    with indexed(documents) as workspace:
        port = free_port()
        path = "/api/search?q=install&pipeline=words"
        ended = load.sigterm_under_load(
            lambda: load.serve("-w", workspace, "--port", port, "--rate", 0), port, requests=requests, path=path
        )
        found.tries += ended.answered + len(ended.cut)
        found.failures += ended.cut
        found.check(ended.exit_code == 0, f"exit code {ended.exit_code}")
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
            handed = load.sigterm_under_load(
                lambda: load.serve("-w", workspace, "--rate", 0, on=listening),
                listening.getsockname()[1],
                requests=requests,
                path=path,
                overlap=True,
            )
        found.tries += handed.answered + len(handed.cut)
        found.failures += handed.cut
        found.check(handed.refused == 0, f"{handed.refused} refused although the socket was handed over")
        found.note = (
            f"{ended.refused} connections refused and tried again, {handed.refused} with the socket handed over"
        )
    return found


def swaps(documents: Path, requests: int = 20_000, clients: int = 8) -> Tried:
    """Searches, every fourth a hybrid, through a reindex and a corrupted index that is swapped in."""
    found = Tried()
    with indexed(documents, ["base"]) as workspace, served(workspace) as (port, process):
        load.ask(port, 20, f"/api/search?q=install&{HYBRID}")
        memory = [resident(process)]
        lock, counter = threading.Lock(), itertools.count()
        indexes: set[str] = set()

        def client() -> None:
            from http.client import HTTPConnection

            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            while (number := next(counter)) < requests:
                pipeline = HYBRID if number % 4 == 0 else "pipeline=words"
                try:
                    connection.request("GET", f"/api/search?q={quote(QUERIES[number % 5])}+{number % 97}&{pipeline}")
                    answer = connection.getresponse()
                    text = answer.read()
                    problem = "" if answer.status == 200 else f"request {number}: {answer.status}"
                    index = json.loads(text)["index"] if not problem else ""
                except (OSError, ValueError, KeyError) as error:
                    problem, index = f"request {number}: {error!r}", ""
                    connection.close()
                with lock:
                    found.check(not problem, problem)
                    indexes.add(index)

        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        _wait(lambda: found.tries > requests // 4)
        build_index(workspace, encoders=["base"])
        _wait(lambda: found.tries > requests // 2)
        good = read_json(workspace / "workspace.json", digest=True)
        for file in ("units.arrow", "documents.sqlite", "facets.npy", "manifest.json"):
            _swap_in_corrupted(workspace, file)
            time.sleep(4)
            found.check(get(port, "/readyz")[0] == 200, f"readyz with a corrupted {file}")
        seen = len(indexes)
        write_json(workspace / "workspace.json", good, digest=True)
        for thread in threads:
            thread.join()
        found.check(len(indexes - {""}) == 2 and seen <= 3, f"answers of {len(indexes)} indexes: {indexes}")
        memory.append(resident(process))
        found.note = f"memory {memory[0]:.0f} MB at the start, {memory[1]:.0f} MB at the end"
    return found


def _swap_in_corrupted(workspace: Path, name: str) -> None:
    """Make a copy of the current index current, one bit of a file of it flipped."""
    folder = Workspace(workspace).folder("index")
    number = max(int(path.name) for path in (workspace / "index").iterdir() if path.name.isdigit()) + 1
    copy = workspace / "index" / f"{number:06}"
    shutil.copytree(folder, copy, symlinks=True)
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 4
    (copy / name).write_bytes(data)
    state = read_json(workspace / "workspace.json", digest=True)
    state["current"]["index"] = copy.name
    write_json(workspace / "workspace.json", state, digest=True)


def _wait(found: Callable[[], bool], seconds: float = 1800) -> None:
    end = time.monotonic() + seconds
    while not found():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def killed_servers(documents: Path, times: int = 20) -> Tried:
    """kill -9 of a server under load: the workspace stays as it was, the next server answers."""
    found = Tried()
    rng = random.Random(1)
    with indexed(documents) as workspace:
        before = content(workspace)
        for number in range(times):
            with served(workspace, "--feedback") as (port, process):
                asking = threading.Thread(target=load.ask, args=(port, 200, "/api/search?q=install&pipeline=words"))
                asking.start()
                time.sleep(rng.uniform(0, 0.5))
                process.send_signal(signal.SIGKILL)
                process.wait()
                asking.join()
            kept = {name: data for name, data in content(workspace).items() if not name.startswith("feedback/")}
            told = structformer("feedback", "-w", workspace, "--json")
            found.check(kept == before and told.returncode == 0, f"kill {number}: {told.stderr[-200:]}")
    return found


# Reading


def packed(documents: Path) -> Tried:
    """Small archives that unpack to much: the processor time that they may take is bounded by their packed bytes."""
    import resource

    found = Tried()
    paragraphs = b"".join(b"<p>%d</p>" % (number % 10) for number in range(2_500_000))[:20_000_000]
    with tempfile.TemporaryDirectory() as place:
        pages = Path(place) / "pages"
        pages.mkdir()
        (pages / "good.md").write_text("# Good\n\nText.\n")
        with zipfile.ZipFile(pages / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(20):
                archive.writestr(f"{number:02}.html", paragraphs)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = structformer("ingest", pages, "-w", Path(place) / "w", "--json", timeout=3600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        size = (pages / "bomb.zip").stat().st_size
        there = set(Corpus.open(Path(place) / "w").document_ids())
        found.check(done.returncode in (0, 1) and "good.md" in there, done.stderr[-300:])
        found.check(seconds < 400, f"{seconds:.0f} s of processor time for {size:,} bytes")
        found.note = f"{size:,} bytes packed, 400 MB unpacked: {seconds:.0f} s of processor time"
    return found


def encodings(documents: Path) -> Tried:
    """Texts in UTF-16 without a mark and in ISO-2022-JP, as what they are."""
    found = Tried()
    title, text = "日本語の見出し", "港の水先案内人は船を導く。海図を読み、風を見る。"
    page = f"<html><head>{{}}<title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    cases = {
        "utf-16-le.html": page.format("").encode("utf-16-le"),
        "utf-16-be.html": page.format("").encode("utf-16-be"),
        "iso-2022-jp.html": page.format("").encode("iso-2022-jp"),
        "iso-2022-jp-meta.html": page.format('<meta charset="iso-2022-jp">').encode("iso-2022-jp"),
        "utf-16-le.md": f"# {title}\n\n{text}\n".encode("utf-16-le"),
        "utf-16-be.md": f"# {title}\n\n{text}\n".encode("utf-16-be"),
    }
    with tempfile.TemporaryDirectory() as place:
        for name, data in cases.items():
            (Path(place) / name).write_bytes(data)
            shown = structformer("inspect", Path(place) / name, "--json")
            found.check(
                title in shown.stdout or json.dumps(title)[1:-1] in shown.stdout, f"{name}: {shown.stdout[:120]}"
            )
    return found


ATTACKS: dict[str, tuple[str, Callable[[Path], Tried]]] = {
    "outputs": ("no file of the user's is written over", outputs),
    "leftovers": ("nothing is left beside what was written", leftovers),
    "markers": ("a stranger's workspace deletes nothing outside", markers),
    "read-only": ("a workspace that may only be read is searched", read_only),
    "slow": ("slow clients keep nobody from searching", slow_clients),
    "full": ("a full disk costs feedback, not searches", full_disk),
    "permissions": ("what a token does not let through does not show", permissions),
    "odd": ("odd requests are refused, not failed", odd_requests),
    "restarts": ("SIGTERM cuts nothing", restarts),
    "swaps": ("a corrupted index is refused, the old one goes on", swaps),
    "serve": ("kill -9 of a server costs nothing", killed_servers),
    "packed": ("processor time is bounded by packed bytes", packed),
    "encodings": ("UTF-16 without a mark, ISO-2022-JP", encodings),
}
