"""Making an encoder's vectors for an index."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.errors import WorkspaceError
from structformer.graph import ReferenceGraph
from structformer.models.known_encoders import language_advice
from structformer.models.registry import checked_model
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.index import Index, description_files, nearest_files, vector_files
from structformer.retrieval.rankings.hybrid_score import fusion_weights
from structformer.retrieval.vectors import encoding
from structformer.retrieval.vectors.dense import APPROXIMATE_FROM, FEWEST, has_faiss, overview_path, write_approximate
from structformer.retrieval.vectors.descriptions import drawn_descriptions, write_descriptions
from structformer.retrieval.vectors.encoder_checks import reading_share
from structformer.retrieval.vectors.encoder_names import UNTRAINED
from structformer.retrieval.vectors.encoder_places import (
    EncoderPlace,
    encoder_kind,
    encoder_place,
    load_passage_encoder,
)
from structformer.retrieval.vectors.second_look import (
    MOST_UNITS,
    SecondLook,
    TokenWriter,
    look_files,
    own_outlines,
    principal_axes,
)
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.storage.files import building_folder, fsync_folder, fsync_tree, read_json, remove, write_json
from structformer.storage.seal import Sealed
from structformer.workspace import Workspace

AUTO, EXACT, APPROXIMATE = NEAREST = ("auto", "exact", "approximate")
_MOST_READ = 1024  # characters of a text that an encoder reads, about
Progress = Callable[[str, int, int], None]


def made_vectors(index: Index, encoder: str | EncoderPlace, progress: Progress | None = None) -> Path:
    """`Index.vectors`, which are made first where the index lacks them."""
    workspace = index.workspace
    place = encoder_place(workspace, encoder) if isinstance(encoder, str) else encoder
    names = vector_files(place)
    if not all(index.has(name) for name in names):
        optional = [*nearest_files(place.vectors), *description_files(place.vectors), *look_files(place.vectors)]
        with index.adding(f"making the vectors of {place.name}", names, optional):
            make_vectors(index.folder, None, workspace, place, index.manifest, progress)
            remove(journals(workspace))
    return index.vectors(place)


def journals(workspace: Workspace) -> Path:
    """Return where vectors are kept while they are made."""
    return workspace.cache / "vectors"


def make_vectors(
    folder: Path,
    before: Path | None,
    workspace: Workspace,
    place: EncoderPlace,
    manifest: dict[str, Any],
    progress: Progress | None,
    made: Path | None = None,
) -> None:
    """Encode units, overviews and descriptions into an index's folder. before: the folder of the index before; made: a
    folder of vectors that were made elsewhere.
    """
    if (folder / vector_files(place)[0]).exists():
        return  # two encoders of queries may share one of passages
    if place.name != UNTRAINED:
        checked_model(workspace, place.name)
    units, documents = Units(folder / "units.arrow"), IndexedDocuments(folder / "documents.arrow")
    model = load_passage_encoder(workspace, place, len(units)).for_bulk()
    earlier = (before if before is not None and is_whole(before, place) else folder) / "dense" / f"{place.vectors}.npy"
    kind = encoder_kind(workspace, place.name)
    pretrained = kind.pretrained
    # The static encoder was taught by these very sentences, and is near to each of them.
    corpus = Corpus.open(workspace)
    described = drawn_descriptions(corpus, ReferenceGraph.open(workspace, corpus), units) if pretrained else []
    total = len(units) + len(documents) + len(described)
    stage, say = f"vectors of {place.name}", progress or (lambda *_: None)
    say(stage, 0, total)
    bits = manifest.get("vector_bits", 32)
    elsewhere = sorted(made.glob(f"{place.vectors}-*.journal")) if made is not None else []
    journal = encoding.VectorJournal(journals(workspace) / place.vectors, model.dimensions, elsewhere)
    # Journals of other processes have no token vectors, and who needs these has too many passages to keep them. Of a
    # language that it never read, an encoder has pieces of words.
    is_read = pretrained and not language_advice(corpus, place.base, "", reads=kind.languages)
    own = own_outlines(units) if pretrained else 1.0
    look = own if made is None and kind.gives_tokens and is_read and 0 < len(units) <= MOST_UNITS else 0.0
    with journal, building_folder(folder) as building:
        path = building / f"{place.vectors}.npy"
        kept = _axes_before(earlier, len(units)) if look else None
        axes = principal_axes(units, model) if look and kept is None else kept
        tokens = TokenWriter(path, axes, earlier, journals(workspace) / place.vectors) if axes is not None else None
        with tokens or nullcontext() as keeper:
            texts: dict[str, Callable[[], Iterable[str]]] = {  # by what is added to the name of the units' vectors
                ".overviews": lambda: (each.overview for each in documents),
                ".descriptions": lambda: (each.text for each in described),
                "": lambda: encoding.in_context(model, (unit.ranker_text for unit in units), units.numbers("document")),
            }
            if not pretrained:
                del texts[".descriptions"]
            had = {of: encoding.KnownVectors(earlier.with_stem(earlier.stem + of), bits) for of in texts}
            keep = {of: None if of else keeper for of in texts}
            cost = {of: np.fromiter(efforts(each(), had[of], journal, keep[of]), int) for of, each in texts.items()}
            spent, start = np.cumsum(np.concatenate([[0], *cost.values()])), 0
            say(stage, 0, total)  # the time left is reckoned from here
            for of, each in texts.items():
                encode_texts(
                    each(),
                    len(cost[of]),
                    model,
                    path.with_stem(path.stem + of),
                    had[of],
                    journal,
                    tokens=keep[of],
                    bits=bits,
                    progress=lambda done, start=start: say(stage, int(total * spent[start + done] / spent[-1]), total),  # type: ignore[misc]
                )
                start += len(cost[of])
        if pretrained:
            write_descriptions(path.with_name(f"{path.stem}.descriptions.arrow"), described)
        # What made the vectors is kept with them: the model may be another one by the time that it matters.
        facts: dict[str, Any] = {"pretrained": pretrained, "base": place.base, "revision": place.revision}
        facts |= {"look": look} if look else {}
        if pretrained:
            known = _reading_before(earlier, len(units))
            if known.get("learned") != is_read:
                table, lexical = np.load(path, mmap_mode="r"), LexicalIndex(folder / "lexical", manifest["languages"])
                share = reading_share(units, table, model.encode_queries, lexical, learned=is_read)
                known = {"reads": share, "of": len(units), "learned": is_read}
            facts |= {**known, "own_outlines": own}
        write_json(building / f"{place.vectors}.made.json", {**facts, "tool_version": __version__})
        wanted = manifest.get("nearest", AUTO)
        enough = len(units) >= (FEWEST if wanted == APPROXIMATE else APPROXIMATE_FROM)
        if enough and wanted != EXACT and has_faiss():
            write_approximate(
                path,
                np.load(path, mmap_mode="r"),
                np.load(overview_path(path), mmap_mode="r"),
                units.numbers("document"),
                fusion_weights(pretrained=pretrained).overview_share,
                (lambda done, _: progress("nearest vectors", done, len(units))) if progress else None,
            )
        fsync_tree(building)
        (folder / "dense").mkdir(exist_ok=True)
        # The vectors' own file last: `has_vectors` looks for it.
        for made in sorted(building.iterdir(), key=lambda each: each == path):
            os.replace(made, folder / "dense" / made.name)
    fsync_folder(folder / "dense")


def efforts(
    texts: Iterable[str], known: encoding.KnownVectors, journal: encoding.VectorJournal, tokens: TokenWriter | None
) -> Iterator[int]:
    """Yield what each text costs `encode_texts`, in characters that are read; next to nothing where it is known."""
    for text in texts:
        key = encoding.text_digest(text)
        is_kept = encoding.kept_vector(key, (known, journal)) is not None and (tokens is None or key in tokens)
        yield 1 if is_kept else 1 + min(len(text), _MOST_READ)


def encode_texts(
    texts: Iterable[str],
    count: int,
    encoder: encoding.Encoder,
    path: Path,
    known: encoding.KnownVectors,
    journal: encoding.VectorJournal,
    *,
    tokens: TokenWriter | None = None,
    bits: int = 32,
    progress: Callable[[int], object] = lambda done: None,
) -> None:
    """Write (count, dimensions) vectors and digests. tokens: keeps the vectors of the texts' tokens."""
    shape = (count, encoder.dimensions)
    vectors = np.lib.format.open_memmap(path, mode="w+", dtype=encoding.FLOAT_TYPES[bits], shape=shape)
    digests = np.lib.format.open_memmap(
        encoding.digest_path(path), mode="w+", dtype=np.uint8, shape=(count, encoding.DIGEST_BYTES)
    )
    remaining = iter(texts)
    done = 0
    while chunk := list(islice(remaining, encoding.CHUNK)):
        keys = [encoding.text_digest(text) for text in chunk]
        missing: list[int] = []
        for place, key in enumerate(keys):
            vector = encoding.kept_vector(key, (known, journal))
            if vector is None or (tokens is not None and key not in tokens):
                missing.append(place)
            else:
                vectors[done + place] = vector
        if missing:
            some, its_keys = [chunk[place] for place in missing], [keys[place] for place in missing]
            fresh = encoder.encode_documents(some) if tokens is None else tokens.encode(encoder, its_keys, some)
            journal.add(its_keys, fresh)
            vectors[[done + place for place in missing]] = fresh
        if tokens is not None:
            tokens.write(keys)
        digests[done : done + len(chunk)] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, encoding.DIGEST_BYTES)
        done += len(chunk)
        progress(done)
    vectors.flush()
    digests.flush()


def is_whole(index: Path, place: EncoderPlace) -> bool:
    """Whether an index's files of an encoder's vectors are as they were written; what is damaged is made again."""
    sealed = Sealed(index, "")
    try:
        for name in (*vector_files(place), *description_files(place.vectors)):
            if sealed.has(name):
                sealed.path(name)
    except WorkspaceError:
        return False
    return True


def _reading_before(vectors: Path, units: int) -> dict[str, Any]:
    """Return the earlier reading of about as many passages; empty without one, or if they changed by a fifth."""
    made = vectors.with_name(f"{vectors.stem}.made.json")
    shares = read_json(made) if made.exists() else {}
    of = shares.get("of", 0)
    kept = {name: shares[name] for name in ("reads", "of", "learned") if name in shares}
    return kept if "reads" in kept and abs(units - of) <= of / 5 else {}


def _axes_before(vectors: Path, units: int) -> npt.NDArray[np.float32] | None:
    """Return the axes beside an earlier index's vectors, under the same condition; None without any."""
    try:
        return SecondLook(vectors, 1.0).axes if _reading_before(vectors, units) else None
    except WorkspaceError:
        return None
