"""A corpus of many small pages, and what was made of it, file by file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from structformer.workspace import Workspace

from conftest import write_pages

_MADE_WHERE = {"command.json", "report.html", "seal.json", "compared.json"}  # say when and how, or list those that do


def digests(workspace: Path) -> dict[str, str]:
    """What a corpus, its graph and its Examples are, file by file."""
    place = Workspace(workspace)
    found = {}
    for part in ("corpus", "graph", "samples"):
        folder = place.folder(part)
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in _MADE_WHERE:
                found[f"{part}/{path.relative_to(folder)}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sorted(place.shards.rglob("*.parquet")):
        found[str(path.relative_to(place.shards))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def write_topics(folder: Path, count: int) -> Path:
    topics = [f"{first}{second}" for first in ("mast", "keel", "jib", "oar") for second in range(count // 4)]
    texts = {
        f"{topic[:3]}/{topic}.md": f"# The {topic}\n\nThe {topic} is a part of the boat that everybody knows.\n\n"
        f"## Mend the {topic}\n\nTo mend the {topic} take a cloth and thread, and never mend a wet {topic} in the rain.\n\n"
        f"## See also\n\n- [the next](../{topics[number - 1][:3]}/{topics[number - 1]}.md)\n"
        for number, topic in enumerate(topics)
    }
    write_pages(folder, texts)
    return folder
