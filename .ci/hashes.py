"""Write constraints-hashed.txt: the pins of constraints.txt, each with the sha256 of its files.

    python3 -m venv fresh && fresh/bin/python .ci/hashes.py

This is one `pip install --dry-run` of the pins. The digests are those of the pages that pip reads for it, so nothing
else is asked of the index, and the list is good for other machines too: wheels for CPython 3.11 and later on the
platforms that torch has wheels for, and source distributions. torch's Linux builds on the index are left out: they need
CUDA packages, which are not pinned. The CPU build's digest is added if pip finds that wheel where you run this.
Look at the difference before you keep it: a pin that stays the same keeps its digests, though files may be added.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from pip._internal.cli.main import main as pip
from pip._internal.index.package_finder import LinkEvaluator
from pip._vendor.packaging.specifiers import SpecifierSet
from pip._vendor.packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from pip._vendor.packaging.version import InvalidVersion

ROOT = Path(__file__).parents[1]
PLATFORM = re.compile(r"any|manylinux\w*_(x86_64|aarch64)|macosx\w*_(arm64|universal2)|win_amd64")
NEEDS_CUDA = r"torch-[\d.]+-.*manylinux"
HEAD = """\
# The pins of constraints.txt with the sha256 of their files; written by .ci/hashes.py, read by `make locked`.
# torch: on Linux only the CPU build for CPython 3.11 on x86-64. If you use another build, install it into the
# environment first: pip takes a version that is there without comparing it.
"""


def fits(filename: str, version: str) -> bool:
    """Whether a file is of this version, and can be installed where structformer runs."""
    try:
        if not filename.endswith(".whl"):
            return parse_sdist_filename(filename)[1] in SpecifierSet(f"=={version}")
        _, found, _, tags = parse_wheel_filename(filename)
    except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
        return False
    return found in SpecifierSet(f"=={version}", prereleases=True) and any(
        (tag.interpreter.startswith("py3") or tag.abi == "abi3" or _minor(tag.interpreter) >= 11)
        and PLATFORM.fullmatch(tag.platform)
        for tag in tags
    )


def _minor(interpreter: str) -> int:
    """11 of cp311; 0 of others than CPython 3."""
    return int(interpreter[3:]) if interpreter.startswith("cp3") and interpreter[3:].isdecimal() else 0


def main() -> int:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pins.items()}
    seen: dict[str, set[str]] = defaultdict(set)
    evaluate = LinkEvaluator.evaluate_link

    def noting(self: LinkEvaluator, link: Any) -> Any:
        name = self._canonical_name
        if name not in versions:
            seen[name] = set()
        elif fits(link.filename, versions[name]) and not (name == "torch" and re.match(NEEDS_CUDA, link.filename)):
            known = link.as_hashes()._allowed.get("sha256", [])
            seen[name].update(known or [hashlib.sha256(Path(link.file_path).read_bytes()).hexdigest()])
        return evaluate(self, link)

    LinkEvaluator.evaluate_link = noting  # type: ignore[method-assign]
    code = pip(["install", "--quiet", "--dry-run", "--ignore-installed", "-r", str(ROOT / "constraints.txt")])
    if code:
        return int(code)
    if unpinned := seen.keys() - versions.keys():
        sys.exit(f"constraints.txt lacks {', '.join(sorted(unpinned))}, which the pins need")
    if missing := [name for name in versions if not seen[name]]:
        sys.exit(f"no files with digests were found of {', '.join(missing)}")
    entries = (
        " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{each}" for each in sorted(found))])
        for name, version in pins.items()
        for found in [seen[canonicalize_name(name)]]
    )
    (ROOT / "constraints-hashed.txt").write_text(HEAD + "\n".join(entries) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
