"""Antora."""

import re
from collections.abc import Iterator

from structformer.formats import HTML, NavEntry, SiteFacts, SiteFiles, SiteGenerator

from structformer_sites.settings import load, text_of

# An entry of a list that is a page: "** xref:module:page.adoc[Title]".
_ENTRY = re.compile(r"^[ \t]*[*.-]+[ \t]+xref:([^\[\]\s]+)\[([^\[\]\n]*)\]", re.MULTILINE)
# Where attributes of pages are: of a component, and of the playbook above it.
_ATTRIBUTES = {
    "component": {"antora.yml": ""},
    "components": dict.fromkeys(("antora-playbook.yml", "antora-playbook.yaml", "playbook.yml", "site.yml"), ""),
}
_MODULE = re.compile(r"modules/([^/]+)/")


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    return SiteFacts(rule=HTML, name=text_of(settings.get("title")) or text_of(settings.get("name")))


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages that the files of `nav` list, in their order."""
    lists = load(files.settings, files.settings_text).get("nav")
    for path in lists if isinstance(lists, list) else ():
        module = _MODULE.match(str(path))
        for match in _ENTRY.finditer(files.text(str(path))):
            *named, page = match[1].partition("#")[0].rpartition("@")[2].split(":")
            own = named[-1] if named and named[-1] else module[1] if module else "ROOT"
            yield NavEntry(f"modules/{own}/pages/{page}", match[2].strip())


ANTORA = SiteGenerator(
    "antora", "Antora", settings=("antora.yml",), read=_read, navigation=_navigation, page_settings=_ATTRIBUTES
)
