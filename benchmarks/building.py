"""Question: how fast do edges in memory become a graph.

Rivals: NetworKit, igraph, SciPy and python-graphblas, from the same two shuffled arrays with each undirected
edge once. With --gap, also GAP, which generates as many edges and reports the time of its converter.

    python benchmarks/building.py --scale 20 --gap path/to/gapbs
"""

from __future__ import annotations

import argparse

import numpy as np

import evener as ev
import harness
from gap import Gap
from rivals import undirected_pairs


def main():
    options = _options()
    graph = ev.read(f"{options.graph}:{options.scale}")
    src, dst, _ = undirected_pairs(graph)
    order = np.random.default_rng(5).permutation(len(src))
    src, dst = src[order], dst[order]
    runs = {
        name: harness.clocked(build(src, dst, graph.n, options.threads))
        for name, build in BUILDERS.items()
        if name == "evener" or name in options.rivals
    }
    if options.gap:
        gap = Gap(options.gap, None, None, options.threads)
        flag = "-u" if options.graph == "uniform" else "-g"
        runs["GAP"] = lambda _: (gap.converter_seconds(flag, options.scale)["Build"], None)

    def check(name, _round, built):
        if name == "evener":
            same = np.array_equal(built.offsets, graph.offsets) and np.array_equal(
                built.targets, graph.targets
            )
            if not same:
                msg = "the graph built from shuffled edges differs from the original graph"
                raise AssertionError(msg)

    times = harness.interleaved(runs, rounds=options.rounds, check=check, budget=options.budget)
    rows = harness.rates(times, stored_edges=graph.m)
    for row in rows:
        row["times_ours"] = row["median_seconds"] / harness.median(times["evener"])
    cells = [
        (
            row["contender"],
            harness.duration(row["median_seconds"]),
            f"{row['stored_edges_per_second'] / 1e6:.1f} M",
            f"{row['times_ours']:.2f}",
        )
        for row in rows
    ]
    harness.show(f"Building {graph}", ["", "median", "stored edges/s", "times ours"], cells)
    if not options.no_record:
        harness.record("building", question=__doc__.splitlines()[0], rows=rows, stored_edges=graph.m)


def _evener(src, dst, n, _threads):
    return lambda _: ev.Graph.from_edges(src, dst, directed=False, n=n)


def _networkit(src, dst, n, threads):
    import networkit

    networkit.setNumberOfThreads(threads)
    return lambda _: networkit.GraphFromCoo((src, dst), n=n, directed=False)


def _igraph(src, dst, n, _threads):
    import igraph

    return lambda _: igraph.Graph(n=n, edges=np.column_stack([src, dst]), directed=False)


def _scipy(src, dst, n, _threads):
    from scipy.sparse import coo_array

    ones = np.ones(2 * len(src), dtype=np.float32)

    def build(_):
        ends = np.concatenate([src, dst]), np.concatenate([dst, src])
        return coo_array((ones, ends), shape=(n, n)).tocsr()

    return build


def _graphblas(src, dst, n, threads):
    import graphblas

    graphblas.ss.config["nthreads"] = threads

    def build(_):
        ends = np.concatenate([src, dst]), np.concatenate([dst, src])
        return graphblas.Matrix.from_coo(*ends, 1.0, nrows=n, ncols=n)

    return build


BUILDERS = {
    "evener": _evener,
    "NetworKit": _networkit,
    "igraph": _igraph,
    "SciPy": _scipy,
    "GraphBLAS": _graphblas,
}


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--graph", default="rmat", choices=["rmat", "uniform"])
    rivals = [name for name in BUILDERS if name != "evener"]
    parser.add_argument("--rivals", nargs="*", default=rivals, choices=rivals)
    return harness.racing(parser, rounds=5, budget=40.0)


if __name__ == "__main__":
    main()
