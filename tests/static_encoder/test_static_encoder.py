"""The static encoder: what it reads of a text, how it is learned, and the index, search and commands that use it."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from structformer import Retriever, train
from structformer.cli.main import main
from structformer.corpus import Corpus
from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.evaluation.comparison import evaluate
from structformer.evaluation.judgements import Judgements
from structformer.ingestion import ingest
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.index import Index
from structformer.retrieval.indexing import build_index, train_structure
from structformer.retrieval.learning.structure import StructureLessons, StructureOptions, asking
from structformer.retrieval.learning.structure_pairs import StructurePairs, _Owned, structure_pairs, structure_sources
from structformer.retrieval.questions.pseudo_queries import PseudoQuery
from structformer.retrieval.vectors.encoder_places import encoder_place
from structformer.retrieval.vectors.encoding import KnownVectors, new_share
from structformer.static_encoder import StaticEncoder
from structformer.static_encoder.contrastive import LearningOptions, Pairs, _gradient, _positives, learn
from structformer.static_encoder.encoder import (
    FEATURES,
    VECTORS,
    Features,
    WordNumbers,
    chosen_features,
    features_of,
    stacked,
    starting_vectors,
    words_of,
)
from structformer.workspace import Workspace

from boats import TINY, boats
from conftest import PAGES, write_pages

UNSPACED = "\2"  # before what is read of a script without spaces
TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from("knots Segel 结绳 매듭 गाँठ ปม loop loops looping sail \ud800 \0 \1 \2 _".split(" ")), max_size=12
).map(" ".join)


@pytest.fixture(scope="session")
def twenty(tmp_path_factory) -> Path:
    """The boats, indexed with the static encoder alone; only read."""
    workspace = boats(tmp_path_factory.mktemp("twenty"))
    build_index(workspace, encoders=["structure"])
    return workspace


@pytest.fixture
def indexed(workspace) -> Path:
    """The three small pages, indexed with the static encoder alone."""
    build_index(workspace, encoders=["structure"])
    return workspace


def drawn(workspace: Path, **options: object) -> tuple[StructurePairs, Units, IndexedDocuments]:
    index = Index(Workspace(workspace))
    units, documents = Units(index.path("units.arrow")), IndexedDocuments(index.path("documents.arrow"))
    return structure_pairs(Workspace(workspace), units, documents, **options), units, documents


def read(folder: Path, pages: dict[str, str]) -> Path:
    """A workspace of these pages."""
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    return folder / "w"


def fingerprint(workspace: Path) -> str:
    return read_record(workspace, "structure").fingerprint


def run(*arguments: object) -> SimpleNamespace:
    """A command's outcome."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return SimpleNamespace(code=ended.value.code or 0, out=out.getvalue(), err=err.getvalue())


# What is read of a text


def test_words_are_in_lower_case_with_their_marks_and_none_is_longer_than_forty_letters():
    assert words_of("Tie a Bowline: it's safe, v2_x!") == ["tie", "a", "bowline", "it", "s", "safe", "v2_x"]
    assert words_of("हिन्दी में") == ["हिन्दी", "में"]
    assert words_of("cafe\u0301 שָׁלוֹם") == ["caf\u00e9", "שָׁלוֹם"]
    assert words_of("a" * 100) == ["a" * 40]
    assert words_of(" \n\t.,;") == []


def test_scripts_without_spaces_are_read_as_characters_and_pairs():
    assert words_of("打结 knot") == [f"{UNSPACED}打", f"{UNSPACED}结", f"{UNSPACED}打结", "knot"]
    assert words_of("매듭을") == [UNSPACED + part for part in ("매", "듭", "을", "매듭", "듭을")]
    assert words_of("usb线v2") == ["usb", f"{UNSPACED}线", "v2"]
    # Thai and Burmese vowels are marks on letters: they are read, and don't part what stands around them.
    assert f"{UNSPACED}ที" in words_of("ที่ดี")
    assert f"{UNSPACED}\u103cန" in words_of("မြန်မာ")


def test_a_word_has_itself_and_its_n_grams_a_pair_of_characters_itself_alone():
    assert features_of("sail") == [" sa", "sai", "ail", "il ", " sai", "sail", "ail ", " sail", "sail ", "\1sail"]
    assert features_of("a") == [" a ", "\1a"]
    assert features_of(f"{UNSPACED}打结") == [f"{UNSPACED}打结"]
    assert features_of("ab") != features_of("\1ab"[1:] + "c")


def test_features_are_chosen_that_at_least_two_texts_have_and_at_most_half():
    words = WordNumbers()
    bags = words.bags(["the knot", "the knot", "the sail", "the oar"])
    features = chosen_features(bags, words, most=1000)
    assert {"\1knot", "kno", " knot"} <= set(features.names)
    assert not {"\1the", "\1sail", " oar "} & set(features.names)  # in all, in one
    assert features.weights == pytest.approx(np.log(5 / 3) + 1)
    assert chosen_features(bags, words, most=2).names == features.names[:2]
    assert len(chosen_features(WordNumbers().bags([]), [], most=10)) == 0


def test_a_word_counts_less_with_every_time_it_occurs():
    bags = WordNumbers().bags(["knot", "knot knot", "knot " * 50])
    assert bags.toarray().ravel() == pytest.approx([1.0, 2 * 2.5 / 3.5, 50 * 2.5 / 51.5])


@given(st.lists(TEXTS, max_size=5), TEXTS)
def test_a_bag_is_the_same_whatever_stands_beside_it(others, text):
    alone, together = WordNumbers(), WordNumbers()
    own, row = alone.bags([text]), together.bags([*others, text])[-1]
    names, every = list(alone), list(together)
    assert {names[place]: value for place, value in zip(own.indices, own.data, strict=True)} == {
        every[place]: value for place, value in zip(row.indices, row.data, strict=True)
    }
    assert all(word and features_of(word) for word in names)


# Encoding


def encoder_of(texts: list[str], dimensions: int = 6) -> StaticEncoder:
    words = WordNumbers()
    features = chosen_features(words.bags(texts), words, most=500)
    return StaticEncoder(
        features, np.random.default_rng(3).standard_normal((len(features), dimensions)).astype(np.float32)
    )


ENCODER = encoder_of(
    ["knots and loops 结绳 매듭", "loops of sails 结绳 매듭", "गाँठ sails ปม", "गाँठ knots ปม", "x", "y", "z", "w"]
)


@given(st.lists(TEXTS, max_size=8))
def test_a_vector_has_length_one_or_is_zeros(texts):
    vectors = ENCODER.encode_documents(texts)
    assert vectors.shape == (len(texts), 6)
    assert vectors.dtype == np.float32
    for length in np.linalg.norm(vectors, axis=1):
        assert length == 0 or length == pytest.approx(1, abs=1e-5)


@given(st.lists(TEXTS, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_vector_is_the_same_whatever_the_order_and_the_chunks(texts, random):
    vectors = ENCODER.encode_documents(iter(texts))
    order = random.sample(range(len(texts)), len(texts))
    assert np.array_equal(ENCODER.encode_documents([texts[place] for place in order]), vectors[order])
    assert np.array_equal(np.concatenate([ENCODER.encode_queries([text]) for text in texts]), vectors)


def test_many_texts_are_encoded_in_chunks_as_one_by_one():
    texts = [f"knots {number} loops" if number % 3 else "" for number in range(1100)]
    assert np.array_equal(
        ENCODER.encode_documents(texts)[[0, 1, 1099]], ENCODER.encode_documents(texts[:2] + texts[-1:])
    )


@settings(max_examples=25)
@given(arrays(np.float32, (len(ENCODER.features), 4), elements=st.floats(-1e6, 1e6, width=32)))
def test_saving_rounds_to_sixteen_bits_whatever_the_vectors(tmp_path_factory, vectors):
    folder = tmp_path_factory.mktemp("encoder")
    made = StaticEncoder(ENCODER.features, vectors)
    made.save(folder)
    loaded = StaticEncoder.load(folder)
    assert loaded.features.names == ENCODER.features.names
    assert loaded.vectors.dtype == np.float16
    largest = float(np.abs(vectors).max()) or 1.0
    assert np.asarray(loaded.vectors, np.float32) == pytest.approx(vectors / largest, rel=2**-10, abs=2**-24)
    assert np.isfinite(loaded.encode_queries(["knots and loops", "sails"])).all()


def test_a_saved_encoder_encodes_as_before(tmp_path):
    ENCODER.save(tmp_path)
    texts = ["knots", "गाँठ sails", "结绳 매듭 loops", "qqq"]
    loaded = StaticEncoder.load(tmp_path)
    assert loaded.encode_queries(texts) == pytest.approx(ENCODER.encode_queries(texts), abs=2e-3)
    assert np.array_equal(loaded.for_bulk().encode_documents(texts), loaded.encode_documents(texts))
    assert loaded.score(texts, texts) == pytest.approx([1, 1, 1, 0], abs=1e-5)
    assert np.diag(loaded.score_all(texts, texts)) == pytest.approx(loaded.score(texts, texts), abs=1e-6)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (FEATURES, b""),
        (FEATURES, b"[]"),
        (FEATURES, b'{"format": 1}'),
        (FEATURES, b'{"format": 1, "names": ["a"], "weights": [null]}'),
        (FEATURES, b'{"format": 1, "names": ["a"], "weights": [1.0]}'),
        (FEATURES, b'{"format": 99, "names": [], "weights": []}'),
        (VECTORS, b""),
        (VECTORS, b"no array"),
        (VECTORS, b"PK\5\6" + bytes(18)),  # an archive of no arrays
    ],
)
def test_a_damaged_encoder_is_said_to_be_none(tmp_path, file, content):
    ENCODER.save(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ModelError, match=r"is not a static encoder|of another version"):
        StaticEncoder.load(tmp_path)


def test_vectors_that_are_cut_short_are_noticed(tmp_path):
    ENCODER.save(tmp_path)
    content = (tmp_path / VECTORS).read_bytes()
    (tmp_path / VECTORS).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match="is not a static encoder"):
        StaticEncoder.load(tmp_path)


# Starting vectors


def bags_of(texts: list[str]) -> tuple[object, object]:
    """(texts, words) and (words, features), no feature left out."""
    words = WordNumbers()
    bags = words.bags(texts)
    names = list(dict.fromkeys(name for word in words for name in features_of(word)))
    return bags, Features(names, np.ones(len(names), np.float32)).table(words)


PASSAGES = [f"{first} {second}" for first in ("knot", "sail", "oar") for second in ("rope", "wind", "mast", "tide")]


def test_learning_starts_from_the_singular_vectors_of_the_passages():
    bags, table = bags_of(PASSAGES)
    rows = (bags @ table).toarray()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    _, values, right = np.linalg.svd(rows)
    found = starting_vectors(bags, table, 4, seed=0)
    assert found.shape == (table.shape[1], 4)
    assert np.linalg.norm(found, axis=0) == pytest.approx(1, abs=1e-4)
    # Equal singular values have no directions of their own: what the vectors span, and how much of the rows it holds.
    assert np.linalg.norm(rows @ found, axis=0) == pytest.approx(values[:4], abs=1e-3)
    alone = [place for place in range(4) if min(abs(values[place] - np.delete(values, place))) > 1e-3]
    assert alone
    for place in alone:
        assert abs(found[:, place] @ right[place]) == pytest.approx(1, abs=1e-3)
        assert found[np.abs(found[:, place]).argmax(), place] > 0
    assert np.array_equal(found, starting_vectors(bags, table, 4, seed=0))


def test_fewer_passages_than_dimensions_leave_columns_of_zeros():
    bags, table = bags_of(PASSAGES[:3])
    found = starting_vectors(bags, table, 8, seed=0)
    assert found.shape == (table.shape[1], 8)
    assert found.any(0).tolist() == [True] * 3 + [False] * 5
    assert np.isfinite(found).all()


def test_empty_and_equal_passages_start_from_finite_vectors():
    bags, table = bags_of(["", "knot rope", "knot rope", "", "."])
    assert np.isfinite(starting_vectors(bags, table, 3, seed=1)).all()


# Learning


def pairs_of(queries: list[str], passages: list[str], documents: list[int], **more: object) -> tuple[Pairs, object]:
    """Pairs in which query i is answered by passage i, and the (words, features) of both."""
    words = WordNumbers()
    asked, answers = words.bags(queries), words.bags(passages)
    names = list(dict.fromkeys(name for word in words for name in features_of(word)))
    places = np.arange(len(queries))
    pairs = Pairs(
        stacked([asked], len(words)),
        stacked([answers], len(words)),
        np.array(documents),
        **{
            "first": places,
            "last": places + 1,
            "own": np.full(len(queries), -1),
            "shares": np.ones(len(queries)),
            **more,
        },
    )
    return pairs, Features(names, np.linspace(0.5, 2, len(names), dtype=np.float32)).table(words)


QUERIES = ["tie a knot", "set the sail", "pull an oar", "wind and tide"]
ANSWERS = ["a bowline is a knot", "the main sail", "oars of ash", "a rising tide"]


def loss(vectors: np.ndarray, table: object, pairs: Pairs, temperature: float) -> float:
    """What learning makes smaller: the mean negative log-share of a pair's positive among those of other documents."""
    dense = table.toarray().astype(np.float64) @ vectors
    asked, answers = (bags.toarray().astype(np.float64) @ dense for bags in (pairs.queries, pairs.passages))
    asked, answers = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (asked, answers))
    logits = asked @ answers.T / temperature
    same = (pairs.documents[:, None] == pairs.documents[None]) & ~np.eye(len(logits), dtype=bool)
    logits[same] = -np.inf
    return float(np.mean([np.log(np.exp(row - row[place]).sum()) for place, row in enumerate(logits)]))


@pytest.mark.parametrize("documents", [[0, 1, 2, 3], [0, 0, 1, 2], [5, 5, 5, 5]])
def test_the_gradient_is_that_of_the_loss(documents):
    pairs, table = pairs_of(QUERIES, ANSWERS, documents)
    vectors = np.random.default_rng(1).standard_normal((table.shape[1], 3))
    every = np.arange(4)
    rows, gradient = _gradient(vectors.astype(np.float32), table, pairs, every, every, 0.5)
    wide = np.zeros(vectors.shape)
    wide[rows] = gradient
    step = 1e-5
    for row, column in np.random.default_rng(2).integers(0, vectors.shape, (40, 2)):
        more, less = vectors.copy(), vectors.copy()
        more[row, column] += step
        less[row, column] -= step
        numeric = (loss(more, table, pairs, 0.5) - loss(less, table, pairs, 0.5)) / (2 * step)
        assert wide[row, column] == pytest.approx(numeric, abs=1e-4)


def test_the_gradient_is_torchs():
    torch = pytest.importorskip("torch")
    pairs, table = pairs_of(QUERIES, ANSWERS, [0, 0, 1, 2])
    vectors = torch.randn((table.shape[1], 3), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    vectors.requires_grad_()
    dense = torch.from_numpy(table.toarray()).double() @ vectors
    asked, answers = (
        torch.nn.functional.normalize(torch.from_numpy(bags.toarray()).double() @ dense, dim=1)
        for bags in (pairs.queries, pairs.passages)
    )
    logits = asked @ answers.T / 0.05
    logits = logits.masked_fill(torch.tensor([[i != j and {i, j} == {0, 1} for i in range(4)] for j in range(4)]), -1e4)
    torch.nn.functional.cross_entropy(logits, torch.arange(4)).backward()
    every = np.arange(4)
    rows, gradient = _gradient(vectors.detach().float().numpy(), table, pairs, every, every, 0.05)
    wide = np.zeros(vectors.shape)
    wide[rows] = gradient
    assert wide == pytest.approx(vectors.grad.numpy(), abs=1e-3)


def test_texts_without_a_word_do_no_harm():
    pairs, table = pairs_of(["tie a knot", "", "..."], ["", "the main sail", ""], [0, 1, 2])
    vectors = np.random.default_rng(1).standard_normal((table.shape[1], 3)).astype(np.float32)
    learn(vectors, table, pairs, LearningOptions(epochs=3, batch=3))
    assert np.isfinite(vectors).all()
    nothing = np.zeros_like(vectors)  # as features that are new have none yet
    learn(nothing, table, pairs, LearningOptions(epochs=3, batch=3))
    assert np.isfinite(nothing).all()


@given(st.data())
def test_positives_are_of_the_pair_and_never_its_own(data):
    ranges = data.draw(
        st.lists(st.tuples(st.integers(0, 50), st.integers(1, 6), st.none() | st.integers(0, 5)), min_size=1)
    )
    first = np.array([start for start, *_ in ranges])
    last = np.array([start + length + (own is not None) for start, length, own in ranges])
    own = np.array([-1 if own is None else start + min(own, length) for start, length, own in ranges])
    pairs = SimpleNamespace(first=first, last=last, own=own)
    found = _positives(pairs, np.arange(len(ranges)), np.random.default_rng(data.draw(st.integers(0, 99))))
    assert ((first <= found) & (found < last) & (found != own)).all()


def test_every_passage_but_the_own_one_is_a_positive_in_time():
    pairs = SimpleNamespace(first=np.array([3]), last=np.array([7]), own=np.array([5]))
    rng = np.random.default_rng(0)
    assert {int(_positives(pairs, np.array([0]), rng)[0]) for _ in range(100)} == {3, 4, 6}


def test_learning_lifts_the_positives_share():
    pairs, table = pairs_of(QUERIES, ANSWERS, [0, 1, 2, 3])
    vectors = np.random.default_rng(1).standard_normal((table.shape[1], 8)).astype(np.float32) / 8
    before = loss(vectors.astype(np.float64), table, pairs, 0.05)
    learn(vectors, table, pairs, LearningOptions(epochs=60, learning_rate=0.01, batch=4))
    assert loss(vectors.astype(np.float64), table, pairs, 0.05) < before / 4


def test_of_one_document_or_one_pair_nothing_is_learned():
    for queries, documents in ((QUERIES, [7] * 4), (QUERIES[:1], [0])):
        pairs, table = pairs_of(queries, ANSWERS[: len(queries)], documents)
        vectors = np.ones((table.shape[1], 3), np.float32)
        learn(vectors, table, pairs, LearningOptions(epochs=5, batch=4))
        assert np.array_equal(vectors, np.ones_like(vectors))


def test_pairs_are_drawn_in_proportion_to_their_shares():
    pairs, table = pairs_of(QUERIES, ANSWERS, [0, 1, 2, 3], shares=np.array([1.0, 1.0, 0.0, 0.0]))
    vectors = np.random.default_rng(1).standard_normal((table.shape[1], 3)).astype(np.float32)
    before = vectors.copy()
    learn(vectors, table, pairs, LearningOptions(epochs=20, batch=2, learning_rate=0.1))
    changed = np.flatnonzero((vectors != before).any(1))
    asked = stacked([pairs.queries[:2], pairs.passages[:2]], table.shape[0]) @ table
    assert len(changed)
    assert set(changed) <= set(asked.indices)


# Pairs of a corpus


def test_a_passages_sentences_are_asked_with_another_passage_of_its_document(twenty):
    found, units, documents = drawn(twenty)
    assert set(found.counts) <= {"passage", "opening", "link", "sentence"}
    assert found.counts["passage"] >= len(documents)
    pairs = found.pairs
    owners = units.numbers("document")
    for number in range(len(pairs)):
        its = range(int(pairs.first[number]), int(pairs.last[number]))
        assert {int(owners[place]) for place in its} == {int(pairs.documents[number])}
        assert pairs.own[number] == -1 or pairs.own[number] in its
        assert len(its) > (pairs.own[number] >= 0)


def test_what_stands_in_several_documents_is_not_asked(tmp_path):
    pages = {
        f"{name}.md": f"# {name}\n\nEverybody who reads the {name} page knows what {name} means.\n\n## More\n\n"
        f"Of {name} there is a little more to say here. This page was translated by the friends of boats.\n"
        for name in ("anchor", "ballast", "compass", "deck")
    }
    workspace = read(tmp_path, pages)
    build_index(workspace, encoders=[])
    found, *_ = drawn(workspace, mix={"passage": 1.0})
    words = list(found.words)
    asked = [{words[place] for place in found.pairs.queries[row].indices} for row in range(len(found.pairs))]
    assert asked
    assert not any("translated" in each for each in asked)
    assert any("translated" in {words[place] for place in row.indices} for row in found.passages)  # it is still read


def test_a_document_of_one_passage_is_asked_without_the_sentence(tmp_path):
    pages = {
        f"{name}.md": f"# {name}\n\nEverybody knows what {name} means here. The rest of the {name} page is short.\n"
        for name in ("anchor", "ballast", "compass")
    }
    workspace = read(tmp_path, pages)
    build_index(workspace, encoders=[])
    found, units, _ = drawn(workspace, mix={"passage": 1.0})
    assert len(units) == 3
    assert len(found.pairs) == 6
    words = list(found.words)
    for row in range(6):
        assert found.pairs.first[row] >= 3  # not one of the passages, but what is left of one
        assert found.pairs.own[row] == -1
        asked = {words[place] for place in found.pairs.queries[row].indices}
        left = {words[place] for place in found.pairs.passages[int(found.pairs.first[row])].indices}
        assert len({"everybody", "rest"} & asked) == 1
        assert not {"everybody", "rest"} & asked & left


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=5),
    st.sets(st.integers(0, 30)),
    st.integers(0, 4),
    st.sets(st.integers(0, 4)),
)
def test_holders_of_a_pseudo_query_are_not_its_positive(lengths, holders, document, left_out):
    document %= len(lengths)
    every = np.repeat(np.arange(len(lengths)), lengths)
    taken = ~np.isin(every, list(left_out))
    owned = _Owned(every[taken], np.flatnonzero(taken), len(lengths))
    units = [SimpleNamespace(ranker_text=f"ask me {number}") for number in range(len(every))]
    question = PseudoQuery("ask", document, "opening", tuple(holders))
    pair = owned.answered(question, units)
    if document in left_out:
        assert pair is None
    elif pair.positive:
        assert "ask" not in pair.positive
        assert set(np.flatnonzero(every == document)) <= holders
    else:
        places = np.flatnonzero(taken)
        found = {int(places[place]) for place in range(pair.first, pair.last) if place != pair.own}
        assert found
        assert not found & holders
        assert {int(every[number]) for number in found} == {document}


@pytest.mark.parametrize(
    "source", ["srr", "ict", "opening", "link", "sentence", "anchor", "heading", "related", "passage"]
)
def test_every_source_alone_gives_pairs_of_its_own(twenty, source):
    found, *_ = drawn(twenty, mix={source: 1.0})
    assert set(found.counts) <= {source}
    assert len(found.pairs) == found.counts.get(source, 0)
    if source in ("srr", "ict", "passage"):
        assert len(found.pairs)
    assert source in structure_sources()


def test_a_mix_weighs_its_sources_and_half_of_the_documents_can_be_left_unasked(twenty):
    every, *_ = drawn(twenty, mix={"srr": 1.0, "passage": 3.0})
    found = every.asking(lambda document: document % 2 == 0)
    assert set(found.counts) == {"srr", "passage"}
    for place, share in zip(found.sources, found.pairs.shares, strict=True):
        assert share == {"srr": 1.0, "passage": 3.0}[found.names[place]]
    assert not (found.pairs.documents % 2).any()
    assert found.passages.shape[0] == every.passages.shape[0]
    assert len(found.pairs) < len(every.pairs)
    assert found.of({"srr": 2.0}).counts == {"srr": found.counts["srr"]}
    assert set(found.of({"srr": 2.0}).pairs.shares) == {2.0}


def test_encoders_of_one_drawing_are_those_that_are_learned_alone(twenty):
    index = Index(Workspace(twenty))
    units, documents = Units(index.path("units.arrow")), IndexedDocuments(index.path("documents.arrow"))
    lessons = StructureLessons(Workspace(twenty), units, documents, StructureOptions(dimensions=16))
    first = lessons.learned().encoder.vectors
    half = lessons.learned(asking=asking)
    assert half.counts["passage"] < lessons.learned().counts["passage"]
    assert not np.allclose(half.encoder.vectors, first)
    assert np.array_equal(lessons.learned().encoder.vectors, first)
    assert set(lessons.learned(mix={"opening": 1.0}).counts) == {"opening"}


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(twenty, tmp_path):
    index = Index(Workspace(twenty))
    units, documents = Units(index.path("units.arrow")), IndexedDocuments(index.path("documents.arrow"))
    made = []
    for number, seed in enumerate((0, 0, 1)):
        options = StructureOptions(learning=LearningOptions(seed=seed))
        folder = tmp_path / str(number)
        folder.mkdir()
        StructureLessons(Workspace(twenty), units, documents, options).learned().encoder.save(folder)
        made.append([(folder / name).read_bytes() for name in (FEATURES, VECTORS)])
    assert made[0] == made[1]
    assert made[0][1] != made[2][1]


def test_learning_goes_on_from_the_vectors_of_an_earlier_encoder(twenty):
    index = Index(Workspace(twenty))
    indexed = Units(index.path("units.arrow")), IndexedDocuments(index.path("documents.arrow"))
    lessons = StructureLessons(Workspace(twenty), *indexed, StructureOptions(dimensions=16))
    first = lessons.learned().encoder
    again = lessons.learned(start=first).encoder
    texts = ["clean the anchor with a cloth", "mend the sheet", "stow the oar in the dark"]
    near = (first.encode_queries(texts) * again.encode_queries(texts)).sum(1)
    assert near.min() > 0.5
    shorter = StructureLessons(Workspace(twenty), *indexed, StructureOptions(dimensions=8))
    assert shorter.learned(start=first).encoder.dimensions == 8  # of another length: from the beginning


def test_what_is_learned_finds_the_right_page(twenty):
    retriever = Retriever.open(twenty)
    assert str(retriever.default_pipeline()) == "hybrid:structure"
    for pipeline in (
        "dense:structure",
        "hybrid:structure",
        "lexical >> dense-fusion:structure",
        "lexical >> rerank:structure",
    ):
        assert retriever.search("how to mend a halyard", k=1, pipeline=pipeline)[0].document_id == "halyard.md"


# The index


def test_an_index_has_the_static_encoder_unless_words_alone_are_asked_for(workspace):
    assert run("index", "-w", workspace, "--encoder", "none").code == 0
    assert "structure" not in trained_models(workspace)
    assert str(Retriever.open(workspace).default_pipeline()) == "lexical"
    done = run("index", "-w", workspace, "--encoder", "structure", "--json")
    assert done.code == 0
    assert json.loads(done.out)["encoders"] == ["structure"]
    assert trained_models(workspace) == ["structure"]
    record = read_record(workspace, "structure")
    assert record.kind == "static-encoder"
    assert record.training["pairs"]["passage"] > 0
    card = (workspace / "models" / "structure" / "README.md").read_text()
    assert f"{record.training['features']} words and n-grams" in card


def test_the_default_makes_it_without_torch(workspace, light):
    done = light("index", "-w", workspace, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["encoders"] == ["structure"]
    found = light("search", "a loop that does not slip", "-w", workspace, "--json")
    assert json.loads(found.stdout)["hits"][0]["document_id"] == "knots.md"
    # Learned with other options it is another encoder; torch is still not asked for.
    assert light("train", "--ranker", "static-encoder", "--seed", "7", "-w", workspace).returncode == 0
    assert light("index", "-w", workspace).returncode == 0
    ranked = light("search", "reef", "-w", workspace, "--pipeline", "lexical >> rerank:structure")
    assert ranked.returncode == 0, ranked.stderr


def test_few_new_texts_keep_the_encoder_and_many_have_it_learned_again(indexed, pages):
    before = fingerprint(indexed)
    build_index(indexed, encoders=["structure"])
    assert fingerprint(indexed) == before
    write_pages(pages, {"oars.md": "# Oars\n\nAn oar moves a boat.\n"})
    ingest(pages, indexed, workers=1)
    build_index(indexed, encoders=["structure"])
    assert fingerprint(indexed) == before  # one passage of eight
    assert Retriever.open(indexed).search("an oar", k=1)[0].document_id == "oars.md"
    more = "".join(f"## Part {n}\n\nThe part {n} of a mast holds a sail in strong wind.\n\n" for n in range(9))
    write_pages(pages, {"mast.md": f"# Mast\n\nA mast stands.\n\n{more}"})
    ingest(pages, indexed, workers=1)
    build_index(indexed, encoders=["structure"])
    assert fingerprint(indexed) != before
    assert read_record(indexed, "structure").training["corpus"] == Corpus.open(indexed).fingerprint
    # Every vector is of the encoder that is there now.
    retriever = Retriever.open(indexed)
    encoder = StaticEncoder.load(indexed / "models" / "structure")
    index = retriever.opened.encoder("structure")[1]
    wanted = encoder.encode_documents([unit.ranker_text for unit in retriever.units])
    assert np.asarray(index.vectors) == pytest.approx(wanted, abs=1e-6)


def test_the_static_encoder_stays_while_little_is_new(indexed, pages, monkeypatch):
    def again(*_arguments: object) -> None:
        raise AssertionError("nothing is learned again")

    monkeypatch.setattr("structformer.retrieval.learning.structure.structure_pairs", again)
    write_pages(pages, {"oars.md": "# Oars\n\nAn oar moves a boat.\n"})
    ingest(pages, indexed, workers=1)
    build_index(indexed, encoders=["structure"])
    assert Index(Workspace(indexed)).has_vectors("structure")


def test_what_is_new_is_counted_since_it_was_learned(indexed, pages):
    before = fingerprint(indexed)
    kept = []
    for number in range(3):  # each one passage of eight, nine, ten
        write_pages(pages, {f"oar{number}.md": f"# Oar {number}\n\nThe oar {number} moves a boat.\n"})
        ingest(pages, indexed, workers=1)
        build_index(indexed, encoders=[] if number == 1 else ["structure"])
        kept.append(fingerprint(indexed) == before)
    assert kept == [True, True, False]


def test_vectors_are_made_when_a_pipeline_asks_for_them(indexed):
    train_structure(Workspace(indexed), "structure", StructureOptions(learning=LearningOptions(seed=5)))
    assert not Index(Workspace(indexed)).has_vectors("structure")
    assert Retriever.open(indexed).search("bowline", k=1, pipeline="dense:structure")[0].document_id == "knots.md"
    assert Index(Workspace(indexed)).has_vectors("structure")


def test_one_of_another_name_stands_beside_it(indexed):
    train_structure(Workspace(indexed), "openings", StructureOptions({"opening": 1.0, "passage": 1.0}, dimensions=32))
    build_index(indexed, encoders=["structure", "openings"])
    hit = Retriever.open(indexed).search("clove hitch", k=1, pipeline="hybrid:openings")[0]
    assert hit.document_id == "knots.md"
    assert not any(name.startswith("structure") for name in hit.scores)


@pytest.mark.parametrize("text", ["", "# One\n", "# One\n\nA single page says a single sentence here.\n"])
def test_a_corpus_with_nothing_to_learn_from_is_indexed_by_words(tmp_path, text):
    write_pages(tmp_path / "pages", {"one.md": text})
    run("ingest", tmp_path / "pages", "-w", tmp_path / "w")
    done = run("index", "-w", tmp_path / "w", "--encoder", "structure")
    assert done.code == 0, done.err
    assert "lexical only" in done.out
    assert trained_models(tmp_path / "w") == []
    asked = run("search", "single", "-w", tmp_path / "w", "--pipeline", "dense:structure")
    assert asked.code == 1
    assert asked.err.startswith("error: no model 'structure'")


def test_a_corpus_that_has_shrunk_keeps_its_encoder(indexed, pages):
    for name in ("knots.md", "parts/sails.md"):
        (pages / name).unlink()
    ingest(pages, indexed, workers=1)
    before = fingerprint(indexed)
    assert build_index(indexed, encoders=["structure"])["encoders"] == ["structure"]
    assert fingerprint(indexed) == before


def test_a_query_without_a_known_word_finds_nothing(twenty):
    retriever = Retriever.open(twenty)
    assert not retriever.opened.encoder("structure")[0].encode_queries(["结绳"]).any()
    for pipeline in ("dense:structure", "hybrid:structure", "hybrid:structure[weights=rrf]"):
        assert retriever.search("结绳", pipeline=pipeline) == []
        assert retriever.search("anchor", pipeline=pipeline)


def test_units_without_a_known_word_have_vectors_of_zeros(tmp_path):
    workspace = read(tmp_path, {**PAGES, "signs.md": "# ☂\n\n☂ ☃\n"})
    build_index(workspace, encoders=["structure"])
    index = Retriever.open(workspace).opened.encoder("structure")[1]
    lengths = np.linalg.norm(np.asarray(index.vectors), axis=1)
    assert (lengths == 0).any()
    assert lengths[lengths > 0] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("file", [FEATURES, VECTORS, "structformer.json"])
def test_a_changed_or_missing_file_of_the_model_is_noticed_and_an_index_learns_it_again(indexed, file):
    path = indexed / "models" / "structure" / file
    content = path.read_bytes()
    path.write_bytes(content[:-8] + b"changed!")
    done = run("search", "knot", "--pipeline", "dense:structure", "-w", indexed)
    assert done.code == 1
    assert f"{file} has changed since it was written: run `structformer index` again" in done.err
    path.unlink()
    with pytest.raises((ModelError, WorkspaceError), match=r"missing|no model"):
        Retriever.open(indexed).search("knot", pipeline="dense:structure")
    assert run("index", "-w", indexed, "--encoder", "structure").code == 0
    assert run("search", "knot", "-w", indexed, "--pipeline", "dense:structure").code == 0
    [earlier] = (indexed / "models" / "earlier").iterdir()
    assert not (earlier / file).exists(), "what was damaged is put aside, not lost"


def test_another_kind_of_model_under_its_name_is_not_replaced_by_an_index(workspace):
    train(workspace, replace(TINY, max_steps=1, mix={"ict": 1.0}, name="structure"))
    with pytest.raises(UsageError, match="is a bi-encoder: give it another name"):
        build_index(workspace, encoders=["structure"])


def test_damaged_vectors_of_the_index_before_are_made_again(indexed):
    before = fingerprint(indexed)
    folder = Workspace(indexed).folder("index") / "dense"
    for content in (b"", b"no array"):
        for name in (f"{before}.digests.npy", f"{before}.npy"):
            (folder / name).write_bytes(content)
        assert new_share(["a"], folder / f"{before}.npy") == 1.0
        assert KnownVectors(folder / f"{before}.npy").get(b"digests.") is None
    build_index(indexed, encoders=["structure"])
    assert Retriever.open(indexed).search("bowline", k=1, pipeline="dense:structure")[0].document_id == "knots.md"


def test_a_journal_of_another_encoder_is_not_gone_on_with(indexed, monkeypatch):
    """A run that is killed leaves a journal, under the name of what made its vectors."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    first = fingerprint(indexed)
    train_structure(Workspace(indexed), "structure", StructureOptions(learning=LearningOptions(seed=1)))
    second = fingerprint(indexed)
    with monkeypatch.context() as patch:
        patch.setattr("structformer.retrieval.vector_making.fsync_tree", killed)
        with pytest.raises(KeyboardInterrupt):
            build_index(indexed, encoders=["structure"])
    [journal] = (Workspace(indexed).cache / "vectors").iterdir()
    assert journal.name.startswith(second)
    assert first != second
    train_structure(Workspace(indexed), "structure", StructureOptions(learning=LearningOptions(seed=2)))
    build_index(indexed, encoders=["structure"])
    assert not (Workspace(indexed).cache / "vectors").exists()
    index = Retriever.open(indexed).opened.encoder("structure")[1]
    encoder = StaticEncoder.load(encoder_place(Workspace(indexed), "structure").queries)
    texts = [unit.ranker_text for unit in Units(Index(Workspace(indexed)).path("units.arrow"))]
    assert np.asarray(index.vectors) == pytest.approx(encoder.encode_documents(texts), abs=1e-6)


def test_a_comparison_has_its_rows(indexed):
    judged = Judgements({"q": "a loop that does not slip"}, {"q": {"knots.md": 1}}, {})
    rows = {row.pipeline: row for row in evaluate(indexed, judged, standard=False).rows}
    assert {"dense:structure", "hybrid:structure"} <= set(rows)
    assert rows["hybrid:structure"].scores["Success@1"] == 1.0


# Commands


def test_the_sources_are_chosen_by_the_task_mix(indexed):
    done = run("train", "--ranker", "static-encoder", "--task-mix", "srr=1,ict=2,heading", "-w", indexed, "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert record["model"] == "structure"
    assert record["options"]["mix"] == {"srr": 1.0, "ict": 2.0, "heading": 1.0}
    assert {"srr", "ict"} <= set(record["pairs"]) <= {"srr", "ict", "heading"}
    assert read_record(indexed, "structure").training["pairs"] == record["pairs"]


def test_its_options_are_kept_and_learned_with_again(indexed, pages):
    asked = ["--epochs", "2", "--batch", "4", "--learning-rate", "0.01", "--seed", "3", "--task-mix", "passage"]
    assert run("train", "--ranker", "static-encoder", *asked, "-w", indexed).code == 0
    options = read_record(indexed, "structure").training["options"]
    assert options["mix"] == {"passage": 1.0}
    assert options["learning"] == {"epochs": 2.0, "learning_rate": 0.01, "temperature": 0.05, "batch": 4, "seed": 3}
    more = "".join(f"## Part {n}\n\nThe part {n} of a mast holds a sail in strong wind.\n\n" for n in range(9))
    write_pages(pages, {"mast.md": f"# Mast\n\nA mast stands.\n\n{more}"})
    ingest(pages, indexed, workers=1)
    before = fingerprint(indexed)
    build_index(indexed, encoders=["structure"])
    assert fingerprint(indexed) != before
    assert read_record(indexed, "structure").training["options"] == options


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--task-mix", "srr=1,tea=2"], "unknown source of pairs: tea; known: "),
        (["--task-mix", "srr=x"], "'x' is not a number"),
        (["--size", "tiny", "--mlm", "0.1"], "--size, --mlm mean nothing to a static-encoder"),
        (["--recipe", "docs", "--dry-run"], "--recipe, --dry-run mean nothing"),
        (["--set", "hard_negatives=1", "--max-time", "1m"], "--max-time, --set mean nothing"),
        (["--seed", "-1"], "the seed -1: write 0 or more"),
        (["--batch", "1"], "a batch of one pair"),
        (["--learning-rate", "1e30"], "the learning rate 1e+30 is too high"),
        (["--name", "../x"], "the model name '../x'"),
    ],
)
def test_what_means_nothing_to_it_is_said(indexed, flags, message):
    before = fingerprint(indexed)
    done = run("train", "--ranker", "static-encoder", *flags, "-w", indexed)
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith("error: ")
    assert fingerprint(indexed) == before


def test_training_it_needs_an_index_with_words_in_it(workspace, tmp_path):
    done = run("train", "--ranker", "static-encoder", "-w", workspace)
    assert done.code == 1
    assert "structformer index" in done.err
    one = read(tmp_path / "one", {"one.md": "# One\n\nA single page.\n"})
    build_index(one, encoders=[])
    done = run("train", "--ranker", "static-encoder", "-w", one)
    assert done.code == 1
    assert "there is nothing to learn from" in done.err


def test_sources_and_seeds_are_checked_in_python_too():
    with pytest.raises(UsageError, match="unknown source of pairs: tea"):
        StructureOptions({"tea": 1.0})
    with pytest.raises(UsageError, match="seed -2"):
        StructureOptions(learning=LearningOptions(seed=-2))
    assert StructureOptions({"passage": 1.0, "acm": 1.0}).repeatable.mix == {"passage": 1.0}
    assert StructureOptions({"acm": 1.0}).repeatable.mix is None


# Beside a pretrained encoder


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory) -> str:
    """The folder of a tiny encoder of another workspace, which stands for a pretrained one."""
    workspace = boats(tmp_path_factory.mktemp("pretrained"))
    train(workspace, replace(TINY, mix={"ict": 1.0}))
    return str(workspace / "models" / "bi-encoder")


def test_a_pretrained_encoders_hybrid_has_its_two_cosines(indexed, pretrained, pages):
    train(indexed, replace(TINY, base_model=pretrained, size="mini", max_steps=1, mix={"ict": 1.0}))
    build_index(indexed, encoders=["base", "structure"])
    retriever = Retriever.open(indexed)
    assert retriever.weights(retriever.pipeline("hybrid:base")).with_structure
    [ranking] = retriever.rank(["clove hitch"], "hybrid:base")
    encoder, index, _ = retriever.opened.encoder("structure")
    units, cosines = zip(*sorted(ranking.scores["structure"].items()), strict=True)
    wanted, _ = index.scores(encoder.encode_queries(["clove hitch"])[0], np.array(units))
    assert cosines == pytest.approx(wanted.tolist(), abs=1e-6)
    # Without the static encoder's vectors it is a hybrid of four scores.
    build_index(indexed, encoders=["base"])
    retriever = Retriever.open(indexed)
    assert not retriever.weights(retriever.pipeline("hybrid:base")).with_structure
    assert "structure" not in retriever.search("clove hitch", pipeline="hybrid:base")[0].scores
    # And where the corpus has shrunk to what teaches nothing, there is still an index of both.
    build_index(indexed, encoders=["base", "structure"])
    for name in ("knots.md", "parts/sails.md"):
        (pages / name).unlink()
    ingest(pages, indexed, workers=1)
    assert build_index(indexed, encoders=["base", "structure"])["encoders"] == ["structure", "base"]
    assert Retriever.open(indexed).search("boats", pipeline="hybrid:base")
