"""Classic pre-training tasks for retrieval: ICT (Lee et al., ACL 2019), BFS and WLP (Chang et al., ICLR 2020), ROP (Ma
et al., WSDM 2021), two spans of one document (Gao and Callan, ACL 2022).
"""

from collections.abc import Iterator
from functools import partial
from random import Random

from structformer.document import Section, word_count
from structformer.sampling import (
    Census,
    DocumentView,
    Example,
    Form,
    Need,
    Neighbourhood,
    Task,
    document_model,
    holds,
    in_random_order,
    word_set_examples,
)
from structformer.text import (
    Passage,
    as_typed,
    document_overview,
    section_passages,
    section_prose,
    sentences,
    with_path,
)

_KEEP_SENTENCE = 0.1
_MIN_QUERY_WORDS, _MAX_QUERY_WORDS = 4, 40
# Long option tables would otherwise give most of the queries, and a page's description, which says what it is for, one.
_QUERIES_PER_PASSAGE = 3


def inverse_cloze(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """ICT: a sentence as query, the passage it is in as positive, other sections' passages as negatives.

    Source: Lee et al., ACL 2019, section 4: the sentence is taken out of its passage in 90 % of cases. Up to three
    sentences of 4 to 40 words are drawn from each passage, none from its code and tables; a list item counts as one.
    Lists of see-also links take no part. The passage has its path in front, as the index
    shows it to the ranker; the negatives likewise.
    """
    cut = _passages(view)
    numbered = list(cut)
    wanted = len(numbered) if view.options.negatives is None else view.options.negatives
    with_paths: dict[tuple[int, int], str] = {}
    for number, pieces in cut.items():
        for whole in pieces:
            piece = _tidied(whole.text)
            for query in _drawn_queries(_tidied(whole.prose) if whole.stretches else piece, rng):
                passage = piece if rng.random() < _KEEP_SENTENCE else _without(piece, query)
                numbers, texts = [number], [with_path(view.path_text(number), passage)]
                for _ in range(3 * wanted):
                    other = numbered[int(rng.random() * len(numbered))]
                    if other == number or other in numbers or view.same_text(other, number):
                        continue
                    place = int(rng.random() * len(cut[other]))
                    text = with_paths.get((other, place))
                    if text is None:
                        text = with_paths[other, place] = with_path(view.path_text(other), cut[other][place].text)
                    if holds(text, query):
                        continue
                    numbers.append(other)
                    texts.append(text)
                    if len(numbers) > wanted:
                        break
                yield Example("ict", (query,) * len(numbers), tuple(texts), view.document.id, tuple(numbers))


def overview_selection(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """OVS: a sentence of a document as query, the document's overview as positive; negatives are the batch's other
    documents.

    Not of a paper: the inverse cloze task one level up, for the search compares queries with overviews too. One
    sentence of 4 to 40 words from each passage, taken out of the overview where it occurs in it."""
    for number, pieces in _passages(view).items():
        for piece in pieces:
            for query in _drawn_queries(piece.prose, rng)[:1]:
                shown = document_overview(view.document, without=query)
                yield Example("ovs", (query,), (shown,), view.document.id, (number,))


def body_first_selection(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """BFS: a random sentence of the abstract as query, a random passage of the same document's body as positive, other
    documents' texts as negatives.

    Source: Chang et al., ICLR 2020, section 3.2 ("Body First Selection"). One Example for each section with a passage.
    """
    view = here.view
    queries = _queries(section_prose(view.document.root))
    cut = {number: pieces for number, pieces in _passages(view).items() if number}
    if not queries or not cut:
        if len(view.sections) > 1:
            census.drop("bfs", "no sentence in the abstract" if not queries else "no body")
        return
    for number, pieces in cut.items():
        positive = with_path(view.path_text(number), rng.choice(pieces).text)
        pair = Example("bfs", (rng.choice(queries),), (positive,), view.document.id, (number,))
        excluded = {here.number, *here.see_also}
        yield from here.among_random_pages(pair, rng, excluded, partial(_first_passage, here), census)


def wiki_link_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """WLP: a random sentence of a page's abstract as query, the passage of this document that links to the page as
    positive, other documents' texts as negatives.

    Source: Chang et al., ICLR 2020, section 3.2 ("Wiki Link Prediction"). One Example for each page linked to.
    """
    view = here.view
    linked = {here.number, *here.see_also, *(reference.target for reference in here.references)}
    seen: set[int] = set()
    for reference in here.references:
        if reference.target in seen or reference.target == here.number or view.sections[reference.section].is_link_list:
            continue
        seen.add(reference.target)
        queries = _queries(here.pages.abstract(reference.target))
        piece = _passage_at(view.sections[reference.section].text, reference.start)
        if not queries or word_count(piece) < view.options.min_words:
            census.drop("wlp", "no sentence in the page's abstract" if not queries else "passage too short")
            continue
        positive = with_path(view.path_text(reference.section), piece)
        pair = Example("wlp", (rng.choice(queries),), (positive,), view.document.id, (reference.section,))
        yield from here.among_random_pages(pair, rng, linked, partial(_first_passage, here), census)


def representative_words_prediction(here: Neighbourhood, rng: Random, census: Census) -> Iterator[Example]:
    """ROP: which of two word sets of equal size represents a document better, by its language model's likelihood.

    Source: Ma et al., "PROP", WSDM 2021, section 3.2, eq. 1-3, and its released code; see DocumentModel.
    """
    text = here.title_and_head()
    model = document_model(here, text, rng, census, "rop")
    if model is not None:
        drawn = (lambda size: model.draw(size, rng), model.log_likelihood)
        yield from word_set_examples("rop", here, text, drawn, rng, census)


def two_spans(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """Two random passages of the document, without their paths; the batch's other documents are what they differ from.

    Source: Gao and Callan, ACL 2022, section 3.2. One Example a document and draw.
    """
    passages = view.long_passages()
    if len(passages) < 2:
        census.drop("spans", "fewer than two passages")
        return
    (_, first), (number, second) = (passages[place] for place in in_random_order(rng, range(len(passages)), 2))
    yield Example("spans", (first,), (second,), view.document.id, (number,))


def _passages(view: DocumentView) -> dict[int, list[Passage]]:
    """Return each section's passages; lists of see-also links have none."""
    return {
        number: pieces for number, section in enumerate(view.sections) if (pieces := list(section_passages(section)))
    }


def _tidied(text: str) -> str:
    """Return the text without empty lines, white space as single blanks."""
    return "\n".join([line for line in [" ".join(line.split()) for line in text.split("\n")] if line])


def _drawn_queries(text: str, rng: Random) -> list[str]:
    """Return up to _QUERIES_PER_PASSAGE random ones of the text's queries, in its order."""
    queries = list(sentences(text))
    drawn: dict[int, str] = {}
    for place in in_random_order(rng, range(len(queries)), len(queries)):
        if (query := _as_query(queries[place])) is not None:
            drawn[place] = query
            if len(drawn) == _QUERIES_PER_PASSAGE:
                break
    return [drawn[place] for place in sorted(drawn)]


def _without(text: str, sentence: str) -> str:
    """Return the text without a sentence; a line that held nothing else goes too."""
    before, _, after = text.partition(sentence)
    before, after = before.rstrip(" "), after.lstrip(" ")
    joint = " " if before and after and before[-1] != "\n" and after[0] != "\n" else ""
    return before + (after[1:] if after.startswith("\n") and (not before or before[-1] == "\n") else joint + after)


def _as_query(sentence: str) -> str | None:
    query = as_typed(sentence)
    return query if _MIN_QUERY_WORDS <= word_count(query) <= _MAX_QUERY_WORDS else None


def _queries(text: str) -> list[str]:
    """Return the text's sentences of 4 to 40 words, as a person might type them."""
    return [query for query in map(_as_query, sentences(text)) if query is not None]


def _passage_at(text: str, position: int) -> str:
    """Return the passage that holds a character position."""
    place = 0
    for piece in _cut(text):
        start = text.find(piece[:40], place)
        place = max(place, start) + len(piece)
        if position < place:
            return piece
    return ""


def _cut(text: str) -> Iterator[str]:
    """Return a text without marks in passages."""
    return (passage.text for passage in section_passages(Section("", 0, text)))


def _first_passage(here: Neighbourhood, number: int) -> str:
    """Return a document's first passage, with its title in front as positives have their paths."""
    return with_path(here.pages.title(number), next(_cut(here.pages.abstract(number)), ""))


_of_links = partial(
    Task, family="classic", in_corpus=True, form=Form.PATH, source="Chang et al., ICLR 2020, section 3.2"
)
TASKS = (
    Task("ict", inverse_cloze, "classic", form=Form.PATH, source="Lee et al., ACL 2019, section 4", default=True),
    _of_links("bfs", body_first_selection),
    _of_links("wlp", wiki_link_prediction),
    Task(
        "rop",
        representative_words_prediction,
        "classic",
        in_corpus=True,
        needs=Need.LINKS | Need.COLLECTION,
        replaceable=False,
        source="Ma et al., PROP, WSDM 2021, section 3.2",
    ),
    # Overviews differ from passages in form, so passages cannot stand in for the batch's other overviews.
    Task("ovs", overview_selection, "classic", replaceable=False, default=True),
    Task(
        "spans",
        two_spans,
        "condenser",
        replaceable=False,
        long_query=True,
        source="Gao and Callan, coCondenser, ACL 2022, section 3.2",
    ),
)
