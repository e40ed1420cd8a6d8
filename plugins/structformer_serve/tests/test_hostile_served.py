"""What documents say of themselves costs no door a thing: pages, JSON, lists for language models, MCP, the static site."""

from __future__ import annotations

import json

import pytest
from structformer import Corpus, export, index, ingest
from structformer.errors import StructformerError
from test_hostile_metadata import ODD, OURS

from structformer_serve.mcp_server import Answers
from structformer_serve.service import SearchService
from test_serving import client


def test_any_metadata_passes_every_door(tmp_path):
    records = [
        {
            key: value,
            "more": value,
            "id": f"d{number}-{place}",
            "title": f"Title {number}",
            "text": f"apples r{number}p{place}",
        }
        for number, key in enumerate(OURS[3:])
        for place, value in enumerate(ODD)
        if key != "title"
    ]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "records.jsonl").write_text("\n".join(map(json.dumps, records)))
    ingest(tmp_path / "docs", tmp_path / "w", workers=1)
    index(tmp_path / "w", encoders=())
    names = list(Corpus.open(tmp_path / "w").document_ids())
    assert len(names) == len(records)
    export("site", tmp_path / "site", tmp_path / "w")
    with client(tmp_path / "w") as server:
        found = server.get("/api/search", params={"q": "apples", "k": 100, "explain": True})
        assert (found.status_code, len(found.json()["hits"])) == (200, 100)
        for path in ("/?q=apples", "/", "/llms.txt", "/llms-full.txt", "/api/status", "/openapi.json"):
            assert server.get(path).status_code == 200, path
        for name in sorted(names)[::7]:
            for path in ("/read/", "/api/document/", "/api/section/"):
                assert server.get(path + name).status_code == 200, path + name
    answers = Answers(SearchService(tmp_path / "w"))
    assert "apples" in answers.found("apples", 10, "", 4000)[0]
    assert "d1-0" in answers.outline("", "", 100_000)
    for name in sorted(names)[::7]:
        assert "apples" in answers.read(name, True, 4000)
    for anchor in ("s" + "9" * 5000, "s²", "\ud800"):
        with pytest.raises(StructformerError, match="has no section"):
            answers.read(f"{names[0]}#{anchor}", True, 4000)
