"""Making an encoder's vectors for an index, with the fusion weights that are learned with them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.models.registry import checked_model, trained_models
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.index import Index, description_files, nearest_files, vector_files
from structformer.retrieval.learning.structure import IndexStructure
from structformer.retrieval.rankings.fusion_weights import FusionWeights, starting_weights
from structformer.retrieval.vectors.approximate import APPROXIMATE_FROM, FEWEST, is_installed, write_approximate
from structformer.retrieval.vectors.dense import DenseIndex, overview_path
from structformer.retrieval.vectors.descriptions import (
    Descriptions,
    description_texts_path,
    descriptions_path,
    drawn_descriptions,
    write_descriptions,
)
from structformer.retrieval.vectors.encoder_names import STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import (
    EncoderPlace,
    encoder_kind,
    encoder_place,
    load_passage_encoder,
)
from structformer.retrieval.vectors.encoding import KnownVectors, VectorJournal, encode_texts
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.static_encoder import StaticEncoder
from structformer.storage.files import building_folder, fsync_folder, fsync_tree, read_json, remove, write_json
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.models.bi_encoder import BiEncoder

AUTO, EXACT, APPROXIMATE = NEAREST = ("auto", "exact", "approximate")
Progress = Callable[[str, int, int], None]


def made_vectors(
    index: Index, encoder: str | EncoderPlace, progress: Progress | None = None
) -> tuple[Path, FusionWeights]:
    """`Index.vectors`, which are made first where the index lacks them."""
    workspace = index.workspace
    place = encoder_place(workspace, encoder) if isinstance(encoder, str) else encoder
    names = vector_files(place)
    if not all(index.has(name) for name in names):
        optional = [*nearest_files(place.vectors), *description_files(place.vectors)]
        with index.adding(f"making the vectors of {place.name}", names, optional):
            indexed = Units(index.path("units.arrow")), IndexedDocuments(index.path("documents.arrow"))
            structure = IndexStructure(workspace, *indexed)
            make_vectors(index.folder, None, workspace, place, index.manifest, structure, progress)
            remove(journals(workspace))
    return index.vectors(place)


def journals(workspace: Workspace) -> Path:
    """Where vectors are kept while they are made."""
    return workspace.cache / "vectors"


def _told(progress: Progress | None, stage: str, total: int) -> Callable[[int], None]:
    """Reports what is done of a stage."""
    return lambda done: progress(stage, done, total) if progress else None


def make_vectors(
    folder: Path,
    before: Path | None,
    workspace: Workspace,
    place: EncoderPlace,
    manifest: dict[str, Any],
    structure: IndexStructure,
    progress: Progress | None,
    made: Path | None = None,
) -> None:
    """Encode units and overviews into an index's folder, and learn the hybrid's weights; weights that were learned
    beside the same static encoder stay. before: the folder of the index before; made: a folder of vectors that were
    made elsewhere.
    """
    if (folder / vector_files(place)[0]).exists():
        return  # two encoders of queries may share one of passages
    if place.name != UNTRAINED:
        checked_model(workspace, place.name)
    model = load_passage_encoder(workspace, place).for_bulk()
    units, documents = Units(folder / "units.arrow"), IndexedDocuments(folder / "documents.arrow")
    earlier = (before or folder) / "dense" / f"{place.vectors}.npy"
    needs_torch = encoder_kind(workspace, place.name).needs_torch
    # The static encoder was taught by these very sentences, and is near to each of them.
    corpus = Corpus.open(workspace)
    described = drawn_descriptions(corpus, ReferenceGraph.open(workspace, corpus), units) if needs_torch else []
    total = len(units) + len(documents) + len(described)
    told = _told(progress, f"vectors of {place.name}", total)
    told(0)
    bits = manifest.get("vector_bits", 32)
    elsewhere = sorted(made.glob(f"{place.vectors}-*.journal")) if made is not None else []
    journal = VectorJournal(journals(workspace) / place.vectors, model.dimensions, elsewhere)
    with journal, building_folder(folder) as building:
        path = building.folder / f"{place.vectors}.npy"
        for of, texts, count, start in (
            (overview_path, (each.overview for each in documents), len(documents), 0),
            (descriptions_path, (each.text for each in described), len(described), len(documents)),
            (Path, (unit.ranker_text for unit in units), len(units), len(documents) + len(described)),
        ):
            if of is descriptions_path and not needs_torch:
                continue
            encode_texts(
                texts,
                count,
                model,
                of(path),
                KnownVectors(of(earlier), bits),
                journal,
                bits=bits,
                progress=lambda done, _, start=start: told(start + done),  # type: ignore[misc]
            )
        if needs_torch:
            write_descriptions(description_texts_path(path), described)
        beside = _structure_of(folder, workspace) if needs_torch else ""  # another static encoder stands alone
        # Whether torch made the vectors is kept with them: the model may be another one by the time that it matters.
        facts = {"needs_torch": needs_torch, "structure": beside}
        facts |= {"language": manifest["language"], "languages": manifest["languages"], "tool_version": __version__}
        starting = starting_weights(structure=bool(beside), described=needs_torch)
        if place.untrained:
            stayed = read_json(_fusion_path(earlier)) if beside and _fusion_path(earlier).exists() else {}
            if any(stayed.get(name) != value for name, value in facts.items()):
                halves = structure.halves() if beside else None
                if beside and halves is None:
                    stayed = {"weights": asdict(starting), "floor": 0.0}
                else:
                    stayed = _learned(folder, manifest, (units, documents), path, model, halves)
            weights = FusionWeights.of(stayed["weights"])
            facts["floor"] = stayed["floor"]
            counted = stayed.get("openings")
        else:
            weights, counted = starting, None
        facts["weights"] = asdict(weights)
        # Told, and nothing hangs on them.
        facts |= {"base": place.base, "revision": place.revision} | ({"openings": counted} if counted else {})
        write_json(building.folder / f"{place.vectors}.fusion.json", facts)
        if is_approximate(manifest, len(units)):
            write_approximate(
                path,
                np.load(path, mmap_mode="r"),
                np.load(overview_path(path), mmap_mode="r"),
                units.numbers("document"),
                weights.overview,
                (lambda done, _: progress("nearest vectors", done, len(units))) if progress else None,
            )
        fsync_tree(building.folder)
        (folder / "dense").mkdir(exist_ok=True)
        # The vectors' own file last: `has_vectors` looks for it.
        for made in sorted(building.folder.iterdir(), key=lambda each: each == path):
            os.replace(made, folder / "dense" / made.name)
    fsync_folder(folder / "dense")


def is_approximate(manifest: dict[str, Any], units: int) -> bool:
    """Whether an index of so many units gets an approximate index of its vectors."""
    chosen = manifest.get("nearest", AUTO)
    return units >= (FEWEST if chosen == APPROXIMATE else APPROXIMATE_FROM) and chosen != EXACT and is_installed()


def _structure_of(folder: Path, workspace: Workspace) -> str:
    """The fingerprint of the static encoder if an index's folder has its vectors, else ""."""
    if STRUCTURE not in trained_models(workspace):
        return ""
    place = encoder_place(workspace, STRUCTURE)
    return place.vectors if (folder / vector_files(place)[0]).exists() else ""


def _fusion_path(vectors: Path) -> Path:
    return vectors.with_name(f"{vectors.stem}.fusion.json")


def _learned(
    folder: Path,
    manifest: dict[str, Any],
    indexed: tuple[Units, IndexedDocuments],
    vectors: Path,
    encoder: BiEncoder,
    halves: tuple[StaticEncoder, StaticEncoder] | None,
) -> dict[str, Any]:
    """The hybrid's weights and the floor of confidence, learned with the untrained encoder and its vectors, and the
    numbers of openings that taught them.
    """
    from structformer.retrieval.learning.pseudo_query_scores import UntrainedSearch
    from structformer.retrieval.learning.static_scores import CrossFitted
    from structformer.retrieval.learning.weights_from_openings import learned_from_openings

    lexical = LexicalIndex(folder / "lexical", manifest["languages"])
    index = DenseIndex(vectors, indexed[0].numbers("document"), descriptions=Descriptions(vectors))
    search = UntrainedSearch(*indexed, lexical, index, encoder, CrossFitted(halves) if halves else None)
    learned = learned_from_openings(search)
    counts = {"asked": learned.asked, "having": learned.having, "documents": learned.documents}
    return {"weights": asdict(learned.weights), "floor": learned.floor, "openings": counts}
