"""What tests of readers share: short forms of a document's parts."""

from __future__ import annotations

from structformer import Document, read
from structformer.formats.source import SourceFile


class Folder:
    """Files of a project as neighbours of each other, in memory."""

    def __init__(self, files: dict[str, str | bytes]) -> None:
        self.files = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}

    def get(self, path: str) -> bytes | None:
        return self.files.get(path)

    def find(self, suffix: str) -> list[str]:
        return sorted(path for path in self.files if path.endswith(suffix))

    def source(self, path: str) -> SourceFile:
        return SourceFile(path, self.files[path], neighbours=self)


def one(data: str | bytes, format: str, **options: object) -> Document:
    [document] = read(data.encode() if isinstance(data, str) else data, format=format, **options)
    return document


def outline(document: Document) -> list[tuple[int, str]]:
    """(depth, title) of every section."""
    return [(len(path) - 1, section.title) for section, path in document.root.walk_with_path()]


def links(document: Document) -> list[tuple[str, str, str]]:
    """(kind, target, anchor text) of every link."""
    return [(link.kind.value, link.target, link.text) for link in document.links()]


def text(document: Document) -> str:
    return "\n".join(part for section in document.sections() for part in (section.title, section.text) if part)
