"""How long `structformer up` takes from the command to answers: by words, by what the documents teach, by the
pretrained encoder, by what was trained. Prints seconds, and the first beside its limit.

    python benchmarks/opening.py PATHS QUERY [--until STAGE]

PATHS: a folder of documents; QUERY: a question whose first hit is asked for until its search has changed. On a machine
that does nothing else."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

LIMIT = 10.0  # seconds to the first answer, of 500 pages on two cores
STAGES = {"lexical": "words", "hybrid:structure": "meaning", "hybrid:base": "MiniLM", "hybrid:bi-encoder": "trained"}
_PORT = 18765
_LONGEST = 3600.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("paths", type=Path)
    options.add_argument("query")
    options.add_argument("--until", choices=STAGES.values(), default="trained")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "structformer", "up", str(chosen.paths), "-w", f"{folder}/w", "--no-open"]
        begun = time.perf_counter()
        running = subprocess.Popen([*command, "--port", str(_PORT)], stdout=subprocess.DEVNULL)
        try:
            seen: set[str] = set()
            while chosen.until not in seen and running.poll() is None and time.perf_counter() - begun < _LONGEST:
                stage = _answers_by(chosen.query)
                if stage and stage not in seen:
                    seen.add(stage)
                    took = time.perf_counter() - begun
                    bar = f", {took / LIMIT:.2f} of the limit of {LIMIT:.0f} s" if len(seen) == 1 else ""
                    print(f"{stage}: {took:.1f} s{bar}", flush=True)
                time.sleep(2 if seen else 0.1)  # a search that is asked all the time keeps the rest from going on
        finally:
            running.send_signal(signal.SIGINT)
            running.wait()


def _answers_by(query: str) -> str:
    """Return what the first hit was found by; "" without one."""
    try:
        with urlopen(f"http://127.0.0.1:{_PORT}/api/search?q={quote(query)}", timeout=60) as response:
            found = json.load(response)
    except (URLError, OSError):
        return ""
    return STAGES.get(found["pipeline"], found["pipeline"]) if found["hits"] else ""


if __name__ == "__main__":
    main()
