"""Every recipe of three pages, run as it is written on small sites: docs-teams.md, how-to.md and serve.md."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from docx import Document
from test_documentation import DOCS, ROOT, blocks, parsed

from conftest import write_pages
from processes import begin, program

PAGES = ("docs-teams.md", "how-to.md", "serve.md")
SITE = {
    "index.md": "# Boats\n\nHow to build and sail a small boat.\n",
    "guides/install.md": "# Install a mast\n\nTo install the mast, lift it into its step and fasten the shrouds.\n",
    "guides/sails.md": "# Sails\n\n## Reef a sail\n\nLower the halyard and tie the loose cloth with knots.\n",
    "public/anchor.md": "---\nstatus: released\n---\n# Anchor\n\nThe anchor holds the boat in the harbour.\n",
    "de/datei.md": "---\nlanguage: de\n---\n# Datei öffnen\n\nEine Datei mit der Karte des Hafens öffnen.\n",
    "drafts/new.md": "# A draft\n\nNobody shall read this draft.\n",
    "CHANGELOG.md": "# Changes\n\nInstall, sails, anchor and more.\n",
    "release-notes.md": "# Release notes\n\nInstall, sails, anchor and more.\n",
    "login.md": "# Log in\n\nHow to log in, and what to do without a password.\n",
    "search.toml": '[synonyms]\nk8s = "kubernetes"\n',
}
# What a reader writes in capitals, or has at another place.
NAMES = {"WORKSPACE": ".structformer", "/path/to/workspace": ".structformer", "/srv/docs": ".structformer"}
TRIES, PAUSE = 3000, 0.02
QUIET = {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
# Lines that are not run here, by what they begin with: why, or where they are.
ELSEWHERE = {
    "structformer experiment zero-shot": "plugins/structformer_lab/tests/test_experiments.py, with smaller models",
    "structformer finetune": "as above",
    "structformer plugins check textile": "tests/project/test_extending.py, which installs it",
    "pip install -e structformer-textile": "as above",
    "podman build": "needs podman and a network",
}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
# A model that is trained in seconds, as a reader's own structformer.toml would ask for it.
TINY = '[train]\nbase_model = "scratch"\nsize = "tiny"\nmax_steps = 2\n'


def recipes(page: str) -> list[list[str]]:
    """The commands of each block of a page."""
    texts = [text for language, text in blocks(DOCS / page) if language in ("", "sh", "bash")]
    return [[line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()] for text in texts]


RECIPES = [
    pytest.param(block, id=f"{page}: {block[0].partition('#')[0].strip()}") for page in PAGES for block in recipes(page)
]


def named(page: str, language: str) -> dict[str, str]:
    """The files of a page: blocks whose first line is a comment with the file's name."""
    found = ((re.match(r"# (\S+\.\w+)\n", text), text) for kind, text in blocks(DOCS / page) if kind == language)
    return {name[1]: text for name, text in found if name}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a shell that has `structformer`, and what is installed beside it."""
    own = program(tmp_path_factory.mktemp("programs") / "structformer").parent
    path = os.pathsep.join([str(own), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, **QUIET, "PATH": path}


def shell(line: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, str]) -> Path:
    """A folder as a docs team has it: pages, office files, pages as HTML, and a workspace that is indexed."""
    folder = tmp_path_factory.mktemp("site")
    write_pages(folder / "docs", SITE)
    (folder / "reports").mkdir()
    report = Document()
    report.add_heading("Report", 1)
    report.add_paragraph("The harbour was full of boats this summer.")
    report.save(str(folder / "reports" / "report.docx"))
    page = (
        "<html><body><h2 class=acme-name>Knots</h2><div class=acme-doc>Tie a bowline.<p class=acme-rail>Rail</p></div>"
    )
    write_pages(folder / "site", {"knots.html": page})
    for name in PAGES:
        write_pages(folder, named(name, "toml"))
    shell("structformer ingest docs && structformer index --encoder structure", folder, programs)
    return folder


def served(line: str, folder: Path, environment: dict[str, str], *, token: str = "") -> str:
    """Start the server of a line, ask for its page and a search, and end it. Returns the page."""
    words = [word.replace("0.0.0.0", "127.0.0.1") for word in shlex.split(line, comments=True)]
    words += ["--port", "0", *(["--no-open", "--train", "none"] if words[1] == "up" else [])]
    with (folder / "said.txt").open("w+b") as said:
        process = begin("-m", *words, cwd=folder, env=environment, files=(said, said))
        try:
            for _ in range(TRIES):
                remarks = (folder / "said.txt").read_text()
                if address := re.search(r"^(http://127\.0\.0\.1:\d+/)  \(.*Ctrl-C", remarks, re.MULTILINE):
                    break
                time.sleep(PAUSE)
            else:
                pytest.fail(remarks)
            answers = []
            for path in ("", "api/search?q=mast"):
                asked = urllib.request.Request(address[1] + path, headers={"Authorization": f"Bearer {token}"})
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    answers.append(answer.read().decode())
            if "--feedback" in words:  # a reader passes the first page over and opens the second one
                shown = ["guides/sails.md", "guides/install.md"]
                click = {"event": "click", "query": "install a mast", "shown": shown, "document": shown[1]}
                asked = urllib.request.Request(f"{address[1]}api/feedback", json.dumps(click).encode())
                asked.add_header("content-type", "application/json")
                urllib.request.urlopen(asked, timeout=60).close()
        finally:
            os.kill(process.pid, signal.SIGTERM)
            process.wait(60)
    return answers[0]


def test_every_line_that_is_not_run_is_there():
    every = [line for recipe in RECIPES for line in recipe.values[0]]
    assert not [start for start in ELSEWHERE if not any(line.startswith(start) for line in every)]


@pytest.mark.slow
@pytest.mark.parametrize("block", RECIPES)
def test_the_commands_of_a_block_run_one_after_the_other(block, site, tmp_path, programs):
    """In a copy of the site's folder. A server is started, asked and ended; what installs is compared with the extras."""
    folder = shutil.copytree(site, tmp_path / "site")
    if any("structformer ingest" in line for line in block):
        shutil.rmtree(folder / ".structformer")
    if "structformer train" in block:
        (folder / "structformer.toml").write_text(TINY)
    for line in block:
        for name, instead in NAMES.items():
            line = line.replace(name, instead)
        if line.startswith(tuple(ELSEWHERE)):
            continue
        if line.startswith("pip install"):
            [extras] = re.findall(r"'\.\[([\w,]+)\]'", line)
            assert set(extras.split(",")) <= EXTRAS.keys()
            assert (ROOT / shlex.split(line)[3]).is_file()
        elif " mcp add " in line or "--add-mcp" in line:
            words = shlex.split(line)
            parsed(json.loads(words[-1])["args"] if "--add-mcp" in words else words[words.index("structformer") + 1 :])
        elif re.match(r"structformer (up|serve) ", line):
            served_line(line, folder, programs)
        elif line.startswith("eval "):
            assert "structformer" in shell(f"{line}\ncomplete -p structformer", folder, programs)
        else:
            shell(line, folder, programs)


def served_line(line: str, folder: Path, programs: dict[str, str]) -> None:
    """A server's line; a website's is that of the folder `website`, served here."""
    token = tomllib.loads((folder / "tokens.toml").read_text())["tokens"][0]["token"] if "--tokens" in line else ""
    if "https://" not in line:
        assert "<form" in served(line, folder, programs, token=token)
        return
    write_pages(
        folder / "website" / "guide", {"index.html": "<title>Masts</title><main><h1>Masts</h1><p>A mast.</main>"}
    )
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder / "website"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = line.replace("https://docs.example.org", f"http://127.0.0.1:{server.server_port}")
        assert "<form" in served(f"{line} -w website-search", folder, programs)
        server.shutdown()


@pytest.mark.slow
def test_a_theme_of_ones_own_is_read_by_its_selectors(site, tmp_path, programs):
    [command] = re.findall(r"`(structformer ingest site/ --theme acme\.toml)`", (DOCS / "docs-teams.md").read_text())
    folder = shutil.copytree(site, tmp_path / "site", ignore=shutil.ignore_patterns(".structformer"))
    shell(command, folder, programs)
    shell("structformer index --encoder none", folder, programs)
    [hit] = json.loads(shell("structformer search 'tie a bowline' --json 2>/dev/null", folder, programs))["hits"]
    assert (hit["title"], hit["text"].split()) == ("Knots", ["Tie", "a", "bowline."])


# -- sites of generators ---------------------------------------------------------------------------------------------

URL = "https://docs.example.org/"


def workflow() -> list[str]:
    """The commands of the page's workflow for GitHub Pages, after what installs."""
    [text] = [text for text in named("docs-teams.md", "yaml").values() if "deploy-pages" in text]
    steps = [step["run"] for step in yaml.safe_load(text)["jobs"]["docs"]["steps"] if "run" in step]
    assert steps[0].startswith("pip install ")
    return steps[1:]


def addresses_are_pages(folder: Path, programs: dict[str, str]) -> None:
    """What is found leads to a file of the built site, and the search is there, with the box's script."""
    found = json.loads(shell("structformer search 'install the mast' --json 2>/dev/null", folder, programs))
    assert found["hits"]
    for hit in found["hits"]:
        path = urlsplit(hit["url"]).path.lstrip("/")
        assert hit["url"].startswith(URL)
        assert any((folder / "public" / each).is_file() for each in (path, f"{path}/index.html".lstrip("/"))), path
    for name in ("index.html", "404.html", "widget.js"):
        assert (folder / "public" / "find" / name).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["mkdocs", "material"])
def test_the_workflow_publishes_a_mkdocs_site_with_its_search(theme, tmp_path, programs):
    pytest.importorskip("mkdocs")
    if theme == "material":
        pytest.importorskip("material", reason="no mkdocs-material")
    write_pages(tmp_path / "docs", SITE)
    box = "plugins: [search, {structformer: {server: /find}}]"
    [line] = re.findall(r"mkdocs\.yml: `(plugins: .*?)` \(", (DOCS / "docs-teams.md").read_text(encoding="utf-8"))
    assert line.replace("https://search.example.org", "/find") == box
    (tmp_path / "mkdocs.yml").write_text(f"site_name: Boats\nsite_url: {URL}\ntheme: {{name: {theme}}}\n{box}\n")
    for command in workflow():
        shell(command, tmp_path, programs)
    addresses_are_pages(tmp_path, programs)
    assert 'src="/find/widget.js"' in (tmp_path / "public" / "index.html").read_text()
    assert (tmp_path / "public" / "search").is_dir()  # MkDocs' own


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["alabaster", "furo"])
def test_a_sphinx_site_gets_its_search_in_the_build(theme, tmp_path, programs):
    pytest.importorskip("sphinx", reason="no Sphinx")
    if not find_spec(theme):
        pytest.skip(f"no {theme}")
    [settings] = [text for name, text in named("how-to.md", "python").items() if name == "conf.py"]
    pages = {
        "index.rst": "Boats\n=====\n\n.. toctree::\n\n   mast\n",
        "mast.rst": "Mast\n====\n\nInstall the mast with its shrouds.\n",
    }
    write_pages(tmp_path / "source", {**pages, "conf.py": f"{settings}\nproject = 'Boats'\nhtml_theme = '{theme}'\n"})
    shell("python -m sphinx -q -b html source public", tmp_path, programs)
    page = (tmp_path / "public" / "mast.html").read_text()
    assert "structformer-search/widget.js" in page
    assert "structformer-search/index.html" in page  # where the theme's own field leads
    assert '"../mast.html"' in (tmp_path / "public" / "structformer-search" / "d" / "0.json").read_text()


# Sources and built pages in the form of three generators, made by hand: npm and Hugo are not asked for. The folder of
# pages, the settings, what a page becomes, and what docs-teams.md adds to `ingest`.
BY_HAND = {
    "Docusaurus 3": (
        "docs",
        {
            "docusaurus.config.js": f"export default {{url: '{URL[:-1]}', baseUrl: '/', presets: [['classic', {{}}]]}};\n"
        },
        "docs/{}/index.html",
        "",
    ),
    "VitePress 1": (
        "docs",
        {"docs/.vitepress/config.mts": "import {defineConfig} from 'vitepress'\nexport default defineConfig({})\n"},
        "{}.html",
        f" --base-url {URL} --url-rule html",
    ),
    "Hugo": ("content", {"hugo.toml": f'baseURL = "{URL}"\n'}, "{}/index.html", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("generator", BY_HAND)
def test_the_workflow_fits_sites_of_other_generators(generator, tmp_path, programs):
    source, settings, built, adds = BY_HAND[generator]
    assert adds in " ".join((DOCS / "docs-teams.md").read_text(encoding="utf-8").split()).replace("`", " ")
    texts = {name: text for name, text in SITE.items() if name.endswith(".md") and name.islower()}
    write_pages(tmp_path / source, texts)
    write_pages(tmp_path, settings)
    for name in texts:
        page = built.format(name.removesuffix(".md")).replace("index/index.html", "index.html")
        write_pages(tmp_path / "public", {page: "<p>built</p>"})
    for command in workflow()[1:]:
        shell(command.replace("ingest docs", f"ingest {source}{adds}"), tmp_path, programs)
    addresses_are_pages(tmp_path, programs)
