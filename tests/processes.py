"""New processes of Python that have torch already: forks of one that has imported it, which a process of pytest begins.

To import torch, transformers and accelerate takes each new process five seconds, and tests of killed, resumed and
distributed runs begin hundreds. What is begun here is a process of its own as any other: with its own session, signals,
environment, limits and exit code, run by the interpreter to its end. It differs from `python ARGUMENTS` in what is
imported, and in that all of one process of pytest share the seed of Python's hashes; so some tests begin the real one.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO, NoReturn, Protocol

IMPORTED = """
torch torch.distributed.tensor torch.distributed.fsdp torch.distributed._tools accelerate safetensors.torch tokenizers.trainers
transformers.models.bert.modeling_bert transformers.models.bert.tokenization_bert transformers.models.auto.tokenization_auto
structformer.cli.main structformer.cli.train structformer.training.run.loop structformer.training.run.trainer
structformer.query_side structformer.retrieval.indexing structformer.retrieval.retriever
""".split()
FORKS = sys.platform == "linux"  # elsewhere libraries that were imported do not bear it
ENVIRONMENT = dict(os.environ)  # before any test has changed it
# What is read once, by the interpreter or when a library is imported.
READ_EARLY = ("PYTHON", "LD_", "OMP_", "MKL_", "OPENBLAS_", "TORCH_", "HF_", "TRANSFORMERS_")
MAY_DIFFER = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED", "OMP_NUM_THREADS", "HF_HUB_OFFLINE"}
MAY_DIFFER |= {"PYTHONHASHSEED"}  # which Dask sets for its own workers, and which forks share anyway


class Handle(Protocol):
    """Wait for a process that subprocess or a fork began, and tell its number."""

    pid: int

    def wait(self, timeout: float | None = None) -> int: ...


class Process:
    """A process that was begun. Its output goes to files: nothing waits for a reader."""

    def __init__(self, handle: Handle, out: BinaryIO, err: BinaryIO) -> None:
        self._handle, self._out, self._err = handle, out, err
        self.pid = handle.pid

    def wait(self, timeout: float = 300) -> int:
        """Its exit code, negative for a signal."""
        return self._handle.wait(timeout)

    def kill(self) -> int:
        """End it with all that it began, as SIGKILL does; its exit code."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        return self.wait()

    def done(self, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Wait for its end; its exit code, output and remarks."""
        code = self.wait(timeout)
        return subprocess.CompletedProcess([], code, _text(self._out), _text(self._err))


def begin(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    limits: Mapping[int, int] | None = None,
    files: tuple[BinaryIO, BinaryIO] | None = None,
    cwd: Path | None = None,
) -> Process:
    """Begin `python ARGUMENTS`: -m MODULE, -c CODE or a file, with what they are given. limits: of resource.setrlimit.
    files: that output and remarks are added to. cwd: the folder that it begins in. Folders of PYTHONPATH that the server
    has not are looked in first, as a new process looks there: what is installed in them is found.
    """
    given, env, limits = [str(each) for each in arguments], dict(env or os.environ), dict(limits or {})
    out, err = files or (tempfile.TemporaryFile(), tempfile.TemporaryFile())  # noqa: SIM115 -- Process reads them
    if not FORKS:
        command = [sys.executable, *given]
        begun = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
            preexec_fn=(lambda: _limit(limits)) if limits else None,
        )  # fmt: skip
        return Process(begun, out, err)
    differ = {name for name in env.keys() | ENVIRONMENT.keys() if env.get(name) != ENVIRONMENT.get(name)}
    if late := sorted(name for name in differ - MAY_DIFFER if name.startswith(READ_EARLY)):
        raise ValueError(f"{', '.join(late)}: read before the fork; begin a process with subprocess")
    place = cwd or Path.cwd()
    return Process(_Fork(_server(), given, env, limits, place, out.fileno(), err.fileno()), out, err)


def python(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` to its end."""
    return begin(*arguments, **options).done()


def structformer(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    """Run `python -m structformer ARGUMENTS` to its end."""
    return python("-m", "structformer", *arguments, **options)


class Ranks:
    """Processes that train together, as torchrun begins them on a machine; machines: a folder for each that begins one."""

    def __init__(
        self, count: int, *arguments: object, env: Mapping[str, str] | None = None, machines: Sequence[Path] = ()
    ) -> None:
        files = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 -- of all
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "OMP_NUM_THREADS": "1"}
        self._files, self.each = files, []
        for rank in range(count):
            machine, local, here = (rank, 0, 1) if machines else (0, rank, count)
            places = {"RANK": rank, "LOCAL_RANK": local, "GROUP_RANK": machine}
            sizes = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": here}
            numbers = {name: str(value) for name, value in (places | sizes).items()}
            of_all = {**(env or os.environ), **shared, **numbers}
            self.each.append(begin(*arguments, env=of_all, files=files, cwd=machines[rank] if machines else None))

    def kill(self) -> None:
        """End all at once."""
        for each in self.each:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
        for each in self.each:
            each.wait()

    def done(self, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Wait for the end of all, and end the others where one has failed: 1 and what all said, as torchrun does."""
        waiting, codes, deadline = [*self.each], [], time.monotonic() + timeout
        while waiting:
            for each in [*waiting]:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    codes.append(each.wait(0.01))
                    waiting.remove(each)
            if any(codes) or time.monotonic() > deadline:
                codes += [each.kill() for each in waiting]
                waiting = []
        return subprocess.CompletedProcess([], int(any(codes)), *map(_text, self._files))


def torchrun(count: int, *arguments: object, **options) -> subprocess.CompletedProcess[str]:
    """Run `torchrun --nproc_per_node COUNT ARGUMENTS` to its end, without the agent that starts failed processes again."""
    return Ranks(count, *arguments, **options).done()


def program(path: Path, *behind: str) -> Path:
    """A `structformer` for shells, which adds the arguments `behind`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if FORKS:
        command = [sys.executable, "-I", "-S", __file__, "begin", _server(), "-m", "structformer"]
    else:
        command = [sys.executable, "-m", "structformer"]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@" {shlex.join(behind)}\n')
    path.chmod(0o755)
    return path


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _limit(limits: Mapping[int, int]) -> None:
    import resource

    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))


# -- the two ends of the socket ----------------------------------------------------------------------------------------


class _Fork:
    """A process that the server has forked: a connection says its number, and its exit code when it has ended."""

    def __init__(
        self, address: str, given: list[str], env: Mapping[str, str], limits: Mapping[int, int], cwd: Path, *files: int
    ):
        content = json.dumps([given, dict(env), str(cwd), [*limits.items()]]).encode()
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address)
        socket.send_fds(self._connection, [len(content).to_bytes(8, "big")], files)
        self._connection.sendall(content)
        self.pid = self._number()
        self._code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._connection.settimeout(timeout)
            try:
                self._code = self._number()
            except TimeoutError:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
            self._connection.close()
        return self._code

    def _number(self) -> int:
        if len(content := self._connection.recv(8, socket.MSG_WAITALL)) < 8:
            raise EOFError("the server of forks has ended")
        return int.from_bytes(content, "big", signed=True)


def _send_number(connection: socket.socket, number: int) -> None:
    with connection, contextlib.suppress(OSError):  # who asked may have gone
        connection.sendall(number.to_bytes(8, "big", signed=True))


@cache
def _server() -> str:
    """Begin the server; the address of its socket. It ends with this process."""
    folder = tempfile.TemporaryDirectory()
    address = str(Path(folder.name) / "forks")
    life, own = os.pipe()
    command = [sys.executable, __file__, "serve", address, str(life)]
    begun = subprocess.Popen(
        command, env=ENVIRONMENT, pass_fds=[life], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    os.close(life)
    for last in (folder.cleanup, begun.wait, partial(os.close, own)):
        atexit.register(last)
    assert begun.stdout is not None
    assert begun.stdout.readline() == b"ready\n"
    return address


def _serve(address: str, life: int) -> list[str]:
    """Fork a process for each order until the one that began this ends. Each returns from here with its arguments."""
    from structformer.text.languages import known_languages

    for name in IMPORTED:
        importlib.import_module(name)
    _import_what_plugins_supply()
    known_languages([])  # reads the model that tells them, as most commands do
    # A thread would be missing from the forks; jemalloc (of pyarrow) gives each its own.
    threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    assert len([name for name in threads if name != "jemalloc_bg_thd"]) == 1, threads
    told, tell = socket.socketpair()
    for each in (told, tell):
        each.setblocking(False)
    signal.set_wakeup_fd(tell.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    print("ready", flush=True)
    gc.freeze()  # what a collection marks is copied for each fork
    begun: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for end in (listening, told, life):
            selector.register(end, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            if life in ready:
                sys.exit()
            if told in ready:
                told.recv(4096)
                for pid in [*begun]:
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if ended:
                        _send_number(begun.pop(pid), os.waitstatus_to_exitcode(status))
            if listening in ready:
                connection, _ = listening.accept()
                size, files, *_ = socket.recv_fds(connection, 8, 2)
                order = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
                if not (pid := os.fork()):
                    break
                for file in files:
                    os.close(file)
                connection.sendall(pid.to_bytes(8, "big"))
                begun[pid] = connection
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for each in (told, tell, listening, connection, *begun.values()):
        each.close()
    return _become(*order, files)


def _import_what_plugins_supply() -> None:
    """Ask the plugins' hooks, which import readers, rankers and the like when they are asked; what they return goes away."""
    from structformer.plugins import GROUP, Plugins

    manager = Plugins().manager
    for name in ("formats", "tasks", "rankers", "stages", "engines", "measures", "site_generators"):
        getattr(manager.hook, f"{GROUP}_{name}")()


def _become(given: list[str], env: dict[str, str], cwd: str, limits: list[list[int]], files: list[int]) -> list[str]:
    """Make this fork what a new process would be; its arguments."""
    os.setsid()
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *files)):
        os.dup2(file, number)
        os.close(file)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding=sys.stdout.encoding, closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", 1, sys.stderr.encoding, "backslashreplace", closefd=False)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    added = [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each and each not in sys.path]
    sys.path[1:1] = added
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    sys.modules["numpy"].random.seed()
    _limit(dict(limits))
    return given


def _interpret(given: list[str]) -> None:
    """Do what `python GIVEN` does."""
    if given[0] == "-m":
        sys.path[0], sys.argv = os.getcwd(), given[1:]
        runpy.run_module(given[1], run_name="__main__", alter_sys=True)
    elif given[0] == "-c":
        sys.path[0], sys.argv = "", ["-c", *given[2:]]
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(given[1], vars(sys.modules["__main__"]))
    else:
        sys.path[0], sys.argv = str(Path(given[0]).parent.resolve()), given
        runpy.run_path(given[0], run_name="__main__")


def _ended(work: Callable[[], None]) -> NoReturn:
    """End this fork with the work, as an interpreter ends, but leave to the system what the server has imported: to take
    that apart would cost half a second.
    """
    code: object = 0
    try:
        work()
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit((code or 0) & 255)


if __name__ == "__main__":
    match sys.argv[1:]:
        case "serve", address, life:
            _ended(partial(_interpret, _serve(address, int(life))))
        case "begin", address, *given:
            sys.exit(_Fork(address, given, os.environ, {}, Path.cwd(), 1, 2).wait())
