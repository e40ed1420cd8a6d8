"""What a word is: the table that the script of the search without a server is run against too, and laws."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer.text.words import IGNORABLE, asked, bare_words, names_of, normal, spaced, written_words

TABLE = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
UNSEEN = st.sampled_from("\u00ad\u200b\u2060\ufeff")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["text"][:20])
def test_a_text_has_these_words_forms_and_names(row):
    text = row["text"]
    assert (bare_words(text), spaced(text), names_of(text)) == (row["words"], row["forms"], row["names"])


@given(st.text(st.characters(exclude_categories=["Cs", "Cn", "Co"]), max_size=40), st.data())
def test_forms_of_unicode_case_and_what_is_not_seen_make_no_difference(text, data):
    for form in ("NFC", "NFD"):
        assert bare_words(unicodedata.normalize(form, text)) == bare_words(text)
        assert names_of(unicodedata.normalize(form, text)) == names_of(text)
    place = data.draw(st.integers(0, len(text)))
    assert bare_words(text[:place] + data.draw(UNSEEN) + text[place:]) == bare_words(text)
    assert bare_words(normal(text)) == bare_words(text)


@given(st.text(max_size=60))
def test_words_have_no_blanks_and_are_in_normal_form(text):
    for word in written_words(text):
        assert word == normal(word)
        assert not set(word) & set(IGNORABLE)
        assert spaced(word)


@pytest.mark.parametrize(
    ("query", "text", "phrases", "without"),
    [
        ('"mast step" -keel', "mast step", ("mast step",), ("keel",)),
        ("\u201cmast step\u201d wood", "mast step  wood", ("mast step",), ()),
        ('rig -"main sail"', "rig", (), ("main sail",)),
        ("hoist --fast -5 a-b", "hoist --fast -5 a-b", (), ()),
        ('"mast step', '"mast step', (), ()),
        ("-keel -mast", "-keel -mast", (), ()),
        ('mast "" "!"', 'mast ""  !', (), ()),
        ('hoist(sail, "main")', 'hoist(sail, "main")', (), ()),  # pasted code
    ],
)
def test_a_query_is_words_phrases_and_what_is_not_wanted(query, text, phrases, without):
    assert asked(query)[:3] == (text, phrases, without)


@pytest.mark.parametrize("piece", ['"a" ', '"', "-a ", "-", "a-", "a->", "\u0301", "Aa", "=/:@.", "\u201c", "\u3042"])
def test_long_queries_are_cut_in_a_moment(piece):
    query = piece * 50_000
    asked(query), spaced(query), names_of(query)
