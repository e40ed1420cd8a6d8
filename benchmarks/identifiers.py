"""Is a pasted name found? Options, functions, files and error codes that only one document has, each as a query.

    python benchmarks/identifiers.py SHARED [--sets npm git ...] [--pipelines lexical hybrid:structure hybrid:base]

SHARED holds corpora/NAME.tar.xz. Of each set up to 500 names, as they are written, in lower case, and by their parts:
for each pipeline the share whose document comes first, and is among ten.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from random import Random

from structformer.retrieval import Retriever
from structformer.retrieval.indexing import build_index
from structformer.workspace import Workspace
from structure import CORPORA as JUDGED
from structure import ingested

CORPORA = {
    name: {**JUDGED, "php": "php-docbook"}[name]
    for name in ("npm", "git", "cargo", "docker", "podman", "systemd", "php", "python", "stacks", "man-fr")
}
_MOST, _SEED = 500, 1
# Words joined by signs, or that have a digit or a capital within.
_NAME = re.compile(r"(?<![\w./@:-])(?:--)?[^\W\d_]\w*(?:[-_.:/@]\w+)*(?![\w/@-])")
_TELLING = re.compile(r"[-_./:@0-9]|[a-z][A-Z]")
_PART = re.compile(r"[A-Z]+s?(?![a-z])|[^\W\d_]?[^\W\dA-Z_]+|\d+")


def prepared(shared: Path, name: str, work: Path, encoders: list[str]) -> Workspace:
    """Return a set's workspace with an index."""
    workspace = ingested(shared, CORPORA[name], work / name)
    build_index(workspace, encoders=encoders)
    return workspace


def own_names(retriever: Retriever) -> dict[str, str]:
    """Up to _MOST names, each with the only document that has it, in any case."""
    texts: dict[str, list[str]] = {}
    for unit in retriever.units:
        texts.setdefault(unit.document_id, []).append(f"{unit.title}\n{unit.text}")
    whole = {document: "\n".join(its) for document, its in texts.items()}
    names = {document: set(filter(_TELLING.search, _NAME.findall(text))) for document, text in whole.items()}
    owners = Counter(name for its in names.values() for name in {each.lower() for each in its})
    chosen = {
        name: document for document, its in names.items() for name in its if len(name) > 3 and owners[name.lower()] == 1
    }
    lower = [text.lower() for text in whole.values()]
    order = sorted(chosen)
    Random(_SEED).shuffle(order)
    found: dict[str, str] = {}
    for name in order:
        if len(found) < _MOST and sum(name.lower() in text for text in lower) == 1:
            found[name] = chosen[name]
    return found


def parts(name: str) -> str:
    """Return the words that a name is made of."""
    return " ".join(_PART.findall(name)).lower()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--pipelines", nargs="+", default=["lexical", "hybrid:structure", "hybrid:base"])
    parser.add_argument("--work", type=Path, default=Path("work/identifiers"))
    options = parser.parse_args()
    encoders = sorted({name.partition(":")[2] for name in options.pipelines} - {""})
    print(
        f"{'set':8} {'pipeline':18} {'names':>5}  " + "  ".join(f"{form:>13}" for form in ("exact", "lower", "parts"))
    )
    for name in options.sets:
        retriever = Retriever.open(prepared(options.shared, name, options.work, encoders))
        names = own_names(retriever)
        for pipeline in options.pipelines:
            cells = []
            for form in (str, str.lower, parts):
                ranked = retriever.rank_documents([form(each) for each in names], pipeline, 10)
                places = [[id for id, _ in its] for its in ranked]
                first = sum(its[:1] == [own] for its, own in zip(places, names.values(), strict=True))
                in_ten = sum(own in its for its, own in zip(places, names.values(), strict=True))
                cells.append(f"{first / len(names):6.3f} {in_ten / len(names):6.3f}")
            print(f"{name:8} {pipeline:18} {len(names):5}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
