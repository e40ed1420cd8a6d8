"""An answer in words, as people see it in a browser: Markdown, where it goes, what can be done with it, how it ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from structformer.workspace import Workspace

from structformer_serve.feedback import events
from test_ask import StandIn
from test_page import browser as browser  # the fixtures
from test_page import context as context
from test_page import expect, served
from test_page import page as page
from test_serving import workspace

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PAGES = {
    "mast.md": "# The mast\n\n## Mend the mast\n\nMend it with resin, an hour long.\n\n## How does the resin get hard?\n\nIt dries.\n",
    "oar.md": "# Oar\n\nAn oar rows.\n",
}
ANSWER = """### Steps

Use **resin** and `x_y_z` [1]:

1. Clean it
   - twice
2. Wait

```sh
mend --with resin  # <b>
```

| part | days |
|---|---|
| mast | 2 |

See [the manual](javascript:alert`1`), <img src=x onerror=alert(1)> and [9].
"""


@pytest.fixture(scope="module")
def model() -> Iterator[StandIn]:
    with StandIn() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("asked"), PAGES)


@pytest.fixture(scope="module")
def address(folder: Path, model: StandIn) -> Iterator[str]:
    with served(folder, "--ask", model.url, "--ask-model", "small") as found:
        yield found


def asked(page: Page, address: str, model: StandIn, *pieces: str) -> Locator:
    """The answer to a question about the results of a search."""
    model.pieces = list(pieces)
    page.goto(f"{address}/?q=mend+the+mast")
    page.get_by_role("button", name="Ask").click()
    return page.get_by_role("region", name="Answer")


def test_markdown_is_shown_as_what_it_says_and_nothing_in_it_is_followed(page, address, model):
    answer = asked(page, address, model, ANSWER[:90], ANSWER[90:150], ANSWER[150:])
    expect(answer.get_by_role("status").first).to_contain_text("It may be wrong")
    expect(answer.get_by_role("heading", name="Steps")).to_be_visible()
    assert answer.locator("strong").inner_text() == "resin"
    assert answer.locator("p code").inner_text() == "x_y_z"
    assert answer.locator(".answer-text > ol > li").all_inner_texts() == ["Clean it\n\ntwice", "Wait"]
    assert answer.locator("pre").inner_text() == "mend --with resin  # <b>"
    assert answer.locator("td").all_inner_texts() == ["mast", "2"]
    said = answer.locator(".answer-text > p").last
    assert said.inner_text() == "See the manual (javascript:alert`1`), <img src=x onerror=alert(1)> and [9]."
    assert [each.get_attribute("href") for each in answer.locator(".answer-text a").all()] == ["/read/mast.md#s1"]
    assert answer.locator("img").count() == 0


def test_it_is_in_the_column_of_the_results_above_them(page, address, model):
    answer = asked(page, address, model, "Resin [1].").bounding_box()
    results = page.locator(".results").bounding_box()
    assert answer["x"] == results["x"]
    assert answer["x"] + answer["width"] <= results["x"] + results["width"]
    assert answer["y"] + answer["height"] <= results["y"]


def test_it_can_be_copied_with_its_sections(context, page, address, model):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer = asked(page, address, model, "Use **resin** [1].")
    answer.get_by_role("button", name="Copy the answer").click()
    expect(answer.get_by_role("button", name="Copy the answer")).to_have_text("Copied")
    text, source = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert text == "Use **resin** [1]."
    assert source == f"[1] The mast › Mend the mast: {address}/read/mast.md#s1"


def test_a_further_question_of_the_same_pages_is_asked_by_a_click(page, address, model):
    answer = asked(page, address, model, "Use resin [1].")
    answer.get_by_role("group", name="Also answered here").get_by_role(
        "button", name="How does the resin get hard?"
    ).click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer.get_by_role("heading", name="How does the resin get hard?")).to_be_visible()
    expect(answer).to_have_count(1)


def test_whether_it_helped_is_kept(page, address, model, folder):
    answer = asked(page, address, model, "Resin [1].")
    answer.get_by_role("button", name="Not helpful").click()
    expect(answer.get_by_text("Thanks for your feedback.")).to_be_visible()
    expect(answer.get_by_role("button", name="Helpful")).to_have_count(0)
    page.wait_for_timeout(200)
    kept = [each for each in events(Workspace(folder)) if each["event"].startswith("answer")]
    assert [(each["event"], each["query"], each["shown"]) for each in kept] == [
        ("answer_bad", "mend the mast", ["mast.md"])
    ]


def test_what_breaks_off_says_so_and_offers_nothing(page, address, model):
    model.end = b""
    answer = asked(page, address, model, "Resin [1] and")
    expect(answer.get_by_role("status").first).to_contain_text("The answer broke off")
    expect(answer.get_by_text("Resin")).to_be_visible()
    assert answer.get_by_role("button").count() == 0
    model.end = b"data: [DONE]\n\n"


def test_a_follow_up_is_asked_with_the_question_before_it(page, address, model):
    answer = asked(page, address, model, "Resin [1].")
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible()  # the model was asked by then
    model.asked.clear()
    field = answer.get_by_role("textbox", name="Ask a follow-up")
    field.fill("and how long")
    field.press("Enter")
    expect(answer.get_by_role("heading", name="and how long")).to_be_visible()
    expect(answer.last.get_by_role("button", name="Copy the answer")).to_be_visible()
    [(_, _, sent)] = model.asked
    assert json.dumps(sent).count("The question before: mend the mast") == 1


def test_the_button_fits_on_a_phone(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(address)
    expect(page.get_by_role("button", name="Ask")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()
