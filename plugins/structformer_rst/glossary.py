"""Glossaries: lists of terms, several for one definition too, each with a place that `:term:` leads to."""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from structformer_rst.including import without_options
from structformer_rst.objects import NOT_IN_ID


def term_anchor(term: str) -> str:
    """Return the place of a term."""
    return "term-" + NOT_IN_ID.sub("-", term).strip("-")


def is_term(anchor: str) -> bool:
    """Whether a place is that of a term."""
    return anchor.startswith("term-")


class Glossary(Directive):  # type: ignore[misc]
    """Terms at the margin, their definitions indented."""

    has_content = True

    def run(self) -> list[Any]:
        listed = nodes.definition_list()
        item: Any = None
        place = len(self.content) - len(without_options(self.content))
        while place < len(self.content):
            line = self.content[place]
            if not line.strip():
                place += 1
            elif line.startswith(".. "):
                place = self._end_of_indented(place + 1)
            else:
                is_term = not line[0].isspace()
                if item is None or (is_term and isinstance(item.children[-1], nodes.definition)):
                    item = nodes.definition_list_item()
                    listed += item
                end = place + 1 if is_term else self._end_of_indented(place)
                item += self._term(place) if is_term else self._definition(place, end)
                place = end
        return [listed] if len(listed) else []

    def _end_of_indented(self, place: int) -> int:
        while place < len(self.content) and (not self.content[place].strip() or self.content[place][0].isspace()):
            place += 1
        return place

    def _definition(self, start: int, end: int) -> Any:
        lines = self.content[start:end]
        lines.disconnect()
        lines.trim_left(min(len(line) - len(line.lstrip()) for line in lines if line.strip()))
        definition = nodes.definition()
        self.state.nested_parse(lines, self.content_offset + start, definition)
        return definition

    def _term(self, place: int) -> Any:
        inline, _ = self.state.inline_text(self.content[place].partition(" : ")[0].strip(), self.lineno + place)
        shown = nodes.term("", "", *inline)
        anchor = term_anchor(shown.astext())
        # Case and underscores do not matter to `:term:`.
        names = dict.fromkeys((anchor, anchor.lower().replace("_", "-")))
        shown.insert(0, nodes.target("", "", ids=list(names)))
        return shown
