"""Queries and relevance judgements (qrels) from BEIR and TREC files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from structformer.errors import UsageError


@dataclass(frozen=True, slots=True)
class Judgements:
    """queries: text by id. qrels: relevance by document id, by query id. exclude: documents left out of a query's ranking."""

    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    exclude: dict[str, str]


def read_queries(path: Path) -> dict[str, str]:
    """Queries by id, from BEIR's JSON lines ("_id", "text") or lines of id, tab, text. Raises UsageError naming the line."""
    queries: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
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
        queries[identifier.strip()] = text.strip()
    if not queries:
        raise UsageError(f"{path} has no queries")
    return queries


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Judgements, from BEIR's tab-separated lines (with header) or TREC's four columns. Raises UsageError naming the line."""
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_lines(path), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or (number == 1 and fields[:1] == ["query-id"]):
            continue
        try:
            if len(fields) == 3:
                query, document, relevance = fields
            else:
                query, _, document, relevance = fields
            qrels.setdefault(query.strip(), {})[document.strip()] = int(relevance)
        except ValueError:
            raise UsageError(f"{path}, line {number}: neither `query<TAB>document<TAB>relevance` nor TREC's four columns") from None
    if not qrels:
        raise UsageError(f"{path} has no judgements")
    return qrels


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from error
