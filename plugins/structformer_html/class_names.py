"""What an element says of itself by its class or role: what kind of note it is, what language its code is in."""

import re
from collections.abc import Sequence

from structformer_html.tags import NO_LANGUAGES

# Words that make an element a note by themselves: kinds that pages use for nothing else, and generators' own words.
_NOTES = frozenset(
    """note tip warning important caution danger hint attention seealso theorem lemma proof corollary proposition remark
    versionadded versionchanged versionremoved deprecated topic sidebar""".split()
)
NOTE_WORDS = _NOTES | frozenset(
    "see-also admonition theme-admonition admonitionblock markdown-alert alert custom-block starlight-aside".split()
)
_KINDS = _NOTES | frozenset(
    "error todo info success question failure bug example abstract summary quote definition".split()
)
_NOTE_ELEMENTS = frozenset({"div", "aside", "p", "blockquote", "details"})
_NOTE_ROLES = {"note": "note", "doc-tip": "tip", "doc-notice": "note"}
# A generator's word with the kind at its end: alert-warning, admonition-note, theme-admonition-tip.
_KIND_AT_END = re.compile(r"(?:theme-admonition|admonition|markdown-alert|alert|starlight-aside)-{1,2}(\w+)")
_NOTE_TITLES = frozenset(
    """admonition-title admonition-heading markdown-alert-title alert-title alert-heading custom-block-title
    starlight-aside__title topic-title sidebar-title title""".split()
)

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight|mw-highlight-lang|src|brush)[-:]\s*([\w+#.-]+)", re.IGNORECASE
)
# Around code; `lang-` would be the page's own language there.
_LANGUAGE_AROUND = re.compile(r"(?:^|\s)(?:language|highlight-source|highlight|mw-highlight-lang)-([\w+#.-]+)")
_HIGHLIGHTERS = frozenset({"hljs", "sourcecode", "prettyprint", "prism-code"})
# And the words of highlighters that name none either.
_NO_LANGUAGES = NO_LANGUAGES | frozenset("undefined auto numberlines lineanchors linenums copy copyable".split())


def note_kind(name: str, words: Sequence[str], role: str = "") -> str | None:
    """What kind of note an element is: "" where it doesn't say; None where it is none."""
    if role in _NOTE_ROLES:
        return _NOTE_ROLES[role]
    if name not in _NOTE_ELEMENTS:
        return None
    known = [word.lower() for word in words]
    is_page = ("topic" in known and len(known) > 1) or ("sidebar" in known and name != "aside")  # as DITA's topics are
    if is_page or known == ["alert"] or NOTE_WORDS.isdisjoint(known):
        return None
    for word in known:
        if word in _KINDS:
            return word
        if word == "see-also":
            return "seealso"
    ends = (found[1] for word in known if (found := _KIND_AT_END.fullmatch(word)) is not None)
    return next((end for end in ends if end in _KINDS), "details" if name == "details" else "")


def kind_said(text: str) -> str:
    """The kind of note that a note's first words name, where they name one."""
    word = text.split("\n", 1)[0].split("|", 1)[0].strip(" :.!").lower()
    return word if word in _KINDS else ""


def is_note_title(words: Sequence[str]) -> bool:
    """Whether an element in a note is its title."""
    return not _NOTE_TITLES.isdisjoint(words) or any(word.startswith("admonitionHeading") for word in words)


def language(classes: str) -> str:
    """The language that the class of preformatted text, or of the code in it, names; "" without one."""
    found = _LANGUAGE.search(classes)
    if found is not None:
        return _real(found[1])
    words = classes.lower().split()
    if _HIGHLIGHTERS.isdisjoint(words):
        return ""
    return next((told for word in words if word not in _HIGHLIGHTERS and (told := _real(word))), "")


def language_around(classes: str) -> str:
    """The language that the class of an element around preformatted text names."""
    found = _LANGUAGE_AROUND.search(classes)
    return _real(found[1]) if found is not None else ""


def _real(name: str) -> str:
    name = name.lower().strip("-.")
    return name if any(character.isalpha() for character in name) and name not in _NO_LANGUAGES else ""
