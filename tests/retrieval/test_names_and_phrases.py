"""What stands in a page is found: names as they are written and by their parts, signs, phrases in quotes, -words, and
words in any of Unicode's forms.
"""

from __future__ import annotations

import unicodedata

import pytest
from structformer import Filter, Retriever
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index
from structformer.retrieval.search_suggestions import help_with
from structformer.workspace import Workspace

from structformer_serve.as_you_type import complete

PAGES = {
    "hoist.md": "# Sails\n\nCall `hoistMainSail` or `crane.lift()`, then `--no-jib`; set `max_sail_area` in `deck.toml`.\n",
    "sail.md": "# Sail, main sail\n\nThe sail, the jib and no deck: hoist the main sail, lift it. Only then set the area.\n",
    "c.md": "# C\n\nC is small. In C there are arrays, and C is old.\n",
    "cpp.md": "# C++\n\nClasses of C++ are like `std::deque`.\n",
    "signs.md": "# Signs\n\nThe caret `^2.0`, the arrow `keel->bow` and a \U0001f6a2.\n",
    "step.md": "# Rig\n\nThe mast step holds the mast.\n\n## More\n\nBelow is the keel.\n",
    "mast.md": "# Mast\n\nA step of the mast.\n",
    "find.md": "# Finding\n\nUse `look -deep` where it is dark.\n",
    "cafe\u0301/port.md": unicodedata.normalize(
        "NFD", "# Ca\u00f1\u00f3n\n\nEl ping\u00fcino del caf\u00e9, \uac00\ub098\ub2e4.\n"
    ),
    "spelt.md": "# Spelt\n\nIn the fore-top of the U.R.K. at 7 kn: a bow rope, `\\Yard\\Arm::class`, `Chest<Oars>`.\n",
    "plain.md": "# Plain\n\nA `\\` or `<`, the arm of a yard, oars in a chest.\n",
    "winch.md": "# Winch\n\n`winch.turn` turns the winch, `winch.turn(on)`. Turn it.\n",
    "pasted.md": "# Log\n\nThere was `winch.turn(slow, 3)` and then \u00abError 42: oakum bucket found empty\u00bb.\n",
    "oakum.md": "# Oakum bucket\n\nAn empty bucket of oakum: the error 42 is found, oakum is not found in the bucket.\n",
    "soft.md": "# Long\n\nDie Anker\u00adketten\u00adl\u00e4nge und \u0152uvre. " + "Stag" * 40 + "\n",
}


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    top = tmp_path_factory.mktemp("names")
    for name, text in PAGES.items():
        path = top / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    workspace = Workspace(top / "w")
    ingest([top / "docs"], workspace)
    build_index(workspace, encoders=[])
    return Retriever.open(workspace)


def found(retriever: Retriever, query: str) -> list[str]:
    return list(dict.fromkeys(hit.document_id for hit in retriever.search(query, 10, "lexical")))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("hoistMainSail", "hoist.md"),
        ("hoistmainsail", "hoist.md"),
        ("hoist main sail", "hoist.md"),  # and not the page that has the words
        ("max sail area", "hoist.md"),
        ("std deque", "cpp.md"),
        ("keel bow", "signs.md"),
        ("crane lift", "hoist.md"),
        ("--no-jib", "hoist.md"),
        ("max_sail_area", "hoist.md"),
        ("deck.toml", "hoist.md"),
        ("max_sail_area=30", "hoist.md"),  # pasted with what is around them
        ("deck.max_sail_area", "hoist.md"),
        ("$MAX_SAIL_AREA", "hoist.md"),
        ("--no-jib=true", "hoist.md"),
        ("\u2212\u2212no\u2010jib", "hoist.md"),  # with other signs for a hyphen
        ("hoist_main_sail", "hoist.md"),  # in another spelling
        ("Anker-Kettenl\u00e4nge", "soft.md"),
        ("foretop", "spelt.md"),  # in one
        ("urk", "spelt.md"),
        ("7kn", "spelt.md"),
        ("bowrope", "spelt.md"),
        ("where is the foretop", "spelt.md"),
        ("maxsailarea", "hoist.md"),
        ("fore-tops", "spelt.md"),  # of several
        ("std.deque", "cpp.md"),  # with other signs
        ("yard/arm", "spelt.md"),
        ("root::std::deque", "cpp.md"),  # in a longer name
        ("$ship->max_sail_area", "hoist.md"),
        ("deck.toml:12:5", "hoist.md"),
        ("C:\\ship\\deck.toml", "hoist.md"),
        ("https://example.org/ship/deck.toml?keel=1#mast", "hoist.md"),
        ('winch.turn(slow, "keel")', "winch.md"),  # what is in quotes there is no phrase
        ("2024-01-02 FATAL Error 42: oakum bucket found empty (0x70)", "pasted.md"),  # a sentence among other words
        ("what is the caret", "signs.md"),  # a word among function words
        ("\\Yard\\Arm", "spelt.md"),  # the words in a longer name, and not a sign alone
        ("Chest<Oars>", "spelt.md"),
        ("winch.turn(slow", "pasted.md"),  # more than its name
        ("Error 42: oakum bucket found empty", "pasted.md"),  # a sentence as it is
        ("2.0", "signs.md"),
        ("what is --no-jib", "hoist.md"),  # asked about
        ("how do I use max_sail_area for the main sail of the jib", "hoist.md"),
        ("C++", "cpp.md"),
        ("std::deque", "cpp.md"),
        ("^", "signs.md"),
        ("->", "signs.md"),
        ("\U0001f6a2", "signs.md"),
        ("pinguino", "cafe\u0301/port.md"),
        ("ca\u00f1\u00f3n", "cafe\u0301/port.md"),
        ("\uac00\ub098\ub2e4", "cafe\u0301/port.md"),
        ("CAFE\u0301", "cafe\u0301/port.md"),
        ("Ankerkettenl\u00e4nge", "soft.md"),
        ("oeuvre", "soft.md"),
        ("Stag" * 40, "soft.md"),
    ],
)
def test_what_stands_in_one_page_is_found_there(retriever, query, first):
    assert found(retriever, query)[0] == first
    assert found(retriever, unicodedata.normalize("NFD", query).upper())[:1] == [first]


def test_a_name_in_camel_case_counts_among_other_words(retriever):
    for query in (
        "oakum error in the bucket: hoistMainSail is empty",
        "hoistMainSail(mast, keel)",
        "Keel::hoistMainSail",
    ):
        assert found(retriever, query)[0] == "hoist.md"


def test_a_name_is_found_in_another_spelling(retriever):
    assert found(retriever, "maxSailArea")[0] == "hoist.md"  # there it is max_sail_area


@pytest.mark.parametrize(
    ("query", "pages"),
    [
        ('"mast step"', {"step.md"}),
        ("\u201cmast step\u201d", {"step.md"}),
        ("mast -keel", {"mast.md"}),
        ('mast -"mast step"', {"mast.md"}),
        ('"Chest<Oars>"', {"spelt.md"}),
        ('"winch.turn(slow"', {"pasted.md"}),
        ("look -deep", {"find.md"}),
        ('"step mast"', {"step.md", "mast.md"}),  # nobody says so: words
        ('"mast step', {"step.md", "mast.md"}),
        ("-keel", {"step.md", "signs.md"}),
        ("?!", set()),
    ],
)
def test_phrases_in_quotes_are_found_and_words_with_a_minus_are_not(retriever, query, pages):
    assert set(found(retriever, query)) == pages


def test_long_and_odd_queries_are_answered(retriever):
    for query in ('"a b" ' * 30_000, "-a " * 60_000, '"' * 200_000, "mast " + "\u0301" * 200_000):
        retriever.search(query, 1, "lexical")


def test_a_path_is_the_same_in_any_form(retriever):
    for path in ("caf\u00e9/*", "cafe\u0301/*", "caf\u00e9/port.md"):
        hits = retriever.search("pinguino", 5, "lexical", where=Filter(paths=(path,)))
        assert [hit.document_id for hit in hits] == ["cafe\u0301/port.md"]


def test_what_is_typed_is_cut_by_the_same_rule(retriever):
    for typed in ("ping\u00fci", "hoist_main", "hoistM", "\U0001f6a2", "C++", "Ankerkettenl"):
        assert complete(retriever.opened, typed, 3)[0], typed
    assert help_with(retriever.opened, "maast -keel").meant == "mast -keel"


def test_highlights_are_of_whole_words(retriever):
    [hit] = retriever.search("ankerkettenl\u00e4nge", 1, "lexical")
    [(start, end)] = hit.highlights
    assert hit.snippet[start:end] == "Ankerkettenl\u00e4nge"
    [hit] = retriever.search("main", 1, "lexical", where=Filter(paths=("hoist.md",)))
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["hoistMainSail"]


@pytest.mark.parametrize(
    ("query", "marked"),
    [("maxsailarea", ["max_sail_area"]), ("foretop", ["fore-top"]), ("bowrope", ["bow", "rope"]), ("urk", ["U.R.K"])],
)
def test_another_spelling_is_set_off_as_a_whole_and_not_doubted(retriever, query, marked):
    hits = retriever.search(query, 1, "lexical")
    assert [hits[0].snippet[start:end] for start, end in hits[0].highlights] == marked
    assert hits.confident


def test_presence_is_the_share_of_what_is_typed(retriever):
    lexical = retriever.opened.lexical
    place = {retriever.units[number].document_id: number for number in range(len(retriever.units))}
    units = [place["hoist.md"], place["sail.md"], place["cpp.md"]]
    assert lexical.presence("--no-jib", units).tolist() == [1, 0, 0]
    assert lexical.presence("crane.lift() C++", units).tolist() == pytest.approx([0.5, 0, 0.5], abs=0.1)
    assert lexical.presence("", units).tolist() == [0, 0, 0]
    assert lexical.presence("max sail area", units).tolist() == pytest.approx([1, 0.5, 0], abs=0.2)
    some = lexical.presence("hoist the main sail area", units)
    assert some[1] == 1
    assert some[2] == 0
