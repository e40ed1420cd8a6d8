"""Wikiformer's four pre-training tasks (Su et al., AAAI 2024) over one document tree or the see-also graph."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from random import Random

from structformer.document import word_count
from structformer.sampling import (
    Census,
    DocumentView,
    Example,
    Need,
    Neighbourhood,
    Task,
    in_random_order,
    nearly_equal,
    word_set,
)

_FAILED_DRAWS = 32  # in a row, after which there are hardly any other titles
_MAX_QUERIES = 64
_RELEASED_SECTIONS, _RELEASED_LONG = 6, 4
_RELEASED_WORD = re.compile(r'[^ ,.?!，。？！()/\n"]+')


def simulated_reranking(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """SRR: the path to a child d_i of a non-leaf F as query, its content as positive, its siblings' as negatives.

    Source: Wikiformer, section "Simulated Re-ranking", eq. 3. One Example for every child, or with `every_child=False`
    one random child of each F. Fewer siblings than asked for are topped up from the rest of the document, never with an
    ancestor or a descendant; with `negatives_from="siblings"` they stay fewer.

    With `compat="released-code"` a document of six sections or more, four of them long, gives one Example, as the
    authors' SRR/contrastive_sampling.py does: the first long section whose level is the document's deepest or the one
    above it as positive, all other long ones as negatives. Long are own texts of more than `min_words` words, and
    sections behind a heading that skips a level take no part."""
    if view.options.compat == "released-code":
        yield from _released_simulated_reranking(view, census)
        return
    for parent in range(len(view.sections)):
        children = [child for child in view.children(parent) if view.long_enough(child)]
        if not children:
            continue
        for child in children if view.options.every_child else [rng.choice(children)]:
            if not view.path(child) or not view.sections[child].title:
                census.drop("srr", "no title")
                continue
            wanted = view.options.negatives
            negatives = view.negatives(child, children, rng, wanted)
            if view.options.negatives_from != "siblings" and (wanted is None or len(negatives) < wanted):
                rest = view.negatives(child, range(1, len(view.sections)), rng, wanted)
                negatives += [number for number in rest if number not in negatives][
                    : None if wanted is None else wanted - len(negatives)
                ]
            if not negatives:
                census.drop("srr", "no negatives in the document")
                continue
            numbers = (child, *negatives)
            query = view.path_text(child)
            yield Example(
                "srr",
                (query,) * len(numbers),
                tuple(view.content(number) for number in numbers),
                view.document.id,
                numbers,
            )


def _released_simulated_reranking(view: DocumentView, census: Census) -> Iterator[Example]:
    sections = _before_a_skipped_level(view)
    if len(sections) < _RELEASED_SECTIONS:
        census.drop("srr", "fewer than six sections")
        return
    texts = {number: view.sections[number].text for number in sections}
    long = [number for number in sections if len(_RELEASED_WORD.findall(texts[number])) > view.options.min_words]
    # Of a heading that skips a level, too, the deepest level is taken.
    deepest = max(section.level for section in view.sections[: sections[-1] + 2])
    deep = next((number for number in long if view.sections[number].level >= deepest - 1), None)
    if deep is None or len(long) < _RELEASED_LONG:
        census.drop("srr", "fewer than four long sections, or none of the two deepest levels")
        return
    numbers = (deep, *(number for number in long if texts[number] != texts[deep]))
    if len(numbers) < _RELEASED_LONG:
        census.drop("srr", "no negatives in the document")
        return
    cut = view.options.max_characters
    yield Example(
        "srr",
        (view.path_text(deep),) * len(numbers),
        tuple(texts[number][:cut] for number in numbers),
        view.document.id,
        numbers,
    )


def _before_a_skipped_level(view: DocumentView) -> list[int]:
    """Return the sections up to a heading that is two levels or more below the one before it, the title's being 1."""
    level = 1
    for number, section in enumerate(view.sections[1:], 1):
        if section.level > level + 1:
            return list(range(1, number))
        level = section.level
    return list(range(1, len(view.sections)))


def representative_words_identification(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """RWI: the path to a random non-root node as query against other title combinations, all for the node's content.

    Source: Wikiformer, section "Representative Words Identification", eq. 4. The root counts as depth 1, so a path of
    depth n has n titles; a negative query is the main title and the titles of n - 1 random non-root nodes, never the
    same titles as the positive's.
    """
    inner = range(1, len(view.sections))
    nodes = [number for number in inner if view.long_enough(number) and view.sections[number].title]
    if not nodes:
        if len(view.sections) > 1:
            census.drop("rwi", "no section of enough words")
        return
    node = rng.choice(nodes)
    path = view.path(node)
    # Equal titles make equal queries, so that drawing among the distinct ones wastes no draw on them.
    others = list(dict.fromkeys(view.path(number)[-1] for number in inner if view.sections[number].title.strip()))
    wanted = view.options.negatives
    seen = {tuple(sorted(path))}
    queries = [view.path_text(node)]
    failed = 0
    while failed < _FAILED_DRAWS and (wanted is None or len(queries) <= wanted) and len(queries) <= _MAX_QUERIES:
        drawn = in_random_order(rng, range(len(others)), len(path) - 1)
        titles = path[:1] + [others[number] for number in drawn]
        key = tuple(sorted(titles))
        if key in seen:
            failed += 1
            continue
        failed = 0
        seen.add(key)
        queries.append(view.options.separator.join(titles))
    if len(queries) < 2:
        census.drop("rwi", "no other titles")
        return
    yield Example("rwi", tuple(queries), (view.content(node),) * len(queries), view.document.id, (node,) * len(queries))


def abstract_texts_identification(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """ATI: the document's title as query, its abstract as positive, the document's other sections as negatives.

    Source: Wikiformer, section "Abstract Texts Identification", eq. 5.
    """
    abstract = view.document.root.text[: view.options.max_characters]
    if word_count(abstract) < view.options.min_words:
        census.drop("ati", "abstract too short")
        return
    words = word_set(abstract)
    wanted = view.options.negatives
    # the root is kin of all, so `negatives` cannot be asked
    drawn = in_random_order(rng, range(1, len(view.sections)), len(view.sections))
    others = (number for number in drawn if view.long_enough(number) and not nearly_equal(words, view.words(number)))
    numbers = (0, *islice(others, wanted))
    if len(numbers) < 2:
        census.drop("ati", "no negatives in the document")
        return
    documents = (abstract, *(view.content(number) for number in numbers[1:]))
    yield Example("ati", (view.document.title,) * len(numbers), documents, view.document.id, numbers)


def long_texts_matching(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """LTM: the content of document v as query, that of each document adjacent to v in the see-also graph as positive.

    Source: Wikiformer, section "Long Texts Matching", eq. 6. Negatives are random documents not adjacent to v in either
    direction, with `negatives_from="lexical"` those that BM25 ranks highest for it. A document's content is its
    abstract first, then its sections; see-also lists are left out, since they name the answers."""
    options = here.view.options
    query = here.pages.head(here.number)
    if word_count(query) < options.min_words:
        if here.see_also:
            census.drop("ltm", "document too short")
        return
    adjacent = {here.number, *here.see_also, *here.named_by}
    for neighbour in here.see_also:
        content = here.pages.head(neighbour)
        if word_count(content) < options.min_words:
            census.drop("ltm", "neighbour too short or held out")
            continue
        pair = Example("ltm", (query,), (content,), here.view.document.id, (-1,))
        yield from here.among_random_pages(pair, rng, adjacent, here.pages.head, census)


_PAPER = "Su et al., Wikiformer, AAAI 2024"
_task = partial(Task, family="wikiformer", default=True)
TASKS = (
    _task("srr", simulated_reranking, needs=Need.NOTHING, source=f"{_PAPER}, eq. 3"),
    _task("rwi", representative_words_identification, needs=Need.NOTHING, replaceable=False, source=f"{_PAPER}, eq. 4"),
    _task("ati", abstract_texts_identification, needs=Need.NOTHING, source=f"{_PAPER}, eq. 5"),
    _task("ltm", long_texts_matching, in_corpus=True, long_query=True, source=f"{_PAPER}, eq. 6"),
)
