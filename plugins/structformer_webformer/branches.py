"""A document as one kind of branches: sections under their titles, blocks under the names of their kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from structformer.document import Block, MarkKind, Section


@dataclass(slots=True)
class Branch:
    """A node of the tree that is learned from."""

    tag: str
    """A section's title, or the kind of a block."""
    text: str = ""
    """The text of a leaf; "" for other nodes."""
    children: list[Branch] = field(default_factory=list)

    def walk(self) -> Iterator[Branch]:
        """This branch and all below it, in the order of the document."""
        stack = [self]
        while stack:
            branch = stack.pop()
            yield branch
            stack += reversed(branch.children)


def branch_of(root: Section) -> Branch:
    """The branch of a document's root. Blocks of a section come before the sections in it."""
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
