"""Cold starts of the command line against their limits.

    python benchmarks/startup.py WORKSPACE

WORKSPACE: an indexed workspace. Prints the median of seven runs of each command, its limit and the ratio.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 7


def main() -> None:
    """Run the benchmark."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    search = ["search", "how do I list all of them", "-w", sys.argv[1], "--pipeline", "lexical"]
    for name, arguments, limit in (("structformer --help", ["--help"], 0.5), ("BM25 search, cold", search, 1.5)):
        times = []
        for _ in range(RUNS):
            begun = time.monotonic()
            subprocess.run([sys.executable, "-m", "structformer", *arguments], check=True, stdout=subprocess.DEVNULL)
            times.append(time.monotonic() - begun)
        median = statistics.median(times)
        print(f"{name}: {median:.2f} s, limit {limit} s, ratio {median / limit:.2f}")


if __name__ == "__main__":
    main()
