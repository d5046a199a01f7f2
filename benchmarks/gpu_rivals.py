"""Question: how fast are the five algorithms on one GPU, compared with cuGraph and the memory bandwidth.

Undirected R-MAT or uniform graphs, 16 edges per vertex. The graph is placed before the clock starts. The
clock stops when the answer is complete in GPU memory, as for cuGraph. BFS and SSSP start at 16 vertices drawn
with a fixed seed. Betweenness uses four of them. Times are medians; PageRank's is one of 50 iterations.

Every search is verified. The first ranks and components are verified, and the others are compared with them.
Betweenness is compared with the CPU, because its verifier is serial.

The first run of PageRank on a placement sorts the edges into blocks of columns
(`evener.partition.column_blocks`). A result's `seconds`, which are recorded here, exclude that.

    python benchmarks/gpu_rivals.py --scales 22 24 26
    python benchmarks/gpu_rivals.py --kind uniform --scales 22 --tasks pagerank

cuGraph does not run here. Its times are figures of version 26.10 on an NVIDIA H200, on graphs of the same
kind. The weights of that graph are unknown. Evener's are integers 1..255.
"""

from __future__ import annotations

import argparse

import cupy
import numpy as np

import evener as ev
import gpu_floors
import harness
from cpu_rivals import GROUP, WEIGHTS, draw_sources

TASKS = {
    "pagerank": "PageRank, an iteration",
    "bfs": "BFS",
    "wcc": "Components",
    "sssp": "SSSP",
    "betweenness": "Betweenness, four sources",
}
ITERATIONS = 50
# Seconds of cuGraph on one H200 by graph and task, and the speed-ups that Evener aims at.
CUGRAPH = {
    "rmat:22": {"pagerank": 1.01e-3, "bfs": 3.46e-3, "wcc": 27.4e-3, "sssp": 81e-3, "betweenness": 148e-3},
    "rmat:24": {"pagerank": 3.64e-3, "bfs": 7.6e-3, "wcc": 52.8e-3, "sssp": 139e-3, "betweenness": 504e-3},
    "rmat:26": {"pagerank": 16.2e-3, "bfs": 20.5e-3, "wcc": 130e-3, "sssp": 341e-3, "betweenness": 2.36},
    "uniform:22": {"pagerank": 1.49e-3},
}
WANTED = {"pagerank": 1.6, "bfs": 4, "wcc": 5, "sssp": 3, "betweenness": 2}


def main():
    options = _options()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    speed = gpu_floors.copy_bytes_per_second()
    print(f"{name}: a copy reads and writes {speed / 1e12:.2f} TB/s")
    rows, graphs = [], {}
    for scale in options.scales:
        spec = f"{options.kind}:{scale}"
        kinds = {
            spec: [task for task in options.tasks if task != "sssp"],
            f"{spec},weights={WEIGHTS}": [task for task in options.tasks if task == "sssp"],
        }
        for kind, tasks in kinds.items():
            if not tasks:
                continue
            graph = ev.read(kind)
            graphs[spec] = {"vertices": graph.n, "stored edges": graph.m}
            rows += _one_graph(spec, graph, tasks, options)
            del graph  # before the next one is made
            if not options.no_record:  # after each graph, because a large one may not finish
                more = {"gpu": name, "graphs": graphs, "copy, bytes a second": round(speed)}
                some = [] if set(options.tasks) == set(TASKS) else options.tasks
                kind = [] if options.kind == "rmat" else [options.kind]
                record = "_".join(["gpu_rivals", *kind, *some])
                harness.record(record, question=__doc__.splitlines()[0], rows=rows, **more)


def _one_graph(spec, graph, tasks, options):
    placed = ev.partition(graph, on="cuda:0")
    sources = draw_sources(graph, options.sources)
    rows = []
    for task in tasks:
        seconds = seconds_of(task, placed, sources, options)
        rows.append(_row(spec, task, seconds, _floors(task, placed)))
        _show(rows[-1])
    return rows


def seconds_of(task, placed, sources, options, verify=None):
    """Return seconds of each run, after as many runs that compile and warm up.

    `verify` is called with the task and all results. By default, it checks them as the module says.
    """
    run, rounds, parts = {
        "pagerank": (
            lambda _: ev.pagerank(placed, tol=0, max_iter=ITERATIONS, weights=False),
            options.rounds,
            ITERATIONS,
        ),
        "bfs": (lambda i: ev.bfs(placed, source=int(sources[i])), len(sources), 1),
        "wcc": (lambda _: ev.wcc(placed), options.rounds, 1),
        "sssp": (lambda i: ev.sssp(placed, source=int(sources[i])), len(sources), 1),
        "betweenness": (lambda _: ev.betweenness(placed, sources=sources[:GROUP]), options.rounds, 1),
    }[task]
    before = [run(i) for i in range(rounds)]  # all at once, because all answers are kept to be verified
    del before
    results = [run(i) for i in range(rounds)]
    if not options.no_verify:
        (verify or _verify)(task, results)
    return [result.seconds / parts for result in results]


def _verify(task, results):
    """Verify every search. Verify the first answer of the others and compare the rest with it."""
    if task in ("bfs", "sssp"):
        for result in results:
            ev.verify(result)
        return
    if task != "betweenness":
        ev.verify(results[0])
        name = next(iter(results[0]))
        for result in results[1:]:
            np.testing.assert_array_equal(result[name], results[0][name])
        return
    expected = ev.betweenness(
        results[0].graph, sources=results[0].parameters["sources"], on="cpu", normalized=True
    )["centrality"]
    for result in results:
        harness.agree(result, "centrality", expected, apart=1e-6, of_largest=1e-12)


def _floors(task, placed):
    if task != "pagerank":
        return {}
    edges = placed.partitions[0].in_
    values = cupy.random.random(placed.graph.n, dtype=cupy.float32)
    targets = edges.targets.device_part
    seconds = gpu_floors.read_seconds(targets), gpu_floors.gather_seconds(targets, values)
    return dict(zip(("ids_seconds", "gather_seconds"), seconds, strict=True))


def _row(spec, task, taken, floors):
    rival = CUGRAPH.get(spec, {}).get(task)
    ours = harness.median(taken)
    return {
        "graph": spec,
        "task": task,
        "median_seconds": ours,
        "least_seconds": min(taken),
        "spread": round(harness.spread(taken), 3),
        "cugraph_seconds": rival,
        "cugraph_over_ours": rival and rival / ours,
        "wanted": WANTED[task],
        **floors,
        "seconds": taken,
    }


def _show(row):
    ratio = f"cuGraph {row['cugraph_over_ours']:.2f} times" if row["cugraph_seconds"] else ""
    gather = row.get("gather_seconds")
    floor = f"  gather alone {harness.duration(gather)}" if gather else ""
    print(
        f"{row['graph']} {TASKS[row['task']]:26} median {harness.duration(row['median_seconds']):>8} "
        f"least {harness.duration(row['least_seconds']):>8}  {ratio} (wanted {row['wanted']}){floor}"
    )


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", default="rmat", choices=["rmat", "uniform"])
    parser.add_argument("--scales", type=int, nargs="+", default=[22, 24, 26])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    return harness.recording(parser)


if __name__ == "__main__":
    main()
