"""Views of the reference graph: statistics, dead links, exports, and a page with a picture of what links to what."""

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from structformer.did_you_mean import did_you_mean
from structformer.document import LinkKind
from structformer.errors import UsageError
from structformer.graph import FAILURES, FOUND_BY, ReferenceGraph, format_of, resolve_link
from structformer.pages import environment, render
from structformer.workspace import new_file

from structformer_exports.dataset_files import write_parquet

_LISTED = 20_000
_MOST_NODES, _MOST_CURVES, _SHOWN = 360, 3000, 500  # of the picture
_COLUMNS = ("source", "source_section", "target", "target_section", "kind", "text")
Kinds = frozenset[str] | None  # of links; None: all
EXPORT = pa.schema([(name, pa.string()) for name in _COLUMNS])


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """A link within the corpus that leads nowhere, to more than one place, or to a page without its anchor; or that a
    rule found, `FOUND_BY`, since nothing is called as the link has it.
    """

    document: str
    section: str
    kind: str
    target: str
    text: str
    outcome: str


def checked_links(workspace: str | Path) -> Iterator[CheckedLink]:
    """Yield all links that don't resolve as written, in document order; links to other sites are not looked at."""
    graph = ReferenceGraph.open(workspace)
    corpus, site = graph.corpus, graph.corpus.site
    with closing(graph.names()) as names:
        for number, document in enumerate(corpus.documents()):
            read_by = format_of(document)
            for section, path in document.root.walk_with_path():
                for link in section.links:
                    outcome, _, _ = resolve_link(read_by, link, document, number, names, site)
                    if outcome in FAILURES or outcome in FOUND_BY:
                        title = " > ".join(each.title for each in path)
                        yield CheckedLink(document.id, title, link.kind.value, link.target, link.text, outcome)


def statistics(workspace: str | Path) -> dict[str, Any]:
    """Return counts of outcomes per kind with examples, edges per kind, and the degrees of the see-also graph."""
    graph = ReferenceGraph.open(workspace)
    corpus = graph.corpus
    edges: Counter[str] = Counter()
    linked: set[int] = set()
    for edge in graph.edges():
        edges[edge["kind"]] += 1
        if edge["source_document"] != edge["target_document"]:
            linked.update((edge["source_document"], edge["target_document"]))
    out: Counter[int] = Counter()
    incoming: Counter[int] = Counter()
    for number in range(corpus.document_count):
        named = graph.see_also(number)
        out[len(named)] += 1
        incoming.update(named)
    return {
        "documents": corpus.document_count,
        "sections": corpus.section_count,
        "documents_with_edges": len(linked),
        "edges": dict(sorted(edges.items())),
        **{key: graph.statistics[key] for key in ("links", "examples")},
        "see_also": {
            "edges": graph.see_also_edges,
            "documents_with_outgoing": sum(count for degree, count in out.items() if degree),
            "documents_with_incoming": len(incoming),
            "out_degrees": {str(degree): out[degree] for degree in sorted(out)},
            "highest_in_degree": max(incoming.values(), default=0),
        },
    }


def export_parquet(workspace: str | Path, path: Path, *, kinds: Kinds = None, force: bool = False) -> int:
    """Write the edge list with ids and paths of titles; returns the number of edges. force: also over a file."""
    edges = _rows(ReferenceGraph.open(workspace), kinds)
    with new_file(path, workspace, force=force) as made:
        return write_parquet(made, EXPORT, edges, at_once=_LISTED)


def export_graphml(workspace: str | Path, path: Path, *, kinds: Kinds = None, force: bool = False) -> int:
    """Write documents as nodes and their references as edges in GraphML; return the number of edges.

    Source: GraphML 1.1 (graphml.graphdrawing.org). Control and bidirectional characters are written as escapes.
    """
    graph = ReferenceGraph.open(workspace)
    template = environment("structformer_exports", "templates").get_template("graph.graphml")
    count = itertools.count()
    edges = (edge for edge in _edges(graph, kinds) if next(count) >= 0)
    with new_file(path, workspace, force=force) as made:
        written = template.stream(documents=graph.corpus.documents(), edges=edges)
        written.dump(str(made), encoding="utf-8", errors="backslashreplace")
    return next(count)


def export_page(workspace: str | Path, path: Path, *, kinds: Kinds = None, force: bool = False) -> int:
    """Write the picture as HTML; return the number of references between pages. Many pages are drawn by folder."""
    graph = ReferenceGraph.open(workspace)
    ids = list(graph.corpus.document_ids())
    ends = ((edge["source_document"], edge["target_document"]) for edge in _edges(graph, kinds))
    pairs = Counter(pair for pair in ends if pair[0] != pair[1])
    linked = {document for pair in pairs for document in pair}
    dead = [link for link in checked_links(workspace) if link.outcome not in FOUND_BY]
    node_of = _nodes(ids)
    places = {name: place for place, name in enumerate(sorted(set(node_of.values())))}
    between: Counter[tuple[str, str]] = Counter()
    for (source, target), count in pairs.items():
        between[node_of[ids[source]], node_of[ids[target]]] += count
    curves = [(nodes, count) for nodes, count in between.most_common() if nodes[0] != nodes[1]]
    islands = [name for number, name in enumerate(ids) if number not in linked]

    def at(name: str, radius: float = 290.0) -> tuple[float, float]:
        turn = 2 * math.pi * places[name] / len(places) - math.pi / 2
        return round(radius * math.cos(turn), 1), round(radius * math.sin(turn), 1)

    page = render(
        "graph.html",
        title="What links to what",
        about="The reference graph of the corpus. Hold the pointer over a dot or a line for its name.",
        templates=environment("structformer_exports", "templates"),
        figures={"pages": len(ids), "references between them": pairs.total(), "dead links": len(dead)},
        names=list(places),
        folders={folder: list(inside) for folder, inside in itertools.groupby(places, lambda name: name.split("/")[0])},
        at=at,
        linked={node_of[ids[document]] for document in linked},
        dead_of=Counter(node_of[link.document] for link in dead),
        curves=curves[:_MOST_CURVES],
        omitted=len(curves[_MOST_CURVES:]),
        dead=dead[:_SHOWN],
        islands=islands[:_SHOWN],
        island_count=len(islands),
    )
    with new_file(path, workspace, force=force) as made:
        made.write_bytes(page)
    return pairs.total()


def _nodes(ids: list[str]) -> dict[str, str]:
    """Return the node of each document: itself, or the deepest folders that are few enough, or first letters."""
    for depth in range(max((name.count("/") for name in ids), default=0) + 1, 0, -1):
        node_of = {name: "/".join(name.split("/")[:depth]) for name in ids}
        if len(set(node_of.values())) <= _MOST_NODES:
            return node_of
    return {name: name[0] for name in ids}


def _edges(graph: ReferenceGraph, kinds: Kinds) -> Iterator[dict[str, Any]]:
    return (edge for edge in graph.edges() if kinds is None or edge["kind"] in kinds)


def _rows(graph: ReferenceGraph, kinds: Kinds) -> Iterator[dict[str, str]]:
    corpus = graph.corpus
    ids = list(corpus.document_ids())

    @lru_cache(maxsize=8)
    def titles(shard: int) -> list[list[str]]:
        documents = corpus.shard_documents(shard)
        return [
            [" > ".join(each.title for each in path) for _, path in page.root.walk_with_path()] for page in documents
        ]

    def path(document: int, section: int) -> str:
        shard = bisect.bisect_right(corpus.starts, document) - 1
        listed = titles(shard)[document - corpus.starts[shard]]
        return listed[section] if 0 <= section < len(listed) else ""

    for edge in _edges(graph, kinds):
        yield {
            "source": ids[edge["source_document"]],
            "source_section": path(edge["source_document"], edge["source_section"]),
            "target": ids[edge["target_document"]],
            "target_section": path(edge["target_document"], edge["target_section"]),
            "kind": edge["kind"],
            "text": edge["text"] or "",
        }


def parse_kinds(names: tuple[str, ...]) -> Kinds:
    """Return kinds by name. Raises UsageError on one that does not exist."""
    known = {kind.value for kind in LinkKind}
    for name in names:
        if name not in known:
            raise UsageError(f"no kind of link {name!r}; {did_you_mean(name, sorted(known))}")
    return frozenset(names) or None
