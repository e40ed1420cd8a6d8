"""Trees of several documents as one batch: numbered texts and nodes, and what is masked, shuffled and told apart."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from structformer_webformer.trees import LEVELS, Inner, Text, Tree

_WAITING_TOKENS = 1_000_000  # of trees that wait to be drawn, so that those of a document are not in one batch


@dataclass(frozen=True, slots=True)
class Node:
    """An inner node."""

    tag: tuple[int, ...]
    """The tokens of its tag."""
    children: tuple[int, ...]
    """Numbers of its children: the batch's texts are counted first, then its nodes level by level."""


@dataclass(frozen=True, slots=True)
class Masked:
    """The question about a node of two or more children."""

    node: int
    """The node's place among the batch's nodes."""
    child: int
    """The place of the child that is masked, among the node's children."""
    sibling: int
    """The place of another of the children."""
    other: int | None
    """The number of a text or node of another document; None if the batch has only one document."""
    order: tuple[int, ...]
    """The places of the children in shuffled order."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Trees that are encoded together."""

    texts: list[Text]
    """All texts that are encoded."""
    levels: list[list[Node]]
    """The nodes over them, level by level; those over texts alone come first."""
    owners: list[int]
    """The document of each text and node, by its number in the batch."""

    @property
    def nodes(self) -> list[Node]:
        """The nodes of all levels."""
        return [node for level in self.levels for node in level]


def batch_of(trees: Sequence[tuple[int, Tree]]) -> Batch:
    """Return the batch of some trees, each with its document's number."""
    by_level: list[list[tuple[int, Tree]]] = [[] for _ in range(LEVELS)]
    for owner, tree in trees:
        for each in tree.walk() if isinstance(tree, Inner) else [tree]:
            by_level[each.height].append((owner, each))
    together = [pair for level in by_level for pair in level]
    # A tree may hold equal texts, so the objects are counted.
    numbers = {id(tree): number for number, (_, tree) in enumerate(together)}
    levels = [
        [
            Node(tree.tag, tuple(numbers[id(child)] for child in tree.children))
            for _, tree in level
            if isinstance(tree, Inner)
        ]
        for level in by_level[1:]
    ]
    texts = [tree for _, tree in by_level[0] if isinstance(tree, Text)]
    return Batch(texts, levels, [owner for owner, _ in together])


def draw_masked(batch: Batch, rng: Random) -> list[Masked]:
    """Return the questions about the batch's nodes."""
    by_owner = sorted(range(len(batch.owners)), key=batch.owners.__getitem__)
    ordered = [batch.owners[number] for number in by_owner]
    drawn = []
    for place, node in enumerate(batch.nodes):
        if len(node.children) < 2:
            continue
        child, sibling = rng.sample(range(len(node.children)), 2)
        owner = batch.owners[len(batch.texts) + place]
        first, last = bisect_left(ordered, owner), bisect_right(ordered, owner)
        other = None
        if elsewhere := len(ordered) - (last - first):
            drawn_place = rng.randrange(elsewhere)
            other = by_owner[drawn_place + (last - first) * (drawn_place >= first)]
        order = rng.sample(range(len(node.children)), len(node.children))
        drawn.append(Masked(place, child, sibling, other, tuple(order)))
    return drawn


def shuffled_batches(
    documents: Iterable[Sequence[Tree]], tokens: int, rng: Random
) -> Iterator[tuple[int, list[tuple[int, Tree]]]]:
    """(documents done after it, trees with their documents' numbers): batches of at most so many tokens, or one tree.

    Documents are read as they come; a million tokens of them wait, from which trees are drawn at random.
    """
    waiting: list[tuple[int, Tree]] = []
    batch: list[tuple[int, Tree]] = []
    read = left = filled = drawn = 0  # documents; tokens that wait, in the batch, and drawn before it

    def done() -> int:
        return read * (drawn + filled) // max(1, drawn + filled + left)

    def draw(least: int) -> Iterator[tuple[int, list[tuple[int, Tree]]]]:
        nonlocal batch, left, filled, drawn
        while waiting and left > least:
            place = rng.randrange(len(waiting))
            waiting[place], waiting[-1] = waiting[-1], waiting[place]
            owner, tree = waiting.pop()
            if batch and filled + tree.size > tokens:
                yield done(), batch
                batch, drawn, filled = [], drawn + filled, 0
            batch.append((owner, tree))
            left, filled = left - tree.size, filled + tree.size

    for number, trees in enumerate(documents):
        waiting += ((number, tree) for tree in trees)
        left += sum(tree.size for tree in trees)
        read = number + 1
        yield from draw(_WAITING_TOKENS)
    yield from draw(0)
    if batch:
        yield done(), batch
