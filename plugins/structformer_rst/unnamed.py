"""References without text of their own, for which a site shows the title of what they point to."""

import re
from typing import Any

from docutils import nodes
from structformer.formats import INDEX_STEMS, Script, SourceFile, join, script_text, without_suffix

UNNAMED_CLASS = "structformer-unnamed"  # of such references in docutils' tree
# Pages that are made, and what they are called.
GENERATED = {"genindex": "Index", "modindex": "Module Index", "py-modindex": "Python Module Index", "search": "Search"}
_TITLED = (nodes.section, nodes.figure, nodes.table, nodes.container)
_TITLES = (nodes.title, nodes.caption)
SCRIPTS = {nodes.superscript: Script.RAISED, nodes.subscript: Script.LOWERED}
PAGE_SUFFIXES = (".rst", ".txt", ".md", "")
_TITLE_WITHIN = 65536  # bytes
_TITLE = re.compile(r"^[ \t]*(?P<title>[^\s.][^\n]*)\n(?P<line>[!-/:-@\[-`{-~])(?P=line){2,}[ \t]*$", re.MULTILINE)
_MARKDOWN_TITLE = re.compile(r"^#[ \t]+(?P<title>[^\n]+?)[ \t]*#*$", re.MULTILINE)
_ROLE = re.compile(r":[\w:+.-]+:`~?([^`<]*?)[ \t]*(?:<[^`<>]*>)?`")
_QUOTES = re.compile(r"(?<![`\w])(?:``|`|\*\*|\*)(?=\S)([^`*]+)(?:``|`|\*\*|\*)_{0,2}(?!\w)")
_ESCAPE = re.compile(r"\\(?:\s|(?=.))()")
_BREAKS = re.compile(r"[-_\s]+")


def titles_by_label(tree: Any) -> dict[str, str]:
    """Return the titles of sections and the captions of figures and tables by their labels."""
    titles: dict[str, str] = {}
    for node in tree.findall(lambda node: isinstance(node, _TITLED)):
        title = next((child for child in node.children if isinstance(child, _TITLES)), None)
        if title is not None:
            # By `:name:`, docutils names not a figure but the image in it.
            image = next(node.findall(nodes.image), node) if isinstance(node, nodes.figure) else node
            titles.update(dict.fromkeys((*node["ids"], *image["ids"]), _text_of(title)))
    return titles


def _text_of(title: Any) -> str:
    """Return the words of a title, its numbers as they are."""
    text = ""
    for part in title.findall(nodes.Text):
        script = SCRIPTS.get(type(part.parent))
        text += script_text(script, text[-2:], part.astext()) if script else part.astext()
    return " ".join(text.split())


def title_of_page(target: str, source: SourceFile) -> str:
    """The title of the page that a reference of a file leads to; "" where there is none in the ingested folder."""
    # which of the folders is the project's, nobody says
    above = source.path.count("/") if target.startswith("/") else 0
    for place in (f"{'../' * number}{target.lstrip('/')}" for number in range(above, -1, -1)):
        for suffix in PAGE_SUFFIXES:
            if (page := source.open(place + suffix)) is not None:
                start = page.read()[:_TITLE_WITHIN].decode("utf-8", "replace").replace("\r\n", "\n")
                found = (_MARKDOWN_TITLE if page.path.endswith(".md") else _TITLE).search(start)
                title = found["title"] if found else ""
                return _ESCAPE.sub(r"\1", _QUOTES.sub(r"\1", _ROLE.sub(r"\1", title))).strip()
    return ""


def words_of_path(path: str, source: str) -> str:
    """Return the text for a page titled in another file: the words of its name, or of an index page's folder."""
    whole = join("" if path.startswith("/") else source.rpartition("/")[0], path.lstrip("/")) or path
    folder, _, name = without_suffix(whole).rpartition("/")
    if name.lower() in INDEX_STEMS and (above := folder.rpartition("/")[2]).strip("."):
        name = above
    return words(name) or path


def words(name: str) -> str:
    """Return the words of a name, for what has its title in another file."""
    return _BREAKS.sub(" ", name).strip() or name
