"""The files of all sources as each other's neighbours."""

import hashlib
from functools import lru_cache

from structformer.corpus.shards import path_order
from structformer.formats.limits import Limits
from structformer.ingestion.sources import folder_of
from structformer.ingestion.walk import FileFilter, FolderFiles
from structformer.workspace import Source


class SourceFiles:
    """The files below several sources as each other's neighbours, by the paths that their documents have."""

    def __init__(self, sources: tuple[Source, ...], limits: Limits, wanted: FileFilter | None = None) -> None:
        self._files = {source.label: FolderFiles(folder_of(source.path), limits, wanted) for source in sources}
        self._digests: dict[str, str] = {}
        self._deepest = max((label.count("/") for label in self._files), default=0)

    def get(self, path: str) -> bytes | None:
        files, inside = self._at(path)
        return files.get(inside) if files else None

    def find(self, suffix: str) -> list[str]:
        paths = [labelled(label, path) for label, files in self._files.items() for path in files.find(suffix)]
        return paths if len(self._files) == 1 else sorted(set(paths), key=path_order)

    def digest(self, dependency: str) -> str:
        """A digest of what a source took in: of one file, or with "*" in front of the list of files with a suffix."""
        if dependency not in self._digests:
            if dependency.startswith("*"):
                data: bytes | None = "\n".join(self.find(dependency[1:])).encode("utf-8", "surrogateescape")
            else:
                data = self.get(dependency)
            self._digests[dependency] = "" if data is None else hashlib.sha256(data).hexdigest()
        return self._digests[dependency]

    def _at(self, path: str) -> tuple[FolderFiles | None, str]:
        parts = path.split("/", self._deepest + 1)
        for end in range(len(parts) - 1, 0, -1):
            if (label := "/".join(parts[:end])) in self._files:
                return self._files[label], path[len(label) + 1 :]
        return self._files.get(""), path


def labelled(label: str, path: str) -> str:
    """Return the path that a source's file has in the corpus."""
    return f"{label}/{path}" if label else path


@lru_cache(maxsize=1)
def neighbours_in(run: str, sources: tuple[Source, ...], limits: Limits, wanted: FileFilter) -> SourceFiles:
    """Return the files as neighbours, kept in a worker for one run: it outlives that, and files change."""
    return SourceFiles(sources, limits, wanted)
