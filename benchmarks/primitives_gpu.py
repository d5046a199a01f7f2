"""Question: how fast are communities, cores, triangles and others on one GPU, compared with cuGraph.

Undirected R-MAT graphs, 16 edges per vertex, and NumPy archives with
the arrays `u` and `v`. The graph is placed before the clock starts. A time is the wall time of the call,
without gathering the answer: the median of some runs after one that compiles. The first answer is verified;
other answers must be equal to it. Walks are compared with those of the CPU.

    python benchmarks/primitives_gpu.py --graphs rmat:20 rmat:23 planted_20.npz

cuGraph does not run here. Its times are those of version 26.10 on an NVIDIA H100, on the same graphs.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import cupy
import numpy as np

import evener as ev
import harness

SEED = 1
# Tasks that stop at a tolerance of cuGraph, and the largest L1 error of their answers.
_LOOSE, _APART = ("hits", "katz", "eigenvector"), 1e-3
PAIRS, WALKS, STEPS = 1 << 20, 1 << 17, 80
# Seconds of cuGraph by graph and task, and the speed-ups that Evener aims at.
CUGRAPH = {
    "rmat:20": {
        "triangles": 0.115, "core_number": 0.222, "louvain": 0.912, "leiden": 0.527, "jaccard": 0.069,
        "spanning_forest": 0.038, "random_walks": 7.9e-3,
        "hits": 3.0e-3, "katz": 2.9e-3, "eigenvector": 5.2e-3,
    },
    "rmat:23": {
        "triangles": 2.014, "core_number": 0.331, "louvain": 2.105, "leiden": 3.623, "jaccard": 0.218,
        "spanning_forest": 0.183, "random_walks": 10e-3,
        "hits": 8.0e-3, "katz": 17e-3, "eigenvector": 31e-3,
    },
    "planted_20": {
        "triangles": 0.011, "core_number": 0.090, "louvain": 0.254, "leiden": 0.354, "jaccard": 2.4e-3,
        "spanning_forest": 0.016,
    },
}  # fmt: skip
WANTED = {
    "triangles": 5, "core_number": 10, "louvain": 4, "leiden": 6, "jaccard": 4, "spanning_forest": 4,
    "random_walks": 1.5, "hits": 1.5, "katz": 1.5, "eigenvector": 1.5,
}  # fmt: skip


def tasks_of(placed):
    """Return a function of each task."""
    graph = placed.graph
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    edges = np.random.default_rng(SEED).choice(graph.m, PAIRS, replace=False)
    pairs = graph.ids[np.stack([tails[edges], graph.targets[edges].astype(np.int64)], axis=1)]
    starts = graph.ids[np.random.default_rng(SEED).integers(0, graph.n, WALKS)]
    tolerance = _tolerance_of_hits(placed)
    return {
        "triangles": lambda: ev.triangles(placed),
        "clustering": lambda: ev.clustering(placed),
        "core_number": lambda: ev.core_number(placed),
        "coloring": lambda: ev.coloring(placed),
        "louvain": lambda: ev.louvain(placed, seed=SEED),
        "leiden": lambda: ev.leiden(placed, seed=SEED),
        "label_propagation": lambda: ev.label_propagation(placed, seed=SEED),
        "jaccard": lambda: ev.jaccard(placed, pairs=pairs),
        "spanning_forest": lambda: ev.spanning_forest(placed),
        "random_walks": lambda: ev.random_walks(placed, sources=starts, length=STEPS, seed=SEED),
        "closeness": lambda: ev.closeness(placed, k=64, seed=SEED),
        # At the tolerances of cuGraph; answers at the default tolerance are verified.
        # With a tolerance of 1e-6, cuGraph stops when the float32 values of Katz settle.
        "hits": lambda: ev.hits(placed, tol=tolerance),
        "katz": lambda: ev.katz(placed, tol=1e-6),
        "eigenvector": lambda: ev.eigenvector(placed, tol=1e-6),
    }


def _tolerance_of_hits(placed):
    """Return the relative change of all hubs at which cuGraph stops with tol=1e-5.

    cuGraph divides hubs by the largest one. It stops if their changes sum to less than n times its tolerance.
    """
    hub = ev.hits(placed, tol=1e-3)["hub"]
    return 1e-5 * placed.graph.n * float(hub.max() / hub.sum())


def main():
    options = _options()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    rows = []
    for given in options.graphs:
        graph, label = _read(given)
        placed = ev.partition(graph, on="cuda:0")
        calls = tasks_of(placed)
        for task in options.tasks or calls:
            rows.append(_timed(label, task, calls[task], placed, options))
            if not options.no_record:  # after each task, because a later one may fail
                kept = harness.with_earlier("primitives_gpu", rows) if options.keep else rows
                harness.record("primitives_gpu", question=__doc__.splitlines()[0], rows=kept, gpu=name)


def _read(name):
    if Path(name).suffix == ".npz":
        ends = np.load(name)
        return ev.Graph.from_edges(ends["u"], ends["v"], directed=False), Path(name).stem
    return ev.read(name), name


def _timed(graph, task, call, placed, options):
    try:
        first = call()
    except (ev.EvenerError, NotImplementedError) as error:
        print(f"{graph} {task}: {error}", flush=True)
        return {"graph": graph, "task": task, "error": str(error)}
    if not options.no_verify and task == "random_walks":  # a verifier sorts all edges, which takes minutes
        again = ev.random_walks(placed.graph, on="cpu", **first.parameters)
        np.testing.assert_array_equal(first["walk"], again["walk"])
    elif not options.no_verify and task not in _LOOSE:
        ev.verify(first)
    taken = []
    for _ in range(options.rounds):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        result = call()
        taken.append(time.perf_counter() - begin)
    if task in _LOOSE:
        _compare_with_verified(first, placed, task)
    for column in first:
        np.testing.assert_allclose(result[column], first[column], rtol=1e-6, atol=1e-12)
    ours, rival = harness.median(taken), CUGRAPH.get(graph, {}).get(task)
    row = {"graph": graph, "task": task, "median_seconds": ours, "own_seconds": result.seconds}
    row |= {"cugraph_seconds": rival, "cugraph_over_ours": rival and rival / ours}
    row |= {"wanted": WANTED.get(task), "outcome": result.outcome, "seconds": taken}
    ratio = f"cuGraph {rival / ours:.2f} times (wanted {WANTED[task]})" if rival else ""
    print(f"{graph} {task:18} {harness.duration(ours):>8}  {ratio}  {result.outcome}", flush=True)
    return row


def _compare_with_verified(answer, placed, task):
    """Raise an error unless an answer is near the answer at the default tolerance, which is verified."""
    verified = getattr(ev, task)(placed)
    ev.verify(verified)
    for column in answer:
        apart = np.abs(answer[column] - verified[column]).sum() / np.abs(verified[column]).sum()
        if not apart <= _APART:
            msg = f"{task}: {column} differs by {apart:.3g} of its sum"
            raise ev.VerificationError(msg)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["rmat:20", "rmat:23"])
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="keep other tasks and graphs of the record")
    return harness.recording(parser)


if __name__ == "__main__":
    main()
