"""Text that a site puts around every page: the substitutions and targets of `rst_prolog` and `rst_epilog`, and
`|version|`, `|release|` and `|project|`, from the texts of its settings, which are read, never run.
"""

import re
from functools import lru_cache

from structformer.formats import SourceFile

from structformer_sites import load, settings_above, text_of

_LONGEST = 1_000_000
_SETTINGS = ("rst_prolog", "rst_epilog")
_READ = frozenset(("replace", "unicode", "image", "date"))  # what defines a name here; `raw` does so for a browser
_NAMES = ("version", "release", "project")
_COMPUTED = ("version", "release", "today")  # nothing, if settings compute them
_DEFAULT_ROLE = "default_role"
_SUBSTITUTIONS = "myst_substitutions"  # MyST's, named here with "{" in front
_REFERENCE = re.compile(r"\|(?! )([^|\n]{1,100})(?<! )\|")
_DEFINITION = re.compile(r"^\.\. (?:\|([^|\n]+)\||_[^:\n]+:)[^\n]*(?:\n[ \t]+[^\n]+)*", re.MULTILINE)
_OWN = re.compile(
    r"^(?P<indent>[ \t]*)\.\. \|(?P<name>[^|\n]+)\|[ \t]+(?P<kind>[\w-]+)::"
    r"(?P<said>[^\n]*(?:\n+(?P=indent)[ \t]+[^\n]+)*)",
    re.MULTILINE,
)


def with_site_text(text: str, source: SourceFile) -> str:
    """Return the page with the site's definitions that it lacks; undefined names in any are words for docutils."""
    if "|" not in text and "`_" not in text:
        return text
    defined = {_name(found["name"]) for found in _OWN.finditer(text)}
    definitions = _definitions(_configuration(source))
    added = [whole for name, whole in definitions if name not in defined and name != _DEFAULT_ROLE and name[:1] != "{"]
    if added:
        text = "\n\n".join((text, *added, ""))
    known = {_name(found["name"]) for found in _OWN.finditer(text) if found["kind"] in {*_READ, "raw"}}

    def readable(found: re.Match[str]) -> str:
        if found["kind"] == "raw":  # mostly a break
            return f"{found[0][: found.start('kind') - found.start()]}unicode:: 0x20" + "\n" * found["said"].count("\n")
        definitions = _REFERENCE.sub(lambda name: name[0] if _name(name[1]) in known else name[1], found["said"])
        return found[0][: found.start("said") - found.start()] + definitions

    return _OWN.sub(readable, text)


def default_role(source: SourceFile) -> str:
    """Return the role of text in single backticks, by the settings; "" for docutils' own."""
    return dict(_definitions(_configuration(source))).get(_DEFAULT_ROLE, "")


def substitution(name: str, source: SourceFile) -> str | None:
    """Return MyST's text for `{{ name }}`, by the settings; None if they do not say."""
    return dict(_definitions(_configuration(source))).get(f"{{{name}")


def _name(name: str) -> str:
    """Names of substitutions are alike in any case, however they are spaced."""
    return " ".join(name.lower().split())


def _configuration(source: SourceFile) -> bytes:
    opened = settings_above(source, "reference_text")
    return opened.read()[:_LONGEST] if opened is not None else b""


@lru_cache(maxsize=16)
def _definitions(data: bytes) -> tuple[tuple[str, str], ...]:
    """Return (name, "" of a target; definition) of all that settings define, and the default role."""
    values = load(".py", data.decode("utf-8", "replace"))
    texts = {name: text_of(values.get(name)) for name in (*_SETTINGS, *_NAMES, _DEFAULT_ROLE)}
    substitutions = values.get(_SUBSTITUTIONS)
    named = substitutions.items() if isinstance(substitutions, dict) else ()
    texts |= {f"{{{name}": text_of(value) for name, value in named}
    definitions = {_DEFAULT_ROLE: texts[_DEFAULT_ROLE]} if texts.get(_DEFAULT_ROLE) else {}
    definitions |= {name: text for name, text in texts.items() if name[0] == "{" and text}
    definitions |= {name: f".. |{name}| unicode:: 0x20" for name in _COMPUTED}
    for name in _NAMES:
        if texts.get(name, "").strip():
            definitions[name] = f".. |{name}| replace:: {' '.join(texts[name].split())}"
    for setting in _SETTINGS:
        for each in _DEFINITION.finditer(texts.get(setting, "")):
            definitions[_name(each[1]) if each[1] else each[0]] = each[0]
    return tuple(("" if whole.startswith(".. _") else name, whole) for name, whole in definitions.items())
