"""The HTML format: bytes to one Document, and the names that its links may mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborNode
from structformer.document import Document, Link, LinkKind, MarkKind, Source
from structformer.errors import ReadError
from structformer.formats import (
    FormatOption,
    HtmlRules,
    SiteGenerator,
    SourceFile,
    is_external,
    link_names,
    path_candidates,
    path_names,
    stem_title,
    url_names,
    without_garbage_collection,
)
from structformer.plugins import load_plugins
from structformer.text import github_slug, without_controls

from structformer_html.decoding import decode_page
from structformer_html.elements import Attributes, Rules, kind_said, rules_of
from structformer_html.main_content import is_list_of_contents, main_content, outermost, title_of
from structformer_html.page import Page
from structformer_html.parsing import MAX_DEPTH, parse, with_ends, without_attribute_floods, without_deep_tags
from structformer_html.tables import TableBuilder
from structformer_html.templates import is_template, split_front_matter, with_title
from structformer_html.walking import read_tree, with_linked_asides

_SEPARATOR = re.compile(r"\s+(?:[|—–·»«:-]|::)\s+")
_DOCTYPE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>)?(?>\s+|<!--.*?-->)*+<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL
)
_REFRESH = re.compile(r"[0-5](?:\.\d*)?\s*[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"'\s]+)[\"']?", re.IGNORECASE)
_SOFT_HYPHEN = re.compile("\xad|&(?:shy|SHY|#173|#[xX][aA][dD]);")
_MOST_OF_REDIRECT = 300  # characters
_FIRST_WORDS = 40  # characters
_WHOLE = "head > noscript, body, html > frameset"
_WITH_FALLBACKS = f"{_WHOLE}, head > noframes, html > noframes"
_SOME_HTML = re.compile(rb"<(?:head|body|h[1-6]|p|div|table|ul|a\s+href|meta)\b", re.IGNORECASE)


class HtmlFormat:
    """Main content, headings, links, anchors and text of a page."""

    # Of a page's source: elements that are not shown or are the site's, links (menus), comments, tags.
    not_text = re.compile(
        r"<(script|style|nav|head|footer|header|template|svg|a)\b.*?</\1\s*>|<!--.*?-->|<[^<>]*>",
        re.DOTALL | re.IGNORECASE,
    )
    text_begins = "</head"

    name = "html"
    suffixes = (".html", ".htm", ".xhtml", ".xht", ".shtml")
    media_types = ("text/html", "application/xhtml+xml")
    options = (
        FormatOption("content", "all reads the whole body with its navigation", ("main", "all")),
        FormatOption(
            "theme",
            "a theme of your own, in TOML: what --theme FILE holds",
            check=lambda text: load_plugins().theme(text),
        ),
    )
    completeness = "complete: main content, headings (ARIA too), links, anchors, tables, definition lists, encodings"

    def sniff(self, head: bytes, path: str) -> float:
        """Return certainty that a file of unknown suffix is HTML, from its first bytes."""
        if _DOCTYPE.match(head):
            return 1.0
        start = head.lstrip()
        return 0.6 if start[:1] == b"<" and start[:5] != b"<?xml" and _SOME_HTML.search(head) else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """Yield one Document. Option `content`: "main" (default), or "all" for the whole body with its navigation."""
        text, encoding = decode_page(source)
        if not text.strip():
            source.warn("empty: no document")
            return
        front, text, warning, fill_in = split_front_matter(text, source)
        if warning:
            source.warn(warning)
        title = " ".join(str(front.get("title") or "").split())
        if title:
            text = with_title(text, title)
        with without_garbage_collection():
            whole = options.get("content", "main") == "all"
            rules = rules_of(str(options.get("theme") or ""))
            head = _Head(title, front)
            document = self._document(source, text, encoding, head, rules, whole=whole)
            if head.refresh and _is_redirect(document, head.refresh):
                _redirect(source, head.refresh)
                return
            if is_template(text, document, head.title):
                source.warn("a template that generators fill in: not a document")
                return
            if ("{{" in text or "{%" in text) and (filled := fill_in(text)) != text:
                head = _Head(title, front)
                document = self._document(source, filled, encoding, head, rules, whole=whole)
        yield document

    def _document(
        self, source: SourceFile, text: str, encoding: str, head: _Head, rules: Rules, *, whole: bool
    ) -> Document:
        text, floods = without_attribute_floods(text)
        if floods:
            source.warn(f"{floods} tag{'s' * (floods > 1)} with over a thousand attributes: the first ones kept")
        if "\xad" in text or "&" in text:
            text = _SOFT_HYPHEN.sub("", text)
        text, is_deep = without_deep_tags(text)
        if is_deep:
            source.warn(f"nested over {MAX_DEPTH} elements deep: tags below that are left out")
        text = _changed(text, source, () if whole else rules.changes)
        text, names = with_ends(text)
        for name in dict.fromkeys(names):
            source.warn(f"<{name}> without an end: it ends before the next heading")
        root = parse(text)
        generator: SiteGenerator | None = None
        for node in root.css("html, base, link, meta, head > title"):
            head.take(node.tag or "", node.attributes, node.text() if node.tag == "title" else "")
        builder = TableBuilder(slugs=False)
        if whole:
            roots, content = root.css(_WITH_FALLBACKS), "all"
        elif (generator := rules.made_by(head.metadata.get("generator"))) is not None:
            roots, content = root.css("body"), "body"
        else:
            roots, content, generator = main_content(root, text, rules)
            roots = with_linked_asides(roots, root) if content != "body" else roots
        own = () if whole else (rules.theme, *(each.html for each in (generator,) if each is not None))
        for html in own:
            head.take_rules(html, root)
            for dropped in outermost([each for part in roots for each in part.css(html.drop)]) if html.drop else ():
                dropped.decompose()
        contents = not whole and is_list_of_contents(roots, text, rules)
        furniture = frozenset[str]().union(*(html.own_furniture for html in own))
        known = content not in ("body", "all")
        page = Page(
            builder, head.base, rules, furniture=not whole, content=known, contents=contents, more_furniture=furniture
        )
        read_tree(roots, page)
        if not whole and builder.is_empty:
            # All of the page was taken for navigation, so it was not navigation.
            for unparsed in root.css("frameset noframes"):
                unparsed.decompose()
            builder, content = TableBuilder(slugs=False), "all"
            page = Page(builder, head.base, rules, furniture=False)
            read_tree(root.css(_WHOLE), page)
        for target in head.related:
            builder.add_link(head.base(target), "", LinkKind.SEE_ALSO)
        metadata = {**head.metadata, "encoding": encoding, "content": content}
        document = builder.finish(Source(source.path, self.name), title=None, language=head.language, metadata=metadata)
        if page.has_unnamed_notes:  # of which only the first words say the kind, as a title of their own does
            for section in document.sections():
                for mark in section.marks:
                    if mark.kind is MarkKind.NOTE and not mark.detail:
                        words = section.text[mark.start : min(mark.end, mark.start + _FIRST_WORDS)]
                        mark.detail = kind_said(words)
        _name(document, head, generator.html.shape if generator is not None else None)
        return document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Return names the target may mean, best first: as a path, as the address of a page that says its own."""
        yield from link_names(document.id, document.source.path, link.target)
        canonical = document.metadata.get("canonical")
        if isinstance(canonical, str) and not is_external(link.target) and not link.target.startswith("#"):
            yield from url_names(_joined(canonical, link.target))


def _changed(text: str, source: SourceFile, changes: Iterable[Callable[[Any], None]]) -> str:
    """Return a page as plugins change it by structformer_html_page, and a theme by its own rules.

    Nobody pays for a soup if none does. Raises ReadError if a plugin's code raises.
    """
    hook = load_plugins().manager.hook.structformer_html_page
    if not changes and not hook.get_hookimpls():
        return text
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(text, "lxml")
    for change in changes:
        change(soup)
    try:
        hook(soup=soup, source=source)
    except Exception as error:
        raise ReadError(f"a plugin's structformer_html_page failed ({type(error).__name__}: {error})") from error
    return str(soup)


def _joined(base: str, target: str) -> str:
    """Return a target as seen from an address; as it is where one of them is damaged."""
    try:
        return urljoin(base, target)
    except ValueError:
        return target


def _is_redirect(document: Document, target: str) -> bool:
    """Whether a page that leads to another one at once says little more than that, and links to nothing else."""
    length = sum(len(section.text) + len(section.title) for section in document.sections())
    return length <= _MOST_OF_REDIRECT and all(link.target == target for link in document.links())


def _redirect(source: SourceFile, target: str) -> None:
    """A page at another address: its names are names of the page that it leads to."""
    others = list(url_names(target) if is_external(target) else path_candidates(source.path, target))
    for name, other in product(path_names(source.path), others):
        if other != name:
            source.alias(name, other)


def _name(document: Document, head: _Head, shape: Callable[[Document, str, bool], None] | None) -> None:
    """Give a document its title and names. A title element often has the site's name too: its root's heading is better."""
    root = document.root
    several = any(child.level == 1 for child in root.children)  # the first of which only lends its title to the root
    is_named = root.title != stem_title(document.source.path) or github_slug(root.title) in root.anchors
    is_heading = bool(root.anchors) and not several and is_named
    if shape is not None:
        shape(document, head.title, is_heading)
    elif head.has_own_title:
        document.title = head.title
    elif head.title and not (is_heading and root.title):
        headings = {root.title, *(child.title for child in root.children)}
        parts = (part for part in _SEPARATOR.split(head.title) if part in headings)  # beside it is the site's name
        document.title = root.title = next(parts, head.title)
    elif head.title and root.title not in head.title and _SEPARATOR.search(head.title) is None:
        document.title = head.title
    addresses = [each for key in ("canonical", "og:url") if isinstance(each := head.metadata.get(key), str)]
    names = (*path_names(document.source.path), *(name for each in addresses for name in url_names(each)))
    document.names = tuple(dict.fromkeys(names))


class _Head:
    """Contents of the head: title, language, base, canonical address, description, related pages."""

    def __init__(self, title: str, metadata: Mapping[str, Any]) -> None:
        self.title = title
        self.language: str | None = None
        self.related: list[str] = []
        self.metadata: dict[str, Any] = dict(metadata)
        self._base = ""
        self.refresh = ""  # where the page leads at once
        self.has_own_title = False  # by a theme's rule

    def take(self, name: str, element: Attributes, text: str = "") -> None:
        """One element of the head."""
        if name == "html":
            self.language = element.get("lang") or element.get("xml:lang") or None
        elif name == "title" and not self.title:
            self.title = without_controls(" ".join(text.split()))
        elif name == "base" and not self._base:
            self._base = (element.get("href") or "").strip()
        elif name == "link":
            relation = (element.get("rel") or "").lower().split()
            target = (element.get("href") or "").strip()
            if target and "canonical" in relation:
                self.metadata.setdefault("canonical", target)
            elif target and ("related" in relation or "seealso" in relation):
                self.related.append(target)
        elif name == "meta" and (element.get("http-equiv") or "").lower() == "refresh":
            found = _REFRESH.fullmatch((element.get("content") or "").strip())
            target = self.base(found[1]) if found is not None else ""
            self.refresh = "" if target.startswith("#") else target
        elif name == "meta":
            key = (element.get("name") or element.get("property") or "").lower()
            content = " ".join((element.get("content") or "").split())
            if content and key in ("description", "keywords", "author", "generator", "og:url", "citation_title"):
                self.metadata.setdefault(key, content)

    def take_rules(self, html: HtmlRules, root: LexborNode) -> None:
        """Take the page's title and address from where its generator or theme puts them."""
        if title := title_of(root, html.title):
            self.title = title
            self.has_own_title |= not html.pages or not html.pages[0].word
        if html.address and (node := root.css_first(html.address)) is not None:
            address = node.attributes.get("href") or node.attributes.get("content") or ""
            self.metadata.update({"canonical": address} if address else {})

    def base(self, target: str) -> str:
        """Return a target as seen from the page's base; one that cannot be joined stays as it is."""
        target = target.strip()
        if not self._base or target.startswith("#") or is_external(target):
            return target
        if not is_external(self._base):
            folder, slash, _ = self._base.rpartition("/")
            return folder + slash + target if slash and not target.startswith("/") else target
        return _joined(self._base, target)
