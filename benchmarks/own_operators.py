"""Question: how fast is PageRank with operators in Python, compared with the built-in PageRank.

All run the same number of iterations on one placement: in float32, in float64, and with weights. Without
weights, PageRank also runs as a vertex program. The first use of an operator compiles it. A later use in
another process loads it from the cache folder. The case "uses" times both, in four processes, for numbers
and for fields. The case "jobs" times jobs of `ev.mapreduce` on the weighted graph: the sum of the weights of
the in-edges of each vertex, by `combine` and by `reduce`.

    python benchmarks/own_operators.py --scale 20
    python benchmarks/own_operators.py --scale 22 --on cuda:0
    python benchmarks/own_operators.py --scale 24 --on cuda:0 --cases float32 float64 --rounds 5
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
import tempfile

import numpy as np

import evener as ev
import harness

CASES = ("float32", "float64", "weights", "uses", "jobs")

# Prints the seconds of two runs on a small graph, with numbers and with fields, after a run that loads the
# engine.
FIRST_USE = """
import sys, time, evener as ev, evener.programs.gimv
g = ev.partition(ev.Graph.from_edges([0, 1], [1, 0], [1.0, 2.0]), on=sys.argv[1])
ev.pagerank(g)["rank"]
numbers = lambda m, v, degree: v / degree, lambda x, y: x + y, lambda old, new: new, 1.0
fields = lambda m, v, vertex: (v[0] + m, vertex), min, min, {"distance": [0.0, 9.0], "parent": 0}
for operators in (numbers, numbers, fields, fields):
    start = time.perf_counter()
    ev.gimv(g, *operators, until=2)
    print(time.perf_counter() - start)
"""


def main():
    options = _options()
    rows, ratios = [], {}
    for case in (one for one in CASES[:3] if one in options.cases):
        name = f"{case}, rmat:{options.scale}"
        own = _compare(case, options)
        base = harness.median(own["built-in"])
        ratios |= {f"{what}, {name}": harness.median(own[what]) / base for what in own if what != "built-in"}
        rows += [{"what": f"{name}, {what}", "seconds": seconds} for what, seconds in own.items()]
    if "uses" in options.cases:
        rows += _uses(options.on)
    if "jobs" in options.cases:
        rows += _jobs(options)
    for row in rows:
        row["median_seconds"] = harness.median(row["seconds"])
    cells = [(row["what"], harness.duration(row["median_seconds"]), len(row["seconds"])) for row in rows]
    title = ", ".join(f"{name}: {ratio:.3f}" for name, ratio in ratios.items())
    harness.show(
        f"PageRank by operators on {options.on}, times the built-in: {title}", ["", "median", "runs"], cells
    )
    if not options.no_record:
        kind = options.on.partition(":")[0]
        harness.record(
            f"own_operators_{kind}_{options.scale}",
            question=__doc__.splitlines()[0],
            on=options.on,
            rows=rows,
            ratios=ratios,
        )


def _compare(case, options):
    """Return the seconds of an iteration: built-in, with operators, and as a vertex program."""
    weighted = case == "weights"
    dtype = "float32" if case == "float32" else "float64"
    graph, placed, ranks = _placed(options.scale, options.on, options.iterations, weighted=weighted)
    arguments = {
        "combine2": lambda m, v, degree: v / degree,
        "combine_all": lambda x, y: x + y,
        "assign": lambda old, new, n: 0.15 / n + 0.85 * new,
        "v0": np.dtype(dtype).type(1 / graph.n),
        "until": options.iterations,
    }
    if weighted:  # operators cannot read the sum of the weights; power iteration has the same cost
        arguments |= {"combine2": lambda m, v: m * v, "assign": lambda old, new, total: new / total}

    def built_in(_):
        result = ev.pagerank(placed, tol=0, max_iter=options.iterations, dtype=dtype)
        return result.seconds / options.iterations, result["rank"]

    def operators(_, on=placed):
        result = ev.gimv(on, **arguments)
        return result.seconds / options.iterations, result["value"]

    def vertex_program(_):
        program = ev.VertexProgram(
            state={"rank": arguments["v0"]},
            send=lambda state, weight, degree: state.rank / degree,
            combine=arguments["combine_all"],
            apply=lambda state, message, n: ((0.15 / n + 0.85 * message,), True),
        )
        result = ev.vertex_program(placed, program, until=options.iterations)
        return result.seconds / options.iterations, result["rank"]

    contenders = {"built-in": built_in, "operators": operators}
    if not weighted:
        contenders["vertex program"] = vertex_program
    expected = dict.fromkeys(contenders, ranks)
    if weighted:
        expected["operators"] = _scaled(operators(0, ev.partition(graph, on="cpu", directions="in"))[1])

    def check(name, _round, answer):
        # The operators lose the rank of vertices without edges, so iterates agree only after scaling.
        assert np.abs(_scaled(answer) - expected[name]).sum() < 1e-4

    return harness.interleaved(contenders, rounds=options.rounds, check=check)


@functools.lru_cache(maxsize=1)  # float32 and float64 have one graph
def _placed(scale, on, iterations, *, weighted):
    """Return a graph, its placement, and its verified ranks."""
    graph = ev.read(f"rmat:{scale}" + ",weights=1..255" * weighted)
    placed = ev.partition(graph, on=on, directions="in")
    verified = ev.pagerank(placed, tol=0, max_iter=iterations, dtype="float64")
    ev.verify(verified)
    return graph, placed, _scaled(verified["rank"])


def _scaled(values):
    return values / values.sum(dtype=np.float64)


def _uses(on):
    """Return the seconds of a first use, of a later process, and of a later use in one process."""
    with tempfile.TemporaryDirectory(prefix="evener-bench-") as cache:
        command = [sys.executable, "-c", FIRST_USE, on]
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        runs = [
            subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
            for _ in range(4)
        ]
    compiled, *later = (list(map(float, run.split())) for run in runs)
    rows = []
    for values, first in (("numbers", 0), ("fields", 2)):
        rows += [
            {"what": f"{values}, first use", "seconds": [compiled[first]]},
            {"what": f"{values}, first use in a later process", "seconds": [run[first] for run in later]},
            {"what": f"{values}, later use in the process", "seconds": [run[first + 1] for run in later]},
        ]
    return rows


def _jobs(options):
    """Return the seconds of jobs, and of each of their stages on all elements in the last round."""
    graph = ev.read(f"rmat:{options.scale},weights=1..255")
    placed = ev.partition(graph, on=options.on, directions="out")
    expected = np.bincount(graph.targets, graph.weights, graph.n)
    stages = {}

    def total(_, values):
        found = 0.0
        for value in values:
            found += value
        return found

    def job(name, **reduction):
        rows = ev.mapreduce(placed, lambda source, target, weight: (target, weight * 1.0), **reduction)
        stages[name] = {}
        for (phase, _), span in rows.timeline.by_phase().items():
            own = stages[name].setdefault(f"mapreduce, {name}: {phase}", [0.0])
            own[0] += span.compute + span.send + span.receive
        return rows.seconds, rows

    def check(_name, _round, rows):
        assert (rows.values == expected[rows.keys]).all()

    contenders = {
        "combine": lambda _: job("combine", combine=lambda x, y: x + y),
        "reduce": lambda _: job("reduce", reduce=total),
    }
    own = harness.interleaved(contenders, rounds=options.rounds, check=check)
    timed = {f"mapreduce, {name}": seconds for name, seconds in own.items()}
    timed |= stages["combine"] | stages["reduce"]
    return [{"what": what, "seconds": seconds} for what, seconds in timed.items()]


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--on", default="cpu")
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
