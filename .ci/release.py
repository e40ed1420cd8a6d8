"""Prepares a release: python .ci/release.py 0.2.0 [--owner NAME] [--date 2026-12-01]

Writes the version wherever it is named, dates the changelog's newest heading, and with --owner replaces OWNER by the
account on the forge. Then look at `git diff`, commit, and tag: the workflow `release` builds, tries and publishes.
`make dist` builds the same files here."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Where the version is named, by what is around it. Other packages have versions of their own.
PLACES = {
    "structformer/_version.py": '__version__ = "{}"',
    "plugins/pyproject.toml": '"structformer=={}"',
    "CITATION.cff": "\nversion: {}\n",
    "deploy/server.json": '"version": "{}"',
    "deploy/kubernetes.yaml": "image: structformer:{}",
    ".github/actions/search-check/action.yml": "structformer[serve]=={}",
    "docs/troubleshooting.md": "structformer-{}-py3-none-any.whl",
    "docs/docs-teams.md": "structformer-{}-py3-none-any.whl",
}
ALSO = {"deploy/server.json": "structformer[serve]=={}"}
# Where the account on the forge stands, as OWNER until it is known.
OWNED = {"pyproject.toml": "github.com/{}/", "deploy/server.json": "io.github.{}/"}
VERSION = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"


def replaced(root: Path, name: str, pattern: str, text: str) -> None:
    """Replace each match of a pattern in a file. Exits if there is none."""
    path = root / name
    before = path.read_text(encoding="utf-8")
    after, count = re.subn(pattern, lambda _: text, before)
    if not count:
        sys.exit(f"{name} has no {pattern}")
    path.write_text(after, encoding="utf-8")


def prepare(version: str, day: str, owner: str = "", root: Path = ROOT) -> None:
    """Write version, date and owner into the files below `root`."""
    for name, around in [*PLACES.items(), *ALSO.items()]:
        pattern = re.escape(around).replace(r"\{\}", VERSION)
        replaced(root, name, pattern, around.format(version))
    replaced(root, "CHANGELOG.md", rf"(?m)^## {VERSION} \(unreleased\)$", f"## {version} ({day})")
    for name, around in OWNED.items() if owner else ():
        replaced(root, name, re.escape(around.format("OWNER")), around.format(owner))


def main() -> None:
    """Parse the command line and prepare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--owner", default="", help="the account or organization on the forge")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    chosen = parser.parse_args()
    if not re.fullmatch(VERSION, chosen.version):
        sys.exit(f"{chosen.version!r} is not a version such as 0.2.0 or 0.2.0rc1")
    prepare(chosen.version, chosen.date, chosen.owner)


if __name__ == "__main__":
    main()
