"""Question: how much faster are NetworkX's functions with the backend `evener`.

Two times of the backend: with the conversion of the graph, and with the converted graph that NetworkX keeps.
Kernels are compiled before. NetworkX runs each function once. Its betweenness runs from two sources; its time
is proportional to the number of sources. Answers are compared, or for communities their modularity.

    python benchmarks/networkx_functions.py
"""

from __future__ import annotations

import argparse
import math
import time

import networkx as nx
import numpy as np

import harness

# Function, its arguments, and whether it runs on the directed graph. The ten of these functions that people
# call most: nodes that matter, parts that belong together, and paths.
CASES = {
    "pagerank": ({}, True),
    "betweenness_centrality": ({"k": 100, "seed": 1}, False),
    "eigenvector_centrality": ({}, False),
    "connected_components": ({}, False),
    "strongly_connected_components": ({}, True),
    "single_source_shortest_path_length": ({"source": 0}, False),
    "single_source_dijkstra": ({"source": 0}, False),
    "clustering": ({}, False),
    "core_number": ({}, False),
    "louvain_communities": ({"seed": 1}, False),
}
# Nodes of a community, and the share of edges that stay in it.
_COMMUNITY, _INSIDE = 1000, 0.75


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--functions", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()

    nx.config.warnings_to_ignore.add("cache")
    graphs = {directed: _graph(options.edges, directed=directed) for directed in (False, True)}
    rows, cells = [], []
    for name in options.functions:
        given, directed = CASES[name]
        row = _row(name, given, graphs[directed], options.rounds)
        rows.append(row)
        ours = [
            f"{harness.duration(row[key])}, {row['networkx'] / row[key]:.0f}×"
            for key in ("converting", "kept")
        ]
        cells.append((name, harness.duration(row["networkx"]), *ours))
        print(*cells[-1], flush=True)
    means = {
        key: harness.geometric_mean([row["networkx"] / row[key] for row in rows])
        for key in ("converting", "kept")
    }
    cells.append(("geometric mean", "", *(f"{mean:.0f}×" for mean in means.values())))
    harness.show(
        "NetworkX and its backend Evener", ["function", "NetworkX", "with conversion", "kept"], cells
    )
    if not options.no_record:
        question = __doc__.splitlines()[0]
        harness.record("networkx_functions", question=question, rows=rows, times_faster=means)


def _graph(edges, *, directed):
    """Return a graph of communities, with eight edges for each node."""
    random = np.random.default_rng(1)
    n = max(8, edges // 8)
    tails, heads = random.integers(0, n, (2, edges))
    inside = random.random(edges) < _INSIDE
    heads[inside] = (tails - tails % _COMMUNITY + heads % _COMMUNITY)[inside] % n
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(np.stack([tails, heads], axis=1)[tails != heads].tolist())
    return graph


def _row(name, given, graph, rounds):
    function = getattr(nx, name, None) or getattr(nx.community, name)

    def call(backend, **more):
        answer = function(graph, backend=backend, **(given | more))
        return list(answer) if hasattr(answer, "__next__") else answer

    def converting(_):
        graph.__networkx_cache__.clear()
        return call("evener")

    contenders = {"converting": converting, "kept": lambda _: call("evener")}
    times = harness.interleaved({key: harness.clocked(run) for key, run in contenders.items()}, rounds=rounds)
    fewer = {"k": 2} if "k" in given else {}
    start = time.perf_counter()
    expected = call("networkx", **fewer)
    taken = (time.perf_counter() - start) * (given["k"] / 2 if fewer else 1)
    _check(name, graph, call("evener", **fewer), expected)
    return {
        "function": name, "arguments": given, "nodes": len(graph), "edges": graph.number_of_edges(),
        "networkx": taken, "networkx_estimated_from": fewer or None,
        **{key: harness.median(spent) for key, spent in times.items()}, "times": times,
    }  # fmt: skip


def _check(name, graph, answer, expected):
    """Stop if an answer is not NetworkX's."""
    if name == "louvain_communities":
        ours, theirs = (nx.community.modularity(graph, sets, backend="evener") for sets in (answer, expected))
        right = ours >= theirs - 0.01
    elif name == "eigenvector_centrality":  # NetworkX ends at a change of n * tol
        right = (
            sum(abs(answer[node] - value) for node, value in expected.items()) <= 10 * len(expected) * 1e-6
        )
    elif isinstance(answer, list):
        right = sorted(map(len, answer)) == sorted(map(len, expected))
    elif isinstance(answer, tuple):  # distances, and one of several shortest paths
        right = answer[0] == expected[0]
    else:
        right = answer.keys() == expected.keys() and all(
            math.isclose(answer[node], value, rel_tol=1e-3, abs_tol=1e-6) for node, value in expected.items()
        )
    if not right:
        msg = f"{name}: expected the answer of NetworkX"
        raise SystemExit(msg)


if __name__ == "__main__":
    main()
