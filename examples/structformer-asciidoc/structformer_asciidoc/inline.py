"""AsciiDoc's inline markup: references, links, quoted text, attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from structformer.formats import TreeBuilder

_ATTRIBUTE = re.compile(r"\{([\w-]+)\}")
_CHARACTERS = {
    "nbsp": "\u00a0",
    "sp": " ",
    "empty": "",
    "zwsp": "",
    "plus": "+",
    "asterisk": "*",
    "tilde": "~",
    "caret": "^",
    "litdd": "--",
    "apos": "'",
    "quot": '"',
    "lt": "<",
    "gt": ">",
    "amp": "&",
    "vbar": "|",
    "startsb": "[",
    "endsb": "]",
    "backslash": "\\",
    "backtick": "`",
    "two-colons": "::",
}
_TOKEN = re.compile(
    r"<<(?P<id>[^<>,\n]+)(?:,\s*(?P<shown>[^<>]*))?>>"
    r"|\[\[(?P<anchor>[\w:.-]+)(?:,[^\]]*)?\]\]"
    r"|(?P<url>(?:https?|ftp)://[^\s\[\]<>]*[^\s\[\]<>.,;:!?)'\"])(?:\[(?P<urltext>[^\]\n]*)\])?"
    r"|\b(?P<macro>[a-z]\w*):(?P<target>[^\s:\[][^\s\[]*|)\[(?P<text>[^\]\n]*)\]"
    r"|`+(?P<code>[^`\n]+)`+"
    r"|(?<!\w)(?P<mark>\*\*?|__?|##?|\+\+?)(?P<quoted>\S(?:[^\n]*?\S)?)(?P=mark)(?!\w)"
)
_IMAGES = frozenset({"image", "icon"})
_UNSHOWN = frozenset({"indexterm", "indexterm2", "pass", "footnoteref"})


def spelt_out(text: str, attributes: Mapping[str, str]) -> str:
    """A text with its attribute references replaced; those that nobody defined stay."""
    return _ATTRIBUTE.sub(lambda found: attributes.get(found[1], _CHARACTERS.get(found[1], found[0])), text)


def write_inline(text: str, builder: TreeBuilder, attributes: Mapping[str, str], depth: int = 0) -> None:
    """Give a text's words and references to the builder."""
    text = spelt_out(text, attributes) if depth == 0 else text
    position = 0
    for found in _TOKEN.finditer(text):
        builder.flow(text[position : found.start()])
        position = found.end()
        if found["id"] is not None:
            target = found["id"].strip()
            path, mark, anchor = target.partition("#")
            _link(builder, f"{path}#{anchor}" if mark else f"#{target}", found["shown"] or "", attributes, depth)
        elif found["anchor"] is not None:
            builder.add_anchor(found["anchor"])
        elif found["url"] is not None:
            _link(builder, found["url"], found["urltext"] or found["url"], attributes, depth)
        elif found["macro"] is not None:
            _macro(builder, found["macro"], found["target"], found["text"], attributes, depth)
        elif found["code"] is not None:
            builder.flow(found["code"].strip("+"))
        elif depth < 8:
            write_inline(found["quoted"], builder, attributes, depth + 1)
        else:
            builder.flow(found["quoted"])
    builder.flow(text[position:])


def _macro(builder: TreeBuilder, name: str, target: str, text: str, attributes: Mapping[str, str], depth: int) -> None:
    if name in _IMAGES:
        builder.add_image(target.lstrip(":"), text.partition(",")[0])
    elif name == "anchor":
        builder.add_anchor(target)
    elif name == "xref":
        elsewhere = "#" in target or "." in target
        _link(builder, target if elsewhere else f"#{target}", text, attributes, depth)
    elif name in ("link", "mailto"):
        _link(builder, target if name == "link" else f"mailto:{target}", text or target, attributes, depth)
    elif name == "footnote":
        builder.flow(" (")
        write_inline(text, builder, attributes, depth + 1)
        builder.flow(")")
    elif target and name not in _UNSHOWN:  # a macro of the project's own, as git's linkgit:git-add[1]
        shown = f"{target}({text})" if text else target
        _link(builder, target, shown, attributes, depth)
    elif text and name not in _UNSHOWN:  # kbd:[Ctrl], btn:[OK]
        write_inline(text, builder, attributes, depth + 1)


def _link(builder: TreeBuilder, target: str, text: str, attributes: Mapping[str, str], depth: int) -> None:
    shown = text.partition(",")[0].strip().strip("^").strip('"') if "=" in text else text.strip().rstrip("^")
    if builder.in_link or depth >= 8:
        builder.flow(shown)
        return
    builder.open_link(target)
    builder.flow(shown)
    builder.close_link()
