"""Site generators as objects: everything structformer knows about one is declared in one `SiteGenerator`."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from structformer.document import Document
from structformer.formats.source import SourceFile

# x.md is /x/, /x, /x.html, or where it lies; in a mirror the first folder is the host.
FOLDER, BARE, HTML, FILE, MIRROR = RULES = ("folder", "bare", "html", "file", "mirror")
_ADDRESS = re.compile(r"https?://[^/\s]+(?:/\S*)?")


def is_address(text: str) -> bool:
    """Whether a text is the address of a site or page."""
    try:
        return _ADDRESS.fullmatch(text) is not None and urlsplit(text).port != 0
    except ValueError:  # brackets or a port that no host has
        return False


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """Facts about a site from its generator's settings."""

    base_url: str = ""
    """Address of the site, which precedes all others; "" if the settings do not say."""
    rule: str = FOLDER
    """How a path becomes an address, one of RULES."""
    pages: tuple[str, ...] = ("",)
    """Folders that may hold the pages, relative to the folder of the settings, the likeliest first."""
    within: str = ""
    """The prefix of the pages on the site, such as "docs/"."""
    name: str = ""
    """The site's name; "" if the settings do not say."""
    outside: tuple[str, ...] = ()
    """Prefixes before the colon in links to other sites that the settings name: "python" in python:slice."""
    lower: bool = False
    """Addresses are in lower case, with a dash for a space."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Folders beside the settings with other pages, such as those of old versions: (folder, prefix on the site)."""


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page of the corpus as navigation sees it."""

    path: str
    """Relative to the folder of pages."""
    title: str
    metadata: Mapping[str, Any]
    """Its front matter."""


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """Files that a generator's navigation is made from."""

    settings: str
    """The name of the settings file, "" if the site has none."""
    text: Callable[[str], str]
    """Return a file's text by its path relative to the folder of pages ("../site.yml"); "" if it cannot be read."""
    pages: Sequence[SitePage]
    folder: str = ""
    """The way from the folder of pages to that of the settings, "../" or ""."""

    @property
    def settings_text(self) -> str:
        """The text of the settings file."""
        return self.text(self.folder + self.settings) if self.settings else ""


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A page's place in the navigation of its site. Entries come in the order of the site."""

    path: str
    """The page's path relative to the folder of pages."""
    title: str = ""
    """Its title in the navigation; "" if that shows the page's own."""


@dataclass(frozen=True, slots=True)
class HtmlPages:
    """How pages that a generator wrote are recognised, and where their content is."""

    word: str
    """A word that the source of every such page contains, which is found much faster than a selector."""
    made_by: str
    """A CSS selector that matches something on every such page."""
    content: str
    """A CSS selector of the content's elements."""
    name: str = ""
    """Name of such pages in a document's metadata; "" for the generator's name."""


@dataclass(frozen=True, slots=True)
class HtmlRules:
    """How HTML of a generator is read. Classes are compared whole and hold on any page unless said otherwise."""

    pages: tuple[HtmlPages, ...] = ()
    meta: tuple[str, ...] = ()
    """Beginnings of `<meta name=generator>`, in lower case."""
    title: str = ""
    """A CSS selector of the page's title, on its own pages, if that is outside of the content."""
    address: str = ""
    """A CSS selector of the element with the page's address in `href` or `content`, on its own pages."""
    change: Callable[[Any], None] | None = None
    """Change a bs4.BeautifulSoup of any page in place before it is read, in three times the time of all else."""
    drop: str = ""
    """A CSS selector of elements to leave out, on its own pages."""
    furniture: frozenset[str] = frozenset()
    """Classes of elements that are not content: navigation, buttons, links to the source."""
    own_furniture: frozenset[str] = frozenset()
    """Classes that are furniture on its own pages only."""
    furniture_ids: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()
    """Classes that make an element a note."""
    note_prefixes: frozenset[str] = frozenset()
    """Classes that have the kind of a note at their end, without the hyphen: "alert" of "alert-warning"."""
    note_titles: frozenset[str] = frozenset()
    """Classes of a note's title."""
    code_languages: frozenset[str] = frozenset()
    """Classes that have the language of code at their end, without the hyphen."""
    line_numbers: frozenset[str] = frozenset()
    """Classes of the numbers of code's lines."""
    see_also: frozenset[str] = frozenset()
    """Classes of lists of related pages."""
    anchors: frozenset[str] = frozenset()
    """Classes of links around a heading's text that lead to its place in the contents: only their text is read."""
    side_notes: frozenset[str] = frozenset()
    """Classes of notes within the line that they belong to."""
    callouts: frozenset[str] = frozenset()
    """Classes of callouts: of their signs in code, and of the list or table that explains them."""
    listings: frozenset[str] = frozenset()
    """Classes of elements that hold the lines of code, each in one of class "line"."""
    line_tables: frozenset[str] = frozenset()
    """Classes of tables whose rows are lines of text."""
    formula_images: frozenset[str] = frozenset()
    """Classes of images whose alternative text is a formula's source; "display" ends those of a line of their own."""
    shape: Callable[[Document, str, bool], None] | None = None
    """Correct the tree of one of its pages, given the head's title and whether the root is a heading of the text."""


@dataclass(frozen=True, slots=True)
class SearchBox:
    """Where the search box's button goes in a theme."""

    name: str
    at: tuple[Mapping[str, Any], ...]
    """Places, all of which get a button. beside: a selector, all of whose elements count; put: before, after, prepend
    or append; look: a field as wide as its place, a button, an icon or floating; until, from: widths of the window in
    pixels between which it is there; style: what the place asks for; solid: whether the field is opaque."""
    own: str
    """A CSS selector of the theme's own search, which the box replaces."""
    keys: tuple[str, ...] = ()
    """Keys that opened the theme's search, besides the slash."""
    after: str = ""
    """A CSS selector of what must be on the page before anything is put into it."""


@dataclass(frozen=True, slots=True)
class SiteGenerator:
    """A site generator, declared whole; nobody asks for its name. Every field but the name may be left out."""

    name: str
    title: str = ""
    """Its name as people write it, such as "Read the Docs"."""
    settings: tuple[str, ...] = ()
    """Names of its settings files, relative to the folder that holds them."""
    read: Callable[[str, str], SiteFacts | None] | None = None
    """Return the facts of a settings file, given its name and text; None if it is not this generator's."""
    whole: Callable[[str, Callable[[str], str]], str] | None = None
    """Return the text of a settings file with those that it builds on, given its text and what returns the text of a
    file by its path from that file's folder, "" if it may not be read."""
    navigation: Callable[[SiteFiles], Iterable[NavEntry]] | None = None
    """Return the pages in the order of the site, with the titles that its navigation shows."""
    markers: tuple[str, ...] = ()
    """Files that show by their presence alone that the generator wrote or builds a folder, such as "contents.md"."""
    position_keys: tuple[str, ...] = ()
    """Keys of front matter that order the pages of a folder by number."""
    html: HtmlRules = field(default_factory=HtmlRules)
    boxes: tuple[SearchBox, ...] = ()
    """Places of the search box in its themes."""
    names: Callable[[str, str], Iterable[str]] | None = None
    """Return paths that a link's target may mean, given the path of its page and the target."""
    external: re.Pattern[str] | None = None
    """Matches, whole, targets of its links that lead outside of the site if no page has that name, such as man:ls."""
    versions: str = ""
    """The folder of released versions, beside that of the version to come: "released_pages"."""
    languages: Callable[[Sequence[str], Sequence[str]], Iterable[Sequence[str]]] | None = None
    """Return paths, in parts, that a page may translate, given the parts before and after its language's folder."""
    markdown: tuple[str, ...] = ()
    """Dialects of Markdown that its pages have; `--option dialect=` takes its name for them."""
    page_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Settings files that say something of the pages below them, by what a format asks for: "site" for the values of
    {{ site.x }}, for example. With each file, what precedes a value's name in it."""
    published: Callable[[str, Mapping[str, Any], SourceFile], Iterable[str]] | None = None
    """Return further paths under which it publishes a page, given the page's path, metadata and file."""
    copied_sources: re.Pattern[str] | None = None
    """Matches, from its beginning, the path of a source that it puts beside the page built of it, which is not read."""
    macros: Mapping[str, Any] = field(default_factory=dict)
    """Commands of LaTeX by names: their texts, or mappings of `text` and `arguments`, in pylatexenc's form ("*[{")."""
    environments: Mapping[str, Any] = field(default_factory=dict)
    """Environments of LaTeX by name: those that they are like; or mappings of `arguments`, `begin` and `end`."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Roles of reStructuredText and MyST by name: those that they are like, such as "func"."""
    shortcodes: Mapping[str, str] = field(default_factory=dict)
    """Shortcodes of Markdown by name: those that they are like, such as "figure"."""
    see_also_titles: frozenset[str] = frozenset()
    """Titles of lists of related pages, in lower case, besides those that every site may have."""
    templates: Mapping[str, Any] = field(default_factory=dict)
    """Templates of wikitext by names: what they show of their parameters, as in "{1}[ ({note})]"."""
