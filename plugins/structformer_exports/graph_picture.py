"""A page with a picture of the reference graph: which pages link to which, dead links, pages without links."""

import math
from collections import Counter
from itertools import groupby
from pathlib import Path

from structformer.graph import FOUND_BY, ReferenceGraph
from structformer.pages import environment, render
from structformer.workspace import new_file

from structformer_exports.graph_views import Kinds, checked_links, linked_pages

_MOST_NODES, _MOST_CURVES, _LISTED = 360, 3000, 500


def export_page(workspace: str | Path, path: Path, *, kinds: Kinds = None, force: bool = False) -> int:
    """Write the picture as HTML; return the number of references between pages. Many pages are drawn by folder."""
    ids = list(ReferenceGraph.open(workspace).corpus.document_ids())
    pairs = linked_pages(workspace, kinds)
    linked = {document for pair in pairs for document in pair}
    dead = [link for link in checked_links(workspace) if link.outcome not in FOUND_BY]
    node_of = _nodes(ids)
    places = {name: place for place, name in enumerate(sorted(set(node_of.values())))}
    between: Counter[tuple[str, str]] = Counter()
    for (source, target), count in pairs.items():
        between[node_of[ids[source]], node_of[ids[target]]] += count
    curves = [(ends, count) for ends, count in between.most_common() if ends[0] != ends[1]]
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
        folders={folder: list(inside) for folder, inside in groupby(places, lambda name: name.split("/")[0])},
        at=at,
        linked={node_of[ids[document]] for document in linked},
        dead_of=Counter(node_of[link.document] for link in dead),
        curves=curves[:_MOST_CURVES],
        omitted=len(curves[_MOST_CURVES:]),
        dead=dead[:_LISTED],
        islands=islands[:_LISTED],
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
