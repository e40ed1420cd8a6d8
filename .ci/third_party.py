"""Write THIRD_PARTY.md: every package that structformer or one of its extras brings, with its licence.

    .venv/bin/python .ci/third_party.py

What it says comes from the metadata of the packages that are installed, so run it where all extras are: `make lint`
makes such an environment. Extras for tests and development bring nothing that is shipped, and are left out.
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "THIRD_PARTY.md"
NOT_SHIPPED = frozenset({"test", "test-all", "dev", "docs", "benchmarks", "research"})
EVERY = "every installation"
# What older metadata say in words, as SPDX has it.
SPDX = {
    "Academic Free License (AFL)": "AFL-2.1",
    "Apache Software License": "Apache-2.0",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD",
    "GNU General Public License (GPL)": "GPL",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Public Domain": "public domain",
    "Python Software Foundation License": "PSF-2.0",
    "BSD-3-Clause, Apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",
}
HEAD = """\
# Licences of other packages

structformer is under the Apache License 2.0 ([LICENSE](LICENSE)). Its wheel contains no other
project's code. The packages below are installed with it, or with one of its extras, under licences
of their own. The list follows from what the packages say of themselves, on Linux with the versions
of constraints.txt. `.ci/third_party.py` writes it, and a test keeps it current. Where names are
separated by commas, a package lists them without saying which file is under which; docutils
installs no file that is under the GPL. LGPL libraries (`gensim`, `psycopg`) come with extras alone.

| package | licence | comes with |
|---|---|---|
"""


def licence(package: Distribution) -> str:
    """A package's licence: the expression that it states, else the names of its classifiers, else its short text."""
    metadata = package.metadata
    if stated := metadata.get("License-Expression"):
        return stated
    classifiers = [each for each in metadata.get_all("Classifier") or [] if each.startswith("License :: ")]
    names = [each.rpartition(" :: ")[2] for each in classifiers]
    if names == ["BSD License"] and (exact := _line(metadata.get("License"))).startswith("BSD-"):
        return exact  # which of the BSD licences
    if names:
        return ", ".join(sorted({SPDX.get(name, name) for name in names}))
    text = _line(metadata.get("License"))
    return SPDX.get(text, text) or "not stated"


def _line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def brought(requirements: list[str], ours: dict[str, list[str]]) -> Iterator[str]:
    """Names of the packages that requirements bring, and of what these require; `ours`: structformer's own extras. What
    is not installed is named too, but what it would bring is not known.
    """
    waiting = [Requirement(each) for each in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            if name == "structformer":
                waiting += map(Requirement, ours.get(extra, []))
                continue
            try:
                inner = [Requirement(each) for each in distribution(name).requires or []]
            except PackageNotFoundError:
                inner = []
            waiting += [each for each in inner if each.marker is None or each.marker.evaluate({"extra": extra})]
    yield from sorted({name for name, _ in seen} - {"structformer"})


def rows() -> dict[str, tuple[str, str]]:
    """By name: (licence, what brings it) of the packages that are installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    by: dict[str, list[str]] = defaultdict(list)
    extras = project["optional-dependencies"]
    for name in brought(project["dependencies"], extras):
        by[name].append(EVERY)
    for extra, requirements in extras.items():
        if extra not in NOT_SHIPPED:
            for name in brought(requirements, extras):
                if EVERY not in by[name]:
                    by[name].append(f"`{extra}`")
    found = {}
    for name in sorted(by):
        try:
            found[name] = (licence(distribution(name)), ", ".join(by[name]))
        except PackageNotFoundError:
            continue
    return found


def main() -> int:
    lines = [f"| {name} | {terms} | {by} |\n" for name, (terms, by) in rows().items()]
    PAGE.write_text(HEAD + "".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
