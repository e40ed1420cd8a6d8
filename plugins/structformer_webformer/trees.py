"""Trees of texts and inner nodes: what fits into the text encoder is a text, what is larger is a node over texts.

Source: Guo et al., "Webformer: Pre-training with Web Pages for Information Retrieval", SIGIR 2022, with sections and
blocks where web pages have elements. A document is one kind of branches at first: sections under their titles, blocks
under the names of their kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from structformer.document import Block, MarkKind, Section

FEWEST_TOKENS = 5
MOST_CHILDREN = 10
LEVELS = 3  # of texts and of nodes, in one tree
_TAG_TOKENS = 8  # of a title
IN_TEXT, OPENING, CLOSING = 0, 1, 2
Tokenise = Callable[[list[str]], Sequence[Sequence[int]]]


@dataclass(slots=True)
class Branch:
    """A node of the tree that is learned from."""

    tag: str
    """A section's title, or the kind of a block."""
    text: str = ""
    """The text of a leaf; "" for other nodes."""
    children: list[Branch] = field(default_factory=list)

    def walk(self) -> Iterator[Branch]:
        """Yield this branch and all below it, in the order of the document."""
        stack = [self]
        while stack:
            branch = stack.pop()
            yield branch
            stack += reversed(branch.children)


def branch_of(root: Section) -> Branch:
    """Return the branch of a document's root. Blocks of a section come before the sections in it."""
    made: dict[int, Branch] = {}
    for section in reversed(list(root.walk())):
        below = [_of_block(section.text, block) for block in section.blocks]
        below += [made.pop(id(child)) for child in section.children]
        made[id(section)] = Branch(section.title, children=below)
    return made[id(root)]


def _of_block(text: str, root: Block) -> Branch:
    made: dict[int, Branch] = {}
    for block in reversed(list(root.walk())):
        branch = Branch(block.kind.value.replace("_", " "), "" if block.children else text[block.start : block.end])
        branch.children = [made.pop(id(child)) for child in block.children]
        if [child.kind for child in block.children] == [MarkKind.PARAGRAPH]:
            # An item or a cell of one paragraph says it itself.
            branch.text, branch.children = branch.children[0].text, []
        made[id(block)] = branch
    return made[id(root)]


@dataclass(frozen=True, slots=True)
class Text:
    """A subtree in words: its tag, its content, its tag."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    """For each token whether it belongs to the text, or to a tag that opens or closes."""
    height = 0

    @property
    def size(self) -> int:
        """How many tokens it has."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Inner:
    """A subtree too large for the text encoder."""

    tag: tuple[int, ...]
    """The tokens of its tag."""
    children: tuple[Text | Inner, ...]
    height: int
    """How many levels are below it."""
    size: int
    """Tokens of all its texts."""

    def walk(self) -> Iterator[Text | Inner]:
        """Yield all nodes of the tree, those below before those above."""
        for child in self.children:
            if isinstance(child, Inner):
                yield from child.walk()  # no deeper than LEVELS
            else:
                yield child
        yield self


Tree = Text | Inner


# A branch with all below it: one text where that fits, else the nodes and texts that it has become.
_Folded = Text | list[Tree]


def trees_of(root: Branch, tokenise: Tokenise, *, longest: int, largest: int) -> list[Tree]:
    """The trees of a document: one text where it is short, else nodes of at most ten children and `largest` tokens.

    longest: tokens of a text. A node that has more below it than one tree may hold becomes several. One as high as a
    tree may be is a tree of its own, and the node above goes without it."""
    branches = list(root.walk())
    strings = list(dict.fromkeys(string for branch in branches for string in (branch.tag, branch.text) if string))
    tokens = dict(zip(strings, tokenise(strings), strict=True)) if strings else {}
    folded: dict[int, _Folded] = {}
    whole_trees: list[Tree] = []
    for branch in reversed(branches):
        tag = tuple(tokens[branch.tag][:_TAG_TOKENS]) if branch.tag else ()
        content = tokens[branch.text] if branch.text else ()
        below = [folded.pop(id(child)) for child in branch.children]
        text = _one_text(tag, content, below, longest)
        parts = [] if text else _nodes(tag, content, below, longest, largest)
        whole_trees += [part for part in reversed(parts) if part.height == LEVELS - 1]
        folded[id(branch)] = text or [part for part in parts if part.height < LEVELS - 1]
    whole = folded[id(root)]
    if isinstance(whole, Text):
        return [whole] if whole.size >= FEWEST_TOKENS else []
    return [*whole, *reversed(whole_trees)]


def _one_text(tag: tuple[int, ...], content: Sequence[int], below: Sequence[_Folded], longest: int) -> Text | None:
    texts = [each for each in below if isinstance(each, Text)]
    if len(texts) < len(below) or 2 * len(tag) + len(content) + sum(text.size for text in texts) > longest:
        return None
    ids, types = [*tag, *content], [OPENING] * len(tag) + [IN_TEXT] * len(content)
    for text in texts:
        ids += text.ids
        types += text.types
    return Text((*ids, *tag), (*types, *[CLOSING] * len(tag)))


def _nodes(
    tag: tuple[int, ...], content: Sequence[int], below: Sequence[_Folded], longest: int, largest: int
) -> list[Tree]:
    """Return the parts of a branch that is too large for one text."""
    room = longest - 2 * len(tag)
    pieces = [content[start : start + room] for start in range(0, len(content), room)]
    children: list[Tree] = [text for piece in pieces if (text := _one_text(tag, piece, [], longest))]
    for each in below:
        children += [each] if isinstance(each, Text) else each
    runs: list[list[Tree]] = []
    room_left = 0
    for child in children:
        if child.size < FEWEST_TOKENS:
            continue
        if not runs or len(runs[-1]) == MOST_CHILDREN or child.size > room_left:
            runs.append([])
            room_left = largest
        runs[-1].append(child)
        room_left -= child.size
    return [
        run[0]
        if len(run) == 1
        else Inner(tag, tuple(run), 1 + max(child.height for child in run), sum(child.size for child in run))
        for run in runs
    ]
