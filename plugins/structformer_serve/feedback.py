"""Searches and opened results, kept in the workspace where that is asked for: as judgements, as a query log, and as
a report of what is not found.

Kept are time, query, the ids shown, the one opened and the door; no address, no cookie, nothing of who asked."""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structformer.errors import UsageError
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.evaluation import Judgements

log = logging.getLogger("structformer.serve")
_LONGEST = 50  # rows of the report's lists
_SECONDS_BETWEEN_REMARKS = 60.0
DOORS = ("page", "box", "api", "mcp", "ask")  # where a search comes from
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


class FeedbackLog:
    """Appends what happened to the workspace's log, a file a month.

    Best effort: what cannot be kept is dropped and counted, the log says so once a minute, and no request fails."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        most_bytes: int = 50_000_000,
        months: int = 12,
        dropped: Callable[[str], object] = lambda reason: None,
    ) -> None:
        """most_bytes: of a month; months: kept beside the current one; dropped: called for each event that is not kept,
        with the reason: "full" at the limit, or "error".
        """
        self._folder = workspace.feedback
        self._most_bytes = most_bytes
        self._months = months
        self._dropped = dropped
        self._lock = threading.Lock()
        self._cleaned = ""  # the month in which old files were last looked for
        self._said = -math.inf

    def add(self, event: dict[str, Any]) -> None:
        """Append an event, with the time to the minute."""
        now = time.gmtime()
        month = time.strftime("%Y-%m", now)
        line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%MZ", now), **event}, ensure_ascii=False)
        with self._lock:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                if self._cleaned != month:
                    self._cleaned = month
                    for path in self._folder.glob("*.jsonl"):
                        if _MONTH.fullmatch(path.stem) and _months(month) - _months(path.stem) > self._months:
                            path.unlink(missing_ok=True)
                self._append(self._folder / f"{month}.jsonl", line.encode("utf-8", "replace") + b"\n")
            except OSError as error:
                self._drop("error", f"{error.strerror or error}: {self._folder}")

    def _append(self, path: Path, line: bytes) -> None:
        # A workspace may be a stranger's, and what is appended must not go elsewhere.
        if self._folder.is_symlink():
            raise OSError(errno.ELOOP, "it is a link")
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            size = os.fstat(descriptor).st_size
            if size + len(line) > self._most_bytes:
                self._drop("full", f"{path} has reached its limit of {self._most_bytes // 1_000_000} MB: --feedback-mb")
                return
            if size:
                os.lseek(descriptor, size - 1, os.SEEK_SET)  # where it is written does not depend on it: O_APPEND
                # Whoever was killed while writing, or met the end of the disk, left half a line.
                line = line if os.read(descriptor, 1) == b"\n" else b"\n" + line
            # One call, so that lines of several servers do not mix.
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def _drop(self, reason: str, message: str) -> None:
        self._dropped(reason)
        if time.monotonic() - self._said >= _SECONDS_BETWEEN_REMARKS:
            self._said = time.monotonic()
            log.warning("feedback is not kept at the moment: %s", message)


def _months(month: str) -> int:
    year, _, number = month.partition("-")
    return 12 * int(year) + int(number)


def events(workspace: Workspace, skipped: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """All events in order. Lines that are none are left out, and their places added to `skipped`: a server that was
    killed, or a full disk, leaves half of one.
    """
    for path in sorted(workspace.feedback.glob("*.jsonl")):
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                event = _event(line)
                if event is not None:
                    yield event
                elif skipped is not None:
                    skipped.append(f"{path}, line {number}")


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    shown, document = event.get("shown") or [], event.get("document")
    texts = (event.get("event"), event.get("query"), "" if document is None else document)
    if not isinstance(shown, list) or not all(isinstance(each, str) for each in (*texts, *shown)):
        return None
    return event


@dataclass(slots=True)
class Searches:
    """Uses of one query, in whatever case and spacing it was written."""

    query: str
    asked: int = 0
    """How often it was searched for."""
    empty: int = 0
    """How often nothing was found."""
    lost: int = 0
    """How often people said that no result fits, or that the answer in words did not help."""
    helped: int = 0
    """How often people said that the answer in words helped."""
    clicks: Counter[str] = field(default_factory=Counter)
    """How often each document was opened."""
    above: Counter[str] = field(default_factory=Counter)
    """How often each document was shown above one that was opened."""


def searches(workspace: Workspace, skipped: list[str] | None = None) -> list[Searches]:
    """Return what was done with each query, the most asked first. skipped: gets places of lines that are none."""
    by_text: dict[str, Searches] = {}
    for event in events(workspace, skipped):
        text = " ".join(event["query"].split())
        same_query = by_text.setdefault(text.lower(), Searches(text))
        kind, shown, document = event["event"], event.get("shown") or [], event.get("document")
        if kind == "search":
            same_query.asked += 1
            same_query.empty += not shown
        elif kind in ("not_found", "answer_bad"):
            same_query.lost += 1
        elif kind == "answer_good":
            same_query.helped += 1
        elif kind == "click" and document:
            same_query.clicks[document] += 1
            if document in shown:
                same_query.above.update(dict.fromkeys(shown[: shown.index(document)], 1))
    return sorted(by_text.values(), key=lambda each: (-each.asked - each.clicks.total(), each.query))


def by_week(workspace: Workspace) -> list[dict[str, Any]]:
    """Return what was done in each week, the newest first: {"week": its Monday, a door, a kind of event: a count}."""
    weeks: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for event in events(workspace):
        with suppress(ValueError):  # a time that is none
            day = date.fromisoformat(str(event.get("time"))[:10])
            counts = weeks[str(day - timedelta(day.weekday()))]
            counts[event["event"]] += 1
            if event["event"] == "search":
                counts[next((door for door in DOORS if door == event.get("door")), "page")] += 1
                counts["empty"] += not event.get("shown")
    return [{"week": week, **weeks[week]} for week in sorted(weeks, reverse=True)]


def judgements_from_clicks(kept: list[Searches], *, least: int = 1) -> Judgements:
    """Return queries with the documents opened for them as relevant, and those shown above and passed over as not.

    A document is relevant that was opened at least so many times, and more often than it was passed over. Source:
    Joachims, KDD 2002, section 2 ("click > skip above"). People open what ranks high, so what is never shown is never
    found relevant: such judgements say which of what was shown is better, not what is missing. Raises UsageError
    without a click."""
    from structformer.evaluation import Judgements  # with pandas, which a server needs not

    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for each in kept:
        grades = {name: 1 for name, count in each.clicks.items() if count >= least and count > each.above[name]}
        if grades:
            name = f"q{len(queries) + 1}"
            queries[name] = each.query
            qrels[name] = {**{other: 0 for other in sorted(each.above) if other not in grades}, **grades}
    if not queries:
        raise UsageError("no document was opened from the search yet: there is nothing to judge by")
    return Judgements(queries, qrels)


def report(kept: list[Searches]) -> dict[str, Any]:
    """Return what is asked for most, what finds nothing, and what nobody opens."""
    by_need: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in kept:
        row = {
            "query": each.query,
            "searches": each.asked,
            "clicks": each.clicks.total(),
            "nothing": each.empty,
            "not_found": each.lost,
            "helped": each.helped,
        }
        by_need["most"].append(row)
        if each.empty or each.lost:
            by_need["without_result"].append(row)
        elif each.asked and not each.clicks:
            by_need["never_opened"].append(row)
    by_need["without_result"].sort(key=lambda row: (-row["nothing"] - row["not_found"], row["query"]))
    return {
        "searches": sum(each.asked for each in kept),
        "queries": len(kept),
        "clicks": sum(each.clicks.total() for each in kept),
        **{name: by_need[name][:_LONGEST] for name in ("most", "without_result", "never_opened")},
    }
