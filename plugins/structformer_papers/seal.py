"""Texts with and without the marks of their structure, and with elements taken out, as views of one thing for
contrastive learning: SEAL (Huang et al., "Structure and Element Aware Learning to Improve Long Structured Document
Retrieval", EMNLP 2025).
"""

from collections.abc import Callable, Iterable, Iterator
from random import Random

from structformer.document import Block, MarkKind
from structformer.sampling import Census, DocumentView, Example, Need, Task

MASKED_SHARE = 0.1  # of the elements, as in the released code
_DEEPEST_HEADING = 6
_TAGS = {
    MarkKind.PARAGRAPH: "p",
    MarkKind.LIST: "ul",
    MarkKind.ITEM: "li",
    MarkKind.DEFINITIONS: "dl",
    MarkKind.TERM: "dt",
    MarkKind.DEFINITION: "dd",
    MarkKind.TABLE: "table",
    MarkKind.ROW: "tr",
    MarkKind.CELL: "td",
    MarkKind.CODE: "pre",
    MarkKind.QUOTE: "blockquote",
    MarkKind.NOTE: "aside",
    MarkKind.TITLE: "strong",
    MarkKind.FORMULA: "math",
    MarkKind.FIGURE: "figure",
    MarkKind.CAPTION: "figcaption",
    MarkKind.RAW: "pre",
}
_ONE_LINE = frozenset({MarkKind.ITEM, MarkKind.TERM, MarkKind.DEFINITION, MarkKind.CELL, MarkKind.TITLE})
Kept = Callable[[], bool]  # asked once of each element, in the order of the text


def marked(view: DocumentView, number: int, kept: Kept = lambda: True) -> str:
    """A section with all below it between tags: headings, paragraphs, lists, tables, code and the rest of our typed
    blocks, under HTML's names. An element that is not kept goes with what is in it; a heading goes without its section.
    The section's own heading is left out.
    """
    depth = {number: 1}
    parts: list[str] = []
    for each in range(number, view.ends[number]):
        section = view.sections[each]
        if each != number:
            depth[each] = depth[view.parents[each]] + 1
            tag = f"h{min(depth[each], _DEEPEST_HEADING)}"
            if section.title and kept():
                parts.append(f"<{tag}>{section.title}</{tag}>")
        parts += _elements(section.text, section.blocks, kept)
    return "\n".join(parts)


def _elements(text: str, blocks: Iterable[Block], kept: Kept, of: str = "") -> Iterator[str]:
    """of: the detail of what they are in."""
    for block in blocks:
        if not kept():
            continue
        tag = _TAGS[block.kind]
        if block.kind is MarkKind.LIST and block.detail:
            tag = "ol"
        elif block.kind is MarkKind.CELL and of == "header":
            tag = "th"
        inside = _inside(text, block, kept)
        if inside or block.kind is MarkKind.CELL:  # a list whose items have gone goes too; a table's cell may be empty
            yield f"<{tag}>{inside}</{tag}>"


def _inside(text: str, block: Block, kept: Kept) -> str:
    if block.is_leaf:
        return text[block.start : block.end]
    if block.kind in _ONE_LINE and len(block.children) == 1 and block.children[0].kind is MarkKind.PARAGRAPH:
        [line] = block.children  # <li>text</li>: no element of its own
        return text[line.start : line.end]
    return "".join(_elements(text, block.children, kept, block.detail))


def _has_structure(view: DocumentView, number: int) -> bool:
    """Whether there is more to mark than paragraphs."""
    sections = view.sections[number : view.ends[number]]
    return len(sections) > 1 or any(block.kind is not MarkKind.PARAGRAPH for block in sections[0].blocks)


def _drawing(name: str, shown: "View") -> Callable[..., Iterator[Example]]:
    def draw(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
        for number in range(len(view.sections)):
            if not view.long_enough(number) or not view.path(number):
                continue
            if not _has_structure(view, number):
                census.drop(name, "no structure")
                continue
            numbers = [number, *siblings_first(view, number, rng)]
            texts = [shown(view, each, rng)[: view.options.max_characters] for each in numbers]
            if not texts[0]:
                census.drop(name, "all elements masked")
                continue
            queries = (view.path_text(number),) * sum(map(bool, texts))
            kept = tuple(each for each, text in zip(numbers, texts, strict=True) if text)
            yield Example(name, queries, tuple(filter(None, texts)), view.document.id, kept)

    draw.__doc__ = f"""The path to a section as query, the section with all below it as positive, its siblings and then
    other sections of the document as negatives, all as the view of {name}; the document itself, which has none of its
    own, alone."""
    return draw


def siblings_first(view: DocumentView, number: int, rng: Random) -> list[int]:
    """Return a section's negatives as SRR has them: siblings, then others of the document."""
    wanted = view.options.negatives
    siblings = view.children(view.parents[number]) if number else []
    negatives = view.negatives(number, siblings, rng, wanted)
    if view.options.negatives_from == "siblings":
        return negatives
    rest = view.negatives(number, range(1, len(view.sections)), rng, wanted)
    return [*negatives, *(other for other in rest if other not in negatives)][:wanted]


View = Callable[[DocumentView, int, Random], str]  # of a section with all below it
_STRUCTURE = "structure-aware learning, documents"
_VIEWS: dict[str, tuple[View, str]] = {
    "seal-marked": (lambda view, number, rng: marked(view, number), f"{_STRUCTURE} with their tags"),
    "seal-plain": (lambda view, number, rng: view.sections[number].subtree_text(), f"{_STRUCTURE} without tags"),
    "seal-masked": (
        lambda view, number, rng: marked(view, number, lambda: rng.random() >= MASKED_SHARE),
        "element-aware alignment",
    ),
}
TASKS = tuple(
    Task(
        name,
        _drawing(name, shown),
        "papers",
        needs=Need.NOTHING,
        replaceable=False,  # passages of other documents have no marks, which would give them away
        source=f"Huang et al., SEAL, EMNLP 2025, {part}",
    )
    for name, (shown, part) in _VIEWS.items()
)
