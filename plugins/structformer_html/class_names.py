"""Meanings of an element's class or role: the kind of note it is, the language its code is in."""

from collections.abc import Sequence

from structformer_html.rules import NOTES, Rules
from structformer_html.tags import NO_LANGUAGES

_KINDS = NOTES | frozenset(
    "error todo info success question failure bug example abstract summary quote definition".split()
)
_NOTE_ELEMENTS = frozenset({"div", "aside", "p", "blockquote", "details"})
_NOTE_ROLES = {"note": "note", "doc-tip": "tip", "doc-notice": "note"}
_HIGHLIGHTERS = frozenset({"hljs", "sourcecode", "prettyprint", "prism-code"})
# And the words of highlighters that name none either.
_NO_LANGUAGES = NO_LANGUAGES | frozenset("undefined auto numberlines lineanchors linenums copy copyable".split())


def note_kind(name: str, words: Sequence[str], role: str, rules: Rules) -> str | None:
    """Return what kind of note an element is: "" if it does not say; None if it is not a note."""
    if role in _NOTE_ROLES:
        return _NOTE_ROLES[role]
    if name not in _NOTE_ELEMENTS:
        return None
    known = [word.lower() for word in words]
    is_page = ("topic" in known and len(known) > 1) or ("sidebar" in known and name != "aside")  # as DITA's topics are
    if is_page or known == ["alert"] or rules.words.notes.isdisjoint(known):
        return None
    for word in known:
        if word in _KINDS:
            return word
        if word == "see-also":
            return "seealso"
    ends = (match[1] for word in known if (match := rules.kind_at_end.fullmatch(word)) is not None)
    return next((end for end in ends if end in _KINDS), "details" if name == "details" else "")


def kind_said(text: str) -> str:
    """Return the kind of note that a note's first words name; "" if they name none."""
    word = text.split("\n", 1)[0].split("|", 1)[0].strip(" :.!").lower()
    return word if word in _KINDS else ""


def is_note_title(words: Sequence[str], rules: Rules) -> bool:
    """Whether an element in a note is its title. CSS modules add a hash to a class, after an underscore."""
    titles = rules.words.note_titles
    return any(word in titles or word.partition("_")[0] in titles for word in words)


def language(classes: str, rules: Rules) -> str:
    """Return the language that the class of preformatted text, or of the code in it, names; "" without one."""
    match = rules.language.search(classes)
    if match is not None:
        return _real(match[1])
    words = classes.lower().split()
    if _HIGHLIGHTERS.isdisjoint(words):
        return ""
    return next((name for word in words if word not in _HIGHLIGHTERS and (name := _real(word))), "")


def language_around(classes: str, rules: Rules) -> str:
    """Return the language that the class of an element around preformatted text names; "" without one."""
    match = rules.language_around.search(classes)
    return _real(match[1]) if match is not None else ""


def _real(name: str) -> str:
    name = name.lower().strip("-.")
    return name if any(character.isalpha() for character in name) and name not in _NO_LANGUAGES else ""
