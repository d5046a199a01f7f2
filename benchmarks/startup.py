"""Question: how long does the first answer take, on a new machine and later.

There is no rival. Each line is a separate process: importing, `--help`, the first run of each algorithm with
an empty compiler cache, and the same run again. Then all algorithms run one after the other with one cache,
and after `evener warmup`. CPU seconds are those of the process and its children. Python's bytecode is cached,
as after an installation. With `--old`, another version of the package runs in turns with this version. With
`--wheel`, the Python of an environment with a wheel of `make wheel` runs all algorithms for the first time
instead. Each run has an empty compiler cache, and another run verifies the answer.

    python benchmarks/startup.py
    python benchmarks/startup.py --wheel ENVIRONMENT/bin/python
    python benchmarks/startup.py --algorithms pagerank --graph rmat:20 --old OLD/src    # on a GPU
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness

EVENER = [sys.executable, "-m", "evener"]
IMPORT = [sys.executable, "-c", "import evener"]
NOTHING = [sys.executable, "-c", ""]
BYTECODE = str(Path(tempfile.gettempdir()) / "evener-bench-bytecode")
ALGORITHMS = "bfs,pagerank,wcc,sssp,betweenness"
# One iteration, or few sources where all take long.
OPTIONS = {
    "pagerank": ["--stop", "networkx"],
    "bfs": ["--source", "0"],
    "sssp": ["--source", "0"],
    "betweenness": ["--sources", "0,1,2,3"],
    "closeness": ["--k", "64"],
    "edge_betweenness": ["--sources", "0,1,2,3"],
    "harmonic": ["--k", "64"],
    "random_walks": ["--sources", "0"],
}


def main():
    options = _options()
    if options.wheel:
        _from_wheel(options)
        return
    algorithms = (options.algorithms or ALGORITHMS).split(",")
    runs = {name: [*EVENER, "run", name, options.graph, *OPTIONS.get(name, [])] for name in algorithms}
    rows = []

    sources = {"": "", "old: ": options.old} if options.old else {"": ""}

    def measure(what, command, cache, repeats=1):
        taken = {name: [] for name in sources}
        for _ in range(repeats):
            for name, path in sources.items():
                taken[name].append(_seconds(command, cache, path))
        for name in reversed(sources):
            seconds, cpu = (harness.median(column) for column in zip(*taken[name], strict=True))
            medians = {"median_seconds": seconds, "median_cpu_seconds": cpu}
            rows.append({"what": f"{name}{what}", **medians, "taken": taken[name]})
        return rows[-1]

    for path in sources.values():  # compile Python's bytecode
        _seconds([*EVENER, "run", algorithms[0], "grid:3x3"], "", path)
    for what, command in (
        ("python itself", NOTHING),
        ("import evener", IMPORT),
        ("evener --help", [*EVENER, "--help"]),
    ):
        measure(what, command, "", options.repeats)
    for name, command in runs.items():
        with tempfile.TemporaryDirectory(prefix="evener-bench-") as cache:
            measure(f"first ever: evener run {name} {options.graph}", command, cache)
            measure("the same again", command, cache, options.repeats)
    if len(runs) > 1:
        with tempfile.TemporaryDirectory(prefix="evener-bench-") as cache:
            each = [measure(f"{name}, after those before", command, cache) for name, command in runs.items()]
            rows.append({"what": f"all {len(runs)}, sharing a cache", **_total(each)})
        with tempfile.TemporaryDirectory(prefix="evener-bench-") as cache:
            measure("evener warmup", [*EVENER, "warmup"], cache)
            each = [measure(f"{name}, after warmup", command, cache) for name, command in runs.items()]
            rows.append({"what": f"all {len(runs)}, after warmup", **_total(each)})
    _finish(options, rows, "startup")


def _from_wheel(options):
    """Record the first run of each algorithm by the Python of an environment with compiled kernels."""
    from evener.spec.registry import builtin_names

    names = options.algorithms.split(",") if options.algorithms else builtin_names()
    rows = []
    for name in names:
        run = [options.wheel, "-m", "evener", "run", name, options.graph, *OPTIONS.get(name, [])]
        taken = []
        for turn in range(options.repeats + 1):
            with tempfile.TemporaryDirectory(prefix="evener-bench-") as cache:
                # The first turn verifies the answer, and reads the files of the environment.
                words = run if turn else [*run, "--verify"]
                seconds = _seconds(words, cache, installed=True)
                if any(Path(cache).rglob("*.nbc")):
                    sys.exit(f"{name} compiled a kernel: the wheel lacks it, or does not fit {options.wheel}")
            if turn:
                taken.append(seconds)
        seconds, cpu = (harness.median(column) for column in zip(*taken, strict=True))
        medians = {"median_seconds": seconds, "median_cpu_seconds": cpu}
        rows.append({"what": f"first run of {name} from a wheel", **medians, "taken": taken})
    _finish(options, rows, "startup_wheel")


def _finish(options, rows, name):
    kinds = ("median_seconds", "median_cpu_seconds")
    cells = [(row["what"], *(harness.duration(row[kind]) for kind in kinds)) for row in rows]
    harness.show("Starting", ["", "wall", "CPU"], cells)
    if not options.no_record:
        harness.record(options.name or name, question=__doc__.splitlines()[0], rows=rows)


def _total(rows):
    return {kind: sum(row[kind] for row in rows) for kind in ("median_seconds", "median_cpu_seconds")}


def _seconds(command, cache, source="", *, installed=False):
    """Return the wall seconds and the CPU seconds of a command; `cache` is the folder of all kernels.

    An installed package has bytecode of its own, and PYTHONPATH would hide the package.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": BYTECODE}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if installed:
        for name in ("PYTHONPATH", "PYTHONPYCACHEPREFIX"):
            environment.pop(name, None)
    if cache:
        folder = str(Path(cache) / ("old" if source else "new"))
        environment |= {"NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder, "CUPY_CACHE_DIR": folder}
    if source:
        environment["PYTHONPATH"] = f"{source}{os.pathsep}{environment.get('PYTHONPATH', '')}"
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithms", help=f"Default: {ALGORITHMS}; all with --wheel.")
    parser.add_argument("--graph", default="rmat:16")
    parser.add_argument("--old", help="The folder src of another version.")
    parser.add_argument("--wheel", help="The Python of an environment with a wheel of make wheel.")
    parser.add_argument("--name", help="The name of the record; default: startup or startup_wheel.")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
