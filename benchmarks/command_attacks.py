"""The attacks of `reliability.py --attack` on the commands and what is around them: Ctrl-C, full disks, bombs, another
user, older formats, a clock that goes back, many requests.
"""

from __future__ import annotations

import gzip
import os
import resource
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
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from attacks import Tried, content, free_port, get, indexed, resident, served, structformer
from structformer.corpus import Corpus
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index
from structformer.storage import read_json, write_json
from structformer.storage.seal import seal
from structformer.workspace import Workspace

import load

TINY = "--base-model scratch --size tiny --max-steps 4 --max-time none --batch 4 --save-steps 1 --name bi-encoder"
SECONDS = 1.0  # that a command may take to end when it is interrupted


def command_line(line: str) -> list[str]:
    """Return the words of a structformer command line."""
    return [sys.executable, "-m", "structformer", *shlex.split(line)]


def says_one_line(said: str) -> bool:
    """Whether one error at most was said, in a line."""
    return "Traceback" not in said and sum(line.startswith("error:") for line in said.splitlines()) <= 1


@contextmanager
def _silent_server() -> Iterator[int]:
    """The port of a server that takes connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as one:
        yield one.getsockname()[1]


def interrupts(documents: Path) -> Tried:
    """SIGINT at several moments of each command: ended within a second with one line and 130, nobody left, and the next
    run goes on.
    """
    found, slowest = Tried(), 0.0
    with indexed(documents, ["structure"]) as workspace, _silent_server() as silent:
        home = workspace.parent
        structformer("sample", "-w", workspace)
        structformer("train", "-w", workspace, *TINY.split())
        address = f"http://127.0.0.1:{silent}"
        lines = {
            f"ingest {documents} -w new": (0.6, 1.5, 3),
            "graph export g.graphml -w w": (0.6, 1),
            "sample -w w": (0.6, 1.5, 3),
            "index -w w": (1, 2, 4),
            f"train -w w --fresh --max-time none {TINY} --max-steps 100000": (1, 3, 6),
            "evaluate -w w": (1, 3, 6),
            "search install -w w": (0.3, 0.6, 1),
            f"serve -w w --port {free_port()}": (1, 2),
            f"up {documents} -w up --no-open --port {free_port()}": (1, 3),
            f"ask install -w w --ask {address}/v1 --ask-model m": (2, 4),
            "export --site site -w w --force": (0.6, 1.5),
            "push bi-encoder a/b -w w": (2, 4),
            "pull a/b -w w": (2, 4),
            f"ingest {address}/ -w website": (2, 4),
            "check -w w": (0.5, 0.8),
        }
        env = {**os.environ, "HF_ENDPOINT": address, "HF_TOKEN": "hf_nobody", "HF_HUB_OFFLINE": "0"}
        for line, moments in lines.items():
            for moment in moments:
                with subprocess.Popen(
                    command_line(line), cwd=home, env=env, text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    start_new_session=True,
                ) as process:  # fmt: skip
                    time.sleep(moment)
                    if process.poll() is not None:
                        continue  # it was quicker
                    begun = time.monotonic()
                    process.send_signal(signal.SIGINT)
                    try:
                        process.wait(20)
                    except subprocess.TimeoutExpired:
                        process.kill()
                    seconds = time.monotonic() - begun
                    assert process.stderr is not None
                    said = process.stderr.read()
                slowest = max(slowest, seconds)
                ended = seconds < SECONDS and process.returncode in (130, -signal.SIGINT, 0 if "serve" in line else 130)
                found.check(
                    ended and "Traceback" not in said, f"{line} after {moment}: {seconds:.1f} s, {said[-200:]!r}"
                )
                time.sleep(0.2)
                found.check(not _session(process.pid), f"{line} after {moment}: a process is left")
        for line in (f"ingest {documents} -w new", "sample -w w", "index -w w --encoder structure", "check -w w"):
            done = subprocess.run(command_line(line), cwd=home, capture_output=True, text=True, check=False)
            found.check(done.returncode == 0, f"{line} afterwards: {done.stderr[-200:]}")
    found.note = f"{slowest:.2f} s at most"
    return found


def _session(number: int) -> list[str]:
    """Processes of a session that run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if session == str(number) and state != "Z":
            found.append(stat.parent.name)
    return found


def full_disks(documents: Path) -> Tried:
    """A disk that is full during a command: one line, and what was there is whole."""
    found = Tried()
    with tempfile.TemporaryDirectory() as place:
        for number in ("2/2", "1/2"):
            structformer("ingest", documents, "-w", f"{place}/parts", "--part", number)
        ingest(documents, Path(place) / "w", workers=2)
        structformer("sample", "-w", f"{place}/w")
        build_index(Path(place) / "w", encoders=[])
        for name, line in (
            ("w", f"train {TINY}"),
            ("w", "sample"),
            ("w", "index --encoder structure"),
            ("w", f"ingest {documents} --fresh"),
            ("parts", "merge"),
        ):
            size = sum(path.stat().st_size + 4096 for path in (Path(place) / name).rglob("*")) >> 10
            for more in (40, 300, 1500, 5000):
                command = shlex.join([*command_line(line), "-w", f"{place}/disk/{name}"])
                check = shlex.join([*command_line("check"), "-w", f"{place}/disk/{name}"])
                script = (
                    f"mkdir -p {place}/disk && mount -t tmpfs -o size={size + more}k none {place}/disk && "
                    f"cp -r {place}/{name} {place}/disk && ({command}; echo code $?; "
                    f"{check} 2> {os.devnull} && echo whole)"
                )
                done = subprocess.run(
                    ["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False
                )
                ended = "code 0" in done.stdout or "code 1" in done.stdout
                whole = "whole" in done.stdout or name == "parts"
                found.check(
                    ended and whole and says_one_line(done.stderr.partition("code ")[0]),
                    f"{line} with {more} kB: {done.stdout[-200:]} {done.stderr[-300:]}",
                )
    return found


def bombs(documents: Path) -> Tried:
    """Small documents that unpack to much, and documents that name others: they cost themselves, in bounded memory."""
    found = Tried()
    zeros = zlib.compress(b" " * 300_000_000, 9)
    page = b"4 0 obj<</Filter/FlateDecode/Length %d>>stream\n" % len(zeros) + zeros + b"\nendstream endobj\n"
    pdf = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R>>endobj\n" + page + b"trailer<</Root 1 0 R>>\n"
    )
    record = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 300000000\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    files: Mapping[str, bytes] = {
        "a.pdf": pdf,
        "b.warc.gz": gzip.compress(record + b"x" * 300_000_000),
        "c.xml": b'<!DOCTYPE article [<!ENTITY x SYSTEM "file:///etc/passwd">]><article><title>&x;</title></article>',
        "d.xml": f'<!DOCTYPE article [<!ENTITY e0 "lol">{entities}]><article><title>&e9;</title></article>'.encode(),
        "e.md.gz": gzip.compress(b"# A\n\n" + b"words " * 50_000_000),
        "f.svg": b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg><text>&x;</text></svg>',
    }
    for name, data in files.items():
        _read_beside_a_good_one(found, {name: data})
    for name, inner in (("g.docx", "word/document.xml"), ("h.xlsx", "xl/workbook.xml"), ("i.epub", "a.html")):
        with tempfile.TemporaryFile() as made:
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(inner, "w") as file:
                for _ in range(300):
                    file.write(b"<p>1</p>" * 131_072)
            made.seek(0)
            _read_beside_a_good_one(found, {name: made.read()})
    return found


def _read_beside_a_good_one(found: Tried, files: Mapping[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        pages = Path(place) / "pages"
        pages.mkdir()
        (pages / "good.md").write_text("# Good\n\nText.\n")
        for name, data in files.items():
            (pages / name).write_bytes(data)
        done = structformer("ingest", pages, "-w", f"{place}/w")
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        said = f"{[*files]}: {done.returncode}, {most:.1f} GB, {done.stderr[-200:]}"
        found.check(done.returncode in (0, 1) and says_one_line(done.stderr), said)
        corpus = Corpus.open(f"{place}/w")
        texts = repr([*corpus.documents()])
        found.check("good.md" in corpus.document_ids() and "root:" not in texts and most < 4, said)


def other_users(documents: Path) -> Tried:
    """A workspace of another user's: it is searched; what would write says so in one line."""
    found = Tried()
    with indexed(documents, ["structure"]) as workspace:
        os.chmod(workspace.parent, 0o755)
        for mode, wanted in (("u=rwX,go=rX", (0,)), ("u=rwX,go=", (1, 2))):
            subprocess.run(["chmod", "-R", mode, workspace], check=True)
            subprocess.run(["chown", "-R", "65534:65534", workspace], check=True)
            for line in (
                "search install",
                "check",
                "graph stats",
                "index --encoder none",
                "sample",
                f"ingest {documents}",
            ):
                writes = line.split()[0] in ("index", "sample", "ingest")
                # Root without its right over all files is a user as any other.
                drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]
                done = subprocess.run(
                    [*drop, *command_line(line), "-w", str(workspace)], capture_output=True, text=True, check=False
                )
                found.check(
                    done.returncode in ((1, 2) if writes else wanted) and says_one_line(done.stderr),
                    f"{mode} {line}: {done.returncode} {done.stderr[-300:]}",
                )
    return found


def older_formats(documents: Path) -> Tried:
    """A workspace and an index of another format version: one line that says what to run, and no other answer."""
    found = Tried()
    with indexed(documents, ["structure"]) as workspace:
        marker, folder = workspace / "workspace.json", Workspace(workspace).folder("index")
        state, manifest = read_json(marker, digest=True), read_json(folder / "manifest.json")
        lines = ("search install", "index", "sample", "check", "graph stats", f"ingest {documents}", "serve --port 0")
        for version in (0, 2, "1", None):
            write_json(marker, {**state, "format_version": version}, digest=True)
            before = content(workspace)
            for line in lines:
                done = structformer(*line.split(), "-w", workspace)
                found.check(
                    done.returncode == 1 and says_one_line(done.stderr) and "version" in done.stderr,
                    f"workspace {version!r}, {line}: {done.stderr[-200:]}",
                )
            found.check(content(workspace) == before, f"workspace {version!r}: something changed")
        write_json(marker, state, digest=True)
        for version in (1, 99, None):
            write_json(folder / "manifest.json", {**manifest, "format_version": version})
            seal(folder)
            for line in ("search install", "serve --port 0"):
                done = structformer(*line.split(), "-w", workspace)
                found.check(
                    done.returncode == 1 and "structformer index" in done.stderr and says_one_line(done.stderr),
                    f"index {version!r}, {line}: {done.stderr[-200:]}",
                )
        found.check(structformer("index", "-w", workspace, "--encoder", "structure").returncode == 0, "index again")
        found.check(structformer("search", "install", "-w", workspace).returncode == 0, "search again")
    return found


def clocks(documents: Path) -> Tried:
    """A clock that goes back ten years between commands, with a workspace here and one in a store."""
    found = Tried()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        shutil.copytree(documents, home / "pages")
        (home / "clock").mkdir()
        (home / "clock" / "sitecustomize.py").write_text(
            "import os, time\nback = float(os.environ['CLOCK_BACK'])\nnow, fine = time.time, time.time_ns\n"
            "time.time = lambda: now() - back\ntime.time_ns = lambda: fine() - int(back * 1e9)\n"
        )
        (home / "store").mkdir()
        for workspace in ("w", (home / "store").as_uri()):
            for number, back in enumerate((0, 3e8, 1e8)):
                (home / "pages" / "clock.md").write_text(f"# Clock\n\nThe walrus has number{number} of it.\n")
                env = {
                    **os.environ,
                    "CLOCK_BACK": str(back),
                    "PYTHONPATH": os.pathsep.join([str(home / "clock"), os.environ.get("PYTHONPATH", "")]),
                    "STRUCTFORMER_COPIES": str(home / f"copies{number % 2}"),
                }
                for line in ("ingest pages", "index --encoder none", f"search 'walrus number{number}'"):
                    done = subprocess.run(
                        [*command_line(line), "-w", workspace],
                        cwd=home,
                        env=env,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    right = done.returncode == 0 and (not line.startswith("search") or f"number{number}" in done.stdout)
                    found.check(right, f"{workspace}, {back:.0f} s back, {line}: {(done.stdout + done.stderr)[-200:]}")
    return found


def memory(documents: Path, requests: int = 20_000) -> Tried:
    """Many requests, each of other words: the server's memory stays."""
    found = Tried()
    with indexed(documents, ["structure"]) as workspace, served(workspace) as (port, process):
        numbers = iter(range(requests))
        lock, sizes = threading.Lock(), []

        def client() -> None:
            while True:
                with lock:
                    number = next(numbers, None)
                    if number is not None and number % (requests // 4) == requests // 8:
                        sizes.append(resident(process))
                if number is None:
                    return
                answers = load.ask(
                    port, 1, f"/api/search?q=install+word{number}&pipeline={('words', 'best')[number % 2]}"
                )
                with lock:
                    found.check(set(answers.statuses) == {200}, f"request {number}: {dict(answers.statuses)}")

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found.check(get(port, "/readyz")[0] == 200, "not ready")
        found.check(sizes[-1] - sizes[1] < 50, f"megabytes at each quarter: {sizes}")
        found.note = " ".join(f"{size:.0f}" for size in sizes) + " MB"
    return found


ATTACKS: dict[str, tuple[str, Callable[[Path], Tried]]] = {
    "interrupts": ("Ctrl-C ends every command within a second", interrupts),
    "full-disks": ("a full disk costs one line, nothing that was there", full_disks),
    "bombs": ("bombs cost themselves", bombs),
    "users": ("another user's workspace is searched", other_users),
    "formats": ("an older format is said", older_formats),
    "clocks": ("a clock that goes back costs nothing", clocks),
    "memory": ("20,000 requests leave no memory behind", memory),
}
