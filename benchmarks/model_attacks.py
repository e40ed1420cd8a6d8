"""The attacks of `reliability.py --attack` on experiments and on models that go to a hub and come back: kill -9 and
full disks. The same command again gives the bytes or scores of a run that nothing disturbed.
"""

from __future__ import annotations

import hashlib
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "plugins" / "structformer_exports" / "tests"))

from attacks import Tried, structformer
from command_attacks import TINY, command_line, says_one_line
from structformer.models import checked_model
from structformer.retrieval.indexing import build_index
from structformer.storage import read_json

from boats import TOPICS, boats

SIZES = (8, 40, 300, 1500, 5000)  # kilobytes that are left on the disk
ROWS = """
title = "attacked"
baseline = "words"

[[rows]]
label = "words"
pipeline = "lexical[of=documents]"

[[rows]]
label = "tuned"
pipeline = "{candidates} >> rerank:{model}[k=5, of=documents]"
finetune = true

[rows.train]
ranker = "cross-encoder"
"""
SETTINGS = (
    "base_model=scratch size=tiny max_steps=4 max_seconds=none document_tokens=48 groups=2 save_steps=1 precision=no "
    "threads=1"
)


def _experiment(home: Path) -> str:
    """Write a little experiment and its judged queries; gives the command without its workspace."""
    (home / "attacked.toml").write_text(ROWS)
    (home / "queries.tsv").write_text("".join(f"q{n}\tclean the {topic}\n" for n, topic in enumerate(TOPICS)))
    (home / "qrels.txt").write_text("".join(f"q{n} 0 {topic}.md 1\n" for n, topic in enumerate(TOPICS)))
    settings = " ".join(f"--set {setting}" for setting in SETTINGS.split())
    return f"experiment {home}/attacked.toml --queries {home}/queries.tsv --qrels {home}/qrels.txt {settings}"


def _scores(workspace: Path) -> object:
    """Return the scores of each query in an experiment's report; None before the report is written."""
    report = workspace / "experiments" / "attacked" / "report.json"
    return read_json(report)["per_query"] if report.exists() else None


def _temporary(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob(".structformer-tmp-*")]


def experiment_kills(documents: Path, times: int = 12) -> Tried:
    """kill -9 of an experiment at random moments, of the process alone or of its group: what it had made is whole, and
    the same command again measures the same.
    """
    found, rng = Tried(), random.Random(0)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        build_index(boats(home), encoders=[])
        line = _experiment(home)
        begun = time.monotonic()
        shutil.copytree(home / "w", home / "whole")
        done = structformer(*shlex.split(line), "-w", home / "whole")
        seconds, wanted = time.monotonic() - begun, _scores(home / "whole")
        found.check(done.returncode == 0 and wanted is not None, done.stderr[-300:])
        for number in range(times):
            work = home / f"work{number}"
            shutil.copytree(home / "w", work)
            process = subprocess.Popen(
                command_line(f"{line} -w {work}"),
                start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(rng.uniform(0.1, 1.0) * seconds)
            (os.killpg if number % 2 else os.kill)(process.pid, 9)
            process.wait()
            found.check(_scores(work) in (None, wanted), f"kill {number}: a half-written table")
            check = structformer("check", "-w", work)
            found.check(check.returncode == 0, f"kill {number}, check: {check.stderr[-300:]}")
            done = structformer(*shlex.split(line), "-w", work)
            found.check(done.returncode == 0 and _scores(work) == wanted, f"kill {number}: {done.stderr[-300:]}")
            left = [*_temporary(work), *map(str, (work / "checkpoints").glob("*"))]
            found.check(not left, f"kill {number}: left {left}")
            shutil.rmtree(work)
    found.note = f"kills within {seconds:.0f} s"
    return found


@contextmanager
def _hub() -> Iterator[tuple[dict[str, dict[str, bytes]], dict[str, str]]]:
    """(repositories, environment) of a hub on this machine."""
    from test_hub import Hub

    with Hub() as hub:
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        yield (
            hub.repositories,
            {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_TOKEN": "hf_nobody", "HF_HUB_OFFLINE": "0"},
        )
        hub.shutdown()


@contextmanager
def _pushed() -> Iterator[tuple[Path, dict[str, dict[str, bytes]], dict[str, str]]]:
    """(workspace, repositories, environment): a model that is there, and on a hub as a/whole."""
    with tempfile.TemporaryDirectory() as place, _hub() as (repositories, hub):
        workspace = boats(Path(place))
        build_index(workspace, encoders=[])
        structformer("train", "-w", workspace, *TINY.split())
        done = _asked("push bi-encoder a/whole", workspace, hub)
        assert done.returncode == 0, done.stderr
        yield workspace, repositories, hub


def _asked(line: str, workspace: Path, hub: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command_line(line), "-w", str(workspace)], env={**os.environ, **hub}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def _files(repository: dict[str, bytes]) -> dict[str, str]:
    """Return digests of a repository's files; the card names the repository."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in sorted(repository.items()) if name != "README.md"}


def _weights(workspace: Path, name: str) -> bytes | None:
    """Return the weights of a model that is whole; None where there is none."""
    folder = workspace / "models" / name
    return (checked_model(workspace, name) / "model.safetensors").read_bytes() if folder.exists() else None


def hub_kills(documents: Path, times: int = 16) -> Tried:
    """kill -9 of push and pull at random moments: what is there is whole, the same command again does it, and nothing
    is left.
    """
    found, rng = Tried(), random.Random(0)
    with _pushed() as (workspace, repositories, hub):
        weights, whole = _weights(workspace, "bi-encoder"), _files(repositories["a/whole"])
        seconds = {}
        for line in ("push bi-encoder a/b", "pull a/whole --name theirs"):
            begun = time.monotonic()
            found.check(_asked(line, workspace, hub).returncode == 0, line)
            seconds[line] = time.monotonic() - begun
        for number in range(times):
            line = [*seconds][number % 2]
            repositories.pop("a/b", None)
            if number % 4 == 1:
                shutil.rmtree(workspace / "models" / "theirs")
            process = subprocess.Popen(
                [*command_line(line), "-w", str(workspace)],
                env={**os.environ, **hub}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(rng.uniform(0.2, 1.0) * seconds[line])
            process.kill()
            process.wait()
            found.check(_weights(workspace, "theirs") in (None, weights), f"{line}: half a model")
            check = structformer("check", "-w", workspace)
            found.check(check.returncode == 0, f"{line}: check {check.stderr[-200:]}")
            done = _asked(line, workspace, hub)
            right = _weights(workspace, "theirs") == weights if number % 2 else _files(repositories["a/b"]) == whole
            found.check(done.returncode == 0 and right, f"{line}: {done.stderr[-200:]}")
            found.check(not _temporary(workspace), f"{line}: something is left")
    return found


def full_model_disks(documents: Path) -> Tried:
    """A disk that is full in `experiment`, `push` and `pull`, that of the workspace or that for temporary files: one
    line, and with more room the same command ends right.
    """
    found = Tried()
    with _pushed() as (workspace, repositories, hub):
        line = _experiment(workspace.parent)
        weights, whole = _weights(workspace, "bi-encoder"), _files(repositories["a/whole"])
        plain = workspace.parent / "plain"
        shutil.copytree(workspace, plain)
        done = _asked(line, plain, {})
        wanted = _scores(plain)
        found.check(done.returncode == 0 and wanted is not None, done.stderr[-300:])

        for room in SIZES:
            with _full(found, workspace, line, room, {}) as copy:
                found.check(_scores(copy) == wanted, f"experiment with {room} kB: another table")
            pulling = "pull a/whole --name theirs"
            with _full(found, workspace, pulling, room, hub) as copy:
                found.check(_weights(copy, "theirs") == weights, f"pull with {room} kB: another model")
            for command in ("push bi-encoder a/b", pulling):
                with _full(found, workspace, command, room, hub, temporary=True) as copy:
                    right = _weights(copy, "theirs") == weights if "pull" in command else True
                    found.check(right, f"{command} with {room} kB for temporary files: another model")
            found.check(_files(repositories.pop("a/b", {})) == whole, f"push with {room} kB: other files")
    return found


@contextmanager
def _full(
    found: Tried, workspace: Path, line: str, room: int, environment: dict[str, str], temporary: bool = False
) -> Iterator[Path]:
    """A copy of the workspace after the command ran with so many kilobytes left, and ran again with enough."""
    with tempfile.TemporaryDirectory() as place:
        disk, copy = f"{place}/disk", f"{place}/{'w' if temporary else 'disk/w'}"
        used = 0 if temporary else sum(path.stat().st_size + 4096 for path in workspace.rglob("*")) >> 10
        command, check = (shlex.join([*command_line(each), "-w", copy]) for each in (line, "check"))
        script = (
            f"mkdir {disk} && mount -t tmpfs -o size={used + room}k none {disk} && cp -r {workspace} {copy} && "
            f"{f'export TMPDIR={disk};' if temporary else ''}"
            f"({command}; echo code $?; {check} 2> {os.devnull} && echo whole; mount -o remount,size=1g {disk} && "
            f"{command} > {os.devnull}; echo again $?; cp -r {copy} {place}/after; "
            f"echo left $(ls -A {disk}))"
        )
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script],
            capture_output=True, text=True, check=False, env={**os.environ, **environment},
        )  # fmt: skip
        said = (
            f"{line[:30]} with {room} kB{' for temporary files' * temporary}: {done.stdout[-200:]} {done.stderr[-600:]}"
        )
        found.check(any(f"code {code}\n" in done.stdout for code in (0, 1)) and says_one_line(done.stderr), said)
        found.check("whole" in done.stdout, f"check: {said}")
        found.check("again 0\n" in done.stdout, f"again: {said}")
        after = Path(place) / "after"
        found.check(not _temporary(after) and (not temporary or done.stdout.endswith("left\n")), f"left: {said}")
        yield after


ATTACKS: dict[str, tuple[str, Callable[[Path], Tried]]] = {
    "experiment": ("kill -9 of an experiment costs nothing", experiment_kills),
    "hub": ("kill -9 of push and pull costs nothing", hub_kills),
    "full-models": ("a full disk costs experiment, push, pull one line", full_model_disks),
}
