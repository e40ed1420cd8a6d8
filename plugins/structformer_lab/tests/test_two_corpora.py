"""The papers' setting: rankers learn from an encyclopedia and are judged on documents without headings or links."""

from __future__ import annotations

import bz2
import json
import os
import shlex
import shutil
import subprocess
from html import escape
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from structformer import Corpus, Retriever
from structformer.cli.main import main
from structformer.corpus.site import whole_text
from structformer.errors import UsageError
from structformer.evaluation.judgements import read_judgements
from structformer.models import BiEncoder, make_scratch_model
from structformer.models.kinds import ranker_kind
from structformer.models.registry import read_record
from structformer.retrieval.indexing import build_index
from structformer.retrieval.rankings.run_files import read_qrels, read_run
from structformer.sampling import Samples
from structformer.training.judged.development import JudgedCandidates, judged_development
from structformer.training.judged.judging import development_score
from structformer.training.report.logs import read_log

from conftest import write_pages
from processes import program, torchrun
from structformer_lab.experiment import read_experiment
from structformer_lab.finetuning import finetuning_options, held_count, judged_source

THINGS = "anchor ballast compass engine fender galley halyard inlet jib keel".split()
DEEDS = "clean mend stow paint".split()
PAIRS = [*product(THINGS, DEEDS)]
TINY = "--base-model scratch --size tiny --max-time none --max-tokens 48 --batch 2 --precision fp32".split()
SETTINGS = "base_model=scratch size=tiny max_steps=1 max_seconds=none document_tokens=48 groups=2 precision=no".split()


def sentences(thing: str, deed: str) -> str:
    return (
        f"To {deed} the {thing} somebody looks at the {thing} closely, takes a cloth, and begins to {deed} it with care "
        f"on the quay. A wet {thing} is hard to {deed}, and so people wait for the sun."
    )


def article(number: int) -> str:
    """Wikitext: an abstract with a link in a sentence, three sections, see-also links."""
    thing, other, third = (THINGS[(number + step) % len(THINGS)] for step in (0, 1, 2))
    parts = "".join(f"== How to {deed} ==\n{sentences(thing, deed)}\n\n" for deed in DEEDS[:3])
    return (
        f"The '''{thing}''' is a part of a boat that sailors use together with the [[{other}]] whenever the wind is "
        f"strong enough for both of them and the harbour is near.\n\n{parts}== See also ==\n* [[{other}]]\n* [[{third}]]\n"
    )


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wiki")
    write_pages(folder / "pages", {f"{thing.title()}.wiki": article(n) for n, thing in enumerate(THINGS)})
    return ingested(folder / "pages", folder / "w")


@pytest.fixture(scope="module")
def marco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MS MARCO's files: documents, queries, judgements, and a run of ten documents of each query."""
    folder = tmp_path_factory.mktemp("marco")
    documents = [
        f"D{n}\thttps://boats.example/{thing}/{deed}\t{deed} a {thing}\t{sentences(thing, deed)}"
        for n, (thing, deed) in enumerate(PAIRS)
    ]
    (folder / "docs").mkdir()
    (folder / "docs" / "msmarco-docs.tsv").write_text("\n".join(documents) + "\n")
    rng = Random(1)
    numbers = range(len(PAIRS))
    candidates = {n: [n, *rng.sample([other for other in numbers if other != n], 9)] for n in numbers}
    (folder / "queries.tsv").write_text("".join(f"{n}\thow do I {d} my {t}\n" for n, (t, d) in enumerate(PAIRS)))
    (folder / "qrels.txt").write_text("".join(f"{n} 0 D{n} 1\n" for n in numbers))
    (folder / "top.trec").write_text(
        "".join(
            f"{query} Q0 D{number} {rank} {9 - rank}.5 indri\n"
            for query, documents_of in candidates.items()
            for rank, number in enumerate(documents_of)
        )
    )
    ingested(folder / "docs", folder / "w")
    build_index(folder / "w", encoders=[])
    return folder


def ingested(source: Path, workspace: Path) -> Path:
    with pytest.raises(SystemExit) as exit:
        main(["ingest", str(source), "-w", str(workspace), "--quiet"])
    assert exit.value.code == 0
    return workspace


def judged(marco: Path) -> list[object]:
    return ["--queries", marco / "queries.tsv", "--qrels", marco / "qrels.txt", "-w", marco / "w"]


WIKIFORMER = """
measures = ["RR@100", "nDCG@10"]
baseline = "BM25"
[[rows]]
label = "BM25"
pipeline = "{candidates} >> bm25[of=documents]"
[[rows]]
label = "Wikiformer"
pipeline = "{candidates} >> rerank:{model}[k=100, of=documents]"
train = { recipe = "wikiformer" }
"""
ONE_STEP = [part for each in (*SETTINGS, "sample.min_words=5") for part in ("--set", each)]


def test_a_row_learns_from_an_encyclopedia_and_is_judged_elsewhere(run, wiki, marco, tmp_path):
    (tmp_path / "e.toml").write_text(WIKIFORMER)
    command = ["experiment", tmp_path / "e.toml", *judged(marco), "--candidates", marco / "top.trec", *ONE_STEP]
    alone = run(*command, "-v", "--json")
    assert "left out: no Examples of srr, rwi, ati, ltm" in alone.err
    assert [row["label"] for row in alone.json[0]["rows"]] == ["BM25"]

    both = run(*command, "--train-from", wiki, "--json")
    assert [row["label"] for row in both.json[0]["rows"]] == ["BM25", "Wikiformer"], both.err
    name = read_experiment(str(tmp_path / "e.toml")).rows[1].model
    record, card = read_record(marco / "w", name), (marco / "w" / "models" / name / "README.md").read_text()
    assert record.training["corpus"] == Corpus.open(wiki).fingerprint
    assert f"{len(THINGS)} documents" in card
    assert f"of the workspace `{wiki}`" in card

    weights = marco / "w" / "models" / name / "model.safetensors"
    written = weights.stat().st_mtime_ns
    (tmp_path / "e.toml").write_text(WIKIFORMER.replace('"wikiformer" }', f'"wikiformer", from = "{wiki}" }}'))
    assert run(*command, "--quiet").code == 0, "a row's own `from` is what --train-from says"
    assert weights.stat().st_mtime_ns == written, "the same training is not done twice"
    again = ingested(wiki.parent / "pages" / "Keel.wiki", tmp_path / "again")
    (tmp_path / "e.toml").write_text(WIKIFORMER)
    assert run(*command, "--train-from", again, "--quiet").code == 0
    assert weights.stat().st_mtime_ns > written, "another corpus is another training"
    assert "no corpus in" in run(*command, "--train-from", tmp_path / "gone").err


class Longest:
    """Scores a document by its length."""

    kind = "cross-encoder"

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, queries, documents):
        self.read += documents
        return np.array([len(document) for document in documents], np.float32)


def test_a_checkpoint_is_chosen_by_the_order_of_the_runs_documents_of_all_queries(marco):
    queries, qrels = (
        read_judgements(marco / "queries.tsv", marco / "qrels.txt").queries,
        read_qrels(marco / "qrels.txt"),
    )
    found = read_run(marco / "top.trec")[1]
    task = judged_development(marco / "w", queries, qrels, run=found)
    assert len(task.queries) == len(PAIRS) == 40
    texts = {each.id: whole_text(each, Corpus.open(marco / "w").site) for each in Corpus.open(marco / "w").documents()}
    reciprocal = []
    for name in sorted(queries):
        lengths = {document: len(texts[document]) for document, _ in found[name]}
        rank = sum(length >= lengths[f"D{name}"] for length in lengths.values())
        reciprocal.append(1 / rank)
    ranker = Longest()
    assert development_score(ranker, task) == pytest.approx(sum(reciprocal) / 40)
    assert set(ranker.read) <= set(texts.values())
    by_words = judged_development(marco / "w", {"8": queries["8"]}, qrels)
    assert by_words.relevant == [{by_words.texts.index(texts["D8"])}]
    assert by_words.texts[by_words.candidates[0][0]] == texts["D8"], "BM25 puts the document with all words first"
    with pytest.raises(UsageError, match=r"the run has none of .*'s documents for any of these queries"):
        judged_development(marco / "w", queries, qrels, run={"8": [("another-collection-8", 1.0)]})


def test_what_a_run_does_not_have_counts_as_not_found():
    task = JudgedCandidates(["q", "r"], ["a", "abc", "ab"], [[0, 1], [0, 1, 2]], [frozenset(), frozenset({0, 2})])
    assert task.ranks(Longest())[1] == 2, "the best of the relevant ones, behind one that is not"
    assert development_score(Longest(), task) == 0.25


def test_a_candidate_of_many_queries_is_encoded_once(tmp_path):
    make_scratch_model(lambda: map(" ".join, (THINGS, DEEDS)), tmp_path / "base", size="tiny", seed=0, vocabulary=200)
    encoder, read = BiEncoder.load(str(tmp_path / "base")), []
    texts = [f"{deed} the {thing}" for thing in THINGS[:3] for deed in DEEDS[:3]]
    by_pairs = [1 + sum(encoder.score([query] * 8, texts[1:]) >= encoder.score([query], texts[:1])) for query in DEEDS]
    encode = encoder.encode_documents
    encoder.encode_documents = lambda documents: (read.extend(documents), encode(documents))[1]
    task = JudgedCandidates(DEEDS, texts, [[*range(9)]] * len(DEEDS), [frozenset({0})] * len(DEEDS))
    assert task.ranks(encoder).tolist() == by_pairs
    assert sorted(read) == sorted(texts)


def test_training_on_one_corpus_is_judged_on_another(run, wiki, marco):
    found = run(
        *("train", "--ranker", "cross-encoder", "-w", wiki, *TINY, "--max-steps", 2, "--set", "sample.min_words=5"),
        *("--dev-workspace", marco / "w", "--dev-queries", marco / "queries.tsv", "--dev-qrels", marco / "qrels.txt"),
        *("--dev-candidates", marco / "top.trec", "--eval-steps", 1),
    )
    assert found.code == 0, found.err
    assert "the checkpoint is chosen by RR@10 of 40 queries, 400 candidates" in found.err
    assert "held-out RR@10" in found.err
    judged_by = read_record(wiki, "cross-encoder").training["judged"]
    assert (judged_by["questions"], judged_by["measure"]) == (40, "RR@10")
    refused = run("train", "-w", wiki, "--ranker", "cross-encoder", "--dev-workspace", marco / "w")
    assert "dev_workspace and dev_candidates go with dev_queries" in refused.err


def test_fine_tuning_on_documents_draws_negatives_from_the_run_alone(run, marco):
    train = ["train", "--ranker", "cross-encoder", "--task-mix", "ict", "-w", marco / "w", *TINY, "--max-steps", 1]
    assert (
        run(*train, "--set", "sample.min_words=5", "--set", "sample.negatives_from=lexical", "--name", "base").code == 0
    )
    command = ["finetune", *judged(marco), "--model", "base", *TINY[4:], "--max-steps", 1, "--negatives", 4]
    command += ["--of", "documents", "--candidates", marco / "top.trec"]
    assert run(*command, "--seed", 3).code == 0
    corpus, runs = Corpus.open(marco / "w"), read_run(marco / "top.trec")[1]
    texts = {whole_text(each, corpus.site): each.id for each in corpus.documents()}
    queries = {text: name for name, text in read_judgements(marco / "queries.tsv", marco / "qrels.txt").queries.items()}
    first = list(Samples.open(marco / "w", "judged"))
    assert len(first) == 32, "a fifth of the queries judges"
    for example in first:
        name = queries[example.queries[0]]
        positive, *negatives = (texts[document] for document in example.documents)
        assert positive == f"D{name}"
        assert len(set(negatives) - {positive}) == 4
        assert set(negatives) < {document for document, _ in runs[name]}
    thing, deed = THINGS[0], DEEDS[0]
    assert f"{deed} a {thing}\nhttps://boats.example/{thing}/{deed}\nTo {deed} the {thing} somebody" in "".join(texts)
    assert read_record(marco / "w", "base-finetuned").training["judged"]["measure"] == "RR@10"
    assert run(*command, "--seed", 3, "--force").code == 0
    assert [each.documents for each in Samples.open(marco / "w", "judged")] == [each.documents for each in first]
    assert run(*command, "--seed", 4, "--force").code == 0
    assert [each.documents for each in Samples.open(marco / "w", "judged")] != [each.documents for each in first]
    assert "--candidates goes with --of documents" in run(*command, "--of", "passages").err


def test_reranking_documents_counts_documents(tmp_path, monkeypatch):
    """Long documents are of many passages, which all precede the short ones' in BM25's order."""
    pages = {f"long{n}.md": f"# Long {n}\n\n" + "\n\n".join([f"A keel, {'word ' * 150}"] * 5) for n in range(3)}
    write_pages(
        tmp_path / "pages", {**pages, "short.md": "# Short\n\nOnce a keel was told of, among much else here.\n"}
    )
    workspace = ingested(tmp_path / "pages", tmp_path / "w")
    build_index(workspace, encoders=[])
    ranker = Longest()
    monkeypatch.setattr("structformer.retrieval.loading.load_scorer", lambda *_: ranker)
    retriever = Retriever.open(workspace)
    units = len(retriever.rank(["keel"], "lexical")[0].ranked)
    assert units > 12
    for k, documents in ((1, 1), (3, 3), (4, 4), (50, 4)):
        ranker.read.clear()
        ranking = retriever.rank(["keel"], f"lexical >> rerank:it[k={k}, of=documents]")[0]
        assert len(ranker.read) == documents
        assert len(ranking.ranked) == units
    ranker.read.clear()
    retriever.rank(["keel"], "lexical >> rerank:it[k=4]")
    assert len(ranker.read) == 4, "passages, where documents are not asked for"


def test_rerankers_read_of_documents_what_they_were_trained_on(wiki, marco, monkeypatch):
    """Title, address where there is one, sections with their titles."""
    ranker = Longest()
    monkeypatch.setattr("structformer.retrieval.loading.load_scorer", lambda *_: ranker)
    for workspace, count in ((wiki, len(THINGS)), (marco / "w", 40)):
        build_index(workspace, encoders=[])
        ranker.read.clear()
        Retriever.open(workspace).rank(["how to clean the boat care"], "lexical >> rerank:it[k=1000, of=documents]")
        corpus = Corpus.open(workspace)
        trained_on = {whole_text(document, corpus.site) for document in corpus.documents()}
        assert set(ranker.read) == trained_on
        assert len(trained_on) == count


def test_files_of_another_collection_are_refused_before_anything_is_trained(run, wiki, marco, tmp_path):
    (tmp_path / "e.toml").write_text(WIKIFORMER.replace("recipe", "max_steps = 1, recipe"))
    lines = (marco / "top.trec").read_text()
    for name, text in (("other.trec", lines.replace(" D", " X")), ("empty.trec", ""), ("odd.trec", "a b\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "other.txt").write_text((marco / "qrels.txt").read_text().replace(" D", " X"))
    (tmp_path / "unasked.txt").write_text("1000 0 D1 1\n")
    asked = ["--queries", marco / "queries.tsv", "-w", marco / "w"]
    right = [*asked, "--qrels", marco / "qrels.txt"]
    learned = [*right, "--train-queries", marco / "queries.tsv"]
    models = set((marco / "w" / "models").glob("*"))
    for arguments, said in (
        ([*asked, "--qrels", tmp_path / "other.txt"], "no judged query has a relevant document in the corpus"),
        ([*asked, "--qrels", tmp_path / "unasked.txt"], "no query has a relevant document in the qrels"),
        ([*learned, "--train-qrels", tmp_path / "other.txt"], "no judged query has a relevant document in the corpus"),
        ([*right, "--candidates", tmp_path / "other.trec"], "the run has none of"),
        ([*right, "--candidates", tmp_path / "empty.trec"], "has no ranking"),
        ([*right, "--candidates", tmp_path / "odd.trec"], "not TREC's"),
        ([*right, "--candidates", tmp_path / "gone.trec"], "cannot be read"),
        ([*right, "--set", "Wikiformer.nokey=1"], "no key nokey"),
    ):
        refused = run("experiment", tmp_path / "e.toml", "--train-from", wiki, *ONE_STEP[2:], *arguments)
        assert refused.code == 2
        assert said in refused.err
    assert set((marco / "w" / "models").glob("*")) == models


def test_a_ranker_of_groups_is_told_when_there_is_nothing_to_compare(run, marco):
    train = ["train", "--ranker", "cross-encoder", "--task-mix", "ict", "-w", marco / "w", *TINY, "--dry-run"]
    alone = run(*train, "--set", "sample.min_words=5")
    assert "the Examples of ict have no negatives" in alone.err
    others = run(*train, "--set", "sample.min_words=5", "--set", "sample.negatives_from=lexical")
    assert others.code == 0
    assert "have no negatives" not in others.err


ORDERS = """
measures = ["nDCG@10"]
baseline = "BM25"
[[rows]]
label = "BM25"
pipeline = "{candidates} >> bm25[of=documents]"
[[rows]]
label = "QL"
pipeline = "{candidates} >> ql[of=documents]"
[[rows]]
label = "KNRM"
pipeline = "{candidates} >> rerank:{model}[k=100, of=documents]"
queries = [2, 3]
finetune = { ranker = "knrm", of = "documents", max_steps = 2, base_model = "scratch", size = "tiny" }
[[rows]]
label = "both"
ensemble = ["BM25", "QL"]
"""


def test_all_rows_reorder_the_same_documents_and_some_may_be_asked_for(run, marco, tmp_path):
    (tmp_path / "e.toml").write_text(ORDERS)
    command = ["experiment", tmp_path / "e.toml", *judged(marco), "--json", "--output", tmp_path / "out", "--force"]
    found = run(*command, "--rows", "KNRM, 2 queries,QL", "--measures", "RR@100,P@5", "--set", "KNRM.max_steps=1")
    assert found.code == 0, found.err
    assert [row["label"] for row in found.json[0]["rows"]] == ["QL", "KNRM, 2 queries"]
    assert found.json[0]["measures"] == ["RR@100", "P@5"]
    runs = [read_run(path)[1] for path in sorted((tmp_path / "out" / "e" / "runs").iterdir())]
    assert len(runs) == 2
    for query in runs[0]:
        first, second = ({document for document, _ in each[query]} for each in runs)
        assert first == second
    assert run(*command, "--rows", "QL", "--set", "KNRM.max_steps=1").code == 0, (
        "a row that does not run has settings too"
    )
    tuned = next((marco / "w" / "models").glob("experiment-knrm-2-queries-*-finetuned"))
    assert read_record(marco / "w", tuned.name).training["steps"] == 1, "--set of a label is its rows' alone"
    every = run(*command, "--rows", "both")
    assert [row["label"] for row in every.json[0]["rows"]] == ["BM25", "QL", "both"]
    assert "no row 'gone'; choose from: BM25; KNRM; KNRM, 2 queries" in run(*command, "--rows", "gone").err
    assert "no measure 'nonsense'" in run(*command, "--measures", "nonsense").err


def test_a_fifth_of_the_queries_judges_fine_tuning_but_none_in_an_experiment(run, marco, tmp_path):
    """HARP's figure 3 learns from all of its twenty queries, and of 200,000 a fifth would be judged for days."""
    assert [held_count(queries) for queries in (19, 20, 70, 2_500, 200_000)] == [0, 4, 14, 500, 500]
    queries = {str(n): f"how do I {deed} my {thing}" for n, (thing, deed) in enumerate(PAIRS) if n < 20}
    qrels = {name: {f"D{name}": 1} for name in queries}
    for share, asked, held in ((None, 16, 4), (0.0, 20, 0)):
        chosen = {} if share is None else {"held_out": share}
        source, _ = judged_source(marco / "w", queries, qrels, negatives=2, seed=0, of="documents", **chosen)
        assert len({example.queries[0] for example in source.samples}) == asked
        assert len(source.development.queries if source.development else []) == held

    (tmp_path / "qrels.txt").write_text("".join(f"{n} 0 D{n} 1\n" for n in range(25)))
    (tmp_path / "e.toml").write_text(ORDERS.replace("[2, 3]", "[20]"))
    command = ["experiment", tmp_path / "e.toml", *judged(marco), "--rows", "KNRM, 20 queries"]
    done = run(*command, "--train-queries", marco / "queries.tsv", "--train-qrels", tmp_path / "qrels.txt")
    assert done.code == 0, done.err
    tuned = next((marco / "w" / "models").glob("experiment-knrm-20-queries-*-finetuned"))
    record = read_record(marco / "w", tuned.name)
    assert record.training["plan"]["examples"] == {"judged": 20}
    assert record.judged is None
    assert record.training["settings"]["learning_rate"] == ranker_kind("knrm").cpu.learning_rate == 1e-3
    assert finetuning_options(marco / "w", None, {"ranker": "cross-encoder"})["learning_rate"] == 2e-5


BEFORE_TUNING = """
measures = ["nDCG@10"]
[[rows]]
label = "BM25"
pipeline = "{candidates} >> bm25[of=documents]"
[[rows]]
label = "learned"
pipeline = "{candidates} >> rerank:{model}[k=100, of=documents]"
train = { ranker = "cross-encoder", mix = { rwi = 1 } }
finetune = { of = "documents" }
[[rows]]
label = "from a folder"
pipeline = "{candidates} >> rerank:{model}[k=100, of=documents]"
finetune = { ranker = "cross-encoder", of = "documents", base_model = "FOLDER" }
"""


def test_settings_for_all_rows_leave_fine_tuning_what_was_learned_before_it(run, wiki, marco, tmp_path):
    (tmp_path / "e.toml").write_text(BEFORE_TUNING)
    command = ["experiment", tmp_path / "e.toml", *judged(marco), "--train-from", wiki, *ONE_STEP]
    learned = read_experiment(str(tmp_path / "e.toml")).rows[1].model
    done = run(*command, "--rows", "learned")
    assert done.code == 0, done.err
    models = marco / "w" / "models"
    tuned = read_record(marco / "w", f"{learned}-finetuned")
    assert tuned.base_location == str(models / learned)
    assert tuned.training["options"]["max_steps"] == 1, "the other settings are fine-tuning's too"
    assert tuned.training["corpus"] == Corpus.open(marco / "w").fingerprint
    assert read_record(marco / "w", learned).base == "scratch"

    (tmp_path / "e.toml").write_text(BEFORE_TUNING.replace("FOLDER", str(models / learned)))
    apart = f"{read_experiment(str(tmp_path / 'e.toml')).rows[2].model}-finetuned"
    assert run(*command, "--rows", "from a folder").code == 0
    assert read_record(marco / "w", apart).base_location == str(models / learned), "the row names its own base"
    own = ["--set", "from a folder.base_model=scratch", "--set", "learned.base_model=minilm"]
    assert run(*command, *own, "--rows", "from a folder").code == 0
    assert read_record(marco / "w", apart).base == "scratch", "its label is given another one"
    refused = run(*command, "--set", "name=mine")
    assert (refused.code, "an experiment names the models of its rows itself" in refused.err) == (2, True)


def test_two_processes_train_each_row_as_one_does(run, wiki, marco, tmp_path):
    (tmp_path / "e.toml").write_text(BEFORE_TUNING.replace('label = "learned"', 'label = "shared"'))
    name = read_experiment(str(tmp_path / "e.toml")).rows[1].model
    command = [tmp_path / "e.toml", *judged(marco), "--train-from", wiki, *ONE_STEP, "--rows", "BM25,shared"]
    command += ["--set", "groups=1", "--set", "accumulation=2"]  # of a step, however many processes share it

    def trained() -> list[dict[str, float]]:
        logs = [read_log(marco / "w" / "models" / each / "training.jsonl") for each in (name, f"{name}-finetuned")]
        return [log[0]["losses"] for log in logs]

    alone = run("experiment", *command, "--output", tmp_path / "one")
    assert alone.code == 0, alone.err
    losses = trained()
    for folder in (marco / "w" / "models").glob(f"{name}*"):
        (folder / "experiment.json").unlink()  # it would be kept
    both = torchrun(2, "-m", "structformer", "experiment", *command, "--output", tmp_path / "two")
    assert both.returncode == 0, both.stderr[-2000:]
    assert both.stdout.count("tables: ") == 1, "the first process speaks for both"
    for one, two in zip(losses, trained(), strict=True):
        assert one == pytest.approx(two, rel=1e-5)
    first, second = (sorted((tmp_path / each / "e" / "runs").iterdir()) for each in ("one", "two"))
    for one, two in zip(first, second, strict=True):
        assert {q: [d for d, _ in its] for q, its in read_run(one)[1].items()} == {
            q: [d for d, _ in its] for q, its in read_run(two)[1].items()
        }


DUMP = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">\n{}</mediawiki>\n'
PAGE = "<page><title>{}</title><ns>0</ns><id>{}</id><revision><id>1</id><text>{}</text></revision></page>\n"


def block_of(heading: str, number: int) -> str:
    """A block of commands below a heading of docs/reproduce.md, counted from 0."""
    section = (Path(__file__).parents[3] / "docs" / "reproduce.md").read_text().partition(f"## {heading}\n")[2]
    return section.split("```")[2 * number + 1].replace("\\\n", " ").strip()


def commands_of(heading: str) -> list[list[str]]:
    """The commands below a heading of docs/reproduce.md."""
    return [shlex.split(line) for line in block_of(heading, 0).split("\n")]


@pytest.mark.slow
def test_the_page_of_eight_gpus_is_right_from_a_dump_to_the_tables(marco, tmp_path):
    """Its commands as they are, but for the files, two processes, and two rows of a step each."""
    pages = "".join(PAGE.format(thing.title(), n + 1, escape(article(n))) for n, thing in enumerate(THINGS))
    (tmp_path / "dump.xml.bz2").write_bytes(bz2.compress(DUMP.format(pages).encode()))
    places = {
        "enwiki-latest-pages-articles-multistream.xml.bz2": tmp_path / "dump.xml.bz2",
        **{name: tmp_path / name for name in ("wiki", "marco")},
        **dict.fromkeys(("top100.trec", "train100.trec"), marco / "top.trec"),
        **dict.fromkeys(("Q", "TQ"), marco / "queries.tsv"),
        **dict.fromkeys(("R", "TR"), marco / "qrels.txt"),
        "8": 2,
    }
    for command in commands_of("Eight GPUs, from a dump to the tables"):
        words = [str(places.get(word, word)) for word in command]
        if "--dataset" in words:
            words[2:4] = [str(marco / "docs")]
        if words[0] == "structformer":
            with pytest.raises(SystemExit) as ended:
                main([*words[1:], "--min-words", "5"] if words[1] == "sample" else words[1:])
            assert ended.value.code == 0, words
            continue
        assert words[:3] == ["torchrun", "--nproc_per_node", "2"]
        done = torchrun(2, *words[3:], *ONE_STEP, "-v", "--rows", "BM25,Wikiformer")
        assert done.returncode == 0, done.stderr[-2000:]
    for name in ("zero-shot", "finetuned"):
        report = json.loads((tmp_path / "marco" / "experiments" / name / "report.json").read_text())
        assert [row["label"] for row in report["rows"]] == ["BM25", "Wikiformer"]
    assert "drawing" not in done.stderr, "sample drew what the recipe asks for"
    assert "scoring BM25: " in done.stderr, "which row is scored is said"
    assert "scoring Wikiformer: " in done.stderr


@pytest.mark.slow
def test_rows_are_trained_side_by_side_and_a_killed_one_is_trained_again(wiki, marco, tmp_path):
    """The page's lines as they are, but for the files, one table, and two rows of a step each."""
    shutil.copytree(wiki, tmp_path / "wiki")
    shutil.copytree(marco / "w", tmp_path / "marco", ignore=shutil.ignore_patterns("models", "experiments"))
    for file, names in (("top.trec", "top100.trec train100.trec"), ("queries.tsv", "Q TQ"), ("qrels.txt", "R TR")):
        for name in names.split():
            shutil.copy(marco / file, tmp_path / name)
    structformer = program(tmp_path / "bin" / "structformer", *ONE_STEP)
    lines = block_of("Eight GPUs, from a dump to the tables", 1)
    for named, here in (("PROP HARP ARES Wikiformer", "PROP Wikiformer"), ("zero-shot finetuned", "finetuned")):
        assert named in lines
        lines = lines.replace(named, here)
    environment = {**os.environ, "PATH": f"{structformer.parent}:{os.environ['PATH']}"}

    def trained() -> list[str]:
        done = subprocess.run(["bash", "-c", lines], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, [done.stderr, *(log.read_text() for log in tmp_path.glob("marco-?.log"))]
        return sorted(path.name for path in (tmp_path / "marco" / "models").glob("experiment-*"))

    def numbers_of(workspaces: str) -> dict[Path, int]:
        return {path: path.stat().st_ino for path in tmp_path.glob(f"{workspaces}/models/*/model.safetensors")}

    models = trained()
    assert len(models) == 4, "both rows, as learned and as fine-tuned"
    shutil.rmtree(tmp_path / "marco" / "models")
    killed = next((tmp_path / "marco-1" / "models").glob("experiment-*-finetuned"))
    shutil.rmtree(killed)
    kept = numbers_of("marco-?")
    assert trained() == models
    assert {path: numbers_of("marco-?")[path] for path in kept} == kept, "what is there is not trained again"
    gathered = numbers_of("marco")
    table = [part for part in commands_of("Eight GPUs, from a dump to the tables")[-1] if not part.startswith("-m")]
    words = [structformer, "experiment", *table[table.index("finetuned") :], "--rows", "PROP,Wikiformer"]
    done = subprocess.run([*map(str, words)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert numbers_of("marco") == gathered, "nothing is trained for the tables"
    report = json.loads((tmp_path / "marco" / "experiments" / "finetuned" / "report.json").read_text())
    assert [row["label"] for row in report["rows"]] == ["PROP", "Wikiformer"]


def test_judged_queries_choose_the_checkpoints_of_an_experiment(run, wiki, marco, tmp_path):
    (tmp_path / "e.toml").write_text(BEFORE_TUNING.replace('label = "learned"', 'label = "chosen"'))
    name = read_experiment(str(tmp_path / "e.toml")).rows[1].model
    files = {"dev_queries": "queries.tsv", "dev_qrels": "qrels.txt", "dev_candidates": "top.trec"}
    settings = [part for key, file in files.items() for part in ("--set", f"{key}={tmp_path / file}")]
    command = ["experiment", tmp_path / "e.toml", *judged(marco), "--train-from", wiki, *ONE_STEP, "--rows", "chosen"]
    assert "cannot be read" in run(*command, *settings).err, "before anything is trained"
    for file in files.values():
        (tmp_path / file).write_text((marco / file).read_text())
    done = run(*command, *settings, "-v")
    assert done.code == 0, done.err
    assert "the checkpoint is chosen by RR@10 of 40 queries, 400 candidates" in done.err
    by = read_record(marco / "w", name).training["judged"]
    assert (by["by"], by["questions"], by["measure"]) == ("judged development queries", 40, "RR@10")
    tuned = read_record(marco / "w", f"{name}-finetuned").training["options"]
    assert tuned["dev_queries"] is None, "fine-tuning has judged queries of its own"

    weights = marco / "w" / "models" / name / "model.safetensors"
    written = weights.stat().st_mtime_ns
    assert run(*command, *settings).code == 0
    assert weights.stat().st_mtime_ns == written
    (tmp_path / "qrels.txt").write_text("".join(f"{n} 0 D{n} 1\n" for n in range(30)))
    assert run(*command, *settings).code == 0
    assert weights.stat().st_mtime_ns > written, "other judgements may choose another checkpoint"
    assert read_record(marco / "w", name).training["judged"]["questions"] == 30


SIZES = """
measures = ["nDCG@10"]
[[rows]]
label = "PROP"
pipeline = "{candidates} >> rerank:{model}[k=100, of=documents]"
sizes = [10, 20]
train = { recipe = "prop", groups = 2, accumulation = 1, schedule = "constant" }
"""


def test_a_size_is_a_number_of_pairs(run, wiki, marco, tmp_path):
    """PROP's groups are of two word sets and their document, and a step has two groups: four pairs."""
    (tmp_path / "e.toml").write_text(SIZES)
    settings = [each for each in SETTINGS if not each.startswith(("max_", "groups"))]
    words = ("sample.min_words=5", "sample.min_frequency=1", "sample.keep_short=1.0")
    chosen = [part for each in (*settings, *words) for part in ("--set", each)]
    done = run("experiment", tmp_path / "e.toml", *judged(marco), "--train-from", wiki, *chosen)
    assert done.code == 0, done.err
    rows = read_experiment(str(tmp_path / "e.toml")).rows
    assert [row.label for row in rows] == ["PROP, 10 pairs", "PROP, 20 pairs"]
    trained = [read_record(marco / "w", row.model).training for row in rows]
    assert [(each["steps"], each["plan"]["limited_by"]) for each in trained] == [(3, "10 pairs"), (5, "20 pairs")]
