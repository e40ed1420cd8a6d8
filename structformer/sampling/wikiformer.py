"""Wikiformer's four pre-training tasks (Su et al., AAAI 2024) over one document tree or the see-also graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from structformer.sampling.content import DocumentView, nearly_equal, word_set
from structformer.sampling.example import Census, Example

_QUERY_DRAWS = 40


def simulated_reranking(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """SRR: the path to a child d_i of a non-leaf F as query, its content as positive, its siblings' as negatives.

    Source: Wikiformer, section "Simulated Re-ranking", eq. 3. One Example for every child, or with
    `every_child=False` one random child of each F. Fewer siblings than asked for are topped up from the rest of the
    document, never with an ancestor or a descendant.
    """
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
            if wanted is None or len(negatives) < wanted:
                rest = view.negatives(child, range(1, len(view.sections)), rng, wanted)
                negatives += [number for number in rest if number not in negatives][: None if wanted is None else wanted - len(negatives)]
            if not negatives:
                census.drop("srr", "no negatives in the document")
                continue
            numbers = (child, *negatives)
            query = view.path_text(child)
            yield Example("srr", (query,) * len(numbers), tuple(view.content(number) for number in numbers), view.document.id, numbers)


def representative_words_identification(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """RWI: the path to a random non-root node as query against other title combinations, all for the node's content.

    Source: Wikiformer, section "Representative Words Identification", eq. 4. The root counts as depth 1, so a path of
    depth n has n titles; a negative query is the main title and the titles of n - 1 random non-root nodes, never the
    same titles as the positive's.
    """
    nodes = [number for number in range(1, len(view.sections)) if view.long_enough(number) and view.sections[number].title]
    if not nodes:
        if len(view.sections) > 1:
            census.drop("rwi", "no section of enough words")
        return
    node = rng.choice(nodes)
    path = view.path(node)
    main, others = path[:1], [number for number in range(1, len(view.sections)) if view.sections[number].title.strip()]
    seen = {tuple(sorted(path))}
    queries = [view.options.separator.join(path)]
    wanted = view.options.negatives
    for _ in range(_QUERY_DRAWS * (wanted or len(others))):
        if wanted is not None and len(queries) > wanted:
            break
        drawn = rng.sample(others, min(len(path) - 1, len(others)))
        titles = main + [view.path(number)[-1] for number in drawn]
        key = tuple(sorted(titles))
        if key not in seen:
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
    if len(abstract.split()) < view.options.min_words:
        census.drop("ati", "abstract too short")
        return
    words = word_set(abstract)
    wanted = view.options.negatives
    drawn = rng.sample(range(1, len(view.sections)), len(view.sections) - 1)  # the root is kin of all, so `negatives` can't be asked
    others = [number for number in drawn if view.long_enough(number) and not nearly_equal(words, view.words(number))][:wanted]
    numbers = (0, *others)
    if len(numbers) < 2:
        census.drop("ati", "no negatives in the document")
        return
    documents = (abstract, *(view.content(number) for number in numbers[1:]))
    yield Example("ati", (view.document.title,) * len(numbers), documents, view.document.id, numbers)


def long_texts_matching(
    document: int,
    text: Callable[[int], str],
    neighbours: Sequence[int],
    document_count: int,
    document_id: str,
    min_words: int,
    negatives: int | None,
    rng: Random,
    census: Census,
) -> Iterator[Example]:
    """LTM: the content of document v as query, that of each document adjacent to v in the see-also graph as positive.

    Source: Wikiformer, section "Long Texts Matching", eq. 6. `text(i)` gives document i's content, "" when it is held
    out; `neighbours` are v's adjacent documents. Negatives are random documents not adjacent to v.
    """
    query = text(document)
    if len(query.split()) < min_words:
        if neighbours:
            census.drop("ltm", "document too short")
        return
    adjacent = {document, *neighbours}
    for positive in neighbours:
        content = text(positive)
        if len(content.split()) < min_words:
            census.drop("ltm", "neighbour too short or held out")
            continue
        texts = [content]
        words = word_set(content)
        wanted = negatives if negatives is not None else 7
        for _ in range(10 * wanted):
            if len(texts) > wanted or document_count <= len(adjacent):
                break
            drawn = rng.randrange(document_count)
            if drawn in adjacent:
                continue
            other = text(drawn)
            if len(other.split()) >= min_words and other not in texts and not nearly_equal(words, word_set(other)):
                texts.append(other)
        if len(texts) < 2:
            census.drop("ltm", "no documents to contrast with")
            continue
        yield Example("ltm", (query,) * len(texts), tuple(texts), document_id, (-1,) * len(texts))
