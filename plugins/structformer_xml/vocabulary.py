"""Vocabularies: which elements are sections, titles, paragraphs, references. Those built in are tables in TOML, in the
folder vocabularies, as a user's own is."""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from structformer.errors import UsageError

from structformer_xml.marks import Part, check_marks, names_of

_PUBLIC = re.compile(rb"""<!DOCTYPE\s+[^\s>\[]+\s+PUBLIC\s+["']([^"']*)["']""")
BUILT_IN = ("docbook", "jats", "bits", "tei", "dita", "rfc", "mallard", "pretext", "generic")


@dataclass(frozen=True)
class Vocabulary:
    """Meanings of one vocabulary's elements. Names are local names, without namespace."""

    name: str
    roots: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = ()
    doctypes: tuple[str, ...] = ()
    """What a DOCTYPE's public identifier says where it is this vocabulary's."""
    sections: frozenset[str] = frozenset()
    """Elements that are a section when they have a title."""
    any_section: bool = False
    """Whether every element with a title is a section, except for those in `untitled`."""
    untitled: frozenset[str] = frozenset()
    """With `any_section`: elements that are not sections though they have a title."""
    titles: frozenset[str] = frozenset()
    """Elements that name the section they are in, also from within one of its `wrappers`."""
    wrappers: frozenset[str] = frozenset()
    """Elements of a section that may hold its title."""
    document_titles: frozenset[str] = frozenset()
    """Elements whose text is the document's title without being a heading, as "parent/child"."""
    inner_documents: frozenset[str] = frozenset()
    """Sections that have a document's title of their own."""
    labels: frozenset[str] = frozenset()
    """Elements that precede a title, or serve as the title if nothing else does."""
    titled_by: Mapping[str, str] = field(default_factory=dict)
    """By element, the attribute that says its title if it is a section, and else the words that precede its text."""
    numbered: tuple[str, ...] = ()
    """Attributes that say what kind of section it is; with `n`, a section that has no title is called by both."""
    matter: frozenset[str] = frozenset()
    """Elements that hold sections and have no title: what follows a section there belongs to that section."""
    default_titles: Mapping[str, str] = field(default_factory=dict)
    """By element, the title that it gets when it has none of its own."""
    skipped: frozenset[str] = frozenset()
    """Elements that are not text; their links are kept, without a place."""
    blocks: frozenset[str] = frozenset()
    """Elements that begin on a line of their own within a paragraph too, and hold others."""
    paragraphs: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()
    cells: frozenset[str] = frozenset()
    verbatim: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    targets: tuple[tuple[str, str], ...] = ()
    """Attributes that hold a reference, each with what precedes its value: "#" for an id."""
    references: frozenset[str] = frozenset()
    referring_anywhere: bool = True
    """Whether an attribute that holds an address makes a link of any element."""
    unreferring: frozenset[str] = frozenset()
    """Elements whose reference is part of the display, and makes no link."""
    embedded: frozenset[str] = frozenset()
    """Images and other media."""
    citations: frozenset[str] = frozenset()
    see_also: frozenset[str] = frozenset()
    """Elements, or "element[attribute=value]", that list related pages."""
    named_by: frozenset[str] = frozenset()
    """Elements that refer to what they name when they are in a list of related pages."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Elements whose text is metadata of the document, with the key that it gets."""
    skipped_in: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By element, the elements in which it is skipped, however deep in them it is."""
    within_words: frozenset[str] = frozenset()
    """Elements that may be inside a word, so that no blank is put around them."""
    joints: Mapping[str, str] = field(default_factory=dict)
    """By element, what is put between its children if it has no text between them; a blank for elements not listed."""
    brackets: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By element, what is put before and after its text."""
    choices: frozenset[str] = frozenset()
    """Elements that say by `choice` and `rep` what is put before and after their text."""
    breaks: frozenset[str] = frozenset()
    """Elements that end a word unless they say break="no"."""
    readings: frozenset[str] = frozenset()
    """Elements whose children say one thing in several ways."""
    variants: frozenset[str] = frozenset()
    """Children of `readings` that are never taken."""
    notes: frozenset[str] = frozenset()
    """Footnotes, which do not belong to a title that they are in and are in brackets in a sentence."""
    signs: frozenset[str] = frozenset()
    """Elements, or "element[attribute=value]", that refer to footnotes."""
    raised: frozenset[str] = frozenset()
    """Elements that are set raised."""
    lowered: frozenset[str] = frozenset()
    """Elements that are set lowered."""
    calls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """For each element that shows how a function is called, the elements of the function's name and of a parameter."""
    examples: frozenset[str] = frozenset()
    """Elements that show markup, which has no meaning there."""
    man_pages: frozenset[str] = frozenset()
    """Elements that name another page by its name and number."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Elements that are lists, tables, code and other parts of a text; see structformer_xml.marks."""
    meanings: dict[str, tuple[str, int, bool, Part | None]] = field(default_factory=dict, init=False, compare=False)
    """Meaning of each tag, filled in as tags are met."""


# By the names of their root elements. A document that one of a higher rank takes in is a part of that: a chapter of a
# book, but not a page of another page.
RANKS = {
    name.encode(): rank
    for rank, names in enumerate(
        ("refentry TEI", "appendix teiCorpus", "article chapter preface topic", "part reference", "book", "set"), 1
    )
    for name in names.split()
}
ABOVE_ALL = 9
_DITA_SIGNS = frozenset(
    "shortdesc body conbody taskbody refbody glossdef prolog related-links topicref topicmeta glossterm".split()
)


@cache
def built_in(name: str) -> Vocabulary:
    """Return a vocabulary of the package, which is read when it is first asked for."""
    return from_toml(_table(name), f"{name}.toml")


@cache
def _common() -> Vocabulary:
    """Return what a vocabulary has that extends no other."""
    return _changed(Vocabulary(name="own"), tomllib.loads(_table("common")), "common.toml", ())


def _table(name: str) -> str:
    return (files("structformer_xml") / "vocabularies" / f"{name}.toml").read_text(encoding="utf-8")


def choose(root: Any, data: bytes) -> Vocabulary:
    """Return the vocabulary of a document by its namespace, by its DOCTYPE, or by its root and what is in it."""
    namespace, _, root_name = root.tag.rpartition("}")
    for vocabulary in map(built_in, BUILT_IN if namespace else ()):
        if namespace[1:] in vocabulary.namespaces:
            return vocabulary
    children = frozenset(re.findall(r"<(?:\w+:)?([\w.-]+)", data[:20_000].decode("latin-1")))
    if children & {"book-meta", "book-part", "book-body"} and root_name in (bits := built_in("bits")).roots:
        return bits
    public_id = found[1].decode("latin-1") if (found := _PUBLIC.search(data[:4000])) is not None else ""
    for vocabulary in map(built_in, BUILT_IN if public_id else ()):
        if any(words in public_id for words in vocabulary.doctypes):
            return vocabulary
    if root_name in ("article", "sec", "body", "book-part") and (
        children & {"front", "body", "sec", "front-stub"} or root_name == "sec"
    ):
        return built_in("jats")
    is_dita = root_name == "bookmap" or not children.isdisjoint(_DITA_SIGNS)
    likely = map(built_in, ("tei", "rfc", "pretext", "dita" if is_dita else "docbook"))
    return next((vocabulary for vocabulary in likely if root_name in vocabulary.roots), None) or built_in("generic")


_KEYS = frozenset(each.name for each in fields(Vocabulary) if each.init) | {"extends", "parts"}
# Lists of these add to the common names; of other keys, they take the place of those.
_COMMON = frozenset({"paragraphs", "lines", "cells", "verbatim", "inline", "raised", "lowered"})


@lru_cache(maxsize=8)
def from_toml(text: str, origin: str) -> Vocabulary:
    """Return the vocabulary that a table describes. Raises UsageError that names the key which is wrong.

    Keys are the fields of `Vocabulary`: element names as a list or as a string of words, or a table whose `add` and
    `remove` change what is there; `targets` as a table attribute = prefix; `marks` as a table element = kind of part,
    `parts` as one kind of part = element names; `extends` for a built-in one whose entries stay.
    """
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{origin}: {error}") from error
    extended = table.pop("extends", None)
    if extended is None:
        return _changed(_common(), table, origin, _COMMON)
    if extended not in BUILT_IN:
        raise UsageError(f"{origin}: extends = {extended!r}; built in: {', '.join(BUILT_IN)}")
    return _changed(built_in(extended), table, origin, _KEYS)


def _changed(base: Vocabulary, table: dict[str, Any], origin: str, adding: Collection[str]) -> Vocabulary:
    """Return a vocabulary with a table's entries. adding: keys whose names are added to those of the vocabulary."""
    chosen: dict[str, Any] = {"marks": base.marks}
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"{origin}: no key {key!r}; choose from: {', '.join(sorted(_KEYS))}")
        current = getattr(base, key, None)
        form: object = list if isinstance(current, tuple) else type(current)
        if isinstance(current, frozenset):
            change = value if isinstance(value, dict) else {"add": value}
            added, removed = names_of(change.get("add", "")), names_of(change.get("remove", ""))
            if added is None or removed is None or not change.keys() <= {"add", "remove"}:
                raise UsageError(f"{origin}: {key} must be a list of element names")
            kept = current.difference(removed) if change is value or key in adding else frozenset()
            chosen[key] = kept.union(added)
        elif key == "targets":
            if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                raise UsageError(f'{origin}: targets must be a table like {{ href = "", ref = "#" }}')
            chosen[key] = (*value.items(), *(base.targets if key in adding else ()))
        elif key in ("marks", "parts"):
            chosen["marks"] = {**chosen["marks"], **check_marks(value, origin, by_part=key == "parts")}
        elif type(value) is not form:
            raise UsageError(f"{origin}: {key} must be {type(current).__name__}")
        elif key == "skipped_in":
            chosen[key] = {name: frozenset(names_of(around) or ()) for name, around in value.items()}
        else:
            chosen[key] = tuple(value) if form is list else value
    return replace(base, **chosen)
