"""Proposes a mapping for an unknown vocabulary from one document of it."""

import json
from collections import Counter, defaultdict
from functools import partial
from typing import Any

from structformer_xml.including import XML_ID
from structformer_xml.parsing import parse

_TITLE_NAMES = ("title", "head", "heading", "name", "caption", "label", "header", "subject", "tit", "titel", "titre")
_list = partial(json.dumps, ensure_ascii=False)  # names in TOML


def suggest_mapping(data: bytes) -> str:
    """A mapping as TOML, with what it was seen in as comments. Raises ReadError when the XML is not well-formed."""
    root = parse(data)
    words: Counter[str] = Counter()
    count: Counter[str] = Counter()
    mixed: Counter[str] = Counter()
    firsts, parents = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    attributes: Counter[tuple[str, str]] = Counter()
    identifiers = {element.get("id") or element.get(XML_ID) for element in root.iter("*")} - {None}
    for element in root.iter("*"):
        name = _local(element.tag)
        count[name] += 1
        own = (element.text or "") + "".join(child.tail or "" for child in element)
        words[name] += len(own.split())
        if own.strip() and len(element):
            mixed[name] += 1
        if (above := element.getparent()) is not None:
            parents[name][_local(above.tag)] += 1
            firsts[_local(above.tag)][name] += above[0] is element
        for key, value in element.attrib.items():
            kind = _local(key)
            if value in identifiers and kind != "id":
                attributes[kind, "#"] += 1
            elif value[:1] == "#" or "://" in value or kind in ("href", "url"):
                attributes[kind, ""] += 1
    titles = [
        name
        for name, number in count.items()
        if name.lower() in _TITLE_NAMES and words[name] and sum(each[name] for each in firsts.values()) * 2 >= number
    ] or [
        name
        for name, number in count.items()
        if number > 1
        and 0 < words[name] / number <= 12
        and parents[name]
        and sum(each[name] for each in firsts.values()) * 5 >= number * 4
        and not _is_repeated(name, root)
    ]
    holders = {parent for title in titles for parent in parents[title]}
    sections = sorted(each for each in holders if words[each] == 0 or each == _local(root.tag))
    others = sorted(count.keys() - {*titles})
    paragraphs = [name for name in others if name not in sections and words[name] / count[name] > 12]
    inline = [name for name in others if name not in paragraphs and any(mixed[each] for each in parents[name])]
    references = {key: prefix for (key, prefix), _ in attributes.most_common()}
    users = {_local(each.tag) for each in root.iter("*") if any(_local(key) in references for key in each.attrib)}
    lines = [
        "# A mapping for structformer's XML reader; use it with: structformer ingest FOLDER --mapping FILE",
        f"# Seen: {', '.join(f'{name} {number}' for name, number in count.most_common(12))}",
        'name = "own"',
        f"roots = {_list([_local(root.tag)])}",
        f"sections = {_list(sections)}  # elements that are a section when they have a title",
        f"titles = {_list(sorted(titles))}",
        f"paragraphs = {_list(paragraphs)}",
        f"inline = {_list(inline)}",
        f"references = {_list(sorted(users))}",
        "",
        "[targets]  # attributes that hold a reference, and what precedes an id",
        *(f'"{key}" = "{prefix}"' for key, prefix in sorted(references.items())),
    ]
    return "\n".join(lines) + "\n"


def _local(tag: Any) -> str:
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _is_repeated(name: str, root: Any) -> bool:
    """Whether the element follows one of its own name, as list items and paragraphs do and titles don't."""
    return any(
        (before := element.getprevious()) is not None and _local(before.tag) == name
        for element in root.iter("*")
        if _local(element.tag) == name
    )
