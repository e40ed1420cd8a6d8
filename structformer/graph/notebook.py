"""A reference graph as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.notebook_html import ROWS, box, count_of, more, note, table, text

if TYPE_CHECKING:
    from structformer.graph.graph import ReferenceGraph


def graph_html(graph: ReferenceGraph) -> str:
    """What became of the links, a row for each kind, and the first ones that lead nowhere."""
    links, examples = graph.statistics["links"], graph.statistics["examples"]
    outcomes = [each for each in next(iter(links.values()), {}) if any(counts[each] for counts in links.values())]
    rows = [
        [text(kind.replace("_", " ")), *(f"{counts[each]:,}" for each in outcomes)] for kind, counts in links.items()
    ]
    parts = [table(["links", *(each.replace("_", " ") for each in outcomes)], rows) if rows else note("no links")]
    missing = examples["unresolved"][:ROWS]
    if missing:
        nowhere = [[f"<code>{text(document)}</code>", f"<code>{text(target)}</code>"] for document, target in missing]
        count = sum(counts["unresolved"] for counts in links.values())
        parts += [table(["document", "a link that leads nowhere"], nowhere), more(count - len(nowhere), "of these")]
    return box(
        f"Reference graph of {count_of(graph.corpus.document_count, 'document')}, "
        f"{count_of(graph.see_also_edges, 'see-also edge')}",
        *parts,
    )
