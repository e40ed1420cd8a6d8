"""Where a corpus's pages are read: the site's address and its rule; and whole documents' texts with their address."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from structformer.did_you_mean import did_you_mean
from structformer.document import Document
from structformer.errors import UsageError
from structformer.formats.builder import stem_title
from structformer.formats.generators import BARE, FILE, FOLDER, HTML, MIRROR, RULES, is_address
from structformer.formats.link_names import INDEX_STEMS, without_order, without_suffix, without_template
from structformer.storage.files import read_json, write_json
from structformer.storage.seal import compared
from structformer.text.passages import section_passages

GIVEN = "given"  # by the user, who may also say that there is none
_FILE, _NAVIGATION = "site.json", "navigation"
_OWN_ADDRESS = ("permalink", "url")  # keys of front matter
PAGE = re.compile(r"\.(?:html?|xhtml)$", re.IGNORECASE)
HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?")
CHARACTERS = 8000  # more than any ranker reads


def _check_address(text: str) -> None:
    if not is_address(text):
        raise UsageError(f"{text!r} is not an address: write https://...")


@dataclass(frozen=True, slots=True)
class Site:
    """How the pages of a corpus have addresses."""

    base_url: str = ""
    """Address of the site, which precedes all others; "" if it is not known."""
    rule: str = FOLDER
    """How a source's path becomes an address, one of RULES."""
    root: str = ""
    """The folder of the corpus whose pages the site is built from."""
    within: str = ""
    """Where on the site the pages of that folder are."""
    said_by: str = ""
    """The file that says so, as seen from what was read, or GIVEN; "" if nobody did."""
    name: str = ""
    """The site's name in its generator's settings; "" if they have none."""
    generator: str = ""
    """The site generator that was recognised, by its name; "" if none was."""
    outside: tuple[str, ...] = ()
    """Prefixes before the colon in links to other sites: "python" in python:slice."""
    lower: bool = False
    """Addresses are in lower case, with a dash for a space."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Other folders of the corpus with pages of the site: (folder, where its pages are on the site)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outside", tuple(self.outside))  # lists in JSON
        object.__setattr__(self, "elsewhere", tuple((folder, within) for folder, within in self.elsewhere))
        if self.base_url:
            _check_address(self.base_url)
        if self.rule not in RULES:
            raise UsageError(f"no URL rule {self.rule!r}; {did_you_mean(self.rule, RULES)}")

    @property
    def is_known(self) -> bool:
        """Whether pages have addresses other than those that they say themselves."""
        return bool(self.base_url) or self.rule == MIRROR

    def address(self, document: Document) -> str:
        """Return where a document is read: what it says itself, else by the rule; "" where nothing tells."""
        return self.address_of(document.id, document.source.path, document.metadata)

    def address_of(self, id: str, path: str, metadata: Mapping[str, Any]) -> str:
        """Return the address of the document of an id, a source and what the source says of itself."""
        for key in ("canonical", "og:url"):
            value = metadata.get(key)
            if isinstance(value, str) and value.startswith(("https://", "http://")):
                return value
        if self.rule == MIRROR:
            host, _, rest = path.removeprefix(self.root).partition("/")
            return f"https://{host}/{quote(self._path(rest))}" if HOST.fullmatch(host) and id == path else ""
        if not self.base_url:
            return ""
        base = self.base_url.rstrip("/") + "/"
        for key in _OWN_ADDRESS:
            value = metadata.get(key)
            if isinstance(value, str) and value.startswith("/"):
                return urljoin(base, quote(value.lstrip("/")))
        folders = (*self.elsewhere, (self.root, self.within))
        folder, within = next((each for each in folders if path.startswith(each[0])), ("", None))
        if id != path or within is None:
            return ""  # one of many in a file, or no page of the site
        place = path[len(folder) :]
        slug = metadata.get("slug")
        if isinstance(slug, str) and slug:  # from the top of these pages, or in the page's folder
            above = "" if "/" in slug else place[: place.rfind("/") + 1]
            place = above + (slug.strip("/") if self.rule == FILE else f"{slug.strip('/') or 'index'}.md")
        place = self._path(within + place)
        return base + quote(place.lower().replace(" ", "-") if self.lower else place)

    def moved(self, address: str, id: str, base_url: str) -> str:
        """A document's address on a copy of this site at base_url: its id there if it has none on this site. Without
        base_url the address, else the id. It may be relative. Raises UsageError on a damaged one.
        """
        if not base_url:
            return address or quote(id, errors="surrogatepass")
        if ":" in base_url:
            _check_address(base_url)
        here, there = (f"{each.rstrip('/')}/" for each in (self.base_url, base_url))
        if self.base_url and address.startswith(here):
            return there + address[len(here) :]
        return there + quote(id, errors="surrogatepass")

    def is_beside(self, target: str) -> bool:
        """Whether a link from the root leads to another site of this host: its first folder is not that of base_url."""
        base = urlsplit(self.base_url).path.strip("/").partition("/")[0]
        return bool(base) and target.startswith("/") and target.strip("/").partition("/")[0] not in ("", base)

    def _path(self, path: str) -> str:
        bare = without_suffix(path)
        folder, _, stem = bare.rpartition("/")
        above = f"{folder}/" if folder else ""
        if self.rule == FILE or (PAGE.search(path) and self.rule != BARE):
            return above if stem.lower() == "index" and self.rule != FILE else without_template(path)
        if stem.lower() in INDEX_STEMS:
            return above
        if self.rule == HTML:
            return f"{bare}.html"
        return f"{bare}/" if self.rule == FOLDER else without_order(bare)


@dataclass(frozen=True, slots=True)
class Navigation:
    """The order of a site's pages and the titles that its navigation shows."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles by the ids of documents, in the order of the site; "" if the navigation shows the page's own."""

    @property
    def ranks(self) -> dict[str, int]:
        """The place of each document by its id."""
        return {id: place for place, id in enumerate(self.titles)}

    def titled(self, document: Document) -> Document:
        """Return the document; one that is called after its file, changed to have the navigation's title."""
        title = self.titles.get(document.id)
        if title and document.title == (stem := stem_title(document.source.path)):
            document.title = title
            if document.root.title == stem:
                document.root.title = title
        return document

    def other_title(self, document: Document) -> str:
        """Return the navigation's title of a document that has another one of its own; "" if there is none."""
        title = self.titles.get(document.id, "")
        return title if title != document.title else ""


def write_site(folder: Path, site: Site, navigation: Navigation) -> None:
    """Keep a corpus's site, and its navigation, in its folder."""
    write_json(folder / _FILE, {**asdict(site), _NAVIGATION: list(navigation.titles.items())})


def read_site(folder: Path, *, damaged: bool = False) -> tuple[Site, Navigation]:
    """A corpus's site and navigation, both empty if it has none. damaged: read unverified. Raises WorkspaceError."""
    plain = folder / _FILE if (folder / _FILE).exists() else None
    path = plain if damaged else compared(folder, _FILE, "run `structformer ingest` again")
    values = read_json(path) if path is not None else {}
    navigation = Navigation(dict(values.pop(_NAVIGATION, ())))
    return Site(**values), navigation


def whole_text(document: Document, site: Site) -> str:
    """Return a document's title, its address where that is known, and its sections with their titles, a line each."""
    return with_address("\n".join(_parts(document)), document.title, site.address(document))


def with_address(text: str, title: str, address: str) -> str:
    """A document's text with its address behind its title, as HARP's fine-tuning reads pages (Ma et al., CIKM 2021)."""
    return (f"{title}\n{address}{text[len(title) :]}" if address else text)[:CHARACTERS]


def _parts(document: Document) -> Iterator[str]:
    yield document.title
    length = 0
    for number, section in enumerate(document.sections()):
        if length >= CHARACTERS:
            return
        pieces = [piece.text for piece in section_passages(section)]
        if pieces and number:
            yield section.title
        yield from pieces
        length += sum(map(len, pieces))
