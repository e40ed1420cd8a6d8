"""Groups, which braces or environments hold, and the words in them that stand out: \\emph{...}, {\\bf ...}."""

from __future__ import annotations

from structformer.document import MarkKind
from structformer.formats import TreeBuilder


class Groups:
    """How many groups are open, and the marks that end with them or, at the latest, with their paragraph."""

    def __init__(self) -> None:
        self.depth = 0
        self._floor = 0  # groups around the text that is being read: it can't close them
        self._spans: list[tuple[int, MarkKind]] = []  # marks that are open, with the depth of their group

    @property
    def is_document(self) -> bool:
        """Whether no group is open but the document, which is one too."""
        return self.depth <= 1

    def enter(self) -> tuple[int, int]:
        """A text is read on its own, as a group; returns what to `leave` it to."""
        around = self.depth, self._floor
        self.depth += 1
        self._floor = self.depth
        return around

    def leave(self, around: tuple[int, int], builder: TreeBuilder) -> None:
        """Go back to where `enter` was called."""
        if self._spans:
            self.end_spans(builder)
        self.depth, self._floor = around

    def close(self, builder: TreeBuilder) -> None:
        """A group ends; nothing happens where none was opened."""
        if self.depth > self._floor:
            self.depth -= 1
            spans = self._spans
            while spans and spans[-1][0] > self.depth:
                builder.close_mark(spans.pop()[1])

    def span(self, kind: MarkKind, builder: TreeBuilder) -> None:
        """What follows in this group stands out so."""
        if builder.in_heading or self._spans[-1:] == [(self.depth, kind)]:
            return
        builder.open_mark(kind)
        self._spans.append((self.depth, kind))

    def end_spans(self, builder: TreeBuilder) -> None:
        """Nothing stands out any more in the text that is being read."""
        while self._spans and self._spans[-1][0] >= self._floor:
            builder.close_mark(self._spans.pop()[1])
