"""What notebooks show of our objects: small tables and trees as HTML, without scripts, in the notebook's own colours;
and bars of progress below a cell.

All that comes from a corpus is escaped, and sizes are bounded: the first rows, and how many more there are."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structformer.corpus import Corpus
    from structformer.document import Document, Section
    from structformer.evaluation import Evaluation
    from structformer.graph import ReferenceGraph
    from structformer.retrieval import Hit, Hits

_PAUSE = 0.2  # seconds between two drawings of a bar
Progress = Callable[[str, int, int], None]
ROWS = 10
_TITLE = 100  # characters of a section's title
NODES = 60  # of a tree
DEPTH = 12
_CELL = 200  # characters
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})  # controls, what turns the direction of writing, halves of characters
# currentColor is black in a light notebook and white in a dark one.
_STYLE = (
    "<style>.structformer{max-width:60em}.structformer table{border-collapse:collapse}"
    ".structformer th,.structformer td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0}"
    ".structformer th{border-bottom:1px solid currentColor}.structformer .quiet{opacity:.7}"
    ".structformer ul{margin:0;padding-left:1.2em}"
    ".structformer mark{background:none;color:inherit;font-weight:bold}"
    ".structformer svg{max-width:46em;width:100%;height:auto;color:inherit}"
    ".structformer svg text{fill:currentColor;font:12px sans-serif}"
    ".structformer svg path,.structformer svg line{fill:none;stroke:currentColor}"
    ".structformer svg .grid,.structformer svg .raw{opacity:.3}.structformer svg .line{stroke-width:2}</style>"
)


def text(value: object, most: int = _CELL) -> str:
    """A value as HTML: escaped, shortened, on one line, without characters that nobody sees."""
    shown = " ".join(_seen(str(value)[: 4 * most]).split())
    return escape(shown if len(shown) <= most else shown[: most - 1] + "…")


def _seen(value: str) -> str:
    """The text without characters that nobody sees, line ends apart."""
    if value.isprintable():
        return value
    return "".join(c for c in value if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)


def set_off(
    value: str, spans: Iterable[Sequence[int]], plain: Callable[[str], str], marked: Callable[[str], str]
) -> str:
    """A text whose spans stand out: `marked` makes these, `plain` what is around them."""
    parts: list[str] = []
    place = 0
    for start, end in spans:
        parts += [plain(value[place:start]), marked(value[start:end])]
        place = end
    return "".join([*parts, plain(value[place:])])


def marked(value: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text whose spans stand out."""
    return set_off(value, spans, lambda part: escape(_seen(part)), lambda part: f"<mark>{escape(_seen(part))}</mark>")


def box(title: str, *parts: str) -> str:
    """The whole of what is shown: a line that says what it is, and HTML below it."""
    return f'<div class="structformer">{_STYLE}<p><strong>{text(title)}</strong></p>{"".join(parts)}</div>'


def note(said: object) -> str:
    """A line in a quieter tone."""
    return f'<p class="quiet">{text(said, 400)}</p>'


def more(count: int, what: str) -> str:
    """How many are not shown; nothing where all are."""
    return note(f"... and {count:,} more {what}") if count > 0 else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{text(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def tree(nodes: Iterator[tuple[int, str]], most: int = NODES) -> str:
    """A nested list of (depth from 0, HTML), parents first; what is too deep is shown at the deepest level."""
    parts: list[str] = []
    at = -1
    for depth, shown in islice(nodes, most):
        depth = min(depth, at + 1, DEPTH)
        if depth > at:
            parts.append("<ul><li>")
        else:
            parts.append("</li></ul>" * (at - depth) + "</li><li>")
        parts.append(shown)
        at = depth
    return "".join(parts) + "</li></ul>" * (at + 1)


def count_of(number: int, one: str, several: str = "") -> str:
    """A number with its noun: 1 document, 2 documents."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def notebook_progress(progress: Progress | None = None) -> Progress | None:
    """The caller's progress; without one, a bar where a notebook runs this, else none."""
    return progress or (Bars() if in_notebook() else None)


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this process. IPython on a terminal is none; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


class Bars:
    """A bar for each stage, drawn again at most five times a second."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}
        self._drawn = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        now = time.monotonic()
        if stage in self._bars and done < total and now - self._drawn < _PAUSE:
            return
        self._drawn = now
        self.show(stage, done, total)

    def show(self, stage: str, done: int, total: int, said: str = "") -> None:
        """Draw a stage's bar, with what is said beside it in the place of its share."""
        share = 1.0 if total <= 0 else min(1.0, done / total)
        ipython = import_module("IPython.display")
        shown = ipython.HTML(
            f'<div><progress max="1" value="{share:.3f}"></progress> {text(stage)} {text(said or f"{share:.0%}")}</div>'
        )
        if stage in self._bars:
            self._bars[stage].update(shown)
        else:
            self._bars[stage] = ipython.display(shown, display_id=True)


def document_html(document: Document) -> str:
    """Each section's title with its number of words and links, the first ones of many."""
    nodes = (
        (len(path) - 1, f"{text(section.title or document.title, _TITLE)} {_section_said(section)}")
        for section, path in document.root.walk_with_path()
    )
    count = sum(1 for _ in document.sections())
    about = ", ".join(chain([document.id, document.source.format], [document.language] if document.language else []))
    return box(document.title or document.id, note(about), tree(nodes), more(count - NODES, "sections"))


def _section_said(section: Section) -> str:
    said = [count_of(section.word_count, "word")]
    if section.links:
        said.append(count_of(len(section.links), "link"))
    return f'<span class="quiet">{", ".join(said)}</span>'


def corpus_html(corpus: Corpus) -> str:
    """The first documents: id, title, format and how many sections. No text is read."""
    columns = ["id", "title", "format", "sections"]
    every = chain.from_iterable(corpus.rows(shard, "documents", columns) for shard in corpus.shards)
    rows = [
        [f"<code>{text(row['id'])}</code>", text(row["title"]), text(row["format"]), str(row["sections"])]
        for row in islice(every, ROWS)
    ]
    return box(
        f"Corpus of {count_of(corpus.document_count, 'document')}, {count_of(corpus.section_count, 'section')}",
        table(columns, rows) if rows else "",
        more(corpus.document_count - len(rows), "documents"),
    )


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


def hits_html(hits: Hits) -> str:
    """The first hits, with the query's words marked, and whether any of them may well be what was asked for."""
    if not hits:
        return box(f"No hits for: {hits.query}")
    rows = [
        [str(place), _hit_place(hit), marked(hit.snippet, hit.highlights)] for place, hit in enumerate(hits[:ROWS], 1)
    ]
    return box(
        f"Hits for: {hits.query}",
        "" if hits.confident else note("nothing found with confidence; the nearest:"),
        table(["", "section", "text"], rows),
        more(len(hits) - ROWS, "hits"),
    )


def _hit_place(hit: Hit) -> str:
    address = f"<code>{text(hit.address)}</code>"
    linked = f'<a href="{escape(hit.url)}">{address}</a>' if hit.url else address
    return f"{text(hit.breadcrumb)}<br>{linked}"


def evaluation_html(result: Evaluation) -> str:
    """A row for each pipeline: its scores, the interval of the first, and how it differs from what it is compared
    with.
    """
    rows = [[text(row.label), *result.cells(row)] for row in result.rows]
    heads = ["", *result.measures, "95 % interval", *(f"against {name}" for name in result.compared())]
    return box(
        f"{result.title}: {count_of(result.queries, 'query', 'queries')}",
        table(heads, rows),
        note(result.caveat) if result.caveat else "",
    )
