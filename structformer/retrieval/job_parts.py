"""Encoding in parts: each makes the vectors of its shards' texts; the merge is an index that finds them made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.engines.job_parts import Part, PartsFolder
from structformer.graph import ReferenceGraph
from structformer.retrieval.documents.units import shard_units
from structformer.retrieval.indexing import build_index, encoders_to_index
from structformer.retrieval.vector_making import AUTO, Progress, is_whole
from structformer.retrieval.vectors.encoder_names import STRUCTURE
from structformer.retrieval.vectors.encoder_pairs import choose_encoders
from structformer.retrieval.vectors.encoder_places import encoder_place, load_passage_encoder
from structformer.workspace import Workspace

COMMAND = "index"


def index_part(
    part: Part,
    workspace: str | Path | Workspace = ".structformer",
    *,
    encoders: Sequence[str] | None = None,
    language: str = "auto",
    vector_bits: int = 32,
    nearest: str = AUTO,
    base_model: str = "",
    query_model: str = "",
    progress: Progress | None = None,
) -> int:
    """Encode the texts of one part of the corpus's shards; returns how many had to be encoded. The index stays as it is
    until `merge_index`. Raises as `build_index`, and UsageError if parts of another request are there.
    """
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    choose_encoders(workspace, base_model, query_model)
    chosen = encoders_to_index(workspace) if encoders is None else list(encoders)
    # The static encoder is learned, and its vectors are made, where the index is: it takes less time than its parts.
    places = [encoder_place(workspace, encoder) for encoder in chosen if encoder != STRUCTURE]
    parts = PartsFolder(workspace, COMMAND)
    asked = {"encoders": chosen, "language": language, "vector_bits": vector_bits, "nearest": nearest}
    parts.begin(part, {"corpus": corpus.fingerprint, **asked})
    shards = list(part.of_tasks(range(len(corpus.shards))))
    before = workspace.folder("index") if workspace.has("index") else None
    encoded = 0
    for place in places:
        from structformer.retrieval.vectors.encoding import KnownVectors, VectorJournal, encode_missing, in_context

        model = load_passage_encoder(workspace, place, corpus.document_count).for_bulk()
        known = [
            KnownVectors(before / "dense" / f"{place.vectors}{suffix}.npy", vector_bits)
            for suffix in ("", ".overviews")
            if before is not None and is_whole(before, place)
        ]
        with VectorJournal(parts.folder / f"{place.vectors}-{part.number:06}", model.dimensions) as journal:
            for done, shard in enumerate(shards, 1):
                own = list(shard_units(corpus, graph, shard))
                texts = [document.overview for document, _ in own]
                passages = [(unit.ranker_text, number) for number, (_, units) in enumerate(own) for unit in units]
                texts += in_context(model, *zip(*passages, strict=True)) if passages else []
                encoded += encode_missing(texts, model, known, journal)
                if progress:
                    progress(f"vectors of {place.name}", done, len(shards))
    parts.end(part)
    return encoded


def merge_index(
    workspace: str | Path | Workspace, *, rest: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Index with the vectors that the parts made. rest: encode here what is missing. WorkspaceError names unended
    parts.
    """
    workspace = Workspace(workspace)
    parts = PartsFolder(workspace, COMMAND)
    plan = parts.to_merge(rest=rest)
    manifest = build_index(
        workspace,
        encoders=plan["encoders"],
        language=plan["language"],
        vector_bits=plan["vector_bits"],
        nearest=plan["nearest"],
        made=parts.folder,
        progress=progress,
        say=lambda message: None,  # it was said before the parts began
    )
    parts.drop()
    return manifest
