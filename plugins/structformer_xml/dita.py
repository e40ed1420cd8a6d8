"""DITA's references that show what they lead to: conref, conkeyref, keyref, and links without words of their own."""

import copy
import posixpath
from typing import Any

from lxml import etree
from structformer.errors import ReadError
from structformer.formats import SourceFile, is_external

from structformer_xml.parsing import content, parse, words_of

_MOST = 500_000  # bytes of other elements that one document shows
_WORDS_OF_KEYS = ("topicmeta/keywords/keyword", "topicmeta/linktext", "topicmeta/navtitle")
_NAMELESS = frozenset({"data", "image", "object", "param"})


class References:
    """Carries out the references of one topic to elements of its folder's files, and to the keys of its maps."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._files: dict[str, dict[str, Any]] = {}  # the elements of each by their ids, the first by ""
        self._keys: dict[str, tuple[str, str]] | None = None
        self._left = _MOST

    def carry_out(self, root: Any) -> None:
        """Put in the place of references below `root` what they refer to, one step far."""
        self._files[""] = _by_id(root)
        for element in list(root.iter(etree.Element)):
            target = element.get("conref") or self._of_key(element.get("conkeyref"))[0]
            if target and (target_element := self._find(target)) is not None and self._left > 0:
                self._show(element, target_element, target.partition("#")[0])
        for element in root.iter(etree.Element):
            if not len(element) and not (element.text or "").strip() and element.tag not in _NAMELESS:
                self._name(element)

    def _show(self, element: Any, target: Any, path: str) -> None:
        shown = copy.deepcopy(target)
        self._left -= len(etree.tostring(target, with_tail=False))
        for each in shown.iter(etree.Element):
            each.attrib.pop("id", None)
            href = each.get("href")
            if href and path and not is_external(href):
                each.set("href", path + href if href[0] == "#" else posixpath.join(posixpath.dirname(path), href))
        element.text, element[:] = shown.text, list(shown)

    def _name(self, element: Any) -> None:
        target, words = self._of_key(element.get("keyref"))
        if target and element.get("href") is None:
            element.set("href", target)
        if element.get("keyref") or element.tag in ("xref", "link"):
            element_named = self._find(element.get("href") or "")
            element.text = words or words_of(None if element_named is None else element_named.find("title")) or None

    def _find(self, target: str) -> Any:
        """Return the element that an address names, in a file of the folder; None where there is none."""
        path, _, place = target.partition("#")
        if not target or is_external(target):
            return None
        if path not in self._files:
            opened = self._source.open(path)
            root = _root(opened) if opened is not None else None
            self._files[path] = _by_id(root) if root is not None else {}
        return self._files[path].get(place.rpartition("/")[2])

    def _of_key(self, reference: str | None) -> tuple[str, str]:
        """(address, words) of what a key stands for, as the folder's maps say; of an element in it "key/element"."""
        if not reference:
            return "", ""
        if self._keys is None:
            self._keys = {}
            for file in self._source.companions(".ditamap"):
                for each in () if (root := _root(file)) is None else root.iter(etree.Element):
                    for key in (each.get("keys") or "").split():
                        words = next(filter(None, (words_of(each.find(path)) for path in _WORDS_OF_KEYS)), "")
                        self._keys.setdefault(key, (self._seen_from(file.path, each.get("href") or ""), words))
        key, _, element = reference.partition("/")
        target, words = self._keys.get(key, ("", ""))
        return (f"{target.partition('#')[0]}#{element}", "") if target and element else (target, words)

    def _seen_from(self, path: str, href: str) -> str:
        if not href or is_external(href):
            return href
        there, sign, place = href.partition("#")
        folder = posixpath.dirname(self._source.path)
        return posixpath.relpath(posixpath.join("/", posixpath.dirname(path), there), f"/{folder}") + sign + place


def _root(file: SourceFile) -> Any:
    try:
        return parse(content(file)[0], completed=True)
    except ReadError:
        return None


def _by_id(root: Any) -> dict[str, Any]:
    """Elements by their ids, and by "" the first topic."""
    by_id = {"": root if root.tag != "dita" or not len(root) else root[0]}
    for element in root.iter(etree.Element):
        by_id.setdefault(element.get("id", ""), element)
    return by_id
