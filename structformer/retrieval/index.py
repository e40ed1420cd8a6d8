"""The index of a workspace: units and documents, the lexical index, the vectors of one encoder or more, fusion
weights.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.corpus.languages import corpus_languages
from structformer.did_you_mean import checked_options
from structformer.errors import ModelError, WorkspaceError
from structformer.extras import TORCH, are_installed, needs, require
from structformer.graph import ReferenceGraph
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.chosen_base import chosen_base, chosen_query_model
from structformer.models.encoder_languages import advise, language_advice
from structformer.models.kinds import RankerKind, ranker_kind
from structformer.models.known_encoders import MULTILINGUAL
from structformer.models.registry import PASSAGE_ENCODER, checked_model, model_folder, read_record, trained_models
from structformer.models.sentence_modules import modules_mark
from structformer.notebook import notebook_progress
from structformer.retrieval.approximate import (
    APPROXIMATE_FROM,
    FEWEST,
    ApproximateIndex,
    approximate_files,
    faiss_module,
    is_installed,
    write_approximate,
)
from structformer.retrieval.copies import COPIES, CopyFinder
from structformer.retrieval.corpus_languages import CorpusLanguages
from structformer.retrieval.descriptions import (
    Descriptions,
    description_texts_path,
    descriptions_path,
    drawn_descriptions,
    write_descriptions,
)
from structformer.retrieval.encoder_names import ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.encoder_pairs import choose_encoders
from structformer.retrieval.fusion import FusionWeights, starting_weights
from structformer.retrieval.lexical import LexicalIndex, LexicalWriter
from structformer.retrieval.metadata import MetadataWriter
from structformer.retrieval.structure import IndexStructure
from structformer.retrieval.translations import TRANSLATIONS, TranslationFinder
from structformer.retrieval.units import IndexedDocuments, Units, corpus_units, document_writer, unit_writer
from structformer.static_encoder import StaticEncoder
from structformer.storage.files import (
    building_folder,
    fsync_folder,
    fsync_tree,
    read_json,
    remove,
    write_json,
    writing_errors,
)
from structformer.storage.seal import seal, seal_of
from structformer.text.languages import declared_code
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.models.bi_encoder import BiEncoder

FORMAT_VERSION = 11
AUTO, EXACT, APPROXIMATE = NEAREST = ("auto", "exact", "approximate")
_WAIT_SECONDS = 600.0  # for another command that writes the workspace, before something is added to the index
Progress = Callable[[str, int, int], None]


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
    """Index the workspace's corpus. encoders: names of encoders whose vectors are made ("base": the untrained
    bi-encoder; "structure": the static one, which is learned from the corpus first where there is none, or where more
    than a fifth of the texts are new since it was); None takes the static one, and the trained bi-encoder where
    held-out questions show no loss, else the base where one is at hand, but without torch none, unless that would lose
    vectors that are there (MissingPackage). language: whose
    stemmer is used; "auto" takes the one that most documents declare, else English.

    vector_bits: 32, or 16 for half of the room. Texts that the index before held already keep their vectors, and an
    interrupted run resumes. nearest: "exact", where a search looks at all vectors, "approximate", at those that
    an index of them names (approximate.py), or "auto", approximate from half a million passages on where faiss is
    installed. base_model, query_model: what "base" is from now on, see chosen_base.py. made: a
    folder of vectors that were made elsewhere. say: called with what is to be known before the time is spent, as that
    an encoder reads English alone and the documents are in French; None: a warning. Returns the index's manifest
    with the names of its encoders and what its weights were learned from. Raises WorkspaceError before the first
    ingest, ModelError on an unknown encoder, UsageError on "approximate" without faiss."""
    workspace, progress = Workspace(workspace), notebook_progress(progress)
    corpus = Corpus.open(workspace)
    choose_encoders(workspace, base_model, query_model)
    if encoders is None:
        encoders = encoders_to_index(workspace)
    # First the static one, which takes part in the others' weights.
    encoders = sorted(dict.fromkeys(encoders), key=lambda name: name != STRUCTURE)
    for encoder in encoders:
        if encoder != STRUCTURE:
            encoder_place(workspace, encoder)  # a wrong name fails before the work begins
    in_python = f"structformer.index({str(workspace)!r}, base_model={MULTILINGUAL!r})"
    advise(encoders_advice(workspace, corpus, encoders, in_python, language), say)
    if nearest == APPROXIMATE:
        faiss_module()
    languages = CorpusLanguages(_languages(corpus, language))
    with workspace.publishing("structformer index") as publication:
        corpus = Corpus.open(workspace)
        graph = ReferenceGraph.open(workspace, corpus)
        folder = publication.folder("index")
        lexical = LexicalWriter(folder / "lexical", languages.codes)
        metadata, copies = MetadataWriter(folder), CopyFinder()
        translations = TranslationFinder(languages.codes)
        count = 0
        with unit_writer(folder) as units, document_writer(folder) as documents:
            for number, (document, its_units) in enumerate(corpus_units(corpus, graph), 1):
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
                copies.add(document.title, (unit.text for unit in its_units))
                count += len(its_units)
                if progress:
                    progress("words", number, corpus.document_count)
        lexical.close()
        indexed = Units(folder / "units.arrow"), IndexedDocuments(folder / "documents.arrow")
        first = copies.first_of_each(indexed[0])
        np.save(folder / COPIES, first)
        np.save(folder / TRANSLATIONS, translations.found(indexed[0], first))
        manifest = {
            "format_version": FORMAT_VERSION,
            "corpus": corpus.fingerprint,
            "tool_version": __version__,
            "language": languages.codes[0],
            "languages": list(languages.codes),
            "units": count,
            "documents": corpus.document_count,
            "vector_bits": vector_bits,
            "nearest": nearest,
            "facets": metadata.close(),
            "translations": translations.languages,
        }
        write_json(folder / "manifest.json", manifest)
        (folder / "dense").mkdir()
        before = workspace.folder("index") if workspace.has("index") else None
        structure = IndexStructure(workspace, *indexed)
        if STRUCTURE in encoders and not structure.make(progress):
            encoders.remove(STRUCTURE)
        for encoder in encoders:
            place = encoder_place(workspace, encoder)
            _make_vectors(folder, before, workspace, place, manifest, structure, progress, made)
        weights = _told_of_weights(folder, workspace, encoders)
        remove(_journals(workspace))
    return {**manifest, "encoders": encoders, "weights": weights}


def _told_of_weights(folder: Path, workspace: Workspace, encoders: Sequence[str]) -> dict[str, Any]:
    """Whether the hybrid's weights were learned for the first pretrained encoder of an index, else for the static one,
    and from which openings, where any were asked; empty without an encoder.
    """
    if not encoders:
        return {}
    encoder = next((name for name in encoders if name != STRUCTURE), STRUCTURE)
    found = read_json(folder / _vectors(encoder_place(workspace, encoder).vectors)[-1])
    learned = FusionWeights.of(found["weights"]).learned
    return {"encoder": encoder, "learned": learned, "openings": found.get("openings")}


def _languages(corpus: Corpus, chosen: str) -> tuple[str, ...]:
    """The languages by which texts are stemmed."""
    return corpus_languages(corpus) if chosen == "auto" else (declared_code(chosen) or chosen,)


def encoders_advice(
    workspace: Workspace, corpus: Corpus, encoders: Sequence[str], command: str, language: str = "auto"
) -> str:
    """What to say where an encoder whose vectors are made, as it is or as its query side was trained, does not read the
    documents; "" where all do. command, language: as of `language_advice`. Raises ModelError on an unknown one.
    """
    places = [encoder_place(workspace, each) for each in encoders if each != STRUCTURE]
    said = (language_advice(corpus, each.base, command, language=language) for each in places if each.untrained)
    return next(filter(None, said), "")


def encoders_to_index(workspace: Workspace) -> list[str]:
    """The static encoder and `default_encoders`, the latter but with torch, which makes their vectors. Raises
    MissingPackage where the index of today has such vectors, which the new one would then lack.
    """
    if are_installed(*TORCH):
        return [STRUCTURE, *default_encoders(workspace)]
    if would_lose_vectors(workspace):
        require(
            "an index with a pretrained encoder's vectors, as this workspace has (--encoder structure: one without),",
            *TORCH,
        )
    return [STRUCTURE]


def unrepeatable(workspace: Workspace) -> str:
    """Why what has changed is not read into this workspace: its new index would lack vectors; "" where it can be."""
    return (
        needs("reading what has changed, since the index has a pretrained encoder's vectors,", TORCH)
        if would_lose_vectors(workspace)
        else ""
    )


def would_lose_vectors(workspace: Workspace) -> bool:
    """Whether an index made here would lack vectors that the index of today has, which only torch makes."""
    if are_installed(*TORCH) or not workspace.has("index"):
        return False
    made = (workspace.folder("index") / "dense").glob("*.fusion.json")
    return any(read_json(path).get("needs_torch", True) for path in made)


def default_encoders(workspace: Workspace) -> list[str]:
    """The trained bi-encoder where there is one and held-out questions show no loss; else the untrained base when one
    is at hand, else none.
    """
    if trained_encoder(workspace):
        return [ENCODER]
    try:
        encoder_place(workspace, UNTRAINED)
    except ModelError:
        return [ENCODER] if ENCODER in trained_models(workspace) else []
    return [UNTRAINED]


def trained_encoder(workspace: Workspace, name: str = ENCODER) -> bool:
    """Whether there is a trained model of that name that the search uses by itself: held-out questions show no loss."""
    return name in trained_models(workspace) and read_record(workspace, name).used


@dataclass(frozen=True, slots=True)
class EncoderPlace:
    """Where an encoder's parts are. name: "base", or the model's; queries, passages: folder or hub name of what encodes
    them, the same for all but encoders of which queries' side alone was trained; vectors: name of the passages' file;
    untrained: whether passages are encoded by the base. base, revision: the name of what encodes passages, or of what
    its training began with, and the commit of one from a hub, "" for others.
    """

    name: str
    queries: str
    passages: str
    vectors: str
    untrained: bool
    base: str = ""
    revision: str = ""


def encoder_place(workspace: Workspace, encoder: str) -> EncoderPlace:
    """Where a bi-encoder's parts are; "base" is the one that was named for the workspace, else the base of the trained
    bi-encoder, else the default's. Raises ModelError on an unknown one.
    """
    if encoder == UNTRAINED:
        if (base := chosen_base(workspace)) is not None:
            return base_place(base, chosen_query_model(workspace))
        if ENCODER in trained_models(workspace):
            record = read_record(workspace, ENCODER)
            if record.base_location:
                return base_place(BaseModel(record.base, record.base_location, revision=record.base_revision))
        try:
            return base_place(resolve_base_model("auto", "bi-encoder"))
        except ModelError:
            # Where a search is served without the base at hand, what it was exported to stands for it.
            if found := sorted((workspace.cache / "onnx").glob("base-*")):
                return EncoderPlace(UNTRAINED, str(found[0]), str(found[0]), found[0].name, True)
            raise
    record = read_record(workspace, encoder)
    folder = model_folder(workspace, encoder)
    if record.query_side:
        passages = str(folder / PASSAGE_ENCODER)
        own = record.base, record.base_revision
        if record.documents:
            asked = _asked_by(*own, str(folder))
            vectors = _base_vectors(record.documents, record.documents_revision, passages) + asked
        else:
            vectors = _base_vectors(*own, passages)
        began = (record.documents, record.documents_revision) if record.documents else own
        return EncoderPlace(encoder, str(folder), passages, vectors, True, *began)
    its = str(folder)
    return EncoderPlace(encoder, its, its, record.fingerprint, False, record.base, record.base_revision)


def base_place(base: BaseModel, queries: BaseModel | None = None) -> EncoderPlace:
    """Where an untrained encoder's parts are. queries: the query model beside it."""
    vectors = _base_vectors(base.name, base.revision, base.location)
    if queries is None:
        return EncoderPlace(UNTRAINED, base.location, base.location, vectors, True, base.name, base.revision)
    # The weights that are learned beside the vectors, and an export, are the query model's too.
    vectors += _asked_by(queries.name, queries.revision, queries.location)
    return EncoderPlace(UNTRAINED, queries.location, base.location, vectors, True, base.name, base.revision)


def _asked_by(queries: str, revision: str, location: str) -> str:
    """What the name of vectors says of the query model."""
    return "--asked-by-" + _base_vectors(queries, revision, location).removeprefix("base-")


def _base_vectors(base: str, revision: str, location: str) -> str:
    """The name of an untrained encoder's vectors: those of another commit, or with another prompt, are others."""
    parts = ("base-" + re.sub(r"[/\\]", "--", base), revision[:12], modules_mark(location))
    return "--".join(filter(None, parts))


def load_encoder(workspace: Workspace, name: str, location: str, what: str) -> Any:
    """An encoder of texts. what: for which it is loaded, where it needs torch. Raises ModelError, MissingPackage."""
    kind = encoder_kind(workspace, name)
    if kind.needs_torch:
        require(f"{what} {name}", *TORCH)
    return kind.load(location)


def load_untrained(place: EncoderPlace) -> BiEncoder:
    """An untrained encoder, with the one of passages where that is another."""
    from structformer.models.bi_encoder import BiEncoder

    encoder = BiEncoder.load(place.queries)
    if place.queries != place.passages:
        encoder.passages = BiEncoder.load(place.passages)
    return encoder


def load_passage_encoder(workspace: Workspace, place: EncoderPlace) -> Any:
    """What makes an encoder's vectors, and asks as the untrained one does. Raises ModelError, MissingPackage."""
    what = "making vectors by the encoder"
    if place.name == UNTRAINED and place.queries != place.passages:
        require(f"{what} {place.name}", *TORCH)
        return load_untrained(place)
    return load_encoder(workspace, place.name, place.passages, what)


def encoder_kind(workspace: Workspace, name: str) -> RankerKind:
    """The kind of an encoder by its name. Raises ModelError on an unknown one."""
    return ranker_kind("bi-encoder" if name == UNTRAINED else read_record(workspace, name).kind)


class Index:
    """The current index of a workspace, held open: its files stay, and stay the same, whatever is published
    meanwhile.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Raises WorkspaceError when there is none, it is of another version or older than the corpus, or a file of it
        has changed.
        """
        self.workspace = workspace
        self._sealed, self._hold = workspace.sealed("index")
        self.folder = self._sealed.folder
        self.manifest: dict[str, Any] = self._sealed.json("manifest.json")
        if self.manifest.get("format_version") != FORMAT_VERSION:
            raise WorkspaceError(f"the index in {workspace} is of another version: run `structformer index` again")
        if self.manifest["corpus"] != Corpus.open(workspace).fingerprint:
            raise WorkspaceError(f"the index in {workspace} is of an earlier corpus: run `structformer index` again")
        self._sealed.paths(
            name
            for name in self._sealed.names()
            if name.startswith(("units.", "documents.", "facets.", "lexical/", COPIES, TRANSLATIONS))
        )

    def path(self, name: str) -> Path:
        """The path of a file of the index, compared with what was written. Raises WorkspaceError."""
        return self._sealed.path(name)

    def has(self, name: str) -> bool:
        """Whether the index has such a file."""
        return (self.folder / name).exists()

    @contextmanager
    def adding(self, what: str, names: Sequence[str], optional: Sequence[str] = ()) -> Iterator[None]:
        """Add files to the index: the block writes them, each under its final name at once. optional: names of those
        that it may write. Waits for who else writes the workspace.
        """
        with self.workspace.writing(what, wait=_WAIT_SECONDS):
            if not all(self.has(name) for name in names):
                with writing_errors(self.folder):
                    yield
                made = [*names, *(name for name in optional if self.has(name))]
                seal(self.folder, made, to=seal_of(names[0].replace("/", "-")))

    def has_vectors(self, encoder: str) -> bool:
        """Whether the index has the vectors that an encoder's queries are compared with. Raises ModelError on an
        unknown encoder.
        """
        return self.has_vectors_of(encoder_place(self.workspace, encoder))

    def has_vectors_of(self, place: EncoderPlace) -> bool:
        """The same of an encoder whose place is known."""
        return self.has(_vectors(place.vectors)[0])

    def has_structure(self) -> bool:
        """Whether the index has the vectors of the corpus's own static encoder."""
        return bool(_structure_of(self.folder, self.workspace))

    def vectors(self, encoder: str | EncoderPlace, progress: Progress | None = None) -> tuple[Path, FusionWeights]:
        """The file of an encoder's vectors, made when it is missing, and the hybrid's weights learned for it."""
        place = encoder_place(self.workspace, encoder) if isinstance(encoder, str) else encoder
        names = _vectors(place.vectors)
        if not all(self.has(name) for name in names):
            optional = [*_nearest_files(place.vectors), *_description_files(place.vectors)]
            with self.adding(f"making the vectors of {place.name}", names, optional):
                indexed = Units(self.path("units.arrow")), IndexedDocuments(self.path("documents.arrow"))
                structure = IndexStructure(self.workspace, *indexed)
                _make_vectors(self.folder, None, self.workspace, place, self.manifest, structure, progress)
                remove(_journals(self.workspace))
        path, *_, weights = [self.path(name) for name in names]
        try:
            return path, FusionWeights.of(read_json(weights)["weights"])
        except (KeyError, TypeError, ValueError) as error:
            raise WorkspaceError(f"{weights} cannot be read ({error}): run `structformer index` again") from error

    def nearest(self, vectors: Path) -> ApproximateIndex | None:
        """The approximate index of a file of vectors; None where there is none, or it cannot be read here."""
        names = _nearest_files(vectors.stem)
        if not all(self.has(name) for name in names) or not is_installed():
            return None
        for name in names:
            self.path(name)
        return ApproximateIndex(vectors)

    def descriptions(self, vectors: Path) -> Descriptions | None:
        """The descriptions beside a file of vectors; None where none are kept."""
        names = _description_files(vectors.stem)
        if not all(self.has(name) for name in names):
            return None
        for name in names:
            self.path(name)
        return Descriptions(vectors)

    def bases(self) -> dict[str, str]:
        """By the name of each file of vectors what made them, or began to be trained for it, with the whole commit of
        one from a hub: "org/name@COMMIT"; of those that a pretrained encoder made.
        """
        found = {}
        for path in sorted((self.folder / "dense").glob("*.fusion.json")):
            made = read_json(path)
            if made.get("base") and made.get("needs_torch", True):
                found[path.name.removesuffix(".fusion.json")] = "@".join(filter(None, [made["base"], made["revision"]]))
        return found

    def floor(self, encoder: str) -> float:
        """The cosine below which an encoder's passages are not found with confidence; 0 where none was learned."""
        name = _vectors(encoder_place(self.workspace, encoder).vectors)[-1]
        return float(read_json(self.path(name)).get("floor", 0.0)) if self.has(name) else 0.0


def is_stale(workspace: str | Path | Workspace) -> bool:
    """Whether there is an index, of an earlier corpus than the workspace's."""
    workspace = Workspace(workspace)
    if not workspace.has("index"):
        return False
    sealed, _ = workspace.sealed("index")
    return bool(sealed.json("manifest.json")["corpus"] != Corpus.open(workspace).fingerprint)


def _journals(workspace: Workspace) -> Path:
    """Where vectors are kept while they are made."""
    return workspace.cache / "vectors"


def _vectors(name: str) -> list[str]:
    """The files of an encoder's vectors: units' and overviews', the digests of their texts, and the hybrid's
    weights.
    """
    suffixes = (".npy", ".digests.npy", ".overviews.npy", ".overviews.digests.npy", ".fusion.json")
    return [f"dense/{name}{suffix}" for suffix in suffixes]


def _nearest_files(name: str) -> list[str]:
    """The files of an approximate index of an encoder's vectors."""
    return [f"dense/{file.name}" for file in approximate_files(Path(f"{name}.npy"))]


def _description_files(name: str) -> list[str]:
    """The files of the descriptions of documents, with an encoder's vectors of them."""
    suffixes = (".npy", ".digests.npy", ".arrow")
    return [f"dense/{name}.descriptions{suffix}" for suffix in suffixes]


def _told(progress: Progress | None, stage: str, total: int) -> Callable[[int], None]:
    """Reports what is done of a stage."""
    return lambda done: progress(stage, done, total) if progress else None


def _make_vectors(
    folder: Path,
    before: Path | None,
    workspace: Workspace,
    place: EncoderPlace,
    manifest: dict[str, Any],
    structure: IndexStructure,
    progress: Progress | None,
    made: Path | None = None,
) -> None:
    """Encode units and overviews into an index's folder, and learn the hybrid's weights; those that were learned beside
    the same static encoder stay. before: the folder of the index before; made: one of vectors that were made elsewhere.
    """
    from structformer.retrieval.dense import overview_path
    from structformer.retrieval.encoding import KnownVectors, VectorJournal, encode_texts

    if (folder / _vectors(place.vectors)[0]).exists():
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
    journal = VectorJournal(_journals(workspace) / place.vectors, model.dimensions, elsewhere)
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
    """Whether an index of so many units has an approximate index of its vectors."""
    chosen = manifest.get("nearest", AUTO)
    return units >= (FEWEST if chosen == APPROXIMATE else APPROXIMATE_FROM) and chosen != EXACT and is_installed()


def _structure_of(folder: Path, workspace: Workspace) -> str:
    """The fingerprint of the static encoder whose vectors an index's folder has; "" where there are none."""
    if STRUCTURE not in trained_models(workspace):
        return ""
    place = encoder_place(workspace, STRUCTURE)
    return place.vectors if (folder / _vectors(place.vectors)[0]).exists() else ""


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
    """The hybrid's weights and the floor of confidence, learned with the untrained encoder and its vectors, and from
    how many openings.
    """
    from structformer.retrieval.dense import DenseIndex
    from structformer.retrieval.hybrid_weights import learned_from_openings
    from structformer.retrieval.pseudo_query_scores import UntrainedSearch
    from structformer.retrieval.static_scores import CrossFitted

    lexical = LexicalIndex(folder / "lexical", manifest["languages"])
    index = DenseIndex(vectors, indexed[0].numbers("document"), descriptions=Descriptions(vectors))
    search = UntrainedSearch(*indexed, lexical, index, encoder, CrossFitted(halves) if halves else None)
    learned = learned_from_openings(search)
    counts = {"asked": learned.asked, "having": learned.having, "documents": learned.documents}
    return {"weights": asdict(learned.weights), "floor": learned.floor, "openings": counts}
