"""Names by which links reach documents: joined paths, percent-decoding, index pages, suffix-less forms; offered by
format plugins, looked up by the reference graph.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import unquote

# A word and a colon alone don't tell: wikis have "Category:Ships". These schemes need no slashes.
_SCHEME = re.compile(
    r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//|(?:mailto|tel|sms|javascript|data|doi|urn|news|geo|magnet|xmpp|sip|sips|skype|bitcoin|callto|about|"
    r"file|view-source|irc|nntp|ldap|ws|wss|cid|mid|tag|info|arxiv|pmid|orcid|isbn|olink|xref|vscode|vscode-insiders|cursor|"
    r"jetbrains|obsidian|spotify|whatsapp|webcal|facetime|chrome|ms-[a-z-]+|web\+[a-z]+|did|swh|pkg|hdl):",
    re.IGNORECASE,
)
# Suffixes that links leave out. Those of installed formats are added; these are also met where no format reads them.
_page_suffixes = tuple(".md .mdx .markdown .html .htm .xhtml .xml .tex .wiki .txt .rst".split())
# What templates add to the suffix of what they make: podman-run.1.md.in.
_TEMPLATE_SUFFIXES = (".in", ".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".template")
_ORDER = re.compile(r"(?:(?<=/)|^)\d+[-_. ]+(?=[^\d/-])")  # of pages in a sidebar: 01-setup.md is /setup
_VERSION = re.compile(r"<[^<>]+>|\{\{.+\}\}|latest|next|stable|current|master|main|v?\d[\w.]*")  # in an address
_NO_SLUG = re.compile(r"[^\w.]+")
INDEX_STEMS = frozenset({"index", "readme", "_index", "default"})


def add_page_suffixes(suffixes: Iterable[str]) -> None:
    """Let pages of a format have suffix-less names too; for the plugin manager."""
    global _page_suffixes
    _page_suffixes = tuple(dict.fromkeys((*_page_suffixes, *sorted(suffixes))))
    _bases.cache_clear()


def page_suffixes() -> tuple[str, ...]:
    """Return the suffixes of pages: those of installed formats, and common ones."""
    return _page_suffixes


def is_external(target: str) -> bool:
    """True when a target names another site or another kind of thing: it has a scheme, or begins with two slashes."""
    return (":" in target or target.startswith("//")) and _SCHEME.match(target) is not None


def normalize(name: str) -> str:
    """Return a name in the one form in which names are compared: percent-decoded, NFC, white space collapsed."""
    if "%" in name:
        name = unquote(name, errors="backslashreplace")  # as files whose names are not UTF-8 are called
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    return " ".join(name.split())


def wiki_name(title: str) -> str:
    """Return a page title as wiki-links write it: case, underscores, hyphens and outer space don't matter."""
    return "wiki:" + re.sub(r"[\s_-]+", " ", normalize(title)).strip().casefold()


def split_fragment(target: str) -> tuple[str, str]:
    """Return a target's page part (without query string) and fragment."""
    page, _, fragment = target.partition("#")
    return page.partition("?")[0], fragment


def join(base_folder: str, target: str) -> str | None:
    """`target` as seen from `base_folder`, both relative to the root; None where it climbs out of the root."""
    parts = [] if target.startswith("/") else [part for part in base_folder.split("/") if part]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def without_template(path: str) -> str:
    """Return the path of what a template makes: "page.md" for "page.md.in"; any other path as it is."""
    lower = path.lower()
    if not lower.endswith(_TEMPLATE_SUFFIXES):
        return path
    made = (path[: -len(suffix)] for suffix in _TEMPLATE_SUFFIXES if lower.endswith(suffix))
    return next((each for each in made if "." in each.rpartition("/")[2][1:]), path)


def without_suffix(path: str) -> str:
    """Return the path without its page suffix (.md, .html, .md.in, ...); other dots stay."""
    if "." not in path:
        return path
    made = without_template(path)
    if made != path and (bare := without_suffix(made)) != made:
        return bare
    lower = path.lower()
    if not lower.endswith(_page_suffixes):
        return path
    return next(path[: -len(suffix)] for suffix in _page_suffixes if lower.endswith(suffix))


def without_order(path: str) -> str:
    """Return the path without numbers that order pages: "guides/setup" for "02-guides/01-setup"."""
    return _ORDER.sub("", path)


def path_names(path: str) -> tuple[str, ...]:
    """Names of a file by place: its path, without suffix, without ordering numbers, an index's folder, its slug."""
    bare = without_suffix(path)
    names = [path, bare]
    if (made := without_template(path)).lower() not in (path.lower(), bare.lower()) and made.startswith(bare):
        names.append(made)
    folder, _, stem = bare.rpartition("/")
    if stem.lower() in INDEX_STEMS:
        names.append(folder or ".")
    if (unnumbered := without_order(bare)) not in (bare, ""):
        names.append(unnumbered)
    if " " in stem:  # as many generators publish it
        names.append(f"{folder}/{_NO_SLUG.sub('-', stem.lower()).strip('-')}".lstrip("/"))
    return tuple(dict.fromkeys(normalize(name) for name in names))


@lru_cache(maxsize=1024)
def _bases(document_path: str) -> tuple[str, str]:
    """Return the folders a page's relative target may start from: its own, and the one that it may be itself."""
    folder = str(PurePosixPath(document_path).parent)
    return "" if folder == "." else folder, without_suffix(document_path)


def path_candidates(document_path: str, target: str) -> Iterator[str]:
    """Yield names that a relative or root-absolute target may mean, best first.

    First as the file system has it, then as a generated site has it: pages without suffixes, each page a folder of its
    own; a root-absolute one also from each folder above the page, as the root of a site in a repository, with a
    site's base path in front (`/docs/run` for `run`), and without folders that the site leaves out (for `docs/text/run`
    on a page in `docs/text`).
    """
    page, _ = split_fragment(target)
    page = normalize(page)
    candidates: list[str] = []
    for base in _bases(document_path)[: 1 if page.startswith("/") else 2]:
        joined = join(base, page)
        if joined is not None:
            candidates += [joined or ".", without_suffix(joined) or "."]
            candidates += [unnumbered] if (unnumbered := without_order(joined)) not in (joined, "") else []
    if page.startswith("/"):
        parts, own = [part for part in page.split("/") if part], PurePosixPath(document_path).parent.parts
        paths = ["/".join((*own[:end], *parts)) for end in range(1, len(own) + 1)]  # a site below the ingested folder
        for start, part in enumerate(parts[:-1], 1):
            version = bool(_VERSION.fullmatch(parts[start]) and (parts[start + 1 :] or parts[start][0] in "<{"))
            if part in own and (start == 1 or version):
                rest, place = parts[start + version :], own.index(part) + 1
                paths += ["/".join((*own[:end], *rest)) for end in range(place, len(own) + 1 if rest else place + 1)]
        paths += ["/".join(parts[start:]) for start in range(1, len(parts))]
        candidates += [name for path in paths for name in (path, without_suffix(path))]
    yield from dict.fromkeys(candidates)


def url_names(address: str) -> tuple[str, ...]:
    """Return a web page's names: its address without scheme, "www." and query, with and without suffix and index."""
    page, _ = split_fragment(address)
    scheme, slashes, rest = page.partition("//")
    if not slashes or scheme.lower() not in ("", "http:", "https:"):
        return ()
    host, _, path = normalize(rest).partition("/")
    host = host.lower().removeprefix("www.")
    names = (
        [f"//{host}/{name}".rstrip("/") for name in path_names(path.strip("/"))] if path.strip("/") else [f"//{host}"]
    )
    return tuple(dict.fromkeys(name.removesuffix("/.") for name in names))


def link_names(document_id: str, document_path: str, target: str) -> Iterator[str]:
    """Names, with the fragment behind "#", that a link of a page may mean: a place on the page itself, another site's
    address, or a path as `path_candidates` has it."""
    page, fragment = split_fragment(target)
    suffix = f"#{normalize(fragment)}" if fragment else ""
    if not page:
        yield document_id + suffix
    elif is_external(target):
        yield normalize(page) + suffix
        for name in url_names(page):
            yield name + suffix
    else:
        for candidate in path_candidates(document_path, target):
            yield candidate + suffix
