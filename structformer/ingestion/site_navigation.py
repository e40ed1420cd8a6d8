"""The navigation of a site: its pages' order and titles, read by the recognised generator at ingest."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.corpus.site import Navigation
from structformer.formats.generators import SiteFiles, SiteGenerator, SitePage
from structformer.formats.link_names import without_suffix
from structformer.ingestion.site_finding import FoundSite, file_reader
from structformer.plugins import load_plugins

_MOST_PAGES = 200_000  # of a corpus whose pages are asked for their place
_MOST_FOLDERS = 500  # in which a file is looked for that shows the generator
_INDEX_PAGES = ("index", "_index", "readme", "home")
_PLAIN_TITLES = frozenset(
    """about contents docs documentation getting started home index introduction overview readme start
    table of contents welcome""".split()
) | {"getting started", "table of contents"}


def rows_of_pages(corpus: Corpus) -> Iterator[tuple[str, str, Any]]:
    """Return the (path, title, front matter) of each file of a corpus that is one document."""
    for shard in corpus.shards:
        for row in corpus.rows(shard, "documents", ["id", "path", "title", "metadata"]):
            if row["id"] == row["path"]:
                yield row["id"], row["title"], json.loads(row["metadata"])


def with_navigation(site: FoundSite, rows: Iterable[tuple[str, str, Any]]) -> tuple[FoundSite, Navigation]:
    """Return the site with its generator, and the navigation; an empty one if no generator is recognised by its
    settings, by keys of front matter that order pages, or by files that it alone has. rows: as of `rows_of_pages`.
    """
    root = site.root
    inside = (row for row in rows if row[0].startswith(root))
    pages = [SitePage(site.below + path[len(root) :], *others) for path, *others in islice(inside, _MOST_PAGES + 1)]
    if len(pages) > _MOST_PAGES:
        return site, Navigation()
    if not site.site.name:
        site = replace(site, site=replace(site.site, name=_name_by_index(pages)))
    outside: list[str] = []
    # Nothing is read but what lies in the folder of the pages or in that of the settings.
    within = (site.pages, site.folder) if site.pages != Path() else ()
    text = file_reader(site.pages, within, site.given, outside)
    generator = site.generator or _by_pages(pages, text)
    if generator is not None:
        site = replace(site, site=replace(site.site, generator=generator.name))
    if generator is None or generator.navigation is None:
        return site, Navigation()
    way = os.path.relpath(site.folder, site.pages).replace(os.sep, "/")
    folder = "" if way == "." or not site.settings else f"{way}/"
    known, settings = {page.path for page in pages}, folder + site.settings
    titles: dict[str, str] = {}
    read = SiteFiles(site.settings, lambda path: (site.text if path == settings else "") or text(path), pages, folder)
    for entry in generator.navigation(read):
        if entry.path in known:
            titles.setdefault(root + entry.path[len(site.below) :], " ".join(entry.title.split()))
    return replace(site, above=tuple(dict.fromkeys((*site.above, *outside)))), Navigation(titles)


def _name_by_index(pages: Sequence[SitePage]) -> str:
    """Return the title of the index page at the top, unless any site's could have it; "" if there is none."""
    titles = {without_suffix(page.path).lower(): page.title for page in pages if "/" not in page.path}
    named = (titles[stem].strip() for stem in _INDEX_PAGES if stem in titles)
    return next((title for title in named if title and title.lower() not in _PLAIN_TITLES and len(title) <= 80), "")


def _by_pages(pages: Sequence[SitePage], text: Callable[[str], str]) -> SiteGenerator | None:
    """Return the generator whose keys order most of the pages, else the first that has files among them."""
    generators = load_plugins().site_generators.values()

    def placed(generator: SiteGenerator) -> int:
        return sum(
            any(type(page.metadata.get(key)) in (int, float) for key in generator.position_keys) for page in pages
        )

    counts = [(placed(each), each) for each in generators if each.position_keys]
    best = max(counts, key=lambda counted: counted[0], default=(0, None))
    if best[0]:
        return best[1]
    folders = list(dict.fromkeys(page.path.rpartition("/")[0] for page in pages))[:_MOST_FOLDERS]
    marks = ((each, f"{at}/{name}".lstrip("/")) for each in generators for name in each.markers for at in folders)
    return next((generator for generator, path in marks if text(path)), None)
