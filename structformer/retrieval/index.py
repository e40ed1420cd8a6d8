"""The index of a workspace, as it is read: words and metadata, vectors of encoders. `indexing` makes it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.errors import ModelError, WorkspaceError
from structformer.retrieval.documents.copies import COPIES
from structformer.retrieval.documents.release_logs import RELEASE_LOGS
from structformer.retrieval.documents.translations import TRANSLATIONS
from structformer.retrieval.vectors.dense import ApproximateIndex, approximate_files, has_faiss
from structformer.retrieval.vectors.descriptions import Descriptions
from structformer.retrieval.vectors.encoder_places import EncoderPlace, encoder_place
from structformer.retrieval.vectors.second_look import SecondLook, look_files
from structformer.storage.files import read_json, writing_errors
from structformer.storage.seal import seal, seal_of
from structformer.workspace import Workspace

FORMAT_VERSION = 14
_TRIES = 20  # to open an index with its corpus, while others write
_WAIT_SECONDS = 600.0  # for another command that writes the workspace, before something is added to the index


class Index:
    """The current index of a workspace, held open: its files stay as they are, whatever is published meanwhile."""

    def __init__(self, workspace: Workspace) -> None:
        """Raises WorkspaceError if index or corpus are missing or of another version, or a file has changed."""
        self.workspace = workspace
        for _ in range(_TRIES):  # a newer one may be published between the two
            self._sealed, self._hold = workspace.sealed("index")
            self.folder = self._sealed.folder
            self.manifest: dict[str, Any] = self._sealed.json("manifest.json")
            with suppress(WorkspaceError):
                self._graph = workspace.hold("graph", workspace.indexed("graph"))
            self.corpus = Corpus.indexed(workspace)
            if self.manifest["corpus"] == self.corpus.fingerprint:
                break
        if self.manifest.get("format_version") != FORMAT_VERSION:
            raise WorkspaceError(f"the index in {workspace} is of another version: run `structformer index` again")
        if self.manifest["corpus"] != self.corpus.fingerprint:
            raise WorkspaceError(f"the index in {workspace} is of an earlier corpus: run `structformer index` again")
        self._sealed.paths(
            name
            for name in self._sealed.names()
            if name.startswith(("units.", "documents.", "facets.", "lexical/", COPIES, RELEASE_LOGS, TRANSLATIONS))
        )

    @property
    def is_stale(self) -> bool:
        """Whether a newer corpus waits for an index of its own."""
        return bool(self.manifest["corpus"] != Corpus.open(self.workspace).fingerprint)

    def path(self, name: str) -> Path:
        """Return the path of a file of the index, compared with what was written. Raises WorkspaceError."""
        return self._sealed.path(name)

    def has(self, name: str) -> bool:
        """Whether the index has such a file; True for one that it has lost, which `path` says."""
        return self._sealed.has(name)

    @contextmanager
    def adding(self, what: str, names: Sequence[str], optional: Sequence[str] = ()) -> Iterator[None]:
        """Add files, each written by the block in one step. optional: those it may write. Waits for other writers."""
        with self.workspace.writing(what, wait=_WAIT_SECONDS):
            if not all(self.has(name) for name in names):
                with writing_errors(self.folder):
                    yield
                made = [*names, *(name for name in optional if self.has(name))]
                seal(self.folder, made, to=seal_of(names[0].replace("/", "-")))

    def has_vectors(self, encoder: str | EncoderPlace) -> bool:
        """Whether the index has an encoder's vectors; False too if the encoder or its base is out of reach."""
        try:
            return self.has(vector_files(self._place(encoder))[0])
        except ModelError:
            return False

    def vectors(self, encoder: str | EncoderPlace) -> Path:
        """The file of an encoder's vectors. Raises WorkspaceError if the index lacks them, ModelError if unknown."""
        path, *_ = [self.path(name) for name in vector_files(self._place(encoder))]  # all are checked
        return path

    def made(self, vectors: Path) -> dict[str, Any]:
        """Read what was found out when a file of vectors was made, such as `reads`, how well its encoder reads the
        corpus (encoder_checks.py), and `own_outlines` of the documents (second_look.py), between 0 and 1.
        """
        made: dict[str, Any] = read_json(self.path(f"dense/{vectors.stem}.made.json"))
        return made

    def _place(self, encoder: str | EncoderPlace) -> EncoderPlace:
        return encoder_place(self.workspace, encoder) if isinstance(encoder, str) else encoder

    def nearest(self, vectors: Path) -> ApproximateIndex | None:
        """Return the approximate index of a file of vectors; None where there is none, or it cannot be read here."""
        files = nearest_files(vectors.stem, vectors.parent.name)
        return ApproximateIndex(vectors) if has_faiss() and self._has_whole(files) else None

    def descriptions(self, vectors: Path) -> Descriptions | None:
        """Return the descriptions beside a file of vectors; None where none are kept."""
        return Descriptions(vectors) if self._has_whole(description_files(vectors.stem)) else None

    def look(self, vectors: Path) -> SecondLook | None:
        """Return the token vectors beside a file of vectors; None where none are kept."""
        weight = float(self.made(vectors).get("look", 0.0))
        return SecondLook(vectors, weight) if weight and all(map(self.path, look_files(vectors.stem))) else None

    def _has_whole(self, names: Sequence[str]) -> bool:
        """Whether the index has files; they are compared with what was written."""
        return all(map(self.has, names)) and all(map(self.path, names))

    def bases(self) -> dict[str, str]:
        """Name the encoder of each file of vectors, or its training's base, as "org/name" or "org/name@COMMIT"."""
        bases = {}
        for path in sorted((self.folder / "dense").glob("*.made.json")):
            made = read_json(path)
            if made.get("base") and made.get("pretrained", made.get("needs_torch", True)):
                bases[path.name.removesuffix(".made.json")] = "@".join(filter(None, [made["base"], made["revision"]]))
        return bases


def has_vectors(workspace: Workspace, encoders: Iterable[str | EncoderPlace]) -> bool:
    """Whether the workspace has an index of its corpus, with the vectors of all these encoders."""
    try:
        index = Index(workspace)
    except WorkspaceError:
        return False
    return not index.is_stale and all(index.has_vectors(each) for each in encoders)


def is_stale(workspace: str | Path | Workspace) -> bool:
    """Whether there is an index, of an earlier corpus than the workspace's."""
    workspace = Workspace(workspace)
    if not workspace.has("index"):
        return False
    sealed, _ = workspace.sealed("index")
    return bool(sealed.json("manifest.json")["corpus"] != Corpus.open(workspace).fingerprint)


def vector_files(place: EncoderPlace) -> list[str]:
    """The files of an encoder's vectors: units' and overviews', the digests of their texts, and what made them."""
    suffixes = (".npy", ".digests.npy", ".overviews.npy", ".overviews.digests.npy", ".made.json")
    return [f"dense/{place.vectors}{suffix}" for suffix in suffixes]


def nearest_files(name: str, folder: str = "dense") -> list[str]:
    """Return the files of an approximate index of a model's vectors."""
    return [f"{folder}/{file.name}" for file in approximate_files(Path(f"{name}.npy"))]


def description_files(name: str) -> list[str]:
    """Return the files of the descriptions of documents, with an encoder's vectors of them."""
    return [f"dense/{name}.descriptions{suffix}" for suffix in (".npy", ".digests.npy", ".arrow")]
