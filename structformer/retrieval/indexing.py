"""Making an index: units, documents, words, encoders' vectors; in parts too, whose merge finds the vectors made."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.corpus.corpus import corpus_languages
from structformer.did_you_mean import checked_options
from structformer.engines.job_parts import Part, PartsFolder
from structformer.extras import TORCH, are_installed, needs, require
from structformer.graph import ReferenceGraph
from structformer.models.base import chosen_base, packaged_minilm
from structformer.models.known_encoders import MULTILINGUAL, advise, language_advice
from structformer.models.registry import ModelRecord, trained_models
from structformer.notebook import notebook_progress
from structformer.retrieval.documents.copies import COPIES, CopyFinder
from structformer.retrieval.documents.metadata import MetadataWriter
from structformer.retrieval.documents.release_logs import RELEASE_LOGS, is_release_log
from structformer.retrieval.documents.translations import TRANSLATIONS, CorpusLanguages, TranslationFinder
from structformer.retrieval.documents.units import DOCUMENTS, UNITS, IndexedDocuments, TableWriter, Units, shard_units
from structformer.retrieval.index import FORMAT_VERSION, Index, vector_files
from structformer.retrieval.learning.structure import StructureLessons, StructureOptions, make_structure, save_structure
from structformer.retrieval.vector_making import APPROXIMATE, AUTO, Progress, is_whole, journals, make_vectors
from structformer.retrieval.vectors.dense import faiss_module
from structformer.retrieval.vectors.encoder_checks import choose_encoders
from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE
from structformer.retrieval.vectors.encoder_places import (
    default_encoders,
    encoder_place,
    load_passage_encoder,
    runs_here,
)
from structformer.retrieval.words.lexical import LexicalWriter
from structformer.sampling.neighbourhood import WordWeights
from structformer.storage.files import read_json, remove, write_json
from structformer.text.languages import declared_code
from structformer.workspace import Workspace

_LARGE, _FEWEST_DOCUMENTS = 0.2, 10
COMMAND = "index"


@checked_options(encoder="encoders", model="base_model", lang="language")
def build_index(
    workspace: str | Path | Workspace = ".structformer",
    *,
    encoders: list[str] | None = None,
    language: str = "auto",
    vector_bits: int = 32,
    nearest: str = AUTO,
    base_model: str = "",
    query_model: str = "",
    made: Path | None = None,
    progress: Progress | None = None,
    say: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Index the workspace's corpus. Texts that the index before held already keep their vectors, and an interrupted run
    resumes.

    encoders: whose vectors are made: "structure", the static one, which is learned first where there is none, or more
    than a fifth of the texts are new since; "base", the untrained bi-encoder; or a trained one by its name. None:

    - "structure", and the trained bi-encoder if held-out questions show no loss, else "base" if it is at hand, as far
      as they run here: by torch, or, those of BERT's form, by onnxruntime;
    - but MissingPackage if they don't, and the index of today has vectors of such.

    language: whose stemmer is used; "auto": that of the language that most documents declare, else English's.
    vector_bits: 32, or 16 for half the room. base_model, query_model: what "base" means from now on (base.py).
    nearest: "exact": a search compares all vectors; "approximate": those that an index of vectors names
    (dense.py); "auto": approximate from half a million passages on where faiss is installed.
    made: a folder of vectors that were made elsewhere. say: called with advice before time is spent, for example that
    an encoder reads English alone and the documents are in French; None: a warning.

    Returns the index's manifest with the names of its encoders, and how well the pretrained ones read it. Raises
    WorkspaceError before the first ingest, ModelError on an unknown encoder, UsageError on "approximate" without faiss.
    """
    workspace, progress = Workspace(workspace), notebook_progress(progress)
    corpus = Corpus.open(workspace)
    choose_encoders(workspace, base_model, query_model)
    if encoders is None:
        encoders = encoders_to_index(workspace)
    encoders = sorted(dict.fromkeys(encoders), key=lambda name: name != STRUCTURE)  # the static one is made first
    for encoder in encoders:
        if encoder != STRUCTURE:
            encoder_place(workspace, encoder)  # a wrong name fails before the work begins
    in_python = f"structformer.index({str(workspace)!r}, base_model={MULTILINGUAL!r})"
    advise(encoders_advice(workspace, corpus, encoders, in_python, language), say)
    if nearest == APPROXIMATE:
        faiss_module()
    languages = CorpusLanguages(
        corpus_languages(corpus) if language == "auto" else (declared_code(language) or language,)
    )
    with workspace.publishing("structformer index") as publication:
        corpus = Corpus.open(workspace)
        graph = ReferenceGraph.open(workspace, corpus)
        folder = publication.folder("index")
        lexical = LexicalWriter(folder / "lexical", languages.codes)
        metadata, copies = MetadataWriter(folder), CopyFinder()
        logs: list[bool] = []
        translations = TranslationFinder(languages.codes)
        tables = folder / "units.arrow", folder / "documents.arrow"
        indexed_texts = (each for shard in range(len(corpus.shards)) for each in shard_units(corpus, graph, shard))
        with TableWriter(tables[0], UNITS) as units, TableWriter(tables[1], DOCUMENTS) as documents:
            for number, (document, its_units) in enumerate(indexed_texts, 1):
                translations.add(document, len(its_units))  # before a guess is added to its metadata
                its_language = languages.codes[0]
                if len(languages.codes) > 1:
                    its_language = languages.of(document, its_units)
                    document = languages.declared(document, its_language)
                documents.add(document)
                metadata.add(document)
                for unit in its_units:
                    units.add(unit)
                lexical.add(document, its_units, its_language)
                copies.add(document.id, document.title, (unit.text for unit in its_units))
                logs.append(is_release_log(its_units))
                if progress:
                    progress("words", number, corpus.document_count)
        lexical.close()
        indexed = Units(tables[0]), IndexedDocuments(tables[1])
        first = copies.first_of_each(indexed[0])
        np.save(folder / COPIES, first)
        np.save(folder / RELEASE_LOGS, np.array(logs, bool))
        np.save(folder / TRANSLATIONS, translations.found(indexed[0], first))
        manifest = {
            "format_version": FORMAT_VERSION,
            "corpus": corpus.fingerprint,
            "tool_version": __version__,
            "language": languages.codes[0],
            "languages": list(languages.codes),
            "units": len(indexed[0]),
            "documents": corpus.document_count,
            "vector_bits": vector_bits,
            "nearest": nearest,
            "facets": metadata.close(),
            "translations": translations.languages,
            "largest": _largest(*indexed),
        }
        (folder / "dense").mkdir()
        before = workspace.folder("index") if workspace.has("index") else None
        alone = encoders == [STRUCTURE]
        if STRUCTURE in encoders and not make_structure(workspace, *indexed, progress, alone=alone):
            encoders.remove(STRUCTURE)
        reads: dict[str, float] = {}
        for encoder in encoders:
            place = encoder_place(workspace, encoder)
            make_vectors(folder, before, workspace, place, manifest, progress, made)
            if (share := read_json(folder / vector_files(place)[-1]).get("reads")) is not None:
                reads[encoder] = float(share)
        manifest["models"] = sorted({*encoders} & {*trained_models(workspace)})
        write_json(folder / "manifest.json", manifest)
        remove(journals(workspace))
    return {**manifest, "encoders": encoders, "reads": reads}


def train_structure(
    workspace: Workspace,
    name: str,
    options: StructureOptions,
    *,
    force: bool = False,
    weights: WordWeights | None = None,
    progress: Progress | None = None,
) -> ModelRecord:
    """Learn a static encoder of the indexed texts, saved by that name. An earlier one goes to models/earlier, or is
    deleted with `force`. Raises WorkspaceError without an index, ModelError without texts.
    """
    index = Index(workspace)
    units, documents = Units(index.path("units.arrow")), IndexedDocuments(index.path("documents.arrow"))
    learned = StructureLessons(workspace, units, documents, options, weights=weights).learned(progress=progress)
    return save_structure(workspace, learned, options, Corpus.open(workspace), name, keep=not force)


def _largest(units: Units, documents: IndexedDocuments) -> dict[str, Any] | None:
    """Return the document with a fifth of all passages or more, and its share; None in small corpora."""
    counts = np.bincount(units.numbers("document"), minlength=1)
    share = float(counts.max() / max(1, len(units)))
    if share < _LARGE or len(documents) < _FEWEST_DOCUMENTS:
        return None
    return {"document": documents[int(counts.argmax())].id, "share": round(share, 3)}


def encoders_advice(
    workspace: Workspace, corpus: Corpus, encoders: Sequence[str], command: str, language: str = "auto"
) -> str:
    """Advice on an untrained encoder that does not read the documents, or "". Raises ModelError on an unknown one."""
    places = [encoder_place(workspace, each) for each in encoders if each != STRUCTURE]
    advice = (language_advice(corpus, each.base, command, language=language) for each in places if each.untrained)
    return next(filter(None, advice), "")


def encoders_to_index(workspace: Workspace) -> list[str]:
    """The static encoder and `default_encoders` that run. Raises MissingPackage if the index would lose vectors."""
    if would_lose_vectors(workspace):
        require(
            "an index with a pretrained encoder's vectors, as this workspace has (--encoder structure: one without),",
            *TORCH,
        )
    return [STRUCTURE, *pretrained_here(workspace)]


def pretrained_here(workspace: Workspace) -> list[str]:
    """Return those of `default_encoders` that run with what is installed. Without torch nothing is fetched unasked."""
    if not are_installed(*TORCH):
        named = chosen_base(workspace) or packaged_minilm() or ENCODER in trained_models(workspace)
        if not (named and are_installed("onnxruntime")):
            return []
    return [name for name in default_encoders(workspace) if runs_here(workspace, name)]


def unrepeatable(workspace: Workspace) -> str:
    """Why changed documents cannot be read into this workspace, whose new index would lack vectors; "" if they can."""
    if not would_lose_vectors(workspace):
        return ""
    return needs("reading what has changed, since the index has a pretrained encoder's vectors,", TORCH)


def would_lose_vectors(workspace: Workspace) -> bool:
    """Whether the index of today has a pretrained encoder's vectors, and none that would be indexed runs here."""
    if are_installed(*TORCH) or not workspace.has("index"):
        return False
    made = map(read_json, (workspace.folder("index") / "dense").glob("*.made.json"))
    has_some = any(each.get("pretrained", each.get("needs_torch", True)) for each in made)
    return has_some and not pretrained_here(workspace)


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
    asked = {name: plan[name] for name in ("encoders", "language", "vector_bits", "nearest")}
    # What there is to say was said before the parts began.
    manifest = build_index(workspace, **asked, made=parts.folder, progress=progress, say=lambda message: None)
    parts.drop()
    return manifest
