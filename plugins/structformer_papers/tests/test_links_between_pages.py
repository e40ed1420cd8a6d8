"""Anchor-DR's pairs, PHP's groups and HLP's topologies on a few pages whose links a person can follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer import sample
from structformer.ingestion import ingest
from structformer.sampling import Samples, SamplingOptions

from conftest import write_pages

FILLER = "Look at it closely first, then do what the owner of the boat says about it, and ask someone who knows."
PAGES = {
    "mast.md": f"# Mast\n\nThe mast carries [the main sail](sail.md) and more: [click here](sail.md). {FILLER}\n",
    "sail.md": f"# Sail\n\nThe sail hangs on [a tall pole](mast.md) by [many ropes](rope.md). {FILLER}\n",
    "rope.md": f"# Rope\n\nThe rope is tied, see [the main sail](sail.md), [Next](sail.md). {FILLER}\n",
    "oar.md": f"# Oar\n\nThe oar moves the boat, as does [the main sail](sail.md). {FILLER}\n",
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    folder = tmp_path_factory.mktemp("links")
    ingest(write_pages(folder / "pages", PAGES), folder / "w", workers=1)
    options = SamplingOptions(min_words=5, negatives=2)
    return sample(folder / "w", ["anchor-dr", "php"], options=options, workers=1)


def page(text: str) -> str:
    return text.split()[1]


def test_an_anchor_text_asks_for_the_page_behind_it_once_in_the_corpus(drawn):
    examples = [drawn.example("anchor-dr", number) for number in range(drawn.counts["anchor-dr"])]
    assert sorted((example.queries[0], page(example.documents[0])) for example in examples) == [
        ("a tall pole", "mast"),
        ("many ropes", "rope"),
        ("the main sail", "sail"),
    ]
    assert all(page(other) not in ("", page(each.documents[0])) for each in examples for other in each.documents[1:])
    assert drawn.manifest["census"]["dropped"]["anchor-dr"] == {"functional": 2, "in an earlier document too": 2}


def test_nearer_pages_by_their_links_come_first(drawn):
    """mast and rope link with sail both ways, oar links one way: nobody has both a one-way and a symmetric link."""
    examples = [drawn.example("php", number) for number in range(drawn.counts["php"])]
    assert [(page(each.queries[0]), page(each.documents[0])) for each in examples] == [("oar", "sail")]
    assert page(examples[0].documents[1]) in ("mast", "rope")


def test_words_of_the_released_list_numbers_and_single_letters_say_nothing(tmp_path):
    texts = ["Visit our website", "official website", "Sign up", "this article", "English", "source link", "12", "x"]
    links = "\n\n".join(f"The oar is there: [{text}](oar.md). {FILLER}" for text in texts)
    pages = {"oar.md": PAGES["oar.md"], "links.md": f"# Links\n\n{links}\n"}
    ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w", workers=1)
    found = sample(tmp_path / "w", ["anchor-dr"], options=SamplingOptions(min_words=5), workers=1)
    assert found.manifest["census"]["dropped"]["anchor-dr"] == {"functional": len(texts)}


def anchors_of(folder: Path, links: dict[str, str], pages: dict[str, str]) -> tuple[set[str], int]:
    """The anchor texts of a page's links that are queries, and how many are functional."""
    said = "\n\n".join(f"There it is: [{text}]({target}). {FILLER}" for text, target in links.items())
    write_pages(folder / "pages", {**pages, "links.md": f"# Links\n\n{said}\n"})
    ingest(folder / "pages", folder / "w", workers=1)
    drawn = sample(folder / "w", ["anchor-dr"], options=SamplingOptions(min_words=5, negatives=1), workers=1)
    return {each.queries[0] for each in drawn}, drawn.manifest["census"]["dropped"]["anchor-dr"].get("functional", 0)


def test_phrases_of_links_say_nothing_in_other_languages_either(tmp_path):
    phrases = (
        "Télécharger|Lire la suite|Accueil|Mehr erfahren|Startseite|点击这里|下载|首页|こちら|Подробнее|Leer más".split(
            "|"
        )
    )
    kept, functional = anchors_of(
        tmp_path, {**dict.fromkeys(phrases, "oar.md"), "la rame": "oar.md"}, {"oar.md": PAGES["oar.md"]}
    )
    assert (kept & {"la rame", *phrases}, functional) == ({"la rame"}, len(phrases))


def test_a_pages_own_title_and_names_of_pages_are_no_phrases(tmp_path):
    names = ("Search", "Login", "Index", "Examples", "Help", "Register", "Home", "Download")
    pages = {f"{name}.md": f"# {name}\n\nOf {name} there is much to say. {FILLER}\n" for name in names}
    links = {
        **{name: f"{name}.md" for name in names},
        "Examples of use": "Help.md",
        "Contents": "Home.md",
        "home": "Help.md",
    }
    kept, functional = anchors_of(tmp_path, links, pages)
    assert kept == {*names, "Examples of use", "Contents"}
    assert functional == 1  # "home", which is not the title of the page behind it


def test_no_page_that_has_the_same_name_or_says_it_is_a_negative(tmp_path):
    pages = {
        **PAGES,
        "other.md": f"# Other\n\nPeople of the coast call [the main sail](buoy.md) what is none. {FILLER}\n",
        "buoy.md": f"# Buoy\n\nThe buoy shows the way into the harbour by night. {FILLER}\n",
        "gull.md": f"# Gull\n\nThe gull sits wherever there is something to eat. {FILLER}\n",
    }
    ingest(write_pages(tmp_path / "pages", pages), tmp_path / "w", workers=1)
    drawn = sample(tmp_path / "w", ["anchor-dr"], options=SamplingOptions(min_words=5, draws=9), workers=1)
    assert {page(text) for each in drawn if each.queries[0] == "the main sail" for text in each.documents[1:]} == {
        "gull"
    }


def pairs(workspace: Path, task: str) -> set[tuple[str, str]]:
    """The query, and the page whose passage answers it, of each Example of a task."""
    drawn = sample(workspace, [task], options=SamplingOptions(min_words=5, negatives=1), workers=1)
    return {(example.queries[0], page(example.documents[0])) for example in drawn}


def test_a_sentence_asks_for_the_passage_that_it_shares_links_with(tmp_path):
    dinghy = f"# Dinghy\n\nThe dinghy has [a mast](mast.md) and [a sail](sail.md) for calm days. {FILLER}\n"
    ingest(write_pages(tmp_path / "pages", {**PAGES, "dinghy.md": dinghy}), tmp_path / "w", workers=1)
    mast = "The mast carries the main sail and more: click here."
    sail = "The sail hangs on a tall pole by many ropes."
    rope = "The rope is tied, see the main sail, Next."
    assert pairs(tmp_path / "w", "hlp-dual-link") == {(sail, "mast"), (mast, "sail"), (rope, "sail"), (sail, "rope")}
    # The dinghy's passage links to the mast and the sail, and the sentence of each of these to the other.
    assert pairs(tmp_path / "w", "hlp-co-mention") == {(mast, "dinghy"), (sail, "dinghy")}
