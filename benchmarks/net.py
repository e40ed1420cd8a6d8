"""The net that tells of lost words: its alarms on folders that are read well, and on readers made to lose words.

    python benchmarks/net.py FOLDER [FOLDER ...] [--every 1] [--show 3]

First, of each folder: pages compared, share of the source's words that are in the text (least, median), files with an
alarm, a line of each of the first ones. Then four defects are put back one at a time, on a page of each: the alarm that
tells. Prints Markdown tables; exit code 1 when a defect is not told."""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from structformer.formats.source import SourceFile
from structformer.ingestion import find_losses, text_of
from structformer.plugins import load_plugins
from words_kept import claimed_files

PLUGINS = load_plugins()
_WORD = re.compile(r"(?<![^\s(>|{])[^\W\d_]{4,40}(?=[\s,.;:!?)<|}])")
PROSE, OTHER = (
    " ".join(f"{'abcdefghij'[n % 10]}{topic}{'klmnopqrst'[n // 10 % 10]}{'uvwxy'[n // 100 % 5]}" for n in range(400))
    for topic in ("pan", "lid")
)


def share(data: bytes, texts: list[str], pattern: re.Pattern[str]) -> float:
    """Return the share of a source's words, without what is not text, that are in the texts."""
    known = set(re.findall(r"[^\W\d_]{4,40}", "\n".join(texts)))
    words = _WORD.findall(pattern.sub(" ", data.decode("utf-8", "replace")))
    return sum(word in known for word in words) / len(words) if words else 1.0


def measure(folder: Path, every: int, show: int) -> None:
    """Print a folder's row and its first alarms."""
    shares, alarms = [], []
    for _, format, source in claimed_files(folder, every):
        texts = [text_of(each) for each in format.read(source, {})] if hasattr(format, "not_text") else []
        if texts:
            data = source.read()
            shares.append(share(data, texts, format.not_text))
            alarms += [f"{source.path}: {loss}" for loss in find_losses(data, texts, format)[:1]]
    least, median = (min(shares), statistics.median(shares)) if shares else (0, 0)
    print(f"| {folder.name} | {len(shares):,} | {least:.0%} | {median:.1%} | {len(alarms)} |", flush=True)
    for alarm in alarms[:show]:
        print(f"  {alarm}", file=sys.stderr)


def is_told(defect: str, name: str, page: str, **patches: object) -> bool:
    """Print the alarms of a page before and after its reader is patched; True if only the second has one."""
    format, data = PLUGINS.format(name), page.encode()

    def losses() -> list[str]:
        texts = [text_of(each) for each in format.read(SourceFile(f"a{format.suffixes[0]}", data), {})]
        return [str(each) for each in find_losses(data, texts, format)]

    before = losses()
    with ExitStack() as stack:
        for place, value in patches.items():
            stack.enter_context(mock.patch(place.replace("__", "."), value))
        after = losses()
    print(f"| {defect} | {len(before)} | {after[0][:100] if after else 'none'} |")
    return not before and bool(after)


def _to_the_end(cursor: Any, name: str, ends: object = ()) -> str:
    cursor.position, start = len(cursor.text), cursor.position
    return str(cursor.text[start:])


def defects() -> bool:
    """Put four known defects back into their readers, one at a time. Return whether each raises an alarm."""
    print("\n| defect | alarms before | alarm after |\n|---|---|---|")
    environment = "\\newenvironment{solution}{\\comment}{\\endcomment}\\begin{document}\\section{A}" + PROSE
    latex = environment + "\\begin{solution}x\\end{solution}\\section{B}" + OTHER + "\\end{document}"
    rest = f"<section><title>{OTHER}</title><para>End.</para></section>"
    title = f"<article><title>A</title><para>{PROSE}</para>{rest}</article>"
    notes = (
        f"<h1>A</h1><p>{PROSE}<a epub:type=noteref href='#n'>1</a></p><aside epub:type=footnote id=n>{OTHER}</aside>"
    )
    table = f"A\n=\n\n{PROSE}\n\n.. csv-table:: T\n\n   {OTHER.replace(' ', ', ')}\n"
    alarms = [
        is_told(
            "`\\comment` takes the rest of a file",
            "latex",
            latex,
            structformer_latex__cursor__Cursor__skip_environment=_to_the_end,
        ),
        is_told(
            "a title of hundreds of words is lost",
            "xml",
            title,
            structformer__formats__builder__TreeBuilder___write_paragraph=lambda *given: None,
        ),
        is_told(
            "notes are taken for furniture",
            "html",
            notes,
            structformer_html__elements__is_aside_of_content=lambda *given: False,
            structformer_html__walking___Linked__holds=lambda *given: False,
        ),
        is_told(
            "a csv-table is dropped",
            "rst",
            table,
            structformer_rst__directives___CsvTable__run=lambda self: [],
        ),
    ]
    return all(alarms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--every", type=int, default=1, help="read each n-th file only")
    parser.add_argument("--show", type=int, default=3, help="alarms of each folder to show")
    chosen = parser.parse_args()
    print("| folder | pages | least | median | alarms |\n|---|---|---|---|---|")
    for folder in chosen.folders:
        measure(folder, chosen.every, chosen.show)
    sys.exit(0 if defects() else 1)


if __name__ == "__main__":
    main()
