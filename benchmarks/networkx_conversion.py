"""Question: how long does `Graph.from_networkx` take, compared with a bare iteration over the same graph.

A bare iteration is a Python loop that does nothing. It reads the edges as NetworkX gives them: with their
weights if the graph has weights. The second loop reads the rows of `_adj` only. The rival is the code that
users write: a list of the edges for `Graph.from_edges`. All convert the same graph in turns in one process.

    python benchmarks/networkx_conversion.py
"""

from __future__ import annotations

import argparse

import networkx as nx
import numpy as np

import evener as ev
import harness


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000000,10000000", help="Edges of the graphs with integer nodes.")
    parser.add_argument("--string-edges", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()

    cases = [(f"{int(m):,} edges, integers", int(m), False) for m in options.sizes.split(",")]
    cases.append((f"{options.string_edges:,} weighted edges, strings", options.string_edges, True))
    rows, cells = [], []
    for name, edges, strings in cases:
        graph = _graph(edges, strings=strings)
        times = harness.interleaved(_contenders(graph, strings=strings), rounds=options.rounds)
        bare, ours = harness.median(times["bare iteration"]), harness.median(times["from_networkx"])
        rows.append({
            "graph": name, "edges": graph.number_of_edges(), "nodes": len(graph),
            "times_of_bare_iteration": ours / bare,
            "contenders": harness.rates(times, edges=graph.number_of_edges()),
        })  # fmt: skip
        cells += [
            (name, contender, harness.duration(harness.median(taken)), f"{harness.median(taken) / bare:.2f}×")
            for contender, taken in times.items()
        ]
        del graph
    harness.show("NetworkX to Evener", ["graph", "", "median", "of a bare iteration"], cells)
    if not options.no_record:
        harness.record("networkx_conversion", question=__doc__.splitlines()[0], rows=rows)


def _graph(edges, *, strings):
    """Return an undirected graph of random edges, eight for each node."""
    random = np.random.default_rng(1)
    ends = random.integers(0, max(1, edges // 8), (edges, 2)).tolist()
    graph = nx.Graph()
    if strings:
        weights = random.random(edges).tolist()
        graph.add_weighted_edges_from(
            (f"user{u}", f"user{v}", w) for (u, v), w in zip(ends, weights, strict=True)
        )
    else:
        graph.add_nodes_from(range(edges // 8))
        graph.add_edges_from(ends)
    return graph


def _contenders(graph, *, strings):
    def bare(_):
        for _edge in graph.edges(data="weight") if strings else graph.edges():
            pass

    def rows(_):
        for row in graph._adj.values():  # noqa: SLF001 - the dictionaries themselves
            for _node in row:
                pass

    def listed(_):
        number = {node: i for i, node in enumerate(graph)}
        ends = np.array([(number[u], number[v]) for u, v in graph.edges()])
        weights = [w for _, _, w in graph.edges(data="weight")] if strings else None
        return ev.Graph.from_edges(ends[:, 0], ends[:, 1], weights, directed=False, n=len(graph))

    contenders = {
        "bare iteration": bare,
        "rows of _adj": rows,
        "from_networkx": lambda _: ev.Graph.from_networkx(graph),
        "list of edges": listed,
    }
    return {name: harness.clocked(call) for name, call in contenders.items()}


if __name__ == "__main__":
    main()
