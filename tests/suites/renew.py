"""Fetch the suites kept here anew: python tests/suites/renew.py [commonmark] [gfm] [html5lib]

Needs npm, pip and, for gfm, apt-get with the source packages of Debian 13 or later (deb-src). For a newer version change its lines in
UPSTREAMS; then run tests/ratchet.py, and say in README.md what is here now.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Upstream(NamedTuple):
    """A package: how to fetch it, its archive and the archive's SHA-256, and which of its files go where."""

    command: tuple[str, ...]
    archive: str
    sha256: str
    files: dict[str, str]


UPSTREAMS = {
    "commonmark": Upstream(
        ("npm", "pack", "commonmark-spec@0.31.2"),
        "commonmark-spec-0.31.2.tgz",
        "588280df96c211f7ce9db0b7943ded34ac4b8ba321e2fdf9c03d188ec0f01fea",
        {r"package/(spec\.txt|LICENSE)": r"\1"},
    ),
    "gfm": Upstream(
        ("apt-get", "source", "--download-only", "--tar-only", "cmark-gfm"),
        "cmark-gfm_0.29.0.gfm.13.orig.tar.gz",
        "5abc61798ebd9de5660bc076443c07abad2b8d15dbc11094a3a79644b8ad243a",
        {r"[^/]*/test/(spec\.txt)": r"\1", "[^/]*/COPYING": "LICENSE"},
    ),
    "html5lib": Upstream(
        (sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "html5lib-modern==1.2"),
        "html5lib_modern-1.2.tar.gz",
        "1fadbfc27ea955431270e4e79a4a4c290ba11c3a3098a95cc22dc73e312a1768",
        # The encoding test below `scripted` declares its encoding by a script, which a reader does not run.
        {r"[^/]*/html5lib/tests/testdata/(LICENSE|AUTHORS\.rst|tree-construction/.*\.dat|encoding/[^/]*\.dat)": r"\1"},
    ),
}


def renew(name: str, upstream: Upstream) -> None:
    """Fetch one package and replace the files of its folder here."""
    with tempfile.TemporaryDirectory() as folder:
        # pip runs the package's setup.py to name its version, and that of html5lib wants an older setuptools.
        constraint = Path(folder, "constraint.txt")
        constraint.write_text("setuptools<81\n")
        subprocess.run(upstream.command, cwd=folder, check=True, env={**os.environ, "PIP_CONSTRAINT": str(constraint)})
        archive = Path(folder, upstream.archive)
        if not archive.exists():
            found = sorted(path.name for path in Path(folder).iterdir())
            raise SystemExit(f"{name}: no {upstream.archive} came, but {', '.join(found)}: see UPSTREAMS")
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != upstream.sha256:
            raise SystemExit(f"{name}: {upstream.archive} has the SHA-256 {digest}, not {upstream.sha256}")
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        with tarfile.open(archive) as tar:
            for member in tar:
                for pattern, target in upstream.files.items():
                    match = re.fullmatch(pattern, member.name)
                    file = tar.extractfile(member) if match else None
                    if match and file:
                        path = FOLDER / name / match.expand(target)
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_bytes(file.read())


if __name__ == "__main__":
    for chosen in sys.argv[1:] or UPSTREAMS:
        renew(chosen, UPSTREAMS[chosen])
