"""The index of a workspace: units and documents, the lexical index, the vectors of one encoder or more, fusion weights."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structformer import __version__
from structformer.corpus import Corpus
from structformer.corpus.shards import file_digest
from structformer.corpus.storage import fsync_folder, lock, read_json, replacing_folder, write_json
from structformer.errors import CorpusError, ModelError
from structformer.graph import ReferenceGraph
from structformer.models.base import resolve_base_model
from structformer.models.registry import model_folder, read_record, trained_models
from structformer.retrieval.fusion import DEFAULT_WEIGHTS, FusionWeights
from structformer.retrieval.lexical import LexicalIndex, LexicalWriter
from structformer.retrieval.pipeline import ENCODER, UNTRAINED
from structformer.retrieval.units import IndexedDocuments, Units, corpus_units, document_writer, unit_writer

if TYPE_CHECKING:
    from structformer.models.bi_encoder import BiEncoder

FORMAT_VERSION = 2
Progress = Callable[[str, int, int], None]


def build_index(
    workspace: str | Path = ".structformer",
    *,
    encoders: list[str] | None = None,
    language: str = "auto",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Index the workspace's corpus. encoders: names of bi-encoders ("base": the untrained one) whose vectors are made;
    None takes the trained bi-encoder, else the base where one is at hand. language: whose stemmer is used; "auto" takes the one that most
    documents declare, else English.

    Texts that the index before held already keep their vectors. Gives the index's manifest. Raises CorpusError when there is no
    corpus, ModelError on an unknown encoder.
    """
    workspace = Path(workspace)
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    if encoders is None:
        encoders = default_encoders(workspace)
    for encoder in encoders:
        encoder_location(workspace, encoder)  # a wrong name fails before the work begins
    if language == "auto":
        language = corpus_language(corpus)
    with lock(workspace), replacing_folder(workspace / "index") as folder:
        lexical = LexicalWriter(folder / "lexical", language)
        count = 0
        with unit_writer(folder) as units, document_writer(folder) as documents:
            for number, (document, its_units) in enumerate(corpus_units(corpus, graph), 1):
                documents.add(document)
                for unit in its_units:
                    units.add(unit)
                lexical.add(document, its_units)
                count += len(its_units)
                if progress:
                    progress("lexical", number, corpus.document_count)
        lexical.close()
        files = {
            str(path.relative_to(folder)): [path.stat().st_size, file_digest(path)]
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith(".lock")
        }
        manifest = {
            "format_version": FORMAT_VERSION, "corpus": corpus.fingerprint, "tool_version": __version__, "language": language,
            "units": count, "documents": corpus.document_count, "files": files,
        }  # fmt: skip
        write_json(folder / "manifest.json", manifest)
        for encoder in encoders:
            _make_vectors(folder, workspace, encoder, manifest, progress)
    return {**manifest, "encoders": encoders}


def corpus_language(corpus: Corpus) -> str:
    """The language that most documents declare, as a two-letter code; English when none does."""
    declared = Counter((document.language or "").partition("-")[0].lower() for document in corpus.documents())
    del declared[""]
    return min(declared, key=lambda code: (-declared[code], code)) if declared else "en"


def default_encoders(workspace: Path) -> list[str]:
    """The trained bi-encoder when there is one, else the untrained base when one is at hand, else none."""
    if ENCODER in trained_models(workspace):
        return [ENCODER]
    try:
        encoder_location(workspace, UNTRAINED)
    except ModelError:
        return []
    return [UNTRAINED]


def encoder_location(workspace: Path, encoder: str) -> tuple[str, str]:
    """(folder or hub name, name of its vectors' file). "base" is the base of the trained bi-encoder, or the default's."""
    if encoder != UNTRAINED:
        record = read_record(workspace, encoder)
        return str(model_folder(workspace, encoder)), record.fingerprint
    if ENCODER in trained_models(workspace):
        record = read_record(workspace, ENCODER)
        if record.base_location:
            return record.base_location, f"base-{record.base.replace('/', '--')}"
        raise ModelError("the bi-encoder was trained from scratch: it has no untrained base to compare with")
    base = resolve_base_model("auto", "bi-encoder")
    return base.location, f"base-{base.name.replace('/', '--')}"


def read_index(workspace: Path) -> tuple[Path, dict[str, Any]]:
    """The index's folder and manifest. Raises CorpusError when there is none, it is older than the corpus, or a file of it is not as it was
    written."""
    folder = workspace / "index"
    if not (folder / "manifest.json").exists():
        raise CorpusError(f"no index in {workspace}: run `structformer index` first")
    try:
        manifest: dict[str, Any] = read_json(folder / "manifest.json")
    except CorpusError as error:
        raise CorpusError(f"{error}: run `structformer index` again") from error
    if manifest.get("format_version") != FORMAT_VERSION:
        raise CorpusError(f"the index in {workspace} is of another version: run `structformer index` again")
    if is_stale(workspace, manifest):
        raise CorpusError(f"the index in {workspace} is of an earlier corpus: run `structformer index` again")
    for name, (size, _) in manifest["files"].items():
        path = folder / name
        found = path.stat().st_size if path.exists() else -1
        if found != size:
            what = "missing" if found < 0 else f"{found} bytes long where {size} were written"
            raise CorpusError(f"{path} is {what}: run `structformer index` again")
    return folder, manifest


def is_stale(workspace: Path, manifest: dict[str, Any] | None = None) -> bool:
    """Whether there is an index, of an earlier corpus than the workspace's."""
    path = workspace / "index" / "manifest.json"
    if manifest is None:
        if not path.exists():
            return False
        manifest = read_json(path)
    return manifest.get("corpus") != Corpus.open(workspace).fingerprint


def vectors_path(workspace: Path, encoder: str) -> Path:
    """Where an encoder's vectors stand in the index."""
    return workspace / "index" / "dense" / f"{encoder_location(workspace, encoder)[1]}.npy"


def ensure_vectors(workspace: Path, encoder: str, progress: Progress | None = None) -> Path:
    """The file of an encoder's vectors for the current index, made when it is missing."""
    path = vectors_path(workspace, encoder)
    folder, manifest = read_index(workspace)
    if not path.exists() or not _weights_path(path).exists():
        _make_vectors(folder, workspace, encoder, manifest, progress)
    return path


def fusion_weights(path: Path) -> FusionWeights:
    """The hybrid's weights learned for the encoder of these vectors."""
    weights_path = _weights_path(path)
    try:
        return FusionWeights.of(read_json(weights_path)["weights"])
    except (KeyError, TypeError, ValueError) as error:
        raise CorpusError(f"{weights_path} cannot be read ({error}): run `structformer index` again") from error


def _weights_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.fusion.json")


def _make_vectors(folder: Path, workspace: Path, encoder: str, manifest: dict[str, Any], progress: Progress | None) -> None:
    """Encode units and overviews into an index's folder, and learn the hybrid's weights."""
    from structformer.models.bi_encoder import BiEncoder
    from structformer.retrieval.dense import KnownVectors, encode_texts, overview_path

    location, name = encoder_location(workspace, encoder)
    final = folder / "dense" / f"{name}.npy"
    before = workspace / "index" / "dense" / f"{name}.npy"
    final.parent.mkdir(exist_ok=True)
    model = BiEncoder.load(location).for_bulk()
    units, documents = Units(folder / "units.arrow"), IndexedDocuments(folder / "documents.arrow")
    temporary = final.with_name(f".tmp-{os.getpid()}-{final.name}")
    total = len(units) + len(documents)
    try:
        for target, earlier, texts, count, start in (
            (overview_path(temporary), overview_path(before), (each.overview for each in documents), len(documents), 0),
            (temporary, before, (unit.ranker_text for unit in units), len(units), len(documents)),
        ):
            encode_texts(
                texts, count, model, target, KnownVectors(earlier),
                lambda done, _, start=start: progress(encoder, start + done, total) if progress else None,  # type: ignore[misc]
            )  # fmt: skip
        weights = _weights(folder, workspace, manifest, units, documents, model if encoder == UNTRAINED else None)
        digests = {
            path.name.replace(temporary.stem, final.stem, 1): file_digest(path) for path in sorted(final.parent.glob(f"{temporary.stem}.*"))
        }
        write_json(_weights_path(final), {"weights": asdict(weights), "files": digests})
        for made in sorted(final.parent.glob(f"{temporary.stem}.*")):
            os.replace(made, made.with_name(made.name.replace(temporary.stem, final.stem, 1)))
    finally:
        for left in final.parent.glob(f"{temporary.stem}.*"):
            left.unlink(missing_ok=True)
    fsync_folder(final.parent)


def _weights(
    folder: Path, workspace: Path, manifest: dict[str, Any], units: Units, documents: IndexedDocuments, untrained: BiEncoder | None
) -> FusionWeights:
    """The hybrid's weights, learned with the untrained encoder (loaded when None) once for the index; the defaults where there is none."""
    from structformer.models.bi_encoder import BiEncoder
    from structformer.retrieval.learning import learned_weights

    path = folder / "fusion.json"
    if path.exists():
        return FusionWeights.of(read_json(path))
    if untrained is None:
        try:
            location, _ = encoder_location(workspace, UNTRAINED)
        except ModelError:
            return DEFAULT_WEIGHTS
        untrained = BiEncoder.load(location).for_bulk()
    lexical = LexicalIndex(folder / "lexical", manifest["language"])
    weights = learned_weights(Corpus.open(workspace), units, documents, lexical, untrained, units.numbers("document"))
    write_json(path, asdict(weights))
    return weights


def check_index(workspace: Path) -> list[str]:
    """Problems found by comparing the index's files with their recorded digests; empty when all is well or there is no index."""
    if not (workspace / "index" / "manifest.json").exists():
        return []
    try:
        folder, manifest = read_index(workspace)
        digests = {folder / name: digest for name, (_, digest) in manifest["files"].items()}
        for record in sorted((folder / "dense").glob("*.fusion.json")):
            digests.update({record.parent / name: digest for name, digest in read_json(record)["files"].items()})
    except CorpusError as error:
        return [str(error)]
    return [
        f"{path}: missing" if not path.exists() else f"{path}: content differs from its recorded sha256"
        for path, digest in digests.items()
        if not path.exists() or file_digest(path) != digest
    ]
