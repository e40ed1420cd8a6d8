"""Hyperlinks for bi-encoders: Anchor-DR (Xie, Liu and Xiong, "Unsupervised Dense Retrieval Training with Web Anchors",
SIGIR 2023), PHP (Wu et al., "Pre-training for Information Retrieval: Are Hyperlinks Fully Explored?", 2022) and HLP
(Zhou et al., "Hyperlink-induced Pre-training for Passage Retrieval in Open-domain Question Answering", ACL 2022).

A first pass counts which documents an anchor text leads to and from how many, and which documents link to which; for
HLP it keeps the sentences that do.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from random import Random

from structformer.corpus import Corpus
from structformer.document import LinkKind, word_count
from structformer.graph import ReferenceGraph
from structformer.sampling import (
    Census,
    DocumentView,
    Example,
    Ground,
    Neighbourhood,
    Reference,
    Survey,
    Task,
    left_out,
)
from structformer.storage import read_toml
from structformer.text import function_words, section_passages
from structformer.workspace import Workspace

_KINDS = frozenset({LinkKind.HYPERLINK.value, LinkKind.XREF.value, LinkKind.CITATION.value})
_LONGEST = 64  # words of an anchor text, as the released scripts cut them
_MOST_TARGETS = 4  # documents that an anchor text with something to say leads to
_MOST_SOURCES, _FEW_DOCUMENTS = 0.1, 40  # share of the documents that have a link of the site's frame; when it counts
_FILE = "links.sqlite"
_AROUND = ".,:;!?()[]»«\"'→←>…。、：！？「」（）"  # of a word of a link
_SILENT = read_toml(Path(__file__).with_name("links.toml"))  # what says nothing of what is behind a link
_OF_LINKS = frozenset(_SILENT["words"].split())
_PHRASES = frozenset(chain.from_iterable(_SILENT["phrases"].values()))


class Links:
    """Links that a survey counted in the whole corpus, or the sentences that have them."""

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(folder / _FILE)

    def anchor(self, text: str) -> dict[int, tuple[int, int]]:
        """Return (documents with this anchor text, the first of them) for at most five documents that it leads to."""
        asked = "SELECT target, sources, first FROM anchors WHERE text = ? LIMIT ?"
        rows = self._database.execute(asked, [as_anchor(text), _MOST_TARGETS + 1])
        return {target: (sources, first) for target, sources, first in rows}

    def link(self, source: int, target: int) -> bool:
        """Whether one document links to another."""
        rows = self._database.execute("SELECT 1 FROM links WHERE source = ? AND target = ?", [source, target])
        return rows.fetchone() is not None

    def links_to(self, source: int) -> list[int]:
        """Return the documents that a document links to, ascending."""
        rows = self._database.execute("SELECT target FROM links WHERE source = ? ORDER BY target", [source])
        return [target for (target,) in rows]

    def sentence(self, source: int, target: int) -> str:
        """Return the first sentence that links one document to another; "" without one of five words or more."""
        rows = self._database.execute("SELECT text FROM sentences WHERE source = ? AND target = ?", [source, target])
        return next((text for (text,) in rows), "")


def as_anchor(text: str) -> str:
    """Return an anchor text as it is counted."""
    return " ".join(text.casefold().split())


def write_links(ground: Ground, folder: Path) -> None:
    """Count links between documents that are not held out, but for see-also lists and links to themselves."""
    workspace = Workspace(ground.workspace)
    graph, title = ReferenceGraph.open(workspace, Corpus.open(workspace)), ground.pages.title
    with closing(sqlite3.connect(folder / _FILE)) as database, database:
        database.execute("CREATE TABLE links (source, target, PRIMARY KEY (source, target)) WITHOUT ROWID")
        database.execute(
            "CREATE TABLE anchors (text, target, first, last, sources, PRIMARY KEY (text, target)) WITHOUT ROWID"
        )
        for edge in graph.edges():  # in order of their sources
            source, target = edge["source_document"], edge["target_document"]
            if edge["kind"] not in _KINDS or source == target or not title(source) or not title(target):
                continue
            database.execute("INSERT OR IGNORE INTO links VALUES (?, ?)", [source, target])
            if edge["end"] > edge["start"] and (text := as_anchor(edge["text"])):
                database.execute(
                    "INSERT INTO anchors VALUES (?1, ?2, ?3, ?3, 1) ON CONFLICT DO UPDATE "
                    "SET sources = sources + (last <> ?3), last = ?3",
                    [text, target, source],
                )


_SURVEY = Survey("links", write_links, Links)


def functional(text: str, title: str, links: Links, documents: int, stop_words: frozenset[str]) -> str:
    """Return why an anchor text does not say what is behind it, "" if it does. title: of the page that it leads to.

    Anchor-DR leaves out anchors of headers and footers and within one site, single letters and numbers, then by a list
    of phrases and by length (64 words at most), then what a classifier does not take for a search query; of the rest it
    draws five a page (its released scripts). A corpus is one site, so nothing goes for that; readers leave headers and
    footers out already, and a text that a tenth of the documents or more have is taken for what is left of them.
    Phrases of that kind in fifteen languages, words of links, stop words, numbers and addresses alone say nothing,
    unless they are the page's own title. In the place of the classifier a text goes that leads to five documents or
    more, as no query does that asks for one. All others are taken, however many a page has.
    """
    words = [stripped for word in as_anchor(text).split() if (stripped := word.strip(_AROUND))]
    saying = [word for word in words if any(map(str.isalpha, word)) and word not in _OF_LINKS | stop_words]
    silent = len("".join(saying)) < 2 or all("://" in word or word.startswith("www.") for word in saying)
    if as_anchor(text) != as_anchor(title) and (silent or " ".join(words) in _PHRASES):
        return "functional"
    if word_count(text) > _LONGEST:
        return "too long"
    numbers = links.anchor(text)
    if len(numbers) > _MOST_TARGETS:
        return "leads to many documents"
    if documents >= _FEW_DOCUMENTS and sum(count for count, _ in numbers.values()) > _MOST_SOURCES * documents:
        return "on many pages"
    return ""


def anchor_retrieval(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """An anchor text as query, the page that it leads to as positive, random pages as negatives (Anchor-DR, section 3:
    the contrastive task). Each text and page once in the corpus, from the first document that has them.
    """
    links: Links = here.surveyed
    chosen = here.view.options.stop_words
    stop_words = left_out(chosen) if chosen else function_words([here.view.document.language or ""])
    seen: set[tuple[str, int]] = set()
    for reference in here.references:
        key = (as_anchor(reference.text), reference.target)
        if not here.pages.title(reference.target) or reference.target == here.number or not key[0] or key in seen:
            continue
        seen.add(key)
        title = here.pages.title(reference.target)
        if reason := functional(reference.text, title, links, here.pages.count, stop_words):
            census.drop("anchor-dr", reason)
            continue
        named = links.anchor(reference.text)
        if named[reference.target][1] != here.number:
            census.drop("anchor-dr", "in an earlier document too")
            continue
        positive = here.pages.abstract(reference.target)
        if word_count(positive) < here.view.options.min_words:
            census.drop("anchor-dr", "page too short")
            continue
        query = " ".join(reference.text.split())
        pair = Example("anchor-dr", (query,), (positive,), here.view.document.id, (-1,))
        yield from here.among_random_pages(pair, rng, {here.number, *named}, here.pages.abstract)


def hyperlink_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """A page as query and two others, the one that is nearer to it by its links first: a page that it links to against
    one without a link, and a page that links back against one that does not. One of each a document and draw.

    Source: PHP, of which we know the abstract: "no link, unidirectional link, symmetric link, and the most relevant
    symmetric link", two documents "sampled from adjacent groups", "progressively". How the most relevant one is chosen
    we do not know, so that group is left out; nor the order in which the groups are learned: both are drawn at once.
    """
    links: Links = here.surveyed
    text, fewest = here.pages.abstract, here.view.options.min_words
    if word_count(text(here.number)) < fewest:
        census.drop("php", "page too short")
        return
    linked = [target for target in links.links_to(here.number) if word_count(text(target)) >= fewest]
    symmetric = [target for target in linked if links.link(target, here.number)]
    one_way = [target for target in linked if target not in set(symmetric)]
    others = here.random_pages(rng, {here.number, *links.links_to(here.number)}, text, 8, text(here.number))
    unlinked = [other for other in others if not links.link(other, here.number)]
    for nearer, farther in ((one_way, unlinked), (symmetric, one_way)):
        if not nearer or not farther:
            census.drop("php", "no pair of groups" if linked else "no links")
            continue
        documents = (text(rng.choice(nearer)), text(rng.choice(farther)))
        if documents[0] != documents[1]:
            yield Example("php", (text(here.number),) * 2, documents, here.view.document.id, (-1, -1))


DUAL_LINK, CO_MENTION = "hlp-dual-link", "hlp-co-mention"
_FEWEST_WORDS = 5  # of a sentence that asks


def write_sentences(ground: Ground, folder: Path) -> None:
    """Keep the sentences that link documents which are not held out."""
    workspace = Workspace(ground.workspace)
    corpus = Corpus.open(workspace)
    documents = enumerate(corpus.documents())
    with closing(sqlite3.connect(folder / _FILE)) as database, database:
        database.execute("CREATE TABLE sentences (source, target, text, PRIMARY KEY (source, target)) WITHOUT ROWID")
        edges = ReferenceGraph.open(workspace, corpus).edges()  # in order of their sources
        for source, of_source in groupby(edges, itemgetter("source_document")):
            view = next(DocumentView(document, ground.options) for number, document in documents if number == source)
            references = [
                Reference.of(edge)
                for edge in of_source
                if edge["kind"] in _KINDS and edge["end"] > edge["start"] and ground.pages.title(source)
            ]
            for sentence in Neighbourhood(view, source, ground.pages, references=references).anchored_sentences():
                if word_count(sentence.text) >= _FEWEST_WORDS:
                    rows = [(source, each.target, sentence.text) for each in sentence.references]
                    database.executemany("INSERT OR IGNORE INTO sentences VALUES (?, ?, ?)", rows)


def hyperlink_induced(task: str, here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """A sentence of another document as query, and as positive the passage of this one that links to that document,
    where the sentence links to this document (dual-link), or both link to a third one (co-mention); random pages as
    negatives. One of each for a document that is linked to.

    Source: HLP, section 3, as its authors' slides and examples show it. Of the negative beside the batch's
    (--hard-negatives 1) we know no more than that there is one, and of sentences and passages not how they are cut.
    """
    links: Links = here.surveyed
    seen: set[int] = set()
    for section, text, linked in _linking_passages(here):
        for asked in sorted(linked - seen):
            thirds = [here.number] if task == DUAL_LINK else sorted(linked - {asked})
            queries = [query for third in thirds if (query := links.sentence(asked, third))]
            if not queries:
                census.drop(task, "no such pair of links")
                continue
            seen.add(asked)
            pair = Example(task, (rng.choice(queries),), (text,), here.view.document.id, (section,))
            yield from here.among_random_pages(pair, rng, {here.number, asked}, here.pages.abstract)


def _linking_passages(here: Neighbourhood) -> Iterator[tuple[int, str, set[int]]]:
    """Yield (section, passage, the documents that its sentences link to) of long enough passages."""
    for section, of_section in groupby(here.anchored_sentences(), attrgetter("section")):
        sentences = list(of_section)
        for passage in section_passages(here.view.sections[section]):
            inside = [each for each in sentences if each.text in passage.text]
            if inside and word_count(passage.text) >= here.view.options.min_words:
                yield section, passage.text, {link.target for each in inside for link in each.references}


_task = partial(Task, family="papers", in_corpus=True)
_OF_HLP = Survey("sentences", write_sentences, Links)
TASKS = (
    _task("anchor-dr", anchor_retrieval, source="Xie, Liu and Xiong, Anchor-DR, SIGIR 2023, section 3", survey=_SURVEY),
    _task(
        "php",
        hyperlink_prediction,
        replaceable=False,
        long_query=True,
        source="Wu et al., PHP, arXiv 2209.06583, three of the four groups",
        survey=_SURVEY,
    ),
    *(
        _task(name, partial(hyperlink_induced, name), source="Zhou et al., HLP, ACL 2022, section 3", survey=_OF_HLP)
        for name in (DUAL_LINK, CO_MENTION)
    ),
)
