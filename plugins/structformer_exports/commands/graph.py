"""`structformer graph`."""

from collections import Counter
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click
from structformer.cli import (
    Output,
    OutputPath,
    common_options,
    default_option,
    force_option,
    printable,
    several_option,
    table,
)

_SHOWN = 50
_DEAD = {"dead_anchor": "no such anchor", "ambiguous": "more than one page of this name", "unresolved": "not found"}


@click.group("graph", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Show how links were resolved, find dead ones, and write the graph to a file."""


@command.command("stats")
@common_options
def stats(workspace: Path, out: Output) -> None:
    """Links resolved, external, to other files, unresolved and ambiguous per kind, with examples; degrees of the
    see-also graph."""
    from structformer_exports.graph_views import statistics

    figures = statistics(workspace)
    out.json(figures)
    names = ("resolved", "external", "file", "unresolved", "ambiguous", "dead_anchor")
    rows = [[kind, *(str(counts.get(name, 0)) for name in names)] for kind, counts in figures["links"].items()]
    titles = ["links", "resolved", "external", "to other files", "unresolved", "ambiguous", "of these without anchor"]
    out.result(table(titles, rows))
    for name, examples in figures["examples"].items():
        for document, target in examples:
            out.result(f"  {name.replace('_', ' ')}: {printable(document)} -> {printable(target)}")
    see = figures["see_also"]
    out.result(
        f"\n{figures['documents']} documents, {figures['documents_with_edges']} of them linked with "
        f"another; {see['edges']} see-also edges "
        f"from {see['documents_with_outgoing']} documents to {see['documents_with_incoming']}, at "
        f"most {see['highest_in_degree']} to one"
    )
    degrees = ", ".join(f"{count} with {degree}" for degree, count in islice(see["out_degrees"].items(), 12))
    out.result(f"see-also links a document: {degrees}")


@command.command("check")
@default_option("--limit", _SHOWN, "Links shown.", type=click.IntRange(1))
@common_options
def check(limit: int, workspace: Path, out: Output) -> int:
    """List dead links within the corpus with their page and section, and count links that only a rule resolved
    (--verbose names them). Exit code 1 if there are dead links."""
    from structformer.graph import FOUND_BY, ReferenceGraph, internal_links

    from structformer_exports.graph_views import checked_links

    counts: Counter[str] = Counter()
    shown: list[dict[str, Any]] = []
    for link in checked_links(workspace):
        is_dead = link.outcome not in FOUND_BY
        counts["dead" if is_dead else link.outcome] += 1
        if len(shown) < limit and (is_dead or out.verbose):
            shown.append(asdict(link))
            out.result(
                f"{printable(link.document)}: {printable(link.section)}: {link.kind} {printable(link.text)!r} -> "
                f"{printable(link.target)}: {_DEAD.get(link.outcome) or FOUND_BY[link.outcome]}"
            )
    internal, _ = internal_links(ReferenceGraph.open(workspace).statistics["links"])
    total = counts.pop("dead", 0)
    out.json({"internal_links": internal, "dead_links": total, "found_by_rule": dict(counts), "shown": shown})
    if more := total + out.verbose * counts.total() - len(shown):
        out.note(f"... {more} more; --limit N shows more")
    for rule, count in sorted(counts.items()):
        out.result(f"{count} link{'s' * (count > 1)} {FOUND_BY[rule]}")
    out.result(f"{internal} internal links, {total} lead nowhere")
    return 1 if total else 0


@command.command("export")
@click.argument("target", metavar="FILE", type=OutputPath())
@several_option("--kind", "KIND", "Only links of this kind; may be repeated.", name="kinds")
@force_option("an existing file")
@common_options
def export(target: Path, kinds: tuple[str, ...], force: bool, workspace: Path, out: Output) -> None:
    """Write the graph as FILE.html (a page with a picture, dead links and pages without links), FILE.parquet (an edge
    list of sections) or FILE.graphml (documents and their references)."""
    from structformer.errors import UsageError

    from structformer_exports.graph_views import export_graphml, export_page, export_parquet, parse_kinds

    writers = {".parquet": export_parquet, ".graphml": export_graphml, ".html": export_page}
    if target.suffix.lower() not in writers:
        raise UsageError(f"{target}: write to a file that ends in .html, .parquet or .graphml")
    count = writers[target.suffix.lower()](workspace, target, kinds=parse_kinds(kinds), force=force)
    out.json({"edges": count, "file": str(target)})
    out.result(f"{count} edges in {target}")
