"""What people search for and open, kept in the workspace where that is asked for: as judgements, as a query log, and as
a report of what is not found.

Kept are the time, the query, the ids shown and the one opened; no address, no cookie, nothing of who asked."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structformer.errors import UsageError
from structformer.storage.files import write_bytes
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.evaluation.judgements import Judgements

FOLDER = "feedback"
_LONGEST = 50  # rows of the report's lists


class FeedbackLog:
    """Appends what happened to the workspace's log, a file a month."""

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.path / FOLDER
        self._lock = threading.Lock()

    def add(self, event: dict[str, Any]) -> None:
        """Append an event, with the time to the minute."""
        line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()), **event}, ensure_ascii=False)
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / f"{time.strftime('%Y-%m', time.gmtime())}.jsonl").open("a", encoding="utf-8") as file:
                file.write(line.encode("utf-8", "replace").decode() + "\n")


def events(workspace: Workspace) -> Iterator[dict[str, Any]]:
    """All events in order. Raises UsageError naming a line that is none."""
    for path in sorted((workspace.path / FOLDER).glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    event = json.loads(line)
                    event["query"], event["event"]
                except (ValueError, KeyError, TypeError):
                    raise UsageError(f"{path}, line {number}: not an event of the search page") from None
                yield event


@dataclass(slots=True)
class Searches:
    """What was done with one query, in whatever case and spacing it was written. above: how often a document was shown
    above the one that was opened; lost: how often it was said that nothing fits.
    """

    query: str
    asked: int = 0
    empty: int = 0
    lost: int = 0
    clicks: Counter[str] = field(default_factory=Counter)
    above: Counter[str] = field(default_factory=Counter)


def searches(workspace: Workspace) -> list[Searches]:
    """What was done with each query, the most asked first."""
    found: dict[str, Searches] = {}
    for event in events(workspace):
        text = " ".join(str(event["query"]).split())
        its = found.setdefault(text.lower(), Searches(text))
        kind, shown, document = event["event"], event.get("shown") or [], event.get("document")
        if kind == "search":
            its.asked += 1
            its.empty += not shown
        elif kind == "not_found":
            its.lost += 1
        elif kind == "click" and document:
            its.clicks[document] += 1
            if document in shown:
                its.above.update(dict.fromkeys(shown[: shown.index(document)], 1))
    return sorted(found.values(), key=lambda each: (-each.asked - each.clicks.total(), each.query))


def judgements_from_clicks(found: list[Searches], *, least: int = 1) -> Judgements:
    """Queries with the documents opened for them as relevant, and those shown above and passed over as not.

    A document is relevant that was opened at least so many times, and more often than it was passed over. Source:
    Joachims, KDD 2002, section 2 ("click > skip above"). People open what stands high, so what is never shown is never
    found relevant: such judgements say which of what was shown is better, not what is missing. Raises UsageError
    without a click."""
    from structformer.evaluation.judgements import Judgements  # with pandas, which a server needs not

    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for each in found:
        grades = {name: 1 for name, count in each.clicks.items() if count >= least and count > each.above[name]}
        if grades:
            name = f"q{len(queries) + 1}"
            queries[name] = each.query
            qrels[name] = {**{other: 0 for other in sorted(each.above) if other not in grades}, **grades}
    if not queries:
        raise UsageError("no document was opened from the search yet: there is nothing to judge by")
    return Judgements(queries, qrels)


def write_query_log(path: Path, found: list[Searches]) -> int:
    """Write the queries, one a line, as often as `train --query-log` counts them: once. Gives their number."""
    asked = [each.query for each in found if each.asked or each.clicks]
    write_bytes(path, "".join(f"{query}\n" for query in asked).encode())
    return len(asked)


def write_click_judgements(folder: Path, found: list[Searches], *, least: int = 1) -> Judgements:
    """Write `judgements_from_clicks` as a folder for `evaluate --beir` and `finetune`. Raises UsageError where it is
    there.
    """
    from structformer.evaluation.judgements import write_judgements

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already: name a new folder")
    judged = judgements_from_clicks(found, least=least)
    write_judgements(folder, judged)
    return judged


def report(found: list[Searches]) -> dict[str, Any]:
    """What is asked for most, what finds nothing, and what nobody opens."""
    by_need: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in found:
        row = {
            "query": each.query,
            "searches": each.asked,
            "clicks": each.clicks.total(),
            "nothing": each.empty,
            "not_found": each.lost,
        }
        by_need["most"].append(row)
        if each.empty or each.lost:
            by_need["without_result"].append(row)
        elif each.asked and not each.clicks:
            by_need["never_opened"].append(row)
    by_need["without_result"].sort(key=lambda row: (-row["nothing"] - row["not_found"], row["query"]))
    return {
        "searches": sum(each.asked for each in found),
        "queries": len(found),
        "clicks": sum(each.clicks.total() for each in found),
        **{name: by_need[name][:_LONGEST] for name in ("most", "without_result", "never_opened")},
    }
