"""Nothing is used that only some platforms have, unless the code asks for the platform first or does without."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
NAMES = {
    "os": set(
        "chown fchown fork forkpty getegid geteuid getgid getloadavg getpgid getpgrp getuid initgroups killpg lchown"
        " mkfifo mknod nice posix_fadvise posix_fallocate pread preadv pwrite sched_getaffinity sched_setaffinity"
        " sendfile setegid seteuid setgid setpgid setpriority setsid setuid statvfs sysconf uname wait3 wait4 waitid"
        " O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK".split()
    ),
    "signal": set(
        "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 ITIMER_PROF ITIMER_REAL alarm"
        " pause pthread_kill pthread_sigmask setitimer sigwait".split()
    ),
    "time": {"tzset", "pthread_getcpuclockid"},
    "socket": {"AF_UNIX", "SO_REUSEPORT", "SCM_RIGHTS"},
}
KEYWORDS = {"group", "pass_fds", "preexec_fn", "process_group", "start_new_session", "umask", "user"}  # of subprocess
STARTERS = {"Popen", "run", "call", "check_call", "check_output"}
FOLDERS = tuple(f"/{name}" for name in "bin dev etc home opt proc run sys tmp usr var".split())
ERRORS = {
    "import": {"ImportError", "ModuleNotFoundError"},
    "name": {"AttributeError"},
    "folder": {"OSError", "FileNotFoundError"},
}
# (file, what): why nobody is asked there.
ALLOWED = {
    ("structformer/retrieval/vectors/dense.py", "os.pread"): "of a class that is used only where there is os.pread",
    (
        "structformer/training/run/memory.py",
        "/sys/fs/cgroup/memory.max",
    ): "a constant, read where an OSError is expected",
    ("structformer/training/run/memory.py", "/proc/meminfo"): "likewise",
}


def on_platform(test: ast.expr) -> bool | None:
    """Whether a condition holds only on a platform that has the thing (True), only on one that may lack it (False);
    None of a condition that asks for something else.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = on_platform(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        wanted = isinstance(test.op, ast.And)
        return wanted if wanted in map(on_platform, test.values) else None
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return True if test.func.id == "hasattr" else None
    if isinstance(test, ast.Compare) and ast.unparse(test.left) in ("sys.platform", "os.name"):
        [other] = test.comparators
        same = isinstance(test.ops[0], ast.Eq)
        windows = isinstance(other, ast.Constant) and other.value in ("win32", "nt")
        return same != windows if same or isinstance(test.ops[0], ast.NotEq) else None
    return None


def caught(node: ast.AST) -> set[str]:
    """The names of the errors that a try's handlers, or a `with suppress`, expect."""
    kinds: list[ast.expr] = []
    if isinstance(node, ast.Try):
        kinds = [handler.type for handler in node.handlers if handler.type]
    elif isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        kinds = [each for call in calls if ast.unparse(call.func).endswith("suppress") for each in call.args]
    return {name.id for kind in kinds for name in ast.walk(kind) if isinstance(name, ast.Name)}


def leaves(statement: ast.stmt) -> bool:
    """Whether a statement is `if not on this platform: return`."""
    return (
        isinstance(statement, ast.If)
        and on_platform(statement.test) is False
        and isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue)
    )


def found(node: ast.AST) -> tuple[str, str] | None:
    """(kind, what) of a node that is not portable."""
    if isinstance(node, ast.Import):
        return next((("import", alias.name) for alias in node.names if alias.name in MODULES), None)
    if isinstance(node, ast.ImportFrom):
        if node.module in MODULES:
            return "import", str(node.module)
        names = NAMES.get(node.module or "", set())
        return next((("name", f"{node.module}.{alias.name}") for alias in node.names if alias.name in names), None)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return ("name", f"{node.value.id}.{node.attr}") if node.attr in NAMES.get(node.value.id, ()) else None
    if isinstance(node, ast.keyword):
        asked = isinstance(node.value, ast.IfExp) and on_platform(node.value.test)
        return ("name", node.arg) if node.arg in KEYWORDS and not asked else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        folder = any(node.value == each or node.value.startswith(f"{each}/") for each in FOLDERS)
        return ("folder", node.value) if folder else None
    return None


def unguarded(node: ast.AST, errors: frozenset[str] = frozenset(), safe: bool = False) -> Iterator[tuple[int, str]]:
    """(line, what) of what is not portable below a node. errors: those expected around it; safe: whether the platform
    was asked for.
    """
    here = found(node)
    if here and not safe and not errors & {*ERRORS[here[0]], "Exception"}:
        yield getattr(node, "lineno", 0), here[1]
    if isinstance(node, ast.If | ast.IfExp):
        there = on_platform(node.test)
        parts: list[tuple[object, bool]] = [(node.body, there is True), (node.orelse, there is False)]
        for part, held in parts:
            for each in part if isinstance(part, list) else [part]:
                yield from unguarded(each, errors, safe or held)
        yield from unguarded(node.test, errors, safe)
        return
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for each in node.values:
            yield from unguarded(each, errors, safe)
            safe = safe or on_platform(each) is True
        return
    for name, value in ast.iter_fields(node):
        within = errors | caught(node) if name == "body" else errors
        if name == "keywords" and isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] not in STARTERS:
            value = [each.value for each in value]  # arguments of other functions may have these names
        passed = safe
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from unguarded(each, frozenset(within), passed)
            passed = passed or (isinstance(each, ast.stmt) and leaves(each))


def test_what_some_platforms_lack_is_asked_for_first():
    paths = [*(ROOT / "structformer").rglob("*.py"), *(ROOT / "plugins").glob("*/**/*.py")]
    paths = [path for path in paths if "tests" not in path.relative_to(ROOT).parts]
    assert len(paths) > 300
    places = {
        (path.relative_to(ROOT).as_posix(), what): line
        for path in paths
        for line, what in unguarded(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert {place: line for place, line in places.items() if place not in ALLOWED} == {}
    assert ALLOWED.keys() <= places.keys()  # nothing is allowed that is there no longer


@pytest.mark.parametrize(
    ("code", "expected"),
    {
        "import fcntl": ["fcntl"],
        "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None": [],
        "try:\n    import fcntl\nexcept ValueError:\n    fcntl = None": ["fcntl"],
        "try:\n    pass\nexcept ImportError:\n    import fcntl": ["fcntl"],
        "from os import fork": ["os.fork"],
        "with suppress(OSError):\n    os.nice(3)": ["os.nice"],
        "with suppress(AttributeError):\n    os.nice(3)": [],
        "if hasattr(os, 'nice'):\n    os.nice(3)\nelse:\n    os.nice(4)": ["os.nice"],
        "if sys.platform == 'win32':\n    os.getuid()": ["os.getuid"],
        "if sys.platform != 'win32':\n    os.getuid()": [],
        "if os.name != 'posix':\n    os.getuid()": ["os.getuid"],
        "if big or sys.platform == 'linux':\n    os.getuid()": ["os.getuid"],
        "if big and sys.platform == 'linux':\n    os.getuid()": [],
        "who = os.getuid() if hasattr(os, 'getuid') else 0": [],
        "root = os.name == 'posix' and os.getuid() == 0": [],
        "root = os.getuid() == 0 and os.name == 'posix'": ["os.getuid"],
        "def f():\n    if sys.platform != 'linux':\n        return 0\n    return os.sysconf('x')": [],
        "def f():\n    if big:\n        return 0\n    return os.sysconf('x')": ["os.sysconf"],
        "subprocess.Popen(x, preexec_fn=f)": ["preexec_fn"],
        "grouped(x, group=3)": [],
        "subprocess.run(x, preexec_fn=f if os.name == 'posix' else None)": [],
        "Path('/tmp/x').open()": ["/tmp/x"],
        "try:\n    Path('/proc/cpuinfo').open()\nexcept OSError:\n    pass": [],
        "route = '/search'": [],
    }.items(),
)
def test_the_rule_tells_a_guard_from_what_only_looks_like_one(code, expected):
    assert [what for _, what in unguarded(ast.parse(code))] == expected
