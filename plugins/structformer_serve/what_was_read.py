"""What the ingest behind a served workspace read, from the report that it kept: counts and reasons, without names."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from structformer.ingestion import Fate
from structformer.workspace import Workspace

from structformer_serve.schemas import WhatWasRead

_REASONS = 5  # of each kind of file that became no document


def what_was_read(workspace: Workspace) -> WhatWasRead | None:
    """What the last ingest read; None where it left no report that can be read."""
    try:
        return _from_report(json.loads((workspace.reports / "report.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _from_report(report: dict[str, Any]) -> WhatWasRead:
    account, links = report["account"], report["links"].values()
    resolved = sum(counts["resolved"] for counts in links)
    return WhatWasRead(
        documents=report["documents"],
        sections=report["sections"],
        files=account["seen"],
        read=account["documents"],
        parts=account["parts"],
        skipped=account["not_documents"],
        skipped_because=_reasons(account["named"], Fate.NONE),
        failed=account["failed"],
        failed_because=_reasons(account["named"], Fate.FAILED),
        links_resolved=resolved,
        links_within=resolved + sum(counts["unresolved"] + counts["ambiguous"] for counts in links),
    )


def _reasons(named: list[dict[str, str]], fate: Fate) -> list[str]:
    """Why files became no documents, the commonest reason first."""
    counts = Counter(each["why"] for each in named if each["became"] == fate and each["why"])
    return [why for why, _ in counts.most_common(_REASONS)]
