"""The wikitext format: pages, MediaWiki dumps and WikiExtractor output to Documents, and names of links."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from structformer.document import Document, Link, LinkKind, Source
from structformer.errors import UsageError
from structformer.formats import (
    FormatOption,
    SourceFile,
    TreeBuilder,
    as_utf8,
    decode,
    is_external,
    link_names,
    normalize,
    path_names,
    split_fragment,
    stem_title,
    url_names,
    wiki_name,
    without_garbage_collection,
)

from structformer_html import has_prose
from structformer_wikitext import dump
from structformer_wikitext.dump import RawPage, dump_pages, extracted_pages, head_of, kind_of
from structformer_wikitext.extracted import read_extracted
from structformer_wikitext.inline_templates import own_templates
from structformer_wikitext.markup import take_apart
from structformer_wikitext.page import PageReader
from structformer_wikitext.site import REDIRECT, Site, read_site

_TEMPLATES = ("known", "text", "drop")


def _check_namespaces(text: str) -> None:
    if text.replace(" ", "") != "all" and not all(each.strip().lstrip("-").isdecimal() for each in text.split(",")):
        raise UsageError(f"namespaces={text}: write numbers, as in 0,4, or all")


class WikitextFormat:
    """Pages, dumps and WikiExtractor output."""

    # What is not text in a page's source: comments, tags, templates, the targets of links.
    not_text = re.compile(r"<!--.*?-->|<ref\b.*?</ref>|\{\{[^{}]*\}\}|<[^<>]*>|\[\[[^\[\]|]*\|", re.DOTALL)

    name = "wikitext"
    suffixes = (".wiki", ".mediawiki", ".wikitext")
    media_types = ("text/x-wiki",)
    options = (
        FormatOption("templates", "which templates' text is kept", _TEMPLATES),
        FormatOption("namespaces", "numbers of a dump's namespaces to read, or all", check=_check_namespaces),
        FormatOption("theme", "a theme of your own, in TOML: what --theme FILE holds", check=own_templates),
    )
    stream_suffixes = (".xml", ".json", ".jsonl", ".txt", "")
    completeness = (
        "complete: pages, MediaWiki dumps, WikiExtractor output; headings, links, "
        "redirects, categories, tables, hatnotes"
    )

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file of unknown suffix is wikitext, from its first bytes."""
        if kind_of(head):
            return 1.0
        text = head.decode("utf-8", "replace")
        if not has_prose(text):
            return 0.0
        signs = (r"^==[^=\n]+==\s*$", r"\[\[[^\]\n]+\]\]", r"\{\{[^}\n]+\}\}", r"'''[^'\n]+'''")
        return min(0.9, 0.3 * sum(bool(re.search(sign, text, re.MULTILINE)) for sign in signs))

    def streams(self, head: bytes, options: Mapping[str, Any]) -> bool:
        """Whether a file is a stream of pages, to be read piece by piece."""
        return bool(kind_of(head))

    pieces = staticmethod(dump.pieces)
    frame = staticmethod(dump.frame)

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document of a page, many of a dump.

        Options: `templates`: "known" (default: the text of templates that are part of a sentence), "text" (of all) or
        "drop"; `namespaces`: numbers of a dump's namespaces to read, "0" by default, or "all"; `theme`: the user's own
        templates, in TOML."""
        data = as_utf8(source.read())
        kind = kind_of(data[:65536])
        if kind == "dump":
            yield from self._dump(source, data, options)
            return
        text = decode(source).replace("\r\n", "\n").replace("\r", "\n")
        if kind:
            yield from self._extracted(source, text)
            return
        if not text.strip():
            source.warn("empty: no document")
            return
        page = RawPage(stem_title(source.path).replace("_", " "), 0, "", "", text)
        with without_garbage_collection():
            document = self._page(source, page, Site(), options, source.path)
        below = source.path.partition("/")[2].rpartition(".")[0]  # a wiki that has a folder for each namespace
        own = _names(below, Site())[:1] if below else ()
        document.names = tuple(dict.fromkeys((*path_names(source.path), *document.names, *own)))
        yield document

    def _dump(self, source: SourceFile, data: bytes, options: Mapping[str, Any]) -> Iterator[Document]:
        head, text = (each.decode("utf-8", "replace") for each in (head_of(data), data))
        site = read_site(head)
        wanted = str(options.get("namespaces", "0")).replace(" ", "").split(",")
        used: dict[str, int] = {}
        for page in dump_pages(text):
            if not page.title or ("all" not in wanted and str(page.namespace) not in wanted):
                continue
            if page.redirect:
                _alias(source, page.title, page.redirect, site)
                continue
            if page.model not in ("wikitext", ""):
                continue
            if not page.text.strip():
                source.warn(f"page {page.title}: empty")
                continue
            used[page.title] = used.get(page.title, 0) + 1
            identifier = f"{source.path}#{page.title}" + (f"~{used[page.title]}" if used[page.title] > 1 else "")
            with without_garbage_collection():
                document = self._page(source, page, site, options, identifier)
            yield document
        rest = text[text.rfind("</page>") + 7 :] if "</page>" in text else text[len(head) :]
        if "<page>" in rest:
            source.warn(f"the dump ends inside a page ({len(rest)} characters): that page is left out")

    def _page(
        self, source: SourceFile, page: RawPage, site: Site, options: Mapping[str, Any], identifier: str
    ) -> Document:
        builder = TreeBuilder(slugs=False)
        reader = PageReader(builder, site)
        metadata: dict[str, Any] = {}
        title = page.title
        redirect = REDIRECT.match(page.text)
        names = _names(title, site)
        languages: list[str] = []
        if redirect is not None and not page.redirect:
            target = redirect[1].strip()
            builder.add_link(target, target, LinkKind.REDIRECT)
            metadata["redirect"] = target
            _alias(source, title, target, site)
            names = ()
        else:
            policy = str(options.get("templates", "known"))
            site.templates = own_templates(str(options.get("theme") or ""))
            taken = take_apart(page.text, site, templates=policy, title=title)
            for warning in taken.warnings:
                source.warn(warning if identifier == source.path else f"page {title}: {warning}")
            reader.read(taken)
            languages = taken.languages
        facts = {
            "categories": [each.partition(":")[2].strip() for each in reader.categories],
            "languages": languages,
            "page_id": page.identifier,
            "namespace": page.namespace,
            "wiki": site.database,
        }
        metadata |= {key: value for key, value in facts.items() if value}
        document = builder.finish(
            Source(source.path, self.name),
            id=identifier,
            title=title,
            promote=False,
            language=site.language,
            metadata=metadata,
            names=names,
        )
        if site.base:
            base = site.base.rpartition("/")[0]
            document.names += url_names(f"{base}/{title.replace(' ', '_')}")
        return document

    def _extracted(self, source: SourceFile, text: str) -> Iterator[Document]:
        for page in extracted_pages(text):
            title, identifier, url, content = (str(page.get(key, "")) for key in ("title", "id", "url", "text"))
            if not content.strip() or not title:
                source.warn(f"page {title or identifier or 'without a title'}: empty")
                continue
            builder = TreeBuilder(slugs=False)
            with without_garbage_collection():
                read_extracted(content, title, builder)
            yield builder.finish(
                Source(source.path, self.name),
                id=f"{source.path}#{title}",
                title=title,
                promote=False,
                metadata={"page_id": identifier, "url": url},
                names=_names(title, Site()),
            )

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Yield the page name that a wiki-link means: as the wiki writes it, then without regard of case."""
        page, fragment = split_fragment(link.target)
        suffix = f"#{normalize(fragment.replace('_', ' '))}" if fragment else ""
        if not page.strip():
            yield document.id + suffix
        elif "//" in link.target and is_external(link.target):
            yield normalize(page)
            for name in url_names(page):
                yield name + suffix
        else:
            if page.startswith(("/", "../")):  # /sub, or ../sub with a page less for each ../
                title = document.title
                while page.startswith("../"):
                    title, page = title.rpartition("/")[0], page[3:]
                page = f"{title}/{page.strip('/')}".strip("/")
            addresses, name, loose = _link_names(page)
            yield from addresses
            yield f"page:{document.metadata.get('wiki', '')}:{name}{suffix}"
            yield loose + suffix
            if document.id == document.source.path:  # a page's own file, which links in a repository name
                below = link.target.lstrip(":")  # a folder that holds the wiki; a namespace may be one of its own
                for target in dict.fromkeys((link.target, f"/{below}", f"/{below.replace(':', '/', 1)}")):
                    yield from link_names(document.id, document.id, target)
                    yield from link_names(document.id, document.id, target.replace(" ", "_"))


@lru_cache(maxsize=100_000)
def _link_names(page: str) -> tuple[tuple[str, ...], str, str]:
    """(names of a page elsewhere, its name as the wiki has it, the same without regard of case) of a link's target."""
    site = Site()
    name = site.page_name(page)
    address = site.address(page)
    return url_names(address) if address is not None else (), name, wiki_name(name)


def _alias(source: SourceFile, title: str, target: str, site: Site) -> None:
    """State that a page's name means the page that it leads to."""
    source.alias(*(_page_key(site.page_name(name), site) for name in (title, target.partition("#")[0])))


def _names(title: str, site: Site) -> tuple[str, ...]:
    name = site.page_name(title)
    return _page_key(name, site), wiki_name(name)


def _page_key(name: str, site: Site) -> str:
    return f"page:{site.database}:{name}"
