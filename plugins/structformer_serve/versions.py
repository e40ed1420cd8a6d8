"""The order of versions: the newest first. What a page's version is called."""

from collections.abc import Iterable

from structformer.text import version_of, version_order

_NO_VERSION = (-1, (), False)


def is_version(name: str) -> bool:
    """Whether a name is a version's: 2.1, v3, 1.0rc1, latest."""
    return version_order(name) is not None


def newest_first(names: Iterable[str]) -> list[str]:
    """Versions as `version_order` has them, the greatest first; what is not a version comes last."""
    return sorted(sorted(names), key=lambda name: version_order(name) or _NO_VERSION, reverse=True)


def version_name(document_id: str, other: str) -> str:
    """Return the version in a document's id if `other` is the same page in another version: "2.1"; else ""."""
    if version_of(document_id)[0] != version_of(other)[0]:
        return ""
    elsewhere = {*other.split("/")}
    return "/".join(each for each in document_id.split("/")[:-1] if each not in elsewhere and "_docs" not in each)
