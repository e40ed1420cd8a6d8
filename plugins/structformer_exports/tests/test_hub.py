"""Models go to a hub and come back: the kept client against a stand-in on this machine."""

from __future__ import annotations

import base64
import json
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import ModelCard, constants
from structformer import Corpus, ingest, train
from structformer.models.registry import checked_model, read_record, write_record
from structformer.storage.seal import seal
from structformer.training import TrainingOptions
from structformer.training.run.saving import write_card
from structformer.workspace import Workspace

from boats import TINY, boats

COMMIT = "c" * 40


class Hub(ThreadingHTTPServer):
    """Keeps what is sent, as the hub does: {repository: {path: bytes}}."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.asked: list[str] = []


class Asked(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, body: bytes, code: int = 200, **headers: str) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def say(self, value: object) -> None:
        self.answer(json.dumps(value).encode(), Content_Type="application/json")

    def do_POST(self) -> None:
        self.server.asked.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/repos/create":
            wanted = json.loads(body)
            repo = f"{wanted['organization']}/{wanted['name']}"
            self.server.repositories.setdefault(repo, {})
            self.server.private[repo] = wanted.get("private", False) or wanted.get("visibility") == "private"
            return self.say({"url": f"http://127.0.0.1:{self.server.server_port}/{repo}"})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            return self.say(
                {"files": [{"path": each["path"], "uploadMode": "regular", "shouldIgnore": False} for each in files]}
            )
        if "/commit/" in self.path:
            repo = self.path.removeprefix("/api/models/").partition("/commit/")[0]
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.server.repositories[repo][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            return self.say({"commitUrl": f"{self.path}/{COMMIT}", "commitOid": COMMIT, "success": True})
        if self.path == "/api/validate-yaml":
            return self.say({"errors": [], "warnings": []})
        return self.answer(b"", 404)

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        repo, _, rest = self.path.removeprefix("/api/models/").lstrip("/").partition("/resolve/")
        if rest:
            file = self.server.repositories.get(repo, {}).get(rest.partition("/")[2])
            if file is None:
                return self.answer(b"", 404, X_Error_Code="EntryNotFound")
            return self.answer(file, ETag=f'"{hash(file) & 0xFFFFFFFF:x}"', X_Repo_Commit=COMMIT)
        repo = repo.partition("/revision/")[0]
        if repo not in self.server.repositories:
            return self.answer(b"", 404, X_Error_Code="RepoNotFound")
        files = [{"rfilename": name} for name in self.server.repositories[repo]]
        return self.say({"id": repo, "modelId": repo, "sha": COMMIT, "siblings": files})

    do_HEAD = do_GET


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with Hub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("HF_TOKEN", "hf_nobody")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = boats(tmp_path_factory.mktemp("hub"))
    train(folder, TINY)
    return folder


def test_a_model_that_was_pushed_is_pulled_into_another_workspace(hub, trained, run, tmp_path):
    model = trained / "models" / "bi-encoder"
    pushed = run("push", "bi-encoder", "sailors/boats", "-w", trained)
    assert pushed.code == 0, pushed.err
    assert pushed.out.endswith("/sailors/boats\n")
    assert hub.private == {"sailors/boats": True}
    kept = hub.repositories["sailors/boats"]
    assert kept["model.safetensors"] == (model / "model.safetensors").read_bytes()
    assert "structformer pull sailors/boats" in kept["README.md"].decode()
    assert not [name for name in kept if "seal" in name or name == "command.json"]
    assert not [name for name, content in kept.items() if str(tmp_path.parent).encode() in content]

    pulled = run("pull", f"sailors/boats@{COMMIT}", "--name", "theirs", "-w", tmp_path / "other")
    assert pulled.code == 0, pulled.err
    there = tmp_path / "other" / "models" / "theirs"
    assert (there / "model.safetensors").read_bytes() == kept["model.safetensors"]
    assert read_record(tmp_path / "other", "theirs").fingerprint == read_record(trained, "bi-encoder").fingerprint
    assert checked_model(tmp_path / "other", "theirs") == there  # its files are sealed again


def test_what_is_sent_names_no_place_of_this_machine(hub, trained, run, tmp_path):
    base = tmp_path / "bases" / "our-base"
    shutil.copytree(trained / "models" / "bi-encoder", base)
    ingest(trained.parent / "pages", tmp_path / "w")
    size = TrainingOptions().size
    train(tmp_path / "w", replace(TINY, size=size, base_model=str(base), train_from=str(trained), name="theirs"))
    record = read_record(tmp_path / "w", "theirs")
    model = tmp_path / "w" / "models" / "theirs"
    write_record(model, replace(record, base=str(base), documents=str(tmp_path / "few")))
    seal(model)
    report = tmp_path / "w" / "evaluation" / "people" / "report.md"
    report.parent.mkdir(parents=True)
    report.write_text(f"| run({base}) | 0.5 |, see https://example.org{base}, and/or /no/such-place\n")

    assert run("push", "theirs", "a/b", "--evaluation", "people", "-w", tmp_path / "w").code == 0
    kept = hub.repositories["a/b"]
    there = {name for name, content in kept.items() if re.search(rb"(?<!org)" + bytes(tmp_path), content)}
    assert there | {name for name, content in kept.items() if bytes(trained) in content} == set()
    card = kept["README.md"].decode()
    assert "of the workspace `w`" in card
    assert f"| run(our-base) | 0.5 |, see https://example.org{base}, and/or /no/such-place\n" in card
    sent = json.loads(kept["structformer.json"])
    assert (sent["base"], sent["base_location"], sent["documents"]) == ("our-base", "our-base", "few")
    assert (sent["training"]["options"]["train_from"], sent["training"]["options"]["base_model"]) == ("w", "our-base")


def test_the_table_of_an_evaluation_goes_into_the_card(hub, trained, run):
    folder = trained / "evaluation" / "people"
    folder.mkdir(parents=True)
    (folder / "report.md").write_text("| BM25 | 0.5 |\n")
    assert "choose from: people" in run("push", "bi-encoder", "a/b", "--evaluation", "others", "-w", trained).err
    assert hub.asked == []
    assert run("push", "bi-encoder", "a/b", "--evaluation", "people", "-w", trained).code == 0
    assert "## Compared with BM25\n\n| BM25 | 0.5 |" in hub.repositories["a/b"]["README.md"].decode()


def test_a_hub_reads_the_cards_metadata(trained):
    folder = trained / "models" / "bi-encoder"
    card = ModelCard.load(folder / "README.md")
    assert card.data.language == ["en"]
    assert card.data.tags == ["structformer", "bi-encoder"]
    assert "license" not in card.data.to_dict()  # of a base that nobody has named
    corpus = Corpus.open(trained)
    assert f"{Workspace(trained).title}: {corpus.document_count} documents" in card.text
    record = read_record(trained, "bi-encoder")
    bge, minilm = "BAAI/bge-small-en-v1.5", "sentence-transformers/all-MiniLM-L6-v2"
    for base, named, licence in ((bge, bge, "mit"), ("minilm", minilm, "apache-2.0")):
        write_card(folder, replace(record, base=base), corpus, "boats: a 'book'")
        card = ModelCard.load(folder / "README.md")
        assert (card.data.license, card.data.base_model) == (licence, named)
        assert f"boats: a 'book': {corpus.document_count} documents" in card.text


def test_what_others_put_on_a_hub_is_not_taken_for_a_model(hub, trained, run, tmp_path):
    hub.repositories["a/theirs"] = {"config.json": b"{}", "pytorch_model.bin": b"x"}
    assert "use it as --base-model a/theirs" in run("pull", "a/theirs", "-w", tmp_path / "w").err
    assert run("push", "bi-encoder", "a/ours", "-w", trained).code == 0
    hub.repositories["a/ours"].update(
        {"../out.json": b"{}", "modeling.py": b"raise", "model.bin": b"x", "seal.json": b"{}"}
    )
    assert run("pull", "a/ours", "-w", tmp_path / "w").code == 0
    model = tmp_path / "w" / "models" / "ours"
    assert not list((tmp_path / "w").rglob("out.json"))
    assert not {"modeling.py", "model.bin"} & {path.name for path in model.iterdir()}
    hub.repositories["a/ours"]["structformer.json"] = b"{}"
    assert "is not a model's record" in run("pull", "a/ours", "-w", tmp_path / "w").err


def test_a_hub_that_refuses_is_one_line(hub, trained, run, tmp_path):
    refused = run("pull", "a/nothing", "-w", tmp_path / "w")
    assert refused.code == 1
    assert refused.err.startswith("error: the hub refused a/nothing: ")
    assert refused.err.count("\n") == 1
    assert "is not the name of a model" in run("push", "bi-encoder", "a/b/c", "-w", trained).err


def test_a_hub_that_cannot_be_reached_is_one_line(hub, trained, run, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # where nothing listens
    for lost in (run("pull", "a/b", "-w", tmp_path / "w"), run("push", "bi-encoder", "a/b", "-w", trained)):
        assert lost.code == 1
        assert lost.err.startswith("error: the hub could not be reached for a/b: ")
        assert lost.err.count("\n") == 1
