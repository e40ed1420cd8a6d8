"""A page that is there in several languages, side by side, is one result, with the places of its other languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from structformer import Retriever
from structformer.ingestion import ingest
from structformer.retrieval.hits import Filter, Hit
from structformer.retrieval.indexing import build_index
from structformer.text.id_marks import language_marks

from conftest import write_pages
from structformer_serve.app import Application
from structformer_serve.http.access import Access
from structformer_serve.http.options import ServerOptions
from structformer_serve.schemas import SearchRequest
from structformer_serve.service import SearchService

INSTALL = {
    "en": "# Install\n\nInstall the harbour server with one command. It needs no database and no other program. "
    "Restart it when the settings have changed, and look at the log if a ship does not appear.\n",
    "fr": "# Installer\n\nInstallez le serveur du port avec une seule commande. Il n'a besoin d'aucune base de données "
    "ni d'un autre programme. Redémarrez-le quand les réglages ont changé, et lisez le journal si un navire manque.\n",
    "de": "# Installieren\n\nInstallieren Sie den Server des Hafens mit einem Befehl. Er braucht keine Datenbank und "
    "kein anderes Programm. Starten Sie ihn neu, wenn sich die Einstellungen geändert haben.\n",
    "zh": "# 安装\n\n用一条命令安装港口服务器。它不需要数据库，也不需要其他程序。更改设置后请重新启动服务器，"
    "如果船没有出现，请查看日志。每天晚上检查一次绳索，因为潮水会抬起船只。\n",
    "pt": "# Instalar\n\nInstale o servidor do porto com um só comando. Ele não precisa de banco de dados nem de outro "
    "programa. Reinicie-o quando as configurações mudarem e veja o registro se um navio não aparecer.\n",
}
MOOR = {
    "en": "# Moor\n\nMoor the boat with two ropes at the old quay. Check the ropes every evening, since the tide lifts "
    "the ship and lets it down again. Never tie it to the server's mast.\n",
    "fr": "# Amarrer\n\nAmarrez le bateau avec deux cordes au vieux quai. Contrôlez les cordes chaque soir, car la marée "
    "soulève le navire et le laisse redescendre. Ne l'attachez jamais au mât du serveur.\n",
}
LIST = "# List\n\nShows what is in the harbour at this moment, one ship a line, with the time at which each came in.\n"


def declaring(language: str, text: str) -> str:
    return f"---\nlang: {language}\n---\n\n{text}"


def indexed(folder: Path, pages: dict[str, str]) -> Path:
    ingest(write_pages(folder / "docs", pages), folder / "w", workers=1)
    build_index(folder / "w", encoders=[])
    return folder / "w"


def found(workspace: Path, query: str, where: Filter | None = None) -> list[Hit]:
    return list(Retriever.open(workspace).search(query, pipeline="lexical", group=True, where=where))


def together(workspace: Path) -> list[set[str]]:
    """The documents of each result of several languages."""
    opened = Retriever.open(workspace).opened
    pages: dict[int, set[str]] = {}
    for number, document in enumerate(opened.documents):
        pages.setdefault(opened.page(number), set()).add(document.id)
    return [names for names in pages.values() if len(names) > 1]


@pytest.fixture(scope="module")
def harbour(tmp_path_factory) -> Path:
    pages = {f"{language}/install.md": declaring(language, INSTALL[language]) for language in ("en", "fr", "de")}
    pages |= {f"{language}/moor.md": declaring(language, text) for language, text in MOOR.items()}
    pages["en/list.md"] = declaring("en", LIST)
    return indexed(tmp_path_factory.mktemp("harbour"), pages)


def test_a_page_in_three_languages_is_one_result(harbour):
    hits = found(harbour, "Server serveur server")
    pages = [{hit.document_id, *(each.document_id for each in hit.also_in)} for hit in hits]
    assert sorted(pages, key=len) == [
        {"en/moor.md", "fr/moor.md"},
        {"en/install.md", "fr/install.md", "de/install.md"},
    ]
    assert all(each.document_id.startswith(f"{each.language}/") for hit in hits for each in hit.also_in)
    assert all(hit.also_at == () for hit in hits)


def test_the_one_in_the_querys_language_is_shown(harbour):
    # The other page has more of these words.
    french = found(harbour, "comment est-ce que je dois attacher le bateau: moor quay tide")[0]
    assert (french.document_id, [each.document_id for each in french.also_in]) == ("fr/moor.md", ["en/moor.md"])
    english = found(harbour, "how do I make the boat fast when there is a mast: amarrez cordes quai marée")[0]
    assert (english.document_id, [each.document_id for each in english.also_in]) == ("en/moor.md", ["fr/moor.md"])


def test_where_the_querys_language_cannot_be_told_the_best_is_shown(harbour):
    assert found(harbour, "quay")[0].document_id == "en/moor.md"
    assert found(harbour, "navire")[0].document_id.startswith("fr/")


def test_the_command_names_the_languages_and_so_does_its_json(run, harbour):
    asked = ("search", "le serveur du port: server", "--group", "--pipeline", "lexical", "-k", 1, "-w", harbour)
    assert "    also in English: en/install.md\n" in run(*asked, "--path", "[ef]*").out
    [hit] = run(*asked, "--path", "[ef]*", "--json").json["hits"]
    assert hit["document_id"] == "fr/install.md"
    assert hit["also_in"] == [{"document_id": "en/install.md", "anchor": "", "language": "en"}]
    assert hit["also_at"] == []


def test_a_translation_that_a_filter_hides_is_not_named(harbour):
    [hit, *_] = found(harbour, "commande command", Filter(metadata={"language": "fr"}))
    assert (hit.document_id, hit.also_in) == ("fr/install.md", ())
    [hit, *_] = found(harbour, "commande command", Filter(paths=("en/*",)))
    assert (hit.document_id, hit.also_in) == ("en/install.md", ())


def test_who_may_not_see_a_translation_does_not_hear_of_it(harbour):
    request = SearchRequest(q="serveur server", pipeline="words")
    service = SearchService(harbour)
    everything = service.seen_by(Access("", Filter())).search(request)
    assert sorted(len(hit.also_in) for hit in everything.hits) == [1, 2]
    assert (everything.documents, everything.copies, everything.translations) == (2, 0, 3)
    english = service.seen_by(Access("english", Filter(("en/*",)))).search(request)
    assert {hit.document: hit.also_in for hit in english.hits} == {"en/install.md": [], "en/moor.md": []}
    assert (english.documents, english.copies, english.translations) == (2, 0, 0)


def test_the_page_and_the_api_name_the_other_languages_and_count_them(harbour):
    with TestClient(Application(SearchService(harbour), ServerOptions()).asgi, base_url="http://localhost") as client:
        answer = client.get("/api/search", params={"q": "moor ropes, amarrer cordes", "pipeline": "words"}).json()
        page = client.get("/", params={"q": "moor ropes, amarrer cordes", "pipeline": "words"}).text
    [hit] = answer["hits"]
    assert (answer["documents"], answer["copies"], answer["translations"]) == (1, 0, 1)
    [other] = hit["also_in"]
    assert {hit["document"], other["document"]} == {"en/moor.md", "fr/moor.md"}
    assert other["read"] == f"/read/{other['document']}"
    assert other["language_name"] == {"en": "English", "fr": "French"}[other["language"]]
    link = f'<a href="/read/{other["document"]}" hreflang="{other["language"]}" title="{other["document"]}">'
    assert f"{link}Also in {'English' if other['language'] == 'en' else 'Français'}</a>" in page
    assert "No sure match for" in page or "1 of 1 document · 1 translation" in page


def test_sections_and_runs_have_every_document_by_its_own_name(harbour):
    retriever = Retriever.open(harbour)
    sections = retriever.search("moor ropes, amarrer cordes", pipeline="lexical")
    assert {hit.document_id for hit in sections} == {"en/moor.md", "fr/moor.md"}
    assert all(hit.also_in == () for hit in sections)
    [ranked] = retriever.rank_documents(["moor ropes, amarrer cordes"], "lexical")
    assert {document for document, _ in ranked} == {"en/moor.md", "fr/moor.md"}


@pytest.mark.parametrize(
    "names",
    [
        {"en": "docs/en/install.md", "fr": "docs/fr/install.md", "de": "docs/de/install.md"},
        {"en": "install.md", "fr": "install.fr.md", "de": "install.de.md"},
        {"en": "install.md", "fr": "fr/install.md"},
        {"en": "README.md", "zh": "README_CN.md"},
        {"en": "README.md", "zh": "README.zh-Hans.md", "pt": "README-pt_BR.md"},
        {"zh": "README.md", "en": "README_en.md"},
        {"en": "english/install.md", "fr": "french/install.md"},
        {"en": "site/en/latest/install.md", "fr": "site/fr/latest/install.md"},
        {"en": "pages/common/tar.md", "fr": "pages.fr/common/tar.md"},
        {"en": "docs/admin/tar.md", "zh": "docs/translations/zh_CN/admin/tar.md"},
        {"en": "docs/x.md", "fr": "i18n/fr/docusaurus-plugin-content-docs/current/x.md"},
        {"en": "versioned_docs/version-1/x.md", "de": "i18n/de/docusaurus-plugin-content-docs/version-1/x.md"},
        {"en": "blog/x.md", "fr": "i18n/fr/docusaurus-plugin-content-blog/x.md"},
    ],
    ids=lambda names: " ".join(names.values()),
)
def test_how_the_languages_of_a_page_are_named(names, tmp_path):
    pages = {name: INSTALL[language] for language, name in names.items()}
    assert together(indexed(tmp_path, {**pages, "list.md": LIST})) == [set(names.values())]


@pytest.mark.parametrize(
    "pages",
    [
        {"commands/is/install.md": INSTALL["en"], "commands/install.md": MOOR["en"]},  # a command that is called `is`
        {"no/install.md": INSTALL["en"], "it/install.md": MOOR["en"]},
        {"fr/install.md": INSTALL["de"], "en/install.md": INSTALL["en"]},
        {"fr/install.md": INSTALL["fr"], "en/moor.md": INSTALL["en"]},
        {"v1/fr/install.md": INSTALL["fr"], "v2/en/install.md": INSTALL["en"]},
        {"en/install.fr.md": INSTALL["fr"], "install.md": INSTALL["en"]},  # two marks
        {"fr/install.md": INSTALL["fr"], "install.md": MOOR["fr"]},  # of one language
        {"fr/install.md": INSTALL["fr"], "en/install.md": "# Install\n\n`x`\n"},  # no text that tells
    ],
    ids=lambda pages: " ".join(pages),
)
def test_what_only_looks_like_a_translation_is_none(pages, tmp_path):
    assert together(indexed(tmp_path, {**pages, "list.md": LIST})) == []


def test_a_page_that_is_not_translated_yet_is_a_copy(tmp_path):
    pages = {"en/install.md": INSTALL["en"], "fr/install.md": INSTALL["en"], "de/install.md": INSTALL["de"]}
    [hit] = found(indexed(tmp_path, pages), "the server")
    assert hit.document_id == "en/install.md"
    assert [place.document_id for place in hit.also_at] == ["fr/install.md"]
    assert [place.document_id for place in hit.also_in] == ["de/install.md"]


def test_what_a_page_declares_counts_and_variants_are_told_apart_where_readers_do(tmp_path):
    pages = {
        "en/a.md": declaring("en-GB", "# A\n\nA.\n"),
        "pt/a.md": declaring("pt", "# B\n\nB.\n"),
        "pt-br/a.md": declaring("pt-BR", "# C\n\nC.\n"),
        "fr/a.md": declaring("en", INSTALL["fr"]),
    }
    workspace = indexed(tmp_path, pages)
    assert together(workspace) == [{"en/a.md", "pt/a.md", "pt-br/a.md"}]
    translations = Retriever.open(workspace).opened.translations
    assert set(translations.languages) == {"en", "pt", "pt-BR"}


def test_copies_of_a_page_and_of_its_translation_are_one_result(tmp_path):
    other = INSTALL["fr"].replace("une seule commande", "deux commandes, dont la seconde est la plus longue de toutes")
    pages = {f"{copy}/{language}/a.md": INSTALL[language] for copy in ("one", "two") for language in ("en", "de")}
    workspace = indexed(tmp_path, {**pages, "one/fr/a.md": INSTALL["fr"], "two/fr/a.md": other})
    # The second French page is no copy of the first, and so is not what the page is in French.
    assert together(workspace) == [{*pages, "one/fr/a.md"}]
    [hit, _] = found(workspace, "how do I install the server: serveur Server")
    assert hit.document_id == "one/en/a.md"
    assert [place.document_id for place in hit.also_at] == ["two/en/a.md"]
    assert {each.document_id: each.language for each in hit.also_in} == {
        "one/de/a.md": "de",
        "two/de/a.md": "de",
        "one/fr/a.md": "fr",
    }


def test_the_list_has_room_for_other_pages(tmp_path):
    pages = {f"{language}/install.md": text for language, text in INSTALL.items()}
    workspace = indexed(tmp_path, {**pages, "en/moor.md": MOOR["en"], "fr/moor.md": MOOR["fr"]})
    hits = Retriever.open(workspace).search("server serveur Server servidor 服务器", 2, "lexical", group=True)
    assert {hit.document_id.partition("/")[2] for hit in hits} == {"install.md", "moor.md"}


def test_a_damaged_table_of_translations_is_named(tmp_path, run):
    workspace = indexed(tmp_path, {f"{language}/moor.md": text for language, text in MOOR.items()})
    (table,) = workspace.rglob("translations.npy")
    table.write_bytes(table.read_bytes()[:-1])
    done = run("search", "moor", "-w", workspace)
    assert done.code != 0
    assert "translations.npy" in done.err


NAMES = st.sampled_from(["docs", "guide", "v1.2", "is", "api_reference", "get-started", "Überblick", "no"])


@given(st.lists(NAMES, max_size=3), NAMES, st.lists(NAMES, max_size=2), st.sampled_from([".", "_", "-"]))
def test_a_mark_is_found_wherever_it_is_in_a_path(before, name, after, separator):
    unmarked = "/".join([*before, *after, f"{name}.md"])
    for folder in (True, False):
        marked = {
            language: "/".join([*before, language, *after, f"{name}.md"])
            if folder
            else "/".join([*before, *after, f"{name}{separator}{language}.md"])
            for language in ("fr", "pt-BR", "zh-Hant")
        }
        families = [
            {mark.family for mark in language_marks(its) if mark.language == language and unmarked in mark.origins}
            for language, its in marked.items()
        ]
        assert set.intersection(*families)


@given(st.text("/._-frenzhCNptBR0", max_size=60))
def test_marks_of_any_id_are_few_and_name_languages(document_id):
    marks = language_marks(document_id)
    assert len(marks) <= 8
    assert all(mark.language.partition("-")[0].isalpha() and "\0" in mark.family for mark in marks)
