"""How much of a folder of pages is kept: words against the DOM's own text or pandoc's, links that find their target.

    python benchmarks/words_kept.py FOLDER [FOLDER ...] [--every 1] [--worst 3]

The reference of HTML is lxml's tree without what no reader comes for, listed in `LEFT_OUT` and counted; that of other
formats is `pandoc -t plain`, where pandoc is installed and can read the file. A word counts as lost when the document
has it less often than the reference. Limits: 99.5 % of words, 99.5 % of links within the corpus. Prints a Markdown
table; exit code 1 when one is missed."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import etree
from lxml import html as lxml_html
from structformer.formats import Format
from structformer.formats.source import SourceFile
from structformer.ingestion import ingest
from structformer.ingestion.walk import FolderFiles, Found, walk
from structformer.plugins import load_plugins

LIMIT = 0.995
PANDOC = {".md": "gfm", ".markdown": "gfm", ".nxml": "jats", ".tex": "latex", ".wiki": "mediawiki", ".ipynb": "ipynb"}
_WORD = re.compile(r"[^\W_]+")
_CLASS = "contains(concat(' ', normalize-space(@class), ' '), ' {} ')"
LEFT_OUT = {
    "scripts and styles": "//script|//style|//noscript|//template|//head",
    "navigation bars": "//nav|//*[@role='navigation']"
    + "".join(
        f"|//div[{_CLASS.format(name)}]"
        for name in ("related", "navheader", "navfooter", "mobile-nav", "sphinxsidebar", "nextprev")
    ),
    "page footers": f"//footer[not(ancestor::article)]|//div[{_CLASS.format('footer')}]|//div[@id='footer']",
    "contents of the page": "//*[@id='toc']" + f"|//*[{_CLASS.format('toc')}]|//*[{_CLASS.format('contents')}]",
    "marks of permanent links": f"//a[{_CLASS.format('headerlink')}]",
}
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)


def words_of(text: str) -> list[str]:
    """Words, in compatibility form: pandoc writes CO₂ where the source has CO and 2."""
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def page_words(data: bytes) -> tuple[Counter[str], Counter[str]]:
    """Return (words of a page's content, words left out by their reason)."""
    tree = lxml_html.document_fromstring(data, parser=lxml_html.HTMLParser(encoding=None, huge_tree=True))
    left: Counter[str] = Counter()
    kept_contents = _only_contents(tree)
    for reason, path in LEFT_OUT.items():
        if reason == "contents of the page" and kept_contents:
            continue
        for element in tree.xpath(path):
            if element.getparent() is not None:
                left[reason] += len(words_of(element.text_content()))
                element.drop_tree()
    body = tree.find(".//body")
    return Counter(words_of(_text(body if body is not None else tree))), left


def _only_contents(tree: lxml_html.HtmlElement) -> bool:
    """Whether a list of contents is most of what a page has to say."""
    listed = sum(len(each.text_content()) for each in tree.xpath(f"//*[{_CLASS.format('toc')}]"))
    return listed * 2 > len(tree.text_content())


def _text(root: lxml_html.HtmlElement) -> str:
    parts: list[str] = []
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            parts += ["" if element.tag in _INLINE else " ", element.text or ""]
        else:
            parts += [
                "" if event != "end" or element.tag in _INLINE else " ",
                element.tail or "" if element is not root else "",
            ]
    return "".join(parts)


def pandoc_words(path: Path, data: bytes) -> Counter[str] | None:
    """Return words of what pandoc makes of a file; None where it reads no such format, or not this file."""
    suffix = path.suffix.lower()
    format = PANDOC.get(suffix) or ("jats" if b"<article" in data[:4000] and b"<front>" in data else "docbook")
    done = subprocess.run(
        ["pandoc", "-f", format, "-t", "plain", "--wrap=none"],
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Counter(words_of(done.stdout.decode("utf-8", "replace"))) if done.returncode == 0 else None


def claimed_files(folder: Path, every: int) -> Iterator[tuple[Found, Format, SourceFile]]:
    """Yield each n-th file of a folder that a format reads, with that format and what it reads."""
    plugins, neighbours = load_plugins(), FolderFiles(folder)
    for number, file in enumerate(walk(folder)):
        claimed = plugins.claiming(file.path)
        if not (file.problem or file.note or number % every) and claimed:
            yield file, claimed[0], SourceFile(file.path, file.location.read_bytes(), neighbours=neighbours)


def measure(folder: Path, every: int, worst: int) -> bool:
    """Print a folder's row and its worst pages; True when both limits hold."""
    pages = total = lost = 0
    left: Counter[str] = Counter()
    losses: list[tuple[int, str, list[str]]] = []
    for file, format, source in claimed_files(folder, every):
        expected: Counter[str] | None
        if format.name == "html":
            expected, left_here = page_words(source.read())
            left += left_here
        elif shutil.which("pandoc") and file.location.suffix.lower() in (*PANDOC, ".xml"):
            expected = pandoc_words(file.location, source.read())
        else:
            continue
        if expected is None:
            left["files that pandoc refuses"] += 1
            continue
        ours: Counter[str] = Counter()
        for document in format.read(source, {}):
            for section in document.sections():
                ours.update(words_of(section.title))
                ours.update(words_of(section.text))
        missing = expected - ours
        pages += 1
        total += expected.total()
        lost += missing.total()
        losses.append((missing.total(), source.path, [word for word, _ in missing.most_common(8)]))
    with tempfile.TemporaryDirectory() as temporary:
        report = ingest(folder, temporary)
    references = [counts for kind, counts in report.links.items() if kind != "embed"]  # images are no documents
    resolved = sum(counts["resolved"] for counts in references)
    inside = resolved + sum(counts["unresolved"] + counts["ambiguous"] for counts in references)
    words, links = 1 - lost / max(1, total), resolved / max(1, inside)
    formats = ", ".join(f"{count:,} {name}" for name, count in report.formats.most_common())
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in left.most_common())
    print(f"| {folder} | {formats} | {pages:,} | {total:,} | {words:.2%} | {resolved:,} of {inside:,} | {reasons} |")
    for count, path, examples in sorted(losses, reverse=True)[:worst]:
        if count:
            print(f"  {path}: {count} words, {' '.join(examples)}", file=sys.stderr)
    return words >= LIMIT and links >= LIMIT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="compare each n-th file only")
    parser.add_argument("--worst", type=int, default=3, help="pages of each folder to show that lose most")
    chosen = parser.parse_args()
    print("| folder | documents | pages compared | words | kept | links resolved | words left out |")
    print("|---|---|---|---|---|---|---|")
    held = [measure(folder, chosen.every, chosen.worst) for folder in chosen.folders]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
