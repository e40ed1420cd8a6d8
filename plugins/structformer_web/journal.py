"""Journal of a site's pages from earlier crawls: a line of JSON for each, added as it comes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
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


_FIELDS = {each.name for each in fields(Entry)}


class Journal:
    """The pages of one host, by their files. done: the addresses that an interrupted crawl of the same start has
    already asked for.
    """

    def __init__(self, path: Path, start: str) -> None:
        self.entries: dict[str, Entry] = {}
        self.done: set[str] = set()
        self._path = path
        self._start = start
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
        """Note a page, in the place of another that was in its file."""
        self.entries[entry.file] = entry
        self._add(asdict(entry))

    def remove(self, file: str) -> None:
        """Forget a page."""
        del self.entries[file]
        self._add({"gone": file})

    def finish(self) -> None:
        """Note that the crawl is done: the next one asks for all pages again. Only what is there is kept."""
        lines = [json.dumps(asdict(each)) for each in sorted(self.entries.values(), key=attrgetter("address"))]
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
            elif "gone" in value:
                self.entries.pop(str(value["gone"]), None)
            elif value.keys() >= _FIELDS:
                entry = Entry(**{name: value[name] for name in _FIELDS})
                self.entries[entry.file] = entry
                if same:
                    self.done.add(entry.address)

    def _add(self, value: dict[str, Any]) -> None:
        self._write(json.dumps(value) + "\n")

    def _write(self, text: str) -> None:
        assert self._file is not None
        with writing_errors(self._path):
            self._file.write(text)
            self._file.flush()
            os.fsync(self._file.fileno())


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the value of a line, {} of one that a kill cut off, or that names a file outside the folder."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    file = value.get("file", "") if isinstance(value, dict) else "/"
    return {} if file.startswith("/") or ".." in file.split("/") else value
