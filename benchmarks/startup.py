"""Question: how long does the first answer take, on a new machine and later.

There is no rival. Each line is a separate process: importing, `--help`, the first run with an empty compiler
cache, and the same run again.

    python benchmarks/startup.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

import harness

HELP = [sys.executable, "-m", "evener", "--help"]
IMPORT = [sys.executable, "-c", "import evener"]
NOTHING = [sys.executable, "-c", ""]


def main():
    options = _options()
    run = [sys.executable, "-m", "evener", "run", options.algorithm, options.graph]
    if options.algorithm == "pagerank":
        run += ["--stop", "networkx"]  # one iteration, as in earlier records
    rows = []
    with tempfile.TemporaryDirectory(prefix="evener-bench-") as cache:
        for name, command, repeats in (
            ("python itself", NOTHING, options.repeats),
            ("import evener", IMPORT, options.repeats),
            ("evener --help", HELP, options.repeats),
            (f"first ever: evener run {options.algorithm} {options.graph}", run, 1),
            ("the same again", run, options.repeats),
        ):
            taken = [_seconds(command, cache) for _ in range(repeats)]
            rows.append({"what": name, "median_seconds": harness.median(taken), "seconds": taken})
    cells = [(row["what"], harness.duration(row["median_seconds"]), len(row["seconds"])) for row in rows]
    harness.show("Starting", ["", "median", "runs"], cells)
    if not options.no_record:
        harness.record("startup", question=__doc__.splitlines()[0], rows=rows)


def _seconds(command, cache):
    start = time.perf_counter()
    subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": cache}, capture_output=True, check=True)
    return time.perf_counter() - start


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithm", default="pagerank")
    parser.add_argument("--graph", default="rmat:16")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
