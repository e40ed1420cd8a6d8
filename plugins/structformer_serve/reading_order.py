"""The order that a site itself gives its pages: MkDocs' nav, Docusaurus' sidebars, and weights in front matter."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.retrieval import IndexedDocuments
from structformer.workspace import Workspace

from structformer_serve.sidebars import sidebar_ranks

_WEIGHTS = ("weight", "sidebar_position", "nav_order")  # Hugo's, Docusaurus', Just the Docs'
_NAV = re.compile(r"^nav:[^\n]*\n((?:[ \t#-][^\n]*\n|\n)*)", re.MULTILINE)
_PAGE = re.compile(r"[^\s:'\"\[\],]{1,300}\.md\b")


def page_ranks(workspace: Workspace, documents: IndexedDocuments) -> dict[int, float]:
    """Where documents come in their site's own order, by their numbers; without those that it does not place."""
    nav, sources = _nav(workspace), workspace.sources()
    if not nav and len(sources) == 1:
        root = Corpus.open(workspace).site.root
        if found := sidebar_ranks(Path(sources[0].path), root, documents):
            return found
    ranks = ((number, _rank(each.id, each.values(), nav)) for number, each in enumerate(documents))
    return {number: rank for number, rank in ranks if rank is not None}


def _rank(name: str, metadata: Mapping[str, Any], nav: Mapping[str, int]) -> float | None:
    if nav:
        return nav.get(name)
    given = [metadata[key] for key in _WEIGHTS if isinstance(metadata.get(key), int | float) and metadata[key]]
    return float(given[0]) if given else None


def _nav(workspace: Workspace) -> dict[str, int]:
    """The pages of MkDocs' nav by their ids; empty where the site has none, or its settings are out of reach."""
    site, sources = Corpus.open(workspace).site, workspace.sources()
    if len(sources) != 1 or not site.said_by.endswith(("mkdocs.yml", "mkdocs.yaml")):
        return {}
    file = Path(sources[0].path) / site.said_by
    try:
        settings = file.read_text(encoding="utf-8") + "\n" if file.is_file() else ""
    except (OSError, ValueError):
        return {}
    found = _NAV.search(settings)
    return {site.root + page: place for place, page in enumerate(_PAGE.findall(found[1]))} if found else {}
