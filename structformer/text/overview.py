"""A document at a glance: title, opening, section titles, short enough for a ranker. The search compares it beside the
passages, since a passage deep in a page tells little of the page's topic.
"""

from structformer.document import Document, first_words, word_count

_OPENING_WORDS = 70
_HEADING_WORDS = 50


def overview(document: Document, without: str = "") -> str:
    """Three lines: a document's title, opening words, section titles. `without`: a text left out of the opening."""
    opening = ""
    headings: dict[str, None] = {}
    for number, section in enumerate(document.sections()):
        if number and section.title.strip() and not section.is_link_list:
            headings[section.title.strip()] = None
        if word_count(opening) < _OPENING_WORDS and section.text and not section.is_link_list:
            text = section.text.replace(without, " ", 1) if without else section.text
            opening = f"{opening} {first_words(text, _OPENING_WORDS)}".strip()
    listed = first_words(", ".join(headings), _HEADING_WORDS).rstrip(",")
    lines = (document.title, first_words(opening, _OPENING_WORDS), listed)
    return "\n".join(line for line in lines if line)
