"""pytest support for authors of format plugins: `pytest --structformer-format NAME --structformer-samples FOLDER`.

Every rule of the conformance suite is a test of its own against every sample.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("structformer")
    group.addoption(
        "--structformer-format", metavar="NAME", help="check the format plugin NAME against structformer's rules"
    )
    group.addoption("--structformer-samples", metavar="FOLDER", help="files of that format to check with")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    name = config.getoption("--structformer-format")
    if name:
        items += list(_items(session, str(name), config.getoption("--structformer-samples")))


def _items(session: pytest.Session, name: str, folder: str | None) -> Iterator[pytest.Item]:
    from structformer.plugins import load_plugins

    from structformer_devkit.formats import RULES, samples_in

    format = load_plugins().format(name)
    for sample in samples_in([Path(folder or ".")], format):
        for rule in RULES:
            yield ConformanceItem.from_parent(
                session, name=f"{name}::{sample.path}::{rule}", rule=rule, sample=sample, format=format
            )


class ConformanceItem(pytest.Item):
    """One rule against one sample."""

    def __init__(self, *, rule: str, sample: object, format: object, **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]
        self._rule = rule
        self._sample = sample
        self._format = format

    def runtest(self) -> None:
        from structformer_devkit.formats import RULES

        broken = list(RULES[self._rule](self._format, self._sample, {}, 0))  # type: ignore[arg-type]
        assert not broken, "\n".join(broken)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
