"""SEAL's views of a page with each kind of block, by hand, and its recipe from end to end."""

from __future__ import annotations

from itertools import count

import pytest
from structformer import train
from structformer.document import Document
from structformer.ingestion import ingest
from structformer.sampling import Census, DocumentView, Example, SamplingOptions, document_examples
from structformer.training import training_options

from conftest import PAGES, write_pages
from reading import one
from structformer_devkit.tasks import check_task
from structformer_papers.seal import MASKED_SHARE, TASKS, marked

PAGE = """# Mast

A mast carries the sails, and it is washed each spring before the season with soap and with fresh water.

## Wash it

1. Take the soap.
2. Rub.

   - softly

Then rinse it well with fresh water from the top to the foot, and let it dry for an hour or for two.

### Tools

| tool | use |
|---|---|
| sponge | soap |

```sh
wash --all <mast>
```

## Store it

Put the mast under a roof, on three supports of wood or of plastic, away from the sun and from frost and rain.

> Never on stones, as they leave dents in it.
"""
MARKED = [
    "<p>A mast carries the sails, and it is washed each spring before the season with soap and with fresh water.</p>",
    "<h2>Wash it</h2>",
    "<ol><li>Take the soap.</li><li><p>Rub.</p><ul><li>softly</li></ul></li></ol>",
    "<p>Then rinse it well with fresh water from the top to the foot, and let it dry for an hour or for two.</p>",
    "<h3>Tools</h3>",
    "<table><tr><th>tool</th><th>use</th></tr><tr><td>sponge</td><td>soap</td></tr></table>",
    "<pre>wash --all <mast></pre>",
    "<h2>Store it</h2>",
    "<p>Put the mast under a roof, on three supports of wood or of plastic, away from the sun and from frost and rain.</p>",
    "<blockquote><p>Never on stones, as they leave dents in it.</p></blockquote>",
]
# 3 headings, 3 paragraphs, code; list, 2 items, 1 paragraph in the second, its list and item; table, 2 rows, 4 cells; a
# quote and its paragraph.
ELEMENTS = 3 + 3 + 1 + 6 + 7 + 2


def page(text: str = PAGE) -> Document:
    return one(text, "markdown")


def view(text: str = PAGE) -> DocumentView:
    return DocumentView(page(text), SamplingOptions())


def drawn(name: str, text: str = PAGE, census: Census | None = None, epoch: int = 0) -> dict[str, Example]:
    found = document_examples(page(text), [name], epoch=epoch, census=census)
    return {example.queries[0]: example for example in found}


def without(*removed: int) -> list[str]:
    """The marked page without the elements of these numbers, of those that were asked for."""
    numbers = count()
    return marked(view(), 0, lambda: next(numbers) not in removed).split("\n")


def test_every_kind_of_block_has_its_tags():
    assert marked(view(), 0).split("\n") == MARKED
    asked = count()
    marked(view(), 0, lambda: next(asked) >= 0)
    assert next(asked) == ELEMENTS


def test_an_element_that_goes_takes_what_is_in_it():
    assert without(0) == MARKED[1:]
    assert without(1) == [MARKED[0], *MARKED[2:]], "a heading alone: its section stays"
    assert without(2) == [*MARKED[:2], *MARKED[3:]], "a list with its items"
    assert without(4)[2] == "<ol><li>Take the soap.</li></ol>", "an item with the list in it"
    assert without(7)[2] == "<ol><li>Take the soap.</li><li><p>Rub.</p></li></ol>", "nothing is left of that list"
    assert without(13)[5] == "<table><tr><th>tool</th></tr><tr><td>sponge</td><td>soap</td></tr></table>"
    assert without(*range(ELEMENTS)) == [""]


def test_the_text_without_tags_is_what_the_page_says():
    assert view().sections[3].subtree_text() == (
        "Put the mast under a roof, on three supports of wood or of plastic, away from the sun and from frost and rain."
        "\n\nNever on stones, as they leave dents in it."
    )
    assert "tool | use" in view().sections[0].subtree_text()
    assert "<mast>" in view().sections[0].subtree_text(), "what the page itself has between < and > stays"


def test_a_query_has_the_same_positive_in_three_views():
    views = {name: drawn(name) for name in ("seal-marked", "seal-plain", "seal-masked")}
    for examples in views.values():
        assert list(examples) == ["Mast", "Mast Wash it", "Mast Store it"], "Tools is too short"
        assert [example.sections for example in examples.values()] == [(0,), (1, 3), (3, 1)]
    assert views["seal-marked"]["Mast"].documents == ("\n".join(MARKED),)
    assert views["seal-plain"]["Mast"].documents == (view().sections[0].subtree_text(),)
    storing = views["seal-marked"]["Mast Store it"].documents
    assert storing[0] == "\n".join(MARKED[8:])
    assert "<h2>Tools</h2>" in storing[1], "the headings below a section begin at the second level"


def test_a_tenth_of_the_elements_goes_each_drawn_by_itself():
    lines = 0
    for epoch in range(400):
        documents = drawn("seal-masked", epoch=epoch)["Mast"].documents
        lines += len(documents[0].split("\n"))
    # A table goes by itself, or with both its rows, or with all their cells; likewise the other lines of MARKED.
    assert lines / 400 == pytest.approx(10 * (1 - MASKED_SHARE), abs=0.25)


def test_pages_of_paragraphs_alone_and_of_nothing_but_masked_elements_are_counted():
    census = Census()
    assert drawn("seal-marked", "# Page\n\n" + "word " * 30, census) == {}
    assert dict(census.dropped) == {("seal-marked", "no structure"): 1}
    census = Census()
    for epoch in range(100):
        drawn("seal-masked", "# Page\n\n- " + "word " * 30, census, epoch)
    # A list of one item stays where neither is drawn: .81.
    assert census.dropped["seal-masked", "all elements masked"] == pytest.approx(19, abs=10)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_tasks_keep_the_rules_of_tasks(task):
    assert check_task(task) == []


def test_the_recipe_trains_a_bi_encoder_on_all_three_views(tmp_path):
    ingest(write_pages(tmp_path / "pages", {"mast.md": PAGE, **PAGES}), tmp_path / "w", workers=1)
    small = {"base_model": "scratch", "size": "tiny", "max_steps": 2, "groups": 6, "precision": "no"}
    result = train(tmp_path / "w", training_options("seal", small, ["document_tokens=48"]))
    assert result.steps == 2
    assert set(result.plan.examples) == {task.name for task in TASKS}
