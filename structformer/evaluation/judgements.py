"""Queries with relevance judgements (qrels): BEIR and TREC files, read and written, and ir_datasets."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from structformer.errors import UsageError
from structformer.extras import needed_for
from structformer.near_names import did_you_mean
from structformer.retrieval.rankings.qrels_files import Qrel, Qrels, by_query, qrel_rows
from structformer.storage.files import write_bytes
from structformer.text.lines import lines_of

_TOPIC = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*(\S+?)\s*(?:</num>|\n|$)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*(.*?)\s*(?:</title>|\n\s*<|\n\s*\n|$)", re.DOTALL | re.IGNORECASE)
_DESCRIPTION = re.compile(r"<desc>\s*(?:Description:)?\s*(.*?)\s*(?:</desc>|\n\s*<|$)", re.DOTALL | re.IGNORECASE)
_NARRATIVE = re.compile(r"<narr>\s*(?:Narrative:)?\s*(.*?)\s*(?:</narr>|\n\s*<|$)", re.DOTALL | re.IGNORECASE)
TOPIC_PARTS = {"title": _TITLE, "desc": _DESCRIPTION, "narr": _NARRATIVE}


@dataclass(frozen=True, slots=True)
class Judgements:
    """queries: text by id. qrels: relevance by document id, by query id. exclude: documents left out of a query's
    ranking. subtopics: the single judgements, where documents are judged for several subtopics of a query.
    """

    queries: dict[str, str]
    qrels: Qrels
    exclude: dict[str, str] = field(default_factory=dict)
    subtopics: Sequence[Qrel] = ()

    def asked(self) -> dict[str, str]:
        """The queries that have a relevant document. Raises UsageError when none has."""
        asked = {
            query: text
            for query, text in self.queries.items()
            if any(grade > 0 for grade in self.qrels.get(query, {}).values())
        }
        if not asked:
            raise UsageError("no query has a relevant document in the qrels: do their query ids belong together?")
        return asked


def read_judgements(queries: Path, qrels: Path, parts: Sequence[str] = ("title",)) -> Judgements:
    """Queries and qrels from their files; parts: of TREC topics. Raises UsageError naming file and line."""
    return _judged(read_queries(queries, parts), list(qrel_rows(qrels)))


def _judged(queries: dict[str, str], rows: Sequence[Qrel]) -> Judgements:
    """Queries with their judgements, also the single ones where there are several subtopics."""
    several = len({row.subtopic for row in rows}) > 1
    return Judgements(queries, by_query(rows), subtopics=rows if several else ())


def read_queries(path: Path, parts: Sequence[str] = ("title",)) -> dict[str, str]:
    """Queries by id, from BEIR's JSON lines ("_id", "text"), TREC topics (<top> with <num> and <title>) or lines of id,
    tab, text.

    parts: what of a topic is asked: "title", "desc" and "narr", one after the other. Raises UsageError naming the line.
    """
    queries: dict[str, str] = {}
    if unknown := sorted(set(parts) - set(TOPIC_PARTS)):
        raise UsageError(f"topics have no part {unknown[0]!r}; {did_you_mean(unknown[0], TOPIC_PARTS)}")
    head = "\n".join(islice(lines_of(path), 20))
    if re.search(r"<top>", head, re.IGNORECASE):
        queries = _topics(path, parts)
    for number, line in enumerate(() if queries else lines_of(path), 1):
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            try:
                value = json.loads(line)
                identifier, text = str(value["_id"]), str(value["text"])
            except (ValueError, KeyError) as error:
                raise UsageError(f'{path}, line {number}: not a BEIR query with "_id" and "text" ({error})') from None
        else:
            identifier, tab, text = line.partition("\t")
            if not tab:
                raise UsageError(f"{path}, line {number}: neither JSON nor `id<TAB>text`")
        if queries.setdefault(identifier.strip(), text.strip()) != text.strip():
            raise UsageError(f"{path}, line {number}: another text for the query {identifier.strip()!r}")
    if not queries:
        raise UsageError(f"{path} has no queries")
    return queries


def _topics(path: Path, parts: Sequence[str]) -> dict[str, str]:
    queries: dict[str, str] = {}
    for number, found in enumerate(_TOPIC.finditer("\n".join(lines_of(path))), 1):
        name = _NUMBER.search(found[1])
        texts = [TOPIC_PARTS[part].search(found[1]) for part in parts]
        if name is None or any(text is None for text in texts):
            raise UsageError(f"{path}, topic {number}: no <num> or no <{'> or no <'.join(parts)}>")
        queries[name[1]] = " ".join(" ".join(text[1].split()) for text in texts if text is not None)
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
        ("\t" if " " in document else " ").join((query, "0", document, str(grade))) + "\n"
        for query, document, grade in grades
    )
    lines = "".join(json.dumps({"_id": name, "text": text}, ensure_ascii=False) + "\n" for name, text in queries)
    topics = "".join(f"{name}\t{' '.join(text.split())}\n" for name, text in queries)
    for path, text in (("queries.jsonl", lines), ("qrels/test.tsv", beir), ("topics.tsv", topics), ("qrels.txt", trec)):
        write_bytes(folder / path, text.encode())


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
