"""Sphinx and its themes."""

import re
from collections.abc import Iterator

from structformer.formats import HTML, HtmlPages, HtmlRules, NavEntry, SearchBox, SiteFacts, SiteFiles, SiteGenerator

from structformer_sites.navigation import PageNames, place
from structformer_sites.settings import address, load, table_of, text_of

# A conf.py without any of these is some other program's.
_KEYS = frozenset("extensions project html_theme html_baseurl master_doc root_doc intersphinx_mapping".split())
_TOCTREE = re.compile(r"([ \t]*)\.\. toctree::|[ \t]*([`~:]{3,})\{toctree\}")
_ENTRY = re.compile(r"(.*?)\s*<([^<>]+)>")  # Title <page>
_MOST_PAGES = 5000  # that are looked through for toctrees


def _read(name: str, text: str) -> SiteFacts | None:
    settings = load(name, text)
    if _KEYS.isdisjoint(settings):
        return None
    return SiteFacts(
        address(settings.get("html_baseurl")),
        HTML,
        name=text_of(settings.get("html_title")) or text_of(settings.get("project")),
        outside=tuple(table_of(settings.get("intersphinx_mapping"))),
    )


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages as the toctrees list them, from the root page on."""
    settings = load(files.settings, files.settings_text)
    root = text_of(settings.get("root_doc")) or text_of(settings.get("master_doc")) or "index"
    names = PageNames(files.pages)
    start = names.entry(root)
    seen = {start.path: ""} if start is not None else {}
    waiting = [*seen]
    while waiting and len(seen) < _MOST_PAGES:
        path = waiting.pop()
        yield NavEntry(path, seen[path])
        inner = []
        for target, title in _targets(files.text(path)):
            folder = "" if target.startswith("/") else path.rpartition("/")[0]
            if (entry := names.entry(target, title, folder)) is not None and entry.path not in seen:
                seen[entry.path] = title
                inner.append(entry.path)
        waiting += reversed(inner)


def _targets(text: str) -> Iterator[tuple[str, str]]:
    """Return (page, title) of the toctrees of a page; the title is "" if they do not give one."""
    toctree: re.Match[str] | None = None
    for line in text.splitlines():
        entry = line.strip()
        if toctree is not None and entry:
            indent = len(line) - len(line.lstrip())
            if entry.startswith(toctree[2]) if toctree[2] else indent <= len(toctree[1]):
                toctree = None
        if toctree is None:
            toctree = _TOCTREE.match(line)
        elif entry and entry[0] not in ":*-":
            match = _ENTRY.fullmatch(entry)
            yield (match[2], match[1]) if match else (entry, "")


SPHINX = SiteGenerator(
    "sphinx",
    "Sphinx",
    settings=("conf.py",),
    read=_read,
    navigation=_navigation,
    markdown=("myst", "containers"),
    page_settings={"reference_text": {"conf.py": ""}},
    copied_sources=re.compile(r"(?:.*/)?_sources/.+\.txt$", re.IGNORECASE),
    html=HtmlRules(
        pages=(
            HtmlPages(
                "ection",
                "div.body > section, div.body > div.section, div[role=main] section, div[role=main] div.section, "
                "article[role=main] > section",
                "article[role=main], div[role=main], div.body",
            ),
        ),
        furniture=frozenset(
            """content-icon-container copybtn eqno headerlink sphinxsidebar sphx-glr-download-link-note
            sphx-glr-footer sphx-glr-signature sphx-glr-timing viewcode-back viewcode-link""".split()
        ),
        note_titles=frozenset({"sidebar-title", "topic-title"}),
        anchors=frozenset({"toc-backref"}),
    ),
    boxes=(
        SearchBox(
            "Furo",
            (
                place(
                    ".sidebar-search-container",
                    "before",
                    "field",
                    "margin:.5rem var(--sidebar-item-spacing-horizontal,1rem)",
                ),
                place(".mobile-header .header-right", "prepend", "icon"),
            ),
            own=".sidebar-search-container",
        ),
        SearchBox(
            "Read the Docs",  # also a theme of MkDocs
            (
                place("#rtd-search-form", "before", "field", "margin-bottom:.8rem", solid=True),
                place(".wy-nav-top", "prepend", "icon", "float:right", below=768),
            ),
            own="#rtd-search-form",
        ),
        SearchBox(
            "PyData",  # also Sphinx Book
            (
                place(".bd-header .search-button__button, .bd-header .search-button", "before", "button"),
                place(".bd-sidebar-primary .search-button__button", "before", "field"),
            ),
            own=".search-button__button, .search-button",
        ),
        SearchBox(
            "Alabaster",
            (
                place(".sphinxsidebar #searchbox", "before", "field", "margin:1em 0", above=876),
                place(".sphinxsidebar", "after", "floating", below=876),
            ),
            own=".sphinxsidebar #searchbox",
        ),
    ),
)
