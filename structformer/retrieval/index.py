"""The index of a workspace: units, the lexical index, and the vectors of one encoder or more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from structformer import __version__
from structformer.corpus import Corpus
from structformer.corpus.storage import fsync_folder, lock, read_json, replacing_folder, write_json
from structformer.errors import CorpusError, ModelError
from structformer.graph import ReferenceGraph
from structformer.models.base import resolve_base_model
from structformer.models.registry import model_folder, read_record, trained_models
from structformer.retrieval.lexical import build_lexical_index
from structformer.retrieval.pipeline import UNTRAINED
from structformer.retrieval.units import Units, corpus_units, write_units

Progress = Callable[[str, int, int], None]


def build_index(
    workspace: str | Path = ".structformer",
    *,
    encoders: list[str] | None = None,
    language: str = "en",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Index the workspace's corpus. encoders: names of bi-encoders ("base": the untrained one) whose vectors are made;
    None takes the trained bi-encoder, else the base where one is at hand.

    Gives the index's manifest. Raises CorpusError when there is no corpus, ModelError on an unknown encoder.
    """
    workspace = Path(workspace)
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    if encoders is None:
        encoders = default_encoders(workspace)
    for encoder in encoders:
        encoder_location(workspace, encoder)  # a wrong name fails before the work begins
    with lock(workspace), replacing_folder(workspace / "index") as folder:
        units = write_units(corpus_units(corpus, graph), folder / "units.arrow")
        count = 0
        last = -1
        for unit in build_lexical_index(units, folder / "lexical", language):
            count += 1
            if progress and unit.document != last:
                last = unit.document
                progress("lexical", unit.document + 1, corpus.document_count)
        manifest = {"corpus": corpus.fingerprint, "tool_version": __version__, "language": language, "units": count}
        write_json(folder / "manifest.json", manifest)
    for encoder in encoders:
        ensure_vectors(workspace, encoder, progress)
    return {**manifest, "encoders": encoders}


def default_encoders(workspace: Path) -> list[str]:
    """The trained bi-encoder when there is one, else the untrained base when one is at hand, else none."""
    if "bi-encoder" in trained_models(workspace):
        return ["bi-encoder"]
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
    if "bi-encoder" in trained_models(workspace):
        record = read_record(workspace, "bi-encoder")
        if record.base_location:
            return record.base_location, f"base-{record.base.replace('/', '--')}"
        raise ModelError("the bi-encoder was trained from scratch: it has no untrained base to compare with")
    base = resolve_base_model("auto", "bi-encoder")
    return base.location, f"base-{base.name.replace('/', '--')}"


def read_index(workspace: Path) -> tuple[Path, dict[str, Any]]:
    """The index's folder and manifest. Raises CorpusError when there is none or it is older than the corpus."""
    folder = workspace / "index"
    if not (folder / "manifest.json").exists():
        raise CorpusError(f"no index in {workspace}: run `structformer index` first")
    try:
        manifest: dict[str, Any] = read_json(folder / "manifest.json")
    except CorpusError as error:
        raise CorpusError(f"{error}: run `structformer index` again") from error
    if manifest.get("corpus") != Corpus.open(workspace).fingerprint:
        raise CorpusError(f"the index in {workspace} is of an earlier corpus: run `structformer index` again")
    return folder, manifest


def ensure_vectors(workspace: Path, encoder: str, progress: Progress | None = None) -> Path:
    """The file of an encoder's vectors for the current index, made when it is missing."""
    location, name = encoder_location(workspace, encoder)
    folder, manifest = read_index(workspace)
    path = folder / "dense" / f"{name}.npy"
    if path.exists():
        return path
    from structformer.models.bi_encoder import BiEncoder
    from structformer.retrieval.dense import encode_units

    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")

    def tell(done: int, total: int) -> None:
        if progress:
            progress(encoder, done, total)

    try:
        encode_units(Units(folder / "units.arrow"), manifest["units"], BiEncoder.load(location), temporary, tell)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    fsync_folder(path.parent)
    return path
