"""Question: how fast are the five algorithms on the CPU, compared with common libraries.

Rivals: the GAP reference code (C++, with --gap or GAP_DIR), NetworKit, igraph, SciPy and python-graphblas.
All use the same edges in the same run: R-MAT and uniform graphs of 2^scale vertices.

    python benchmarks/cpu_rivals.py --scale 20 --gap path/to/gapbs
    python benchmarks/cpu_rivals.py --scale 22 --gap path/to/gapbs --rivals --quick --threads 32 16 8 4 2 1

With several numbers of threads, the record is `cpu_threads.json`. With --quick, a contender runs at least
once. GAP then has one timed trial, does not verify its answers, and its betweenness has the first source of
each group only.

All contenders use the same sources, drawn with a fixed seed among vertices with edges. They run in turns,
source by source. GAP reads the graph from a file and reports its own time (see gap.py). The others have the
graph in memory. Evener's graph is partitioned before the clock starts. The clock stops when the main array
exists in id order. Weights are integers 1..255, as in GAP. Betweenness runs on groups of four sources, as GAP
prescribes. Times are for one source, and for one of 20 iterations of PageRank (5 with --quick). Every answer
of Evener is verified, or equals a verified answer to the same question. The answer of each library is
compared with Evener's. GAP's binaries verify their own answers.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import numba
import numpy as np

import evener as ev
import harness
import machine
from evener.spec.verify import match_equivalent, match_exact
from floors import floor_bytes
from gap import Gap
from rivals import LIBRARIES, UNREACHED

TASKS = {
    "bfs": "BFS",
    "pagerank": "PageRank, an iteration",
    "wcc": "Components",
    "sssp": "SSSP",
    "betweenness": "Betweenness, a source",
}
ITERATIONS, QUICK_ITERATIONS = 20, 5
GROUP = 4
WEIGHTS = "1..255"

# Largest L1 difference of ranks. NetworKit drops the rank of vertices without edges: 4e-7 on R-MAT 16 after
# 20 iterations. GraphBLAS computes in float32: 4e-5.
_RANKS_APART = 1e-3
# Largest difference of a rank or centrality from a verified answer, relative to itself and to the largest.
_VALUES_APART = 1e-5
# The array that answers have in common: parents may differ.
_COMPARED = {
    "bfs": "distance",
    "pagerank": "rank",
    "wcc": "component",
    "sssp": "distance",
    "betweenness": "centrality",
}


def main():
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="evener-bench-", dir=options.scratch))
    speed = machine.bandwidth()
    print(f"memory read by {numba.get_num_threads()} threads: {speed / 1e9:.1f} GB/s")
    name = "cpu_threads" if len(options.threads) > 1 else "cpu_rivals"
    rows, graphs = [], {}
    try:
        for kind in options.graphs:
            spec = f"{kind}:{options.scale}"
            graph = ev.read(spec)
            graphs[spec] = {"vertices": graph.n, "stored edges": graph.m}
            for found in _one_graph(spec, graph, options, folder, speed):
                rows += found
                if not options.no_record:  # also after each number of threads
                    more = {"graphs": graphs, "memory read, bytes a second": round(speed)}
                    harness.record(name, question=__doc__.splitlines()[0], rows=rows, **more)
    finally:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    _summary(rows)


def _one_graph(spec, graph, options, folder, speed):
    """Yield the rows of each number of threads."""
    print(f"{spec}: {graph}")
    # The same edges, because weights are drawn separately.
    weighted = ev.read(f"{spec},weights={WEIGHTS}")
    sources = draw_sources(graph, options.sources)
    plain, heavy = folder / "graph.sg", folder / "graph.wsg"
    if options.gap:
        ev.write(graph, plain)
        ev.write(weighted, heavy)
    if options.gap and not options.quick:
        verdicts = Gap(options.gap, plain, heavy, max(options.threads)).verified(int(sources[0]))
        if not all(verdicts.values()):
            sys.exit(f"GAP rejects one of its own answers: {verdicts}")
    checked = harness.Checked(apart=_VALUES_APART, of_largest=_VALUES_APART)
    for threads in options.threads:
        contenders = {"evener": Ours(graph, weighted, threads)}
        if options.gap:
            contenders["GAP"] = Gap(options.gap, plain, heavy, threads, quick=options.quick)
        # Evener and GAP hold both graphs; a library has one object for each.
        with_weights = dict(contenders)
        for name in options.rivals:
            library = LIBRARIES[name]
            contenders[library.name] = library(graph, threads)
            with_weights[library.name] = library(weighted, threads)
        rows = []
        for task in options.tasks:
            own = with_weights if task == "sssp" else contenders
            times = _one_task(task, own, sources, options, checked)
            floor = floor_bytes(task, graph.n, graph.m) / speed
            rows += _rows(spec, task, threads, times, floor)
            _show(spec, task, threads, rows)
        yield rows


def _one_task(task, contenders, sources, options, checked):
    """Return seconds of each contender: of one search, one iteration, or one source of a group."""
    groups = [sources[i : i + GROUP].tolist() for i in range(0, len(sources), GROUP)]
    iterations = QUICK_ITERATIONS if options.quick else ITERATIONS
    argument, parts, rounds = {
        "bfs": (lambda i: int(sources[i]), 1, len(sources)),
        "sssp": (lambda i: int(sources[i]), 1, len(sources)),
        "pagerank": (lambda _: iterations, iterations, options.rounds),
        "wcc": (None, 1, options.rounds),
        "betweenness": (lambda i: groups[i], GROUP, len(groups)),
    }[task]
    runs = {}
    for name, contender in contenders.items():
        call = getattr(contender, task)
        if call is not None:
            runs[name] = _turn(name, call, argument)
    check = _Checks(task, contenders, argument, checked)
    least = {"least": 1} if options.quick else {}
    times = harness.interleaved(runs, rounds=rounds, check=check, budget=options.budget, **least)
    return {name: [t / parts for t in taken] for name, taken in times.items()}


def _turn(name, call, argument):
    def run(i):
        return call() if argument is None else call(argument(i))

    # GAP measures its own time and returns seconds. Its first trial is its warm-up.
    return cache(lambda i: (run(i), None)) if name == "GAP" else harness.clocked(run)


class Ours:
    """Evener's runs. The graph is placed once, and times include gathering each answer in id order."""

    def __init__(self, graph, weighted, threads):
        on = [f"cpu:{threads}"]
        self.placed = ev.partition(graph, on=on)
        self.placed_weighted = ev.partition(weighted, on=on)

    def bfs(self, source):
        return _with(ev.bfs(self.placed, source=source), "parent")

    def pagerank(self, iterations):
        return _with(ev.pagerank(self.placed, tol=0, max_iter=iterations, weights=False), "rank")

    def wcc(self):
        return _with(ev.wcc(self.placed), "component")

    def sssp(self, source):
        return _with(ev.sssp(self.placed_weighted, source=source), "distance")

    def betweenness(self, sources):
        return _with(ev.betweenness(self.placed, sources=sources), "centrality")


def _with(result, name):
    result[name]
    return result


class _Checks:
    """Verifies each answer of Evener, and compares each rival's answer with it."""

    def __init__(self, task, contenders, argument, checked):
        self.task, self.contenders, self.argument, self.checked = task, contenders, argument, checked
        self.ours = None

    def __call__(self, name, number, answer):
        if name == "evener":
            source = number if self.task in ("bfs", "sssp", "betweenness") else None
            self.checked.check(answer, _COMPARED[self.task], (self.task, source))
            self.ours = answer
        elif name != "GAP":
            self._compare(self.contenders[name], answer)

    def _compare(self, rival, answer):
        if self.task in ("bfs", "sssp"):
            found = self.ours["distance"].astype(np.float64)
            match_exact(rival.distances(answer), np.where(found < 0, UNREACHED, found))
        elif self.task == "wcc":
            match_equivalent(rival.labels(answer), self.ours["component"])
        elif self.task == "pagerank":
            apart = np.abs(rival.ranks(answer) - self.ours["rank"]).sum()
            if apart > _RANKS_APART:
                msg = f"the ranks of {rival.name} and ours differ by {apart:.3g} (L1)"
                raise ev.VerificationError(msg)


def draw_sources(graph, count, seed=27):
    """Return vertices with edges, chosen as GAP and Graph500 choose them."""
    candidates = np.flatnonzero(graph.out_degree())
    return np.random.default_rng(seed).choice(candidates, size=count, replace=False)


def _rows(spec, task, threads, times, floor):
    ours = harness.median(times["evener"])
    return [
        {
            "graph": spec,
            "task": task,
            "threads": threads,
            "contender": name,
            "median_seconds": harness.median(taken),
            "least_seconds": min(taken),
            "spread": round(harness.spread(taken), 3),
            "runs": len(taken),
            "times_ours": harness.median(taken) / ours,
            "floor_seconds": floor,
            "seconds": taken,
        }
        for name, taken in times.items()
    ]


def _show(spec, task, threads, rows):
    chosen = [r for r in rows if (r["graph"], r["task"]) == (spec, task)]
    cells = [
        (
            r["contender"],
            harness.duration(r["median_seconds"]),
            harness.duration(r["least_seconds"]),
            f"{r['spread']:.0%}",
            r["runs"],
            f"{r['times_ours']:.2f}",
            f"{r['median_seconds'] / r['floor_seconds']:.1f}",
        )
        for r in chosen
    ]
    title = f"{TASKS[task]}, {spec}, {threads} threads (floor {harness.duration(chosen[0]['floor_seconds'])})"
    harness.show(title, ["", "median", "least", "spread", "runs", "times ours", "times the floor"], cells)


def _summary(rows):
    """Print geometric means of the ratios to each rival, for each graph and number of threads."""
    ratios = {}
    for row in rows:
        if row["contender"] != "evener":
            key = f"{row['contender']}, {row['graph']}, {row['threads']} threads"
            ratios.setdefault(key, []).append(row["times_ours"])
    cells = [
        (key, len(own), f"{min(own):.2f}", f"{harness.geometric_mean(own):.2f}")
        for key, own in ratios.items()
    ]
    if cells:
        harness.show("Rivals' time over ours", ["", "algorithms", "least", "geometric mean"], cells)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--graphs", nargs="+", default=["rmat", "uniform"], choices=["rmat", "uniform"])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--rivals", nargs="*", default=list(LIBRARIES), choices=list(LIBRARIES))
    parser.add_argument("--gap", default=os.environ.get("GAP_DIR"), help="folder of GAP's binaries")
    parser.add_argument("--sources", type=int, default=16, help="for each search; a multiple of 4")
    parser.add_argument("--rounds", type=int, default=16, help="of PageRank and components")
    parser.add_argument("--budget", type=float, default=20.0, help="most seconds of a contender for a task")
    parser.add_argument("--threads", type=int, nargs="+", default=[numba.get_num_threads()])
    parser.add_argument("--quick", action="store_true", help="few runs, for several numbers of threads")
    parser.add_argument("--scratch", default=None, help="folder for GAP's graph files")
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()
    if options.sources < GROUP or options.sources % GROUP:
        parser.error(f"--sources needs a multiple of {GROUP}, not {options.sources}")
    return options


if __name__ == "__main__":
    main()
