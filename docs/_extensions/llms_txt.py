"""Writes llms.txt beside the built pages: what the site holds, for programs that read it; and every page's source."""

from __future__ import annotations

import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

SUMMARY = (
    "structformer turns documents you already have into a search engine trained on their structure, without labels. "
    "Every page below is Markdown."
)


def write(app: Sphinx, failure: Exception | None) -> None:
    """After the build: the list of pages, and their sources where the list points."""
    if failure or app.builder.format != "html":
        return
    lines = ["# structformer", "", f"> {SUMMARY}", ""]
    for name in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(name))
        if source.suffix != ".md":
            continue
        title = app.env.titles[name].astext()
        first = next(iter(app.env.get_doctree(name).findall(nodes.paragraph)), None)
        about = " ".join(first.astext().split()) if first else ""
        lines.append(f"- [{title}]({name}.md): {about.partition('. ')[0].rstrip('.')}.")
        target = Path(app.outdir) / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    (Path(app.outdir) / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
