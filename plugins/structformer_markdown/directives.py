"""MyST's directives: their options, which show nothing, and which are notes of what kind; and the roles that refer to
something. Source: the documentation of MyST and of Sphinx.
"""

import re
from collections.abc import Mapping

# What shows nothing where it stands, or only what a generator makes.
HIDDEN_DIRECTIVES = frozenset(
    "raw index contents tableofcontents bibliography highlight default-role role meta sectnum sectionauthor "
    "codeauthor".split()
)
PLACE_ROLES = frozenset("ref numref eq any term keyword std:ref std:numref std:term prf:ref".split())
TITLE_ROLES = frozenset({"ref", "std:ref"})  # without words of their own these show the title of their target
FILE_ROLES = frozenset("doc std:doc download".split())
CITATION_ROLES = re.compile(r"(?:foot)?cite(?:[:.]\w+)?|citep|citet")
_OPTION = re.compile(r"[ \t]*:[\w-]+:.*")
_ENTRY = re.compile(r"[ \t]*:?([\w-]+):[ \t]*(.*)")

# Their argument is the first line of their text.
_NOTES = frozenset("note warning tip hint important caution danger attention error seealso todo".split())
# Their argument is their title.
_TITLED = frozenset(
    "admonition dropdown topic sidebar theorem axiom lemma definition corollary proposition conjecture criterion "
    "remark observation property assumption algorithm example exercise solution proof "
    "versionadded versionchanged versionremoved deprecated".split()
)


def split_options(content: str) -> tuple[dict[str, str], str]:
    """A directive's options, which are `:key: value` in front of its content or YAML between two lines `---`, and the
    content.
    """
    lines = content.split("\n")
    if lines[0].strip() == "---":
        end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), -1) + 1
    else:
        end = next((number for number, line in enumerate(lines) if _OPTION.fullmatch(line) is None), len(lines))
    found = (_ENTRY.match(line) for line in lines[:end])
    return {each[1]: each[2].strip(" \t\"'") for each in found if each is not None}, "\n".join(lines[end:])


def labels(options: Mapping[str, str]) -> list[str]:
    """The names that a directive's options give it, by which references lead there."""
    return [options[key] for key in ("label", "name") if options.get(key)]


def note_kind(name: str, options: Mapping[str, str]) -> tuple[str, bool]:
    """The kind of note that a directive is, and whether its argument is a title; "" where it is none.

    options: a class such as "tip" says what a general admonition is."""
    own = name.rpartition(":")[2]  # prf:theorem
    if own in _NOTES:
        return own, False
    if own != "admonition":
        return (own, True) if own in _TITLED else ("", False)
    return next((word for word in options.get("class", "").split() if word in _NOTES), "note"), True
