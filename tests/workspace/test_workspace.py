"""Nothing of the user's is lost, nobody reads half a thing, and one command writes at a time."""

from __future__ import annotations

import ast
import inspect
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from structformer import Corpus
from structformer.corpus.checking import check_workspace
from structformer.errors import UsageError, WorkspaceError
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index
from structformer.retrieval.retriever import Retriever
from structformer.sampling import Samples, sample
from structformer.storage import Sealed, read_json, seal, write_json
from structformer.training import training_options
from structformer.training.run.checkpoint import Checkpoints
from structformer.training.run.option_rules import unfinished_options
from structformer.workspace import FOLDERS, MARKER, Workspace, checked_name

from conftest import write_pages, writes_little


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# -- paths ---------------------------------------------------------------------------------------------------------------

OURS = {MARKER, *(name for folder in FOLDERS for name in folder.split("/"))}
# How paths begin that only look like a workspace's: in the package itself, in the user's data folder, in folders that
# are thrown away, in a new plugin, and among files that one command's parts have made.
ELSEWHERE = (
    *("files('structformer", "scratch / ", "Path(folder) / 'index'", "folder / 'index'"),
    *("folder / 'tests' / 'samples'", "parts.folder / ", "data / 'structformer' / "),
)


def spelled_paths(source: str) -> list[str]:
    """Where a module joins a name of a workspace's folder to a path, as a literal or as a constant of its own."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            joined = [node.right]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("Path", "os.path.join"):
            joined = node.args[1:]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("joinpath", "glob", "rglob"):
            joined = node.args
        else:
            continue
        for each in (constants.get(part.id) if isinstance(part, ast.Name) else part for part in joined):
            text = each.values[0] if isinstance(each, ast.JoinedStr) and each.values else each
            names = str(text.value).split("/") if isinstance(text, ast.Constant) else ()
            if OURS.intersection(names) and not ast.unparse(node).startswith(ELSEWHERE):
                found.append(ast.unparse(node))
    return found


def test_only_the_workspace_knows_its_paths():
    root = Path(inspect.getfile(Workspace)).parents[2]
    modules = [
        path
        for path in (*root.glob("structformer/**/*.py"), *root.glob("plugins/**/*.py"))
        if path.parent.name != "storage" and path.name != "workspace.py" and "tests" not in path.relative_to(root).parts
    ]
    assert len(modules) > 400
    spelled = {path.relative_to(root).as_posix(): spelled_paths(path.read_text()) for path in modules}
    assert {name: paths for name, paths in spelled.items() if paths} == {}


@pytest.mark.parametrize(
    "spelled",
    [
        "place.path / 'corpus' / generation",
        "(place.path / 'checkpoints').glob('*')",
        "place.path.glob('checkpoints/*/run.json')",
        "place.models / f'earlier/{name}'",
        "os.path.join(place.path, 'parts')",
        "Path(place, 'workspace.json')",
        "place.path / FOLDER",
    ],
)
def test_a_path_that_is_spelled_is_found(spelled):
    assert spelled_paths(f"FOLDER = 'feedback'\n{spelled}")
    assert not spelled_paths("place.shards / name, place.folder('corpus') / 'manifest.json', scratch / 'samples'")


# -- names ---------------------------------------------------------------------------------------------------------------

BAD_NAMES = ["../..", "/tmp/x", "a/b", ".", "..", ".hidden", "", "a\\b", "x" * 101, "a b", "end.", "na\nme", "C:x", "ü"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_a_path_is_a_usage_error_wherever_it_comes_from(name, tmp_path):
    workspace = Workspace(tmp_path / "w")
    for use in (checked_name, workspace.model, workspace.checkpoints, workspace.evaluation, workspace.logs):
        with pytest.raises(UsageError, match="use letters, digits"):
            use(name)
    with pytest.raises(UsageError, match="use letters, digits"):
        training_options(None, {"name": name})
    with pytest.raises(UsageError, match="use letters, digits"):
        training_options(None, {}, [f"name={json.dumps(name)}"])


@pytest.mark.parametrize("name", ["bi-encoder", "run_1", "v1.2", "2026-01-31", "A"])
def test_ordinary_names_are_names(name):
    assert checked_name(name) == name


def test_a_name_in_the_configuration_cannot_delete_what_lies_around_the_workspace(pages, tmp_path, run, monkeypatch):
    project = tmp_path / "project"
    thesis = project / "thesis" / "precious.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("years of work")
    ingest(pages, project / "ws", workers=1)
    (project / "ws" / "checkpoints").mkdir()
    (project / "structformer.toml").write_text('[train]\nname = "../.."\n')
    before = files(project)
    monkeypatch.chdir(project)
    ran = run("train", "-w", "ws", "--max-steps", "2")
    assert ran.code == 2
    assert "use letters, digits" in ran.err
    assert files(project) == before
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[train]\nname = "../../thesis"\n')
    (project / "structformer.toml").unlink()
    for arguments in (
        ("train", "--recipe", recipe),
        ("train", "--name", "/tmp"),
        ("distill", "--name", ".."),
        ("export", "../../thesis", "--onnx"),
        ("evaluate", "--held-out-structure", "--name", "../.."),
    ):
        ran = run(*arguments, "-w", "ws")
        assert ran.code == 2, ran.err
        assert thesis.read_text() == "years of work"


def test_clearing_checkpoints_leaves_what_is_not_a_checkpoint(tmp_path):
    folder = tmp_path / "run"
    (folder / "step-00000002").mkdir(parents=True)
    (folder / "step-00000002" / "weights.safetensors").write_bytes(b"")
    (folder / "notes.txt").write_text("mine")
    Checkpoints(folder).clear()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


# -- whose folder it is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [["graph/thesis.txt", "lock"], ["corpus/.tmp-notes"], ["index/report.docx"], [".hidden"]]
)
def test_a_folder_of_somebody_elses_is_not_taken_for_a_workspace(names, pages, tmp_path):
    own = write_pages(tmp_path / "own", dict.fromkeys(names, "mine"))
    before = files(own)
    with pytest.raises(UsageError, match="is not a workspace, and not empty"):
        ingest(pages, own)
    with pytest.raises(UsageError, match="is not a workspace, and not empty"), Workspace(own).writing("anything"):
        pass
    with pytest.raises(WorkspaceError, match="is not a workspace"):
        Corpus.open(own)
    assert files(own) == before


def test_an_empty_folder_becomes_a_workspace_and_a_wrong_request_leaves_none(pages, tmp_path):
    (tmp_path / "w").mkdir()
    ingest(pages, tmp_path / "w", workers=1)
    assert Workspace(tmp_path / "w").exists()
    with pytest.raises(UsageError, match="does not exist"):
        ingest(tmp_path / "nowhere", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_files_that_a_user_puts_into_a_workspace_stay(pages, tmp_path):
    ingest(pages, tmp_path / "w", workers=1)
    mine = [
        "corpus/notes.md",
        "corpus/shards/notes.md",
        "graph/.tmp-123-graph",
        "models/bi-encoder/notes.txt",
        "index/000009/mine.txt",
        "corpus/.old-1-x",
    ]
    write_pages(tmp_path / "w", dict.fromkeys(mine, "mine"))
    (pages / "new.md").write_text("# New\n")
    ingest(pages, tmp_path / "w", workers=1, fresh=True)
    build_index(tmp_path / "w", encoders=[])
    build_index(tmp_path / "w", encoders=[])
    for name in mine:
        assert (tmp_path / "w" / name).read_text() == "mine", name
    with (
        pytest.raises(UsageError, match="was not written by structformer"),
        Workspace(tmp_path / "w").replacing_model("bi-encoder"),
    ):
        pass


# -- what ingest replaces ------------------------------------------------------------------------------------------------


def test_a_corpus_of_other_sources_is_replaced_or_added_to_only_when_that_is_asked_for(tmp_path):
    docs = write_pages(tmp_path / "docs", {"a.md": "# A\n\nSee [B](../blog/b.md).\n"})
    blog = write_pages(tmp_path / "blog", {"b.md": "# B\n"})
    workspace = tmp_path / "w"
    ingest(docs, workspace, workers=1)
    with pytest.raises(UsageError, match="--add reads this beside it, --replace in its place"):
        ingest(blog, workspace)
    assert list(Corpus.open(workspace).document_ids()) == ["a.md"]
    ingest(blog, workspace, add=True, workers=1)
    assert list(Corpus.open(workspace).document_ids()) == ["a.md", "blog/b.md"]
    (blog / "c.md").write_text("# C\n")
    ingest(workspace=workspace, workers=1)  # the same sources again
    assert list(Corpus.open(workspace).document_ids()) == ["a.md", "blog/b.md", "blog/c.md"]
    ingest(blog, workspace, replace_sources=True, workers=1)
    assert list(Corpus.open(workspace).document_ids()) == ["b.md", "c.md"]


def test_several_sources_are_named_by_their_folders_and_link_to_each_other(tmp_path):
    docs = write_pages(
        tmp_path / "x" / "docs", {"a.md": "# A\n\nSee [B](../blog/b.md) and [C](c.md).\n", "c.md": "# C\n"}
    )
    blog = write_pages(tmp_path / "y" / "blog", {"b.md": "# B\n"})
    other = write_pages(tmp_path / "z" / "docs", {"a.md": "# Another A\n"})
    ingest([docs, blog, other], tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    assert list(corpus.document_ids()) == ["blog/b.md", "docs/a.md", "docs/c.md", "docs-2/a.md"]
    edges = [(edge["source_document"], edge["target_document"]) for edge in ReferenceGraph.open(tmp_path / "w").edges()]
    assert edges == [(1, 0), (1, 2)]
    again = ingest([other, docs, blog], tmp_path / "w", workers=1)
    assert (again.parsed, list(Corpus.open(tmp_path / "w").document_ids())) == (0, list(corpus.document_ids()))


def test_evaluations_and_models_are_kept_unless_forced(pages, tmp_path):
    workspace = Workspace(tmp_path / "w")
    for text in ("first", "second"):
        with workspace.replacing_model("m") as folder:
            (folder / "weights").write_text(text)
    [earlier] = (workspace.models / "earlier").iterdir()
    assert ((workspace.models / "m" / "weights").read_text(), (earlier / "weights").read_text()) == ("second", "first")
    with workspace.replacing_model("m", keep=False) as folder:
        (folder / "weights").write_text("third")
    assert len(list((workspace.models / "earlier").iterdir())) == 1


# -- one writer ----------------------------------------------------------------------------------------------------------

HOLD = "import sys, time\nfrom structformer.workspace import Workspace\nwith Workspace(sys.argv[1]).writing('a test'): print('in', flush=True); time.sleep(60)"
COUNT = """
import os, sys
from pathlib import Path
from structformer.workspace import Workspace
workspace, inside = Workspace(sys.argv[1]), Path(sys.argv[2])
for _ in range(int(sys.argv[3])):
    with workspace.writing("counting", wait=60):
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        inside.unlink()
"""


def test_processes_never_write_together(tmp_path):
    command = [sys.executable, "-c", COUNT, str(tmp_path / "w"), str(tmp_path / "inside"), "150"]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.wait(120) for process in processes] == [0, 0, 0, 0], [
        process.communicate()[1] for process in processes
    ]


def test_threads_never_write_together_and_one_may_enter_again(tmp_path):
    workspace = Workspace(tmp_path / "w")
    inside = 0
    most = 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with Workspace(tmp_path / "w").writing("a thread", wait=60), workspace.writing("the same thread"):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_who_writes_is_named_and_a_killed_writer_is_no_obstacle(tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "w")], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    with (
        pytest.raises(WorkspaceError, match=rf"by `a test` \(process {writer.pid} on .*, since .*\): wait"),
        Workspace(tmp_path / "w").writing("me"),
    ):
        pass
    writer.kill()
    writer.wait()
    with Workspace(tmp_path / "w").writing("me"):
        pass


# -- publishing ----------------------------------------------------------------------------------------------------------

READ = """
import sys
from structformer.retrieval.retriever import Retriever
from structformer.workspace import Workspace
opened = 0
while not Workspace(sys.argv[1]).path.joinpath("stop").exists():
    retriever = Retriever.open(sys.argv[1])
    hits = retriever.search("bowline", k=3, pipeline="lexical")
    assert hits and hits[0].document_id == "knots.md", hits
    stamp = retriever.opened.index.manifest["tool_version"]
    assert retriever.documents[0].id == "index.md", stamp
    opened += 1
print(opened)
"""


def test_readers_never_see_a_gap_while_an_index_is_published_again_and_again(workspace):
    build_index(workspace, encoders=[])
    readers = [
        subprocess.Popen([sys.executable, "-c", READ, str(workspace)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    time.sleep(2)
    for _ in range(15):
        build_index(workspace, encoders=[])
    (workspace / "stop").touch()
    opened = [int(reader.communicate(timeout=60)[0] or 0) for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0]
    assert min(opened) > 0
    with Workspace(workspace).writing("tidying up"):
        pass
    assert len(list((workspace / "index").iterdir())) == 1


def test_what_a_reader_holds_stays_until_it_lets_go(workspace):
    build_index(workspace, encoders=[])
    retriever = Retriever.open(workspace)
    first = retriever.opened.index.folder
    build_index(workspace, encoders=[])
    assert first.exists()
    assert retriever.search("bowline", pipeline="lexical >> bm25")[0].document_id == "knots.md"
    del retriever
    build_index(workspace, encoders=[])
    assert not first.exists()


def test_a_failure_publishes_nothing_and_leaves_nothing(workspace):
    before = files(workspace)

    def fail() -> None:
        with Workspace(workspace).publishing("failing") as publication:
            (publication.folder("index") / "half").write_text("half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        fail()
    assert files(workspace) == before


def test_what_killed_writers_left_is_cleared_by_the_next(workspace):
    code = (
        "import sys, os, signal\nfrom structformer.workspace import Workspace\n"
        "with Workspace(sys.argv[1]).publishing('x') as p:\n (p.folder('index') / 'a').write_text('a'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(workspace)], check=False)
    assert any((workspace / "index").iterdir())
    with Workspace(workspace).writing("next"):
        pass
    assert not any((workspace / "index").iterdir())


# -- changed bytes -------------------------------------------------------------------------------------------------------


def flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))


def what_is_read(workspace: Path) -> list[object]:
    """All that commands read of a workspace without models."""
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    retriever = Retriever.open(workspace)
    return [
        list(corpus.documents()),
        list(graph.edges()),
        graph.statistics,
        list(Samples.open(workspace)),
        list(corpus.sources()),
        *(
            [hit.as_dict() for hit in retriever.search(query, pipeline="lexical >> bm25")]
            for query in ("bowline", "sails in strong wind")
        ),
    ]


def test_a_flipped_bit_is_noticed_and_never_changes_an_answer(workspace):
    sample(workspace, ["srr", "ict"])
    build_index(workspace, encoders=[])
    whole = what_is_read(workspace)
    place = Workspace(workspace)
    folders = [place.folder(part) for part in ("corpus", "graph", "samples", "index")]
    kinds = sorted(
        {
            path
            for folder in (*folders, place.shards)
            for path in folder.rglob("*")
            if path.is_file() and path.stat().st_size and path.suffix != ".lock"
        }
    )
    kinds = [path for path in kinds if path.name != "command.json"] + [place.marker]
    rng = random.Random(5)
    silent, unchecked = [], []
    for path in kinds:
        kept = path.read_bytes()
        flip(path, rng)
        try:
            if what_is_read(workspace) != whole:
                silent.append(path)
        except WorkspaceError:
            pass
        try:
            if not check_workspace(workspace):
                unchecked.append(path)
        except WorkspaceError:
            pass
        path.write_bytes(kept)
    assert silent == []
    assert [path.name for path in unchecked] == []
    assert what_is_read(workspace) == whole


def test_a_damaged_shard_is_made_again_by_the_next_ingest(pages, tmp_path):
    ingest(pages, tmp_path / "w", workers=1)
    corpus = Corpus.open(tmp_path / "w")
    path = corpus.shard_folder(corpus.shards[0]) / "sections.parquet"
    whole = path.read_bytes()
    flip(path, random.Random(3))
    ingest(pages, tmp_path / "w", workers=1)
    assert path.read_bytes() == whole
    assert check_workspace(tmp_path / "w") == []


def test_the_options_of_an_unfinished_run_are_not_read_when_changed(tmp_path):
    from structformer.training.run.option_rules import write_options

    workspace = Workspace(tmp_path / "w")
    with workspace.writing("x"):
        write_options(workspace.checkpoints("r"), training_options(None, {"seed": 3, "max_seconds": 9.0}))
    assert unfinished_options(workspace, training_options(None, {})).seed == 3
    limited = training_options(None, {"seed": 4, "max_seconds": 60.0})
    assert unfinished_options(workspace, limited, {"max_seconds"}).max_seconds == 60
    asked_again = unfinished_options(workspace, training_options(None, {}), {"max_seconds"})  # --max-time 10m
    assert (asked_again.seed, asked_again.max_seconds) == (3, 600)
    path = workspace.checkpoints("r") / "run.json"
    path.write_text(path.read_text().replace('"seed": 3', '"seed": 2'))
    with pytest.raises(WorkspaceError, match="has changed"):
        unfinished_options(workspace, training_options(None, {}))


# -- full disks, read-only disks -------------------------------------------------------------------------------------------

LIMITED = """
import resource, runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["structformer", *sys.argv[2:]]
runpy.run_module("structformer", run_name="__main__")
"""


@pytest.mark.skipif(os.name != "posix", reason="file-size limits are POSIX's")
@pytest.mark.parametrize("size", [500, 5_000, 20_000])
def test_a_file_that_may_not_grow_is_one_line_with_its_path_and_leaves_nothing_half_made(size, tmp_path):
    pages = write_pages(
        tmp_path / "pages", {f"p{n}.md": f"# Page {n}\n\nText [link](p{n // 2}.md) {n}.\n" for n in range(300)}
    )
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), "ingest", str(pages), "-w", str(tmp_path / "w")],
        capture_output=True,
        env=writes_little(),
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    [line] = [line for line in ran.stderr.splitlines() if line]
    assert line.startswith("error: ")
    assert "cannot be written" in line
    assert str(tmp_path / "w") in line
    assert not list((tmp_path / "w").rglob(".structformer-tmp-*"))
    ingest(pages, tmp_path / "w")
    assert check_workspace(tmp_path / "w") == []


# -- workers ---------------------------------------------------------------------------------------------------------------

SPIN = """
import sys
from structformer.engines import LocalEngine, Work
def lost(task, item, reason): raise SystemExit(reason)
for _ in LocalEngine().map(Work("spinning:run", 1, float(sys.argv[1]), 1 << 30, lost), ["task"]): pass
"""
SPINNING = """
import os, sys, time
def run(task, begin):
    begin("item")
    print(os.getpid(), file=sys.stderr, flush=True)
    while True: sum(range(10**6))
"""


def spinning(tmp_path: Path, seconds: float) -> tuple[subprocess.Popen[str], int]:
    """A process with a worker that never ends, and the worker's number."""
    (tmp_path / "spinning.py").write_text(SPINNING)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    parent = subprocess.Popen(
        [sys.executable, "-c", SPIN, str(seconds)], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert parent.stderr is not None
    return parent, int(parent.stderr.readline())


def test_workers_die_with_their_parent(tmp_path):
    parent, worker = spinning(tmp_path, 600)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for _ in range(50):
        try:
            os.kill(worker, 0)
            if Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.1)
    pytest.fail("the worker goes on without its parent")


def test_a_workers_time_is_processor_time_and_it_keeps_the_limit_itself(tmp_path):
    parent, _ = spinning(tmp_path, 1)
    assert parent.stderr is not None
    assert "took over 1 s of processor time" in parent.stderr.read()


HOSTILE = {
    "a part elsewhere": {"kept": {"../../photos": ["202401"]}},
    "an absolute part": {"kept": {"/tmp/photos": ["202401"]}},
    "a generation elsewhere": {"kept": {"graph": ["../../../photos"]}},
    "generations that are text": {"kept": {"graph": "202401"}},
    "a current part elsewhere": {"current": {"../photos": "202401"}},
    "a current generation elsewhere": {"current": {"corpus": "../../photos/202401"}},
    "a number": {"current": {"corpus": 202401}},
    "no table": {"kept": ["graph"]},
    "a source without a path": {"sources": [{"label": "x"}]},
    "a source beside it that is no path": {"sources": [{"label": "x", "path": "/x", "near": ["docs"]}]},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_marker_of_a_stranger_leads_nowhere(workspace, tmp_path, run, what):
    photos = tmp_path / "photos" / "202401"
    photos.mkdir(parents=True)
    (photos / "seal.json").write_text("{}")
    state = Workspace(workspace).state()
    write_json(workspace / "workspace.json", {**state, **HOSTILE[what]}, digest=True)
    for command in ("sample", "index", "check", "search boat", "graph stats"):
        done = run(*command.split(), "-w", workspace)
        assert done.code == 1
        assert done.err.startswith(f"error: {workspace / 'workspace.json'} was not written by structformer: it ")
        assert done.err.count("\n") == 1
    assert (photos / "seal.json").exists()


def test_what_a_stranger_lists_in_a_seal_or_a_manifest_is_not_read_elsewhere(workspace, tmp_path):
    (tmp_path / "secret.json").write_text('{"documents": 7}')
    index = Workspace(workspace).folder("graph")
    value = read_json(index / "seal.json", digest=True)
    value["files"]["../../../secret.json"] = value["files"]["manifest.json"]
    write_json(index / "seal.json", value, digest=True)
    assert any("which is not a file of it" in str(problem) for problem in check_workspace(workspace))
    with pytest.raises(WorkspaceError, match="which is not a file of it"):
        Sealed(index, "").path("../../../secret.json")
    corpus = Workspace(workspace).folder("corpus")
    manifest = read_json(corpus / "manifest.json")
    manifest["shards"][0]["key"] = "../../../pages"
    write_json(corpus / "manifest.json", manifest)
    seal(corpus)
    with pytest.raises(WorkspaceError, match="is not the name of a shard"):
        Corpus.open(workspace)


@pytest.mark.parametrize("name", ["graph", "cache", "models", "checkpoints", "parts", "corpus/shards", "feedback"])
def test_a_workspace_whose_folders_lead_elsewhere_is_not_written(workspace, tmp_path, run, name):
    photos = tmp_path / "photos"
    photos.mkdir()
    folder = workspace / name
    if folder.exists():
        folder.rename(tmp_path / "aside")
    folder.symlink_to(photos)
    done = run("sample", "-w", workspace)
    assert done.code == 1
    assert "is a link" in done.err or "cannot be read" in done.err or "no reference graph" in done.err


READ_ONLY = """
mount --bind -o ro {workspace} {workspace} && ! touch {workspace}/x 2>/dev/null || exit 99
for arguments in 'search knot' 'search knot --pipeline lexical' 'check' 'graph stats' 'inspect' \\
    'search rope --pipeline lexical>>bm25'; do
    TMPDIR=/nonexistent {python} -m structformer $arguments -w {workspace} || exit 1
done
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mount namespaces")
def test_a_workspace_that_may_only_be_read_is_searched(workspace, tmp_path):
    build_index(workspace, encoders=[])
    before = files(tmp_path)
    script = READ_ONLY.format(workspace=workspace, python=sys.executable)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("no mount namespaces here")
    assert done.returncode == 0, done.stderr
    assert "knots.md" in done.stdout
    assert files(tmp_path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="the null device is locked on Linux alone")
def test_the_lock_of_an_index_opens_no_file_elsewhere(workspace, tmp_path):
    build_index(workspace, encoders=[])
    lock = Workspace(workspace).folder("index") / "lexical" / "units" / ".tantivy-meta.lock"
    assert os.readlink(lock) == os.devnull
    lock.unlink()
    lock.symlink_to(tmp_path / "made-by-opening")
    with pytest.raises(WorkspaceError, match="leads out of the index"):
        Retriever.open(workspace)
    assert not (tmp_path / "made-by-opening").exists()


def test_a_workspace_that_is_another_programs_or_leads_nowhere_is_named(pages, tmp_path, run):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "editor").mkdir()
    for text in ('{"folders": []}', "[]", "{"):
        (tmp_path / "editor" / "workspace.json").write_text(text)
        done = run("ingest", pages, "-w", tmp_path / "editor")
        assert done.code == 1
        assert "is another program's" in done.err or "cannot be read" in done.err
        assert done.err.count("\n") == 1
    done = run("ingest", pages, "-w", tmp_path / "link")
    assert (done.code, "leads nowhere" in done.err) == (2, True)
    assert not (tmp_path / "nowhere").exists()


def test_no_model_is_called_as_the_folder_of_replaced_ones(workspace):
    with pytest.raises(UsageError, match="'earlier' is taken: replaced models are kept there"):
        Workspace(workspace).model("earlier")
