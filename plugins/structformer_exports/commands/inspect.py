"""`structformer inspect`."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click
from structformer.cli import Output, common_options, default_option, path_option, printable, read_option_file
from structformer.document import Block, Document, inline_marks

_DOCUMENTS = 20
_SHOWN = 60  # characters of a block


@click.command("inspect")
@click.argument("source", metavar="[PATH]", required=False)
@click.option("--tree", is_flag=True, help="Sections with levels, word counts and anchors.  [default]")
@click.option("--links", is_flag=True, help="Links with kind, anchor text and target.")
@click.option("--text", is_flag=True, help="The sections' texts.")
@click.option("--blocks", is_flag=True, help="The parts of the texts: paragraphs, lists, tables, code, notes.")
@click.option("--losses", is_flag=True, help="Regions of a file whose words are missing from its document.")
@click.option("--format", "format_", metavar="NAME", help="Read files as this format.  [default: detected]")
@click.option("--suggest-mapping", is_flag=True, help="Propose a mapping (TOML) for the vocabulary of an XML file.")
@path_option("--mapping", "A TOML mapping for your own XML vocabulary.")
@default_option("--limit", _DOCUMENTS, "Documents shown.", type=click.IntRange(1))
@common_options
def command(
    source: str | None,
    losses: bool,
    format_: str | None,
    suggest_mapping: bool,
    mapping: Path | None,
    limit: int,
    workspace: Path,
    out: Output,
    **parts: bool,
) -> None:
    """Show what structformer reads from PATH, a file or folder, or from a document in the corpus, named by its id.
    Without PATH, show the corpus.
    """
    if suggest_mapping:
        click.echo(_suggested_mapping(source, format_ or "xml"), nl=False)
        return
    if losses:
        _show_losses(source, format_, workspace, out)
        return
    parts["tree"] |= not any(parts.values())
    total = 0
    shown: list[dict[str, Any]] = []
    options = {"mapping": read_option_file("mapping", mapping)} if mapping else {}
    documents = _documents(source, format_, workspace, options, limit + 1)
    for document in islice(documents, limit):
        total += 1
        if out.as_json:
            shown.append(_as_dict(document))
        else:
            for line in _lines(document, **parts):
                click.echo(printable(line))
    more = sum(1 for _ in islice(documents, 1))
    out.json(shown)
    if more:
        out.note(f"only the first {limit} documents are shown; --limit N shows more")
    if not total:
        out.note("no documents")


def _show_losses(source: str | None, format: str | None, workspace: Path, out: Output) -> None:
    from structformer.errors import UsageError
    from structformer.ingestion import find_losses, text_of
    from structformer.plugins import load_plugins

    if source is None or not Path(source).is_file():
        raise UsageError("--losses compares a file with what is read of it: name a file")
    documents = [*_documents(source, format, workspace, {}, sys.maxsize)]
    losses: list[str] = []
    if documents:
        read_by = load_plugins().format(documents[0].source.format)
        losses = [*map(str, find_losses(Path(source).read_bytes(), map(text_of, documents), read_by))]
    out.json(losses)
    for loss in losses:
        out.result(loss)
    if not losses:
        out.result("no region of words is lost")


def _documents(
    source: str | None, format: str | None, workspace: Path, options: dict[str, str], most: int
) -> Iterator[Document]:
    from structformer.corpus import Corpus
    from structformer.errors import UsageError
    from structformer.formats import Limits
    from structformer.ingestion import read
    from structformer.workspace import Workspace

    if source is None:
        yield from Corpus.open(workspace).documents()
    elif Path(source).exists():
        yield from read(Path(source), format, timeout=Limits().seconds, most=most, **options)
    elif Workspace(workspace).has("corpus"):
        yield Corpus.open(workspace).document(source)
    else:
        raise UsageError(f"{source} does not exist")


def _lines(document: Document, *, tree: bool, links: bool, text: bool, blocks: bool) -> Iterator[str]:
    yield f"{document.id}  {document.title!r}  ({document.source.format})"
    for section, path in document.root.walk_with_path():
        indent = "  " * len(path)
        if tree or text or blocks:
            level = "root" if section is document.root else f"h{section.level}" if section.level else "part"
            anchor = f" #{section.anchors[0]}" if section.anchors else ""
            yield f"{indent}{level} {section.title}{anchor}  [{section.word_count} words, {len(section.links)} links]"
        if text and section.text:
            yield from (f"{indent}  | {line}" for line in section.text.split("\n"))
        if blocks:
            yield from _block_lines(section.blocks, section.text, indent + "  ")
        if links:
            yield from (f"{indent}  {link.kind.value}: {link.text!r} -> {link.target}" for link in section.links)


def _block_lines(blocks: list[Block], text: str, indent: str) -> Iterator[str]:
    for block in blocks:
        detail = f" {block.detail}" if block.detail else ""
        own = f": {_shortened(text[block.start : block.end])}" if block.is_leaf else ""
        yield f"{indent}{block.kind.value}{detail}{own}"
        yield from _block_lines(block.children, text, indent + "  ")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."


def _block_as_dict(block: Block) -> dict[str, Any]:
    return {
        "kind": block.kind.value,
        **({"detail": block.detail} if block.detail else {}),
        "start": block.start,
        "end": block.end,
        **({"blocks": [_block_as_dict(each) for each in block.children]} if block.children else {}),
    }


def _as_dict(document: Document) -> dict[str, Any]:
    sections = [
        {
            "depth": len(path) - 1,
            "level": section.level,
            "title": section.title,
            "text": section.text,
            "anchors": list(section.anchors),
            "blocks": [_block_as_dict(block) for block in section.blocks],
            "spans": [
                {"kind": mark.kind.value, "start": mark.start, "end": mark.end} for mark in inline_marks(section.marks)
            ],
            "links": [{**asdict(link), "kind": link.kind.value} for link in section.links],
        }
        for section, path in document.root.walk_with_path()
    ]
    return {
        "id": document.id,
        "title": document.title,
        "format": document.source.format,
        "names": list(document.names),
        "language": document.language,
        "metadata": document.metadata,
        "sections": sections,
    }


def _suggested_mapping(source: str | None, format: str) -> str:
    from structformer.errors import UsageError
    from structformer.formats import SourceFile
    from structformer.plugins import load_plugins

    if source is None or not Path(source).is_file():
        raise UsageError("--suggest-mapping needs a file of the vocabulary")
    suggest = getattr(load_plugins().format(format), "suggest_mapping", None)
    if suggest is None:
        raise UsageError(f"the format {format!r} has no mappings")
    return str(suggest(SourceFile(Path(source).name, location=Path(source))))
