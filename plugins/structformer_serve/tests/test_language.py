"""The page, the box and the static site in the reader's language."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from structformer.errors import UsageError
from structformer.ingestion import ingest
from structformer.retrieval.indexing import build_index

from conftest import write_pages
from structformer_serve import ServerOptions, export_site
from structformer_serve.app import Application
from structformer_serve.language import checked_language, language, languages
from structformer_serve.service import SearchService

FOLDER = files("structformer_serve") / "languages"
TABLES = {each.name.removesuffix(".toml"): tomllib.loads(each.read_text("utf-8")) for each in FOLDER.iterdir()}
# Of each language numbers that have, together, all forms of it.
NUMBERS = (0, 1, 2, 3, 5, 11, 21, 22, 100, 111)
BROWSER = {"accept": "text/html", "accept-language": "de-AT,de;q=0.9,en;q=0.5"}
GERMAN = {
    "anleitung/index.md": "# Anleitung\n\nAlles zum Boot.\n\n## Wie legt man im Hafen an?\n\nMit zwei Leinen.\n",
    "anleitung/anker.md": "---\nversion: '2'\n---\n# Anker\n\n> [!WARNING]\n> Der Anker hält das Boot.\n\n![Kette](k.png)\n\n"
    "## Lichten\n\nDie Kette einholen, siehe [Anleitung](index.md).\n\n## Werfen\n\nDen Anker werfen.\n",
    "anleitung/mast.md": "---\nversion: '1'\n---\n# Mast\n\nDer Mast trägt die Segel.\n",
    "kopie/anker.md": "---\nversion: '2'\n---\n# Anker\n\n> [!WARNING]\n> Der Anker hält das Boot.\n\n![Kette](k.png)\n\n"
    "## Lichten\n\nDie Kette einholen, siehe [Anleitung](index.md).\n\n## Werfen\n\nDen Anker werfen.\n",
    **{f"teile/teil{n}.md": f"# Teil {n}\n\nDer Teil {n} gehört zum Boot und zum Hafen.\n" for n in range(12)},
}
SIGNS = r"[^\W\d_]{3,}"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("german")
    write_pages(folder / "seiten", GERMAN)
    ingest(folder / "seiten", folder / "w", workers=1)
    build_index(folder / "w", encoders=["structure"])
    return folder / "w"


def client(workspace: Path, **options: Any) -> TestClient:
    given = ServerOptions(feedback=True, **options)
    service = SearchService(workspace, "Boote", feedback=True, language=given.language)
    return TestClient(Application(service, given, watch=False).asgi, base_url="http://localhost:8765")


def strings(table: Any) -> Iterator[str]:
    for value in table.values() if isinstance(table, dict) else ():
        yield from [value] if isinstance(value, str) else strings(value)


def english_words(page: str) -> set[str]:
    """The words of a page that our English has and our German has not, in texts and in attributes that are read."""
    page = re.sub(r"(?s)<(script|code|pre|style)\b.*?</\1>", " ", page)
    shown = re.findall(r'(?:title|alt|placeholder|aria-label)="([^"]*)"', page)
    told = unescape(" ".join([re.sub(r"<[^>]*>", " ", page), *shown])).lower()
    ours, theirs = (set(re.findall(SIGNS, " ".join(strings(TABLES[code])).lower())) for code in ("en", "de"))
    return (set(re.findall(SIGNS, told)) & ours) - theirs


def test_no_string_is_missing_in_any_language_and_none_has_other_values():
    english = TABLES["en"]
    for code, table in TABLES.items():
        assert {name: [*part] for name, part in table.items() if isinstance(part, dict)} == {
            name: [*part] for name, part in english.items() if isinstance(part, dict)
        }, code
        forms = {language(code).plural(number) for number in NUMBERS}
        for name, string in language(code).strings.items():
            own = language("en").strings[name]
            assert isinstance(string, dict) == isinstance(own, dict), (code, name)
            if isinstance(string, dict):
                assert set(string) >= forms | {"other"}, (code, name)
                string, own = string["other"], own["other"]
            assert set(re.findall(r"{\w+}", string)) | {"{reason}"} == set(re.findall(r"{\w+}", own)) | {"{reason}"}, (
                code,
                name,
            )
    assert {"ar", "de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"} <= set(languages())


def test_numbers_have_the_forms_of_their_language():
    assert [language("ru")("found", number) for number in (1, 3, 5, 21)] == [
        "1 результат",
        "3 результата",
        "5 результатов",
        "21 результат",
    ]
    assert [language("ar").plural(number) for number in (0, 1, 2, 7, 15, 100)] == [
        "zero",
        "one",
        "two",
        "few",
        "many",
        "other",
    ]
    assert (language("fr")("found", 0), language("pt-BR")("found", 1)) == ("0 résultat", "1 resultado")
    assert language("de")("found", 12345) == "12.345 Ergebnisse"


def test_a_language_without_strings_is_english_and_a_wrong_one_is_refused():
    assert language("xx", "fr-CA").code == "fr"
    assert language("xx").code == "en"
    with pytest.raises(UsageError, match="--language takes ar, de, en"):
        checked_language("xx")


def test_nothing_on_a_german_page_is_english(workspace):
    with client(workspace) as found:
        for address in (
            "/",
            "/?folder=teile",
            "/?q=anker",
            "/?q=anker+werfen&where=version=2",
            "/?q=zebra+kubernetes",
            "/?q=hafne",
            "/?q=xqzt&path=nirgends/*",
            "/?q=anker&pipeline=words",
            "/read/anleitung/anker.md",
            "/preview/anleitung/anker.md",
            "/read/nirgends.md",
            "/nirgends",
        ):
            page = found.get(address, headers=BROWSER).text
            assert "/preview" in address or '<html lang="de"' in page
            assert not english_words(page), address
        assert "Warnung" in found.get("/read/anleitung/anker.md").text
        assert "[Bild: " in found.get("/read/anleitung/anker.md").text


def test_folders_have_one_name_on_cards_and_among_filters(workspace):
    with client(workspace) as found:
        for page in (found.get("/").text, found.get("/?q=anker").text):
            assert re.search(r">(<b>)?Anleitung(</b>)?</(a|h2|h3|summary)>", page)
        assert not re.search(r">(anleitung|teile|kopie)</a>", found.get("/?q=anker").text)


def test_the_language_of_the_page_is_that_of_its_documents_or_the_chosen_one(workspace):
    with client(workspace, language="fr") as found:
        page = found.get("/?q=anker").text
    assert '<html lang="fr">' in page
    assert '<li dir="auto" lang="de">' in page
    with client(workspace, language="ar") as found:
        assert '<html lang="ar" dir="rtl">' in found.get("/").text


def test_a_page_of_another_script_has_no_language_that_it_is_not_written_in(tmp_path):
    arabic = "كيف ترفع الشراع عندما تهب الرياح القوية في البحر وتعود إلى الميناء؟ اربط الحبل جيدًا."
    pages = {f"{n}.md": f"# الصفحة {n}\n\n{arabic}\n" for n in range(5)}
    write_pages(tmp_path / "pages", {**pages, "sail.md": "# Sail\n\nHoist it.\n"})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    with client(tmp_path / "w") as found:
        assert '<html lang="ar" dir="rtl">' in found.get("/").text
        assert '<article dir="auto">' in found.get("/read/sail.md").text
        assert '<article dir="rtl">' in found.get("/read/1.md").text


def test_the_static_site_speaks_it_too(workspace, tmp_path):
    export_site(workspace, tmp_path / "site")
    for name in ("index.html", "404.html"):
        page = (tmp_path / "site" / name).read_text("utf-8")
        assert '<html lang="de">' in page
        assert not english_words(page), name
    assert (tmp_path / "site" / "language-de.json").is_file()
    export_site(workspace, tmp_path / "french", code="fr")
    assert '<html lang="fr">' in (tmp_path / "french" / "index.html").read_text("utf-8")
