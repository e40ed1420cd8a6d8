"""A Sphinx extension: the search box of a structformer server on every page of a built site.

    # conf.py
    extensions = ["structformer.adapters.sphinx"]
    structformer_server = "https://search.example.org"

structformer_target: a selector of where the button goes, else the end of the page; structformer_label: its text;
structformer_path: only documents whose ids match."""

from __future__ import annotations

from typing import Any

from structformer._version import __version__

_OPTIONS = {"target": "", "label": "Search", "path": "", "token": ""}


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls this."""
    app.add_config_value("structformer_server", "", "html")
    for name, default in _OPTIONS.items():
        app.add_config_value(f"structformer_{name}", default, "html")
    app.connect("builder-inited", _add_box)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}


def _add_box(app: Any) -> None:
    server = app.config.structformer_server.rstrip("/")
    if not server or app.builder.format != "html":
        return
    given = {name: getattr(app.config, f"structformer_{name}") for name in _OPTIONS}
    app.add_js_file(f"{server}/widget.js", **{f"data-{name}": value for name, value in given.items() if value})
