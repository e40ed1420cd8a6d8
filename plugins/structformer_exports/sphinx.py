"""A Sphinx extension: structformer's search on a built site, from a server or from the site's own files.

    # conf.py
    extensions = ["structformer_exports.sphinx"]
    structformer_server = "https://search.example.org"  # the box of that server on every page
    structformer_static = True                          # or: a search page that needs no server

With structformer_static, the built pages are read and learned from, docstrings and all. The theme's search field then
leads to a page that searches in the browser, by words and by the meaning learned, in the place of Sphinx's own search.

Either way a button appears where the theme has its search, and floats where the theme is unknown. structformer_own =
"keep" leaves the theme's own search beside it; structformer_target selects another place; structformer_label is its
text. With a server, structformer_path lets only documents be found whose ids match."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from structformer import __version__
from structformer.errors import StructformerError

FOLDER = "structformer-search"
# Pages that list or frame others, and what Sphinx keeps beside its pages.
_NOT_READ = ("genindex*.html", "py-modindex.html", "_modules", "_sources", "_static", "_images")
_OPTIONS = {"target": "", "own": "", "label": "Search", "path": "", "token": ""}


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls this."""
    app.add_config_value("structformer_server", "", "html")
    app.add_config_value("structformer_static", False, "html")
    for name, default in _OPTIONS.items():
        app.add_config_value(f"structformer_{name}", default, "html")
    app.connect("builder-inited", _add_box)
    app.connect("builder-inited", _leave_out_own_search)
    app.connect("html-page-context", _lead_to_search)
    app.connect("build-finished", _add_search)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}


def _add_box(app: Any) -> None:
    # Files that are added are beside _static; the search's folder is beside that one.
    server = app.config.structformer_server.rstrip("/") or (_is_static(app) and f"../{FOLDER}")
    if not server or app.builder.format != "html":
        return
    given = {name: getattr(app.config, f"structformer_{name}") for name in _OPTIONS}
    app.add_js_file(f"{server}/widget.js", **{f"data-{name}": value for name, value in given.items() if value})


def _is_static(app: Any) -> bool:
    return bool(app.config.structformer_static) and app.builder.format == "html"


def _leave_out_own_search(app: Any) -> None:
    if _is_static(app):
        app.builder.search = False  # no index of words; and search.html is free for a page of that name


def _lead_to_search(app: Any, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Themes ask pathto for "search" to fill in where their field leads."""
    if not _is_static(app):
        return
    pathto = context["pathto"]

    def to(name: str, *given: Any, **named: Any) -> str:
        address: str = pathto(f"{FOLDER}/index.html", 1) if name == "search" else pathto(name, *given, **named)
        return address

    context["pathto"] = to


def _add_search(app: Any, failure: Exception | None) -> None:
    if failure or not _is_static(app):
        return
    site, title = Path(app.outdir), str(app.config.html_title or app.config.project)
    shutil.rmtree(site / FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        workspace, search = f"{made}/workspace", f"{made}/search"
        pages = [f"--exclude={pattern}" for pattern in _NOT_READ]
        _run("ingest", str(site), "--format=html", "--include=*.html", *pages, "--base-url=none", workspace=workspace)
        _run("index", "--encoder=structure", workspace=workspace)
        _run("export", f"--site={search}", f"--title={title}", "--base-url=../", workspace=workspace)
        shutil.move(search, site / FOLDER)


def _run(*arguments: str, workspace: str) -> None:
    """The command in a process of its own: Sphinx's has other versions of what both use loaded, and other settings."""
    command = [sys.executable, "-P", "-m", "structformer", *arguments, "--quiet", "--workspace", workspace]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StructformerError(f"structformer {arguments[0]} on the built pages: {done.stderr.strip()}")
