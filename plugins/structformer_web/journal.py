"""Journal of a site's pages from earlier crawls: a line of JSON for each, added as it comes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TextIO

from structformer.storage import write_bytes, writing_errors


@dataclass(frozen=True, slots=True)
class Entry:
    """A page that was taken, in which file, and what the server compares it by."""

    address: str
    file: str
    size: int
    etag: str = ""
    modified: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask for the page only if it has changed."""
        named = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {key: value for key, value in named.items() if value}


class Journal:
    """The pages of one host. done: the addresses that an interrupted crawl of the same start has already asked for."""

    def __init__(self, path: Path, start: str) -> None:
        self.entries: dict[str, Entry] = {}
        self.done: set[str] = set()
        self._path = path
        self._start = start
        self._owners: dict[str, str] = {}  # of files
        self._load()
        self._file: TextIO | None = None

    def __enter__(self) -> Journal:
        with writing_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            whole = not self._path.exists() or self._path.read_bytes()[-1:] in (b"", b"\n")
            self._file = self._path.open("a", encoding="utf-8")
            self._write("" if whole else "\n")  # after a line that a kill cut off
            if not self.done:
                self._add({"begun": self._start})
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, entry: Entry) -> None:
        """Note a page. Another that was in its file is gone."""
        other = self._owners.get(entry.file, entry.address)
        if other != entry.address:
            self.remove(other)
        self._keep(entry)
        self._add(asdict(entry))

    def remove(self, address: str) -> str:
        """Forget a page; its file, "" where there was none."""
        entry = self.entries.pop(address, None)
        if entry is None:
            return ""
        self._owners.pop(entry.file, None)
        self._add({"gone": address})
        return entry.file

    def finish(self) -> None:
        """Note that the crawl is done: the next one asks for all pages again. Only what is there is kept."""
        lines = [json.dumps(asdict(self.entries[address])) for address in sorted(self.entries)]
        write_bytes(self._path, "".join(f"{line}\n" for line in lines).encode())

    def _load(self) -> None:
        if not self._path.exists():
            return
        with writing_errors(self._path):
            lines = self._path.read_bytes().splitlines()
        same = False
        for line in lines:
            value = _parsed(line)
            if "begun" in value:
                self.done, same = set(), value["begun"] == self._start
            elif (gone := self.entries.pop(str(value.get("gone")), None)) is not None:
                self._owners.pop(gone.file, None)
            elif (entry := _entry(value)) is not None:
                self._keep(entry)
                if same:
                    self.done.add(entry.address)

    def _keep(self, entry: Entry) -> None:
        before = self.entries.get(entry.address)
        if before is not None:
            self._owners.pop(before.file, None)
        self.entries[entry.address] = entry
        self._owners[entry.file] = entry.address

    def _add(self, value: dict[str, Any]) -> None:
        self._write(json.dumps(value) + "\n")

    def _write(self, text: str) -> None:
        assert self._file is not None
        with writing_errors(self._path):
            self._file.write(text)
            self._file.flush()
            os.fsync(self._file.fileno())


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:  # a line that a kill cut off
        return {}
    return value if isinstance(value, dict) else {}


def _entry(value: dict[str, Any]) -> Entry | None:
    try:
        entry = Entry(**{each.name: value[each.name] for each in fields(Entry)})
    except KeyError:
        return None
    inside = not entry.file.startswith("/") and ".." not in entry.file.split("/")
    return entry if inside else None
