"""Queries with relevance judgements (qrels): BEIR and TREC files, read and written, ConTEB's, and ir_datasets."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from structformer.corpus.rows import storable
from structformer.did_you_mean import did_you_mean
from structformer.document import Document, Section, Source
from structformer.errors import UsageError
from structformer.extras import needed_for
from structformer.retrieval.rankings.run_files import Qrel, Qrels, by_query, qrel_rows
from structformer.storage.files import write_bytes
from structformer.text.lines import lines_of

_FLAGS = re.DOTALL | re.IGNORECASE
_TOPIC, _ITS_END = re.compile(r"<top(?:ic)?\b(?=[^<>]*>)", re.IGNORECASE), re.compile("</top(?:ic)?>", re.IGNORECASE)
_NUMBER = re.compile(
    r"""<num>\s*(?:Number:)?\s*(\S+?)\s*(?:</num>|\n|$)|^[^>]*\bnumber\s*=\s*["']([^"']+)["']""", re.IGNORECASE
)
# As the tracks have written them, since 2019 as XML: <topic number="1"><query>..</query>
TOPIC_PARTS = {
    "title": re.compile(r"<(title|query)\b[^<>]*>\s*(?:Topic:)?\s*(.*?)\s*(?:</\1>|\n\s*<|\n\s*\n|$)", _FLAGS),
    "desc": re.compile(
        r"<(desc|description|question)\b[^<>]*>\s*(?:Description:)?\s*(.*?)\s*(?:</\1>|\n\s*<|$)", _FLAGS
    ),
    "narr": re.compile(r"<(narr|narrative)\b[^<>]*>\s*(?:Narrative:)?\s*(.*?)\s*(?:</\1>|\n\s*<|$)", _FLAGS),
}
_COMMENT, _CDATA = re.compile("<!--.*?-->", re.DOTALL), re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
# Ends of the names that MTEB has for sets of BEIR, and of their ids in ir_datasets.
_OTHER_NAMES = {"fiqa2018": "fiqa", "quoraretrieval": "quora", "dbpedia": "dbpediaentity"}
_OTHER_NAMES |= {"(?<!webis)touche2020": "webistouche2020"}
_IDS, _TEXTS = ("_id", "qid", "query_id", "id"), ("text", "query")  # what queries in JSON are called by


@dataclass(frozen=True, slots=True)
class Judgements:
    """Queries, and the documents that are relevant to them."""

    queries: dict[str, str]
    """Text by id."""
    qrels: Qrels
    """Relevance by document id, by query id."""
    exclude: dict[str, str] = field(default_factory=dict)
    """Documents left out of a query's ranking, by query id."""
    subtopics: Sequence[Qrel] = ()
    """The single judgements, if documents are judged for several subtopics of a query."""

    def are_of_sections(self, documents: Collection[str]) -> bool:
        """Whether sections are judged, by id#anchor. documents: the ids of the corpus's."""
        named = {name for judged in self.qrels.values() for name in judged if "#" in name}
        return any(name not in documents for name in named)

    def of_documents(self) -> Judgements:
        """Return the same of the sections' documents, each with its best section's grade."""
        return replace(self.renamed(lambda name: name.partition("#")[0]), subtopics=())

    def renamed(self, called: Callable[[str], str]) -> Judgements:
        """Return a copy with renamed documents; on a clash the higher grade wins."""
        rows = (
            Qrel(query, "0", called(name), grade) for query, row in self.qrels.items() for name, grade in row.items()
        )
        return replace(self, qrels={query: {} for query in self.qrels} | by_query(rows))

    def asked(self) -> dict[str, str]:
        """The judged queries, also where all is 0, as trec_eval. Raises UsageError if none has a relevant document."""
        asked = {query: text for query, text in self.queries.items() if self.qrels.get(query)}
        if not any(grade > 0 for query in asked for grade in self.qrels[query].values()):
            raise UsageError("no query has a relevant document in the qrels: do their query ids belong together?")
        return asked


def read_judgements(queries: Path, qrels: Path, parts: Sequence[str] = ("title",)) -> Judgements:
    """Return queries and qrels from their files; parts: of TREC topics. Raises UsageError naming file and line."""
    return _judged(read_queries(queries, parts), list(qrel_rows(qrels)))


def _judged(queries: dict[str, str], rows: Sequence[Qrel]) -> Judgements:
    """Return queries with their judgements, also the single ones where there are several subtopics."""
    several = len({row.subtopic for row in rows}) > 1
    return Judgements(queries, by_query(rows), subtopics=rows if several else ())


def read_queries(path: Path, parts: Sequence[str] = ("title",)) -> dict[str, str]:
    """Queries by id, from JSON lines or an array (BEIR's "_id" and "text", "qid" and "query"), TREC topics or lines of
    id, tab, text. parts: of topics, asked in order: "title", "desc", "narr". Raises UsageError naming the line.
    """
    queries: dict[str, str] = {}
    if unknown := sorted(set(parts) - set(TOPIC_PARTS)):
        raise UsageError(f"topics have no part {unknown[0]!r}; {did_you_mean(unknown[0], TOPIC_PARTS)}")
    lines = list(lines_of(path))  # once: it may be a pipe
    head = "\n".join(lines[:20])
    is_markup = head.lstrip().startswith("<")
    if is_markup and re.search(r"<top(ic)?\b", head, re.IGNORECASE) and (topics := _topics(path, lines, parts)):
        return topics
    if head.lstrip().startswith("["):
        try:
            lines = [json.dumps(each) for each in json.loads("\n".join(lines))]
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: not JSON ({error})") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            try:
                value = json.loads(line)
                identifier, text = (next(value[key] for key in keys if key in value) for keys in (_IDS, _TEXTS))
                identifier = str(identifier) if type(identifier) is int else identifier
                if not isinstance(identifier, str) or not isinstance(text, str):
                    raise ValueError
            except (ValueError, StopIteration, RuntimeError):
                raise UsageError(f'{path}, line {number}: not a BEIR query with "_id" and "text"') from None
        else:
            identifier, tab, text = line.partition("\t")
            if not tab:
                raise UsageError(f"{path}, line {number}: neither JSON nor `id<TAB>text`")
            if number == 1 and (identifier.replace("-", "_"), text.strip()) in product(_IDS, _TEXTS):
                continue  # the names of the columns
        identifier, text = storable(identifier).strip(), storable(text).strip()
        if queries.setdefault(identifier, text) != text:
            raise UsageError(f"{path}, line {number}: another text for the query {identifier!r}")
    if not queries:
        raise UsageError(f"{path} has no queries")
    return queries


def _topics(path: Path, lines: Sequence[str], parts: Sequence[str]) -> dict[str, str]:
    queries: dict[str, str] = {}
    # One blank at a time, since what is looked for next tries each of them.
    text = re.sub("\n{3,}", "\n\n", "\n".join(" ".join(line.split()) for line in lines))
    text = _CDATA.sub(lambda found: html.escape(found[1]), _COMMENT.sub("", text))
    for number, piece in enumerate(_TOPIC.split(text)[1:], 1):
        topic, *end = _ITS_END.split(piece, 1)
        name = _NUMBER.search(topic) if end else None
        texts = [TOPIC_PARTS[part].search(topic) for part in parts]
        if name is None or any(text is None for text in texts):
            raise UsageError(f"{path}, topic {number}: no <num> or no <{'> or no <'.join(parts)}>")
        asked = " ".join(" ".join(text[2].split()) for text in texts if text is not None)
        its_name, asked = name[1] or name[2], asked if name[1] else html.unescape(asked)
        if queries.setdefault(its_name, asked) != asked:
            raise UsageError(f"{path}, topic {number}: another text for the query {its_name!r}")
    return queries


def write_judgements(folder: Path, judgements: Judgements) -> None:
    """Write queries and qrels as BEIR (queries.jsonl, qrels/test.tsv) and as TREC (topics.tsv, qrels.txt) has them."""
    queries = judgements.queries.items()
    grades = [
        (query, document, grade) for query, judged in judgements.qrels.items() for document, grade in judged.items()
    ]
    beir = "query-id\tcorpus-id\tscore\n" + "".join(
        f"{query}\t{document}\t{grade}\n" for query, document, grade in grades
    )
    trec = "".join(
        ("\t" if " " in query + document else " ").join((query, "0", document, str(grade))) + "\n"
        for query, document, grade in grades
    )
    lines = "".join(json.dumps({"_id": name, "text": text}, ensure_ascii=False) + "\n" for name, text in queries)
    topics = "".join(f"{name}\t{' '.join(text.split())}\n" for name, text in queries)
    for path, text in (("queries.jsonl", lines), ("qrels/test.tsv", beir), ("topics.tsv", topics), ("qrels.txt", trec)):
        write_bytes(folder / path, text.encode())


def beir_judgements(beir: Path) -> Judgements:
    """Return queries and qrels of a BEIR folder or data set; a query's own document counts only if judged relevant."""
    if beir.is_dir():
        test = beir / "qrels" / "test.tsv"
        judgements = read_judgements(beir / "queries.jsonl", test if test.exists() else beir / "qrels.tsv")
    else:
        judgements = dataset_judgements(beir_dataset(beir))
    own = (query for query in judgements.queries if judgements.qrels.get(query, {}).get(query, 0) <= 0)
    return replace(judgements, exclude={query: query for query in own})


def beir_dataset(beir: Path) -> str:
    """Return the ir_datasets id of a set of BEIR or NanoBEIR that is called as people call it (SciFact, NanoFiQA2018):
    of its test split if it has one, of MS MARCO's dev split; an id as it is. Raises UsageError with the nearest name.
    """
    if len(beir.parts) > 1:
        return str(beir)
    with needed_for("an id of ir_datasets"):
        from ir_datasets import registry
    known = sorted(name for name in registry if name.startswith(("beir/", "nano-beir/")))
    sets = {_plain(name.removeprefix("beir/").replace("nano-beir", "nano")): name for name in known}
    wanted = _plain(str(beir))
    for theirs, ours in _OTHER_NAMES.items():
        wanted = re.sub(f"{theirs}$", ours, wanted)
    if wanted == "nanobeir":
        raise UsageError("NanoBEIR is thirteen sets: `structformer benchmark NanoBEIR` judges on all, with the mean")
    if wanted not in sets:
        raise UsageError(f"BEIR has no set {str(beir)!r}; {did_you_mean(wanted, sets)}")
    of = sets[wanted]
    split = "dev" if of == "beir/msmarco" else "test"
    return f"{of}/{split}" if f"{of}/{split}" in known else of


def _plain(name: str) -> str:
    return re.sub(r"\W|_", "", name).lower()


def dataset_judgements(name: str) -> Judgements:
    """Queries and qrels of an ir_datasets id. Raises UsageError when the package or the data set is not there."""
    with needed_for("an id of ir_datasets"):
        import ir_datasets
    try:
        dataset = ir_datasets.load(name)
        queries = {str(query.query_id): str(query.default_text()) for query in dataset.queries_iter()}
        rows = [
            Qrel(str(row.query_id), str(getattr(row, "subtopic_id", "0")), str(row.doc_id), int(row.relevance))
            for row in dataset.qrels_iter()
        ]
    except KeyError as error:
        raise UsageError(f"ir_datasets has no data set {name!r}") from error
    except (AttributeError, OSError, RuntimeError) as error:
        raise UsageError(f"the queries and qrels of {name} are unavailable: {error}") from error
    return _judged(queries, rows)


def is_conteb(folder: Path) -> bool:
    """Whether a folder has both tables."""
    return all(_tables(folder, name) for name in ("documents", "queries"))


def conteb_documents(folder: Path) -> Iterator[Document]:
    """Yield the documents, each with a section for each of its chunks, named by the chunk's number."""
    chunks: dict[str, list[Section]] = {}
    for row in _rows(folder, "documents", "chunk_id", "chunk"):
        document, _, number = _place(row["chunk_id"]).partition("#")
        chunks.setdefault(document, []).append(Section("", 1, str(row["chunk"]), (number,)))
    for name, sections in chunks.items():
        yield Document(name, "", Section("", children=sections), Source(name, "markdown"))


def conteb_judgements(folder: Path) -> Judgements:
    """Return the queries by their rows' numbers, with the chunks that answer them. Raises UsageError naming the row."""
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for number, row in enumerate(_rows(folder, "queries", "query")):
        chunks = row.get("chunk_ids") or row.get("chunk_id")
        if not chunks:
            raise UsageError(f"{folder}, query {number}: neither chunk_id nor chunk_ids")
        queries[str(number)] = str(row["query"])
        qrels[str(number)] = {_place(each): 1 for each in ([chunks] if isinstance(chunks, str) else chunks)}
    return Judgements(queries, qrels)


def _place(chunk: str) -> str:
    """Return a chunk's document and number, id#number. A chunk's id is its document's, "_" and the number."""
    document, _, number = str(chunk).replace("#", "-").rpartition("_")
    return f"{document or number}#{number}"


def _tables(folder: Path, name: str) -> list[Path]:
    return sorted([*folder.glob(f"{name}*.parquet"), *(folder / name).glob("*.parquet")])


def _rows(folder: Path, name: str, *columns: str) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    for path in _tables(folder, name):
        try:
            table = pq.read_table(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read as Parquet: {error}") from error
        if missing := sorted(set(columns) - set(table.column_names)):
            raise UsageError(f"{path} has no column {missing[0]!r}")
        yield from table.to_pylist()
