"""Documents that log the releases of what a corpus is about: change logs, release notes, news by version.

They say in a line what another page explains, and crowd out that page. A search puts them after equal passages, unless
the query names a version or asks for changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.units import Unit, Units
from structformer.storage.files import read_errors
from structformer.text.id_marks import VERSION

RELEASE_LOGS = "release-logs.npy"  # in an index, (documents,) bool
_FEWEST = 2  # headings that name a version
# What files, folders and titles are called: "CHANGELOG.md", "release-notes/", "whatsnew/", "Release Notes".
_NAME = re.compile(r"(?:change[-_ ]?log|changes|rel(?:ease)?[-_ ]?notes?|releases|what['’]?s?[-_ ]?new)s?(?![a-z])")
ASKS_FOR_CHANGES = re.compile(
    rf"{VERSION.pattern}|\b(?:breaking|change ?logs?|deprecat\w+|released?|what(?:['’]s| is) new)\b", re.I
)


def is_release_log(units: Sequence[Unit]) -> bool:
    """Whether a document is called a log of releases, and its file or two of its headings name a version. units: all of
    its units.
    """
    folders, _, name = units[0].document_id.lower().rpartition("/")
    called = [*folders.split("/"), name, units[0].title.lower()]
    if name.partition(".")[0] not in ("history", "news") and not any(map(_NAME.match, called)):
        return False
    headings = {heading for unit in units for heading in unit.path}
    numbered = sum(VERSION.search(heading) is not None for heading in headings)
    return numbered >= _FEWEST or VERSION.search(name.replace("-", ".").replace("_", ".")) is not None


def release_logs(units: Units) -> npt.NDArray[np.bool_]:
    """(documents,) Which documents of an index are logs of releases. Raises WorkspaceError if that cannot be read."""
    path = units.path.with_name(RELEASE_LOGS)
    with read_errors(path, OSError, ValueError):
        logs: npt.NDArray[np.bool_] = np.load(path, allow_pickle=False)
    return logs
