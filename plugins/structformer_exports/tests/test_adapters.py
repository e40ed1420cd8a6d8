"""Other libraries' components over a workspace, and exports read back by the libraries they are for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from structformer import Corpus, Retriever, ingest, sample
from structformer.errors import UsageError
from structformer.retrieval.indexing import build_index
from structformer.sampling import Samples, SamplingOptions

from boats import boats
from conftest import write_pages
from structformer_exports import sphinx
from structformer_exports.dataset_files import export_beir, export_datasets, export_docsearch, export_training_rows


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = boats(tmp_path_factory.mktemp("harbour"))
    build_index(folder, encoders=[])
    return folder


def test_langchain(harbour):
    from langchain_core.runnables import RunnableLambda

    from structformer_exports.langchain import StructformerRetriever

    retriever = StructformerRetriever(workspace=str(harbour), k=3, paths=("mast.md", "keel.md"))
    documents = retriever.invoke("mend the mast")
    assert documents[0].id == "mast.md#mend-the-mast"
    assert documents[0].page_content.startswith("The mast > Mend the mast\nTo mend the mast")
    assert documents[0].metadata["path"] == ["The mast", "Mend the mast"]
    assert documents[0].metadata["source"] == "mast.md#mend-the-mast"
    chain = retriever | RunnableLambda(lambda found: len(found))
    assert chain.invoke("mend the mast") == 3


def test_llama_index(harbour):
    from structformer_exports.llama_index import StructformerRetriever

    nodes = StructformerRetriever(harbour, k=2).retrieve("mend the mast")
    assert nodes[0].node.metadata["document_id"] == "mast.md"
    assert nodes[0].score >= nodes[1].score
    assert nodes[0].node.get_content().startswith("The mast > Mend the mast")


def test_haystack(harbour):
    from haystack import Pipeline

    from structformer_exports.haystack import StructformerRetriever

    pipeline = Pipeline()
    pipeline.add_component("search", StructformerRetriever(workspace=str(harbour), top_k=2, pipeline="lexical"))
    again = StructformerRetriever.from_dict(pipeline.get_component("search").to_dict())
    assert (again.workspace, again.top_k, again.pipeline) == (str(harbour), 2, "lexical")
    [first, _] = pipeline.run({"search": {"query": "mend the mast"}})["search"]["documents"]
    assert (first.id, first.meta["anchor"]) == ("mast.md#mend-the-mast", "mend-the-mast")


def test_haystacks_filters_are_the_workspaces(harbour):
    from structformer_exports.haystack import StructformerRetriever, _equal

    def equals(field, value):
        return {"operator": "==", "field": field, "value": value}

    both = {"operator": "AND", "conditions": [equals("meta.level", 1), equals("meta.tags", "rig")]}
    assert _equal(both) == {"level": 1, "tags": "rig"}
    for unlike in (
        {"operator": ">", "field": "meta.level", "value": 1},
        {"operator": "AND", "conditions": [equals("meta.level", 1), equals("meta.level", 2)]},
    ):
        with pytest.raises(ValueError, match="a workspace's filter takes"):
            StructformerRetriever(str(harbour), pipeline="lexical").run("mend the mast", filters=unlike)
    assert StructformerRetriever(str(harbour)).run("mend the mast", top_k=0) == {"documents": []}


def test_pyterrier(harbour):
    pt = pytest.importorskip("pyterrier")
    import pandas as pd

    from structformer_exports.pyterrier import StructformerRetriever

    retriever = StructformerRetriever(harbour, pipeline="lexical", k=5)
    topics = pd.DataFrame([("1", "mend the mast"), ("2", "stow the keel")], columns=["qid", "query"])
    found = retriever.transform(topics)
    assert found.groupby("qid").first()["docno"].tolist() == ["mast.md", "keel.md"]
    assert found["rank"].tolist()[:5] == [0, 1, 2, 3, 4]
    qrels = pd.DataFrame([("1", "mast.md", 1), ("2", "keel.md", 1)], columns=["qid", "docno", "label"])
    table = pt.Experiment([retriever % 3], topics, qrels, ["recip_rank"])
    assert table["recip_rank"].tolist() == [1.0]


def test_examples_as_a_datasets_folder(harbour, tmp_path):
    import datasets

    count = export_datasets(harbour, tmp_path / "d")
    samples = Samples.open(harbour)
    assert count == len(samples)
    found = datasets.load_dataset(str(tmp_path / "d"), "srr", split="train", cache_dir=str(tmp_path / "cache"))
    assert len(found) == samples.counts["srr"]
    example = samples.example("srr", 0)
    assert found[0]["queries"] == list(example.queries)
    assert found[0]["documents"] == list(example.documents)
    with pytest.raises(UsageError, match="is there already"):
        export_datasets(harbour, tmp_path / "d")


def test_examples_as_training_rows_of_sentence_transformers(harbour, tmp_path):
    import datasets
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from structformer.models.base import packaged_minilm

    assert export_training_rows(harbour, tmp_path / "t") > 0
    triplets = datasets.Dataset.from_parquet(
        str(tmp_path / "t" / "triplets.parquet"), cache_dir=str(tmp_path / "cache")
    )
    assert triplets.column_names == ["anchor", "positive", "negative"]
    model = SentenceTransformer(str(packaged_minilm()), device="cpu")
    rows = triplets.select(range(4))
    features = [
        model.preprocess(rows[name]) if hasattr(model, "preprocess") else model.tokenize(rows[name])
        for name in rows.column_names
    ]
    assert MultipleNegativesRankingLoss(model)(features, None).item() > 0
    lists = datasets.Dataset.from_parquet(str(tmp_path / "t" / "lists.parquet"), cache_dir=str(tmp_path / "cache"))
    assert all(len(row["docs"]) == len(row["labels"]) and sum(row["labels"]) <= 1 for row in lists)


def test_examples_as_aligned_files_of_triples(run, tmp_path):
    """One line a negative; a group of several queries for one document has the document as its query."""
    parts = "".join(
        f"## {deed} it\n\nSomebody will {deed.lower()} it with care\u2028on the quay.\n\nNever {deed.lower()} it wet.\n\n"
        for deed in ("Clean", "Mend", "Stow")
    )
    workspace = tmp_path / "w"
    ingest(write_pages(tmp_path / "pages", {"mast.md": f"# The mast\n\n{parts}"}), workspace)
    sample(workspace, ["srr", "rwi"], options=SamplingOptions(min_words=5), held_out=0.0)
    command = ["export", "--qry-pos-neg", tmp_path / "t", "-w", workspace, "--set", "sample.min_words=5"]
    made = run(*command, "--set", "sample.held_out=0.0", "--json")
    assert made.code == 0, made.err
    assert made.json == [{"path": str(tmp_path / "t"), "count": 8, "what": "triples"}]
    files = ("qry.txt", "pos.txt", "neg.txt")
    triples = list(zip(*((tmp_path / "t" / name).read_text().split("\n")[:-1] for name in files), strict=True))
    texts = {
        f"The mast {deed} it": f"Somebody will {deed.lower()} it with care on the quay. Never {deed.lower()} it wet."
        for deed in ("Clean", "Mend", "Stow")
    }
    of_sections = [
        (query, right, wrong) for query, right in texts.items() for wrong in texts.values() if wrong != right
    ]
    assert sorted(triples[:6]) == sorted(of_sections)
    for document, right, wrong in triples[6:]:
        assert texts[right] == document
        assert wrong in texts
        assert wrong != right
    assert "is there already" in run(*command).err
    assert run(*command, "--set", "sample.held_out=0.0", "--force").code == 0


def test_the_corpus_as_beir(harbour, tmp_path):
    assert export_beir(harbour, tmp_path / "b") == 20
    rows = [json.loads(line) for line in (tmp_path / "b" / "corpus.jsonl").read_text().splitlines()]
    mast = next(row for row in rows if row["_id"] == "mast.md")
    assert mast["title"] == "The mast"
    assert "Mend the mast\n\nTo mend the mast" in mast["text"]


def test_the_corpus_as_docsearch_records(harbour, tmp_path):
    count, _ = export_docsearch(harbour, tmp_path / "records.jsonl", base_url="https://example.org/docs")
    rows = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert len(rows) == count
    assert len({row["objectID"] for row in rows}) == count
    record = next(row for row in rows if row["url"].endswith("mast.md#mend-the-mast") and row["type"] == "content")
    assert (record["hierarchy_lvl0"], record["hierarchy_lvl1"], record["hierarchy_lvl2"]) == (
        "The mast",
        "Mend the mast",
        None,
    )
    assert record["url"] == "https://example.org/docs/mast.md#mend-the-mast"
    assert record["content"].startswith("To mend the mast")
    assert {row["type"] for row in rows} == {"lvl0", "lvl1", "content"}


def test_docsearch_records_lead_to_the_site_where_it_is_known(run, tmp_path):
    pages = {"docs/the mast.md": "# Mast\n\n## Mend it\n\nWith care.\n", "notes/käl.md": "# Keel\n\nDeep.\n"}
    write_pages(tmp_path / "p", {**pages, "mkdocs.yml": "site_url: https://boats.example/\n"})
    ingest(tmp_path / "p", tmp_path / "w")

    def urls(*options: str) -> set[str]:
        nonlocal said
        found = run("export", "--docsearch", tmp_path / "d.jsonl", "--force", "-w", tmp_path / "w", *options)
        assert found.code == 0
        said = found.err
        return {json.loads(line)["url"] for line in (tmp_path / "d.jsonl").read_text().splitlines()}

    said = ""
    known = {"https://boats.example/the%20mast/#mast", "https://boats.example/the%20mast/#mend-it"}
    assert urls() == {*known, "notes/k%C3%A4l.md#keel"}
    assert "1 document has no known address" in said
    assert "--base-url" in said
    moved = {url.replace("https://boats.example/", "https://x.example/a/") for url in known}
    assert urls("--base-url", "https://x.example/a") == {*moved, "https://x.example/a/notes/k%C3%A4l.md#keel"}
    assert "no known address" not in said


def test_what_the_retriever_finds_is_what_the_adapters_give(harbour):
    from structformer_exports.langchain import StructformerRetriever

    hits = Retriever.open(harbour).search("stow the keel", 4)
    assert [document.id for document in StructformerRetriever(workspace=str(harbour), k=4).invoke("stow the keel")] == [
        hit.address for hit in hits
    ]
    assert Corpus.open(harbour).document_count == 20


def test_a_mkdocs_site_gets_the_box(tmp_path):
    pytest.importorskip("mkdocs")
    write_pages(tmp_path / "docs", {"index.md": "# Boats\n\nAll about boats.\n", "mast.md": "# Mast\n\nTall.\n"})
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: Boats\nplugins:\n  - structformer:\n      server: https://find.example.org/\n      target: '#box'\n"
    )
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "-q",
        "-f",
        str(tmp_path / "mkdocs.yml"),
        "-d",
        str(tmp_path / "site"),
    ]
    subprocess.run(command, check=True)
    for page in ("index.html", "mast/index.html"):
        text = (tmp_path / "site" / page).read_text()
        assert (
            '<script src="https://find.example.org/widget.js" data-target="#box" data-label="Search"></script></body>'
            in text
        )


def test_a_sphinx_site_gets_the_box(tmp_path):
    pytest.importorskip("sphinx", reason="Sphinx needs an older docutils than the tests have")
    write_pages(tmp_path, {"index.rst": "Boats\n=====\n\nAll about boats.\n"})
    (tmp_path / "conf.py").write_text(
        "extensions = ['structformer_exports.sphinx']\nstructformer_server = 'https://find.example.org'\nstructformer_target = '#box'\n"
    )
    subprocess.run([sys.executable, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "site")], check=True)
    text = (tmp_path / "site" / "index.html").read_text()
    script = next(line for line in text.splitlines() if "find.example.org/widget.js" in line)
    assert 'data-target="#box"' in script
    assert 'data-label="Search"' in script


def test_the_sphinx_extension_adds_nothing_without_a_server():
    added: list[tuple[str, dict[str, str]]] = []
    values = {
        "structformer_server": "",
        "structformer_static": False,
        "structformer_target": "",
        "structformer_own": "",
        "structformer_label": "Find",
        "structformer_path": "",
        "structformer_token": "",
    }
    app = SimpleNamespace(
        config=SimpleNamespace(**values),
        builder=SimpleNamespace(format="html"),
        add_js_file=lambda name, **attributes: added.append((name, attributes)),
    )
    sphinx._add_box(app)
    assert added == []
    app.config.structformer_server = "https://find.example.org/"
    sphinx._add_box(app)
    assert added == [("https://find.example.org/widget.js", {"data-label": "Find"})]
