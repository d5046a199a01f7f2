"""Question: how much better than round robin does LPT balance edges (S13, figure 10).

The paper simulates SCALE 19 per node, with the load imbalance (largest - mean) / mean. LPT is longest
processing time first. The text has two values: LPT is 13.8% better for SCALE 26 at 128 nodes, and 3.98%
better for SCALE 25 at 64 nodes.

Here: the same weak scaling up to the largest scale of `--scales`. The largest graph is then divided among up
to 4,096 nodes. The load of a node is its edges, in both directions. "bound" is the imbalance that no division
of whole vertices can beat: the vertex of highest degree over the mean.

    python benchmarks/figures/s13_fig10.py --scales 19 20 21 22 23 24 25 26
"""

from __future__ import annotations

import argparse

import numpy as np
import search_path  # noqa: F401 - first: it makes the folder above importable
from rmat_degrees import by_degree, rmat_degrees

import harness
from evener.partition.owners import owners
from evener.partition.policy import Processors, Vertices
from evener.partition.statistics import imbalance

# LPT's gain over round robin in the text, by SCALE.
PAPER = {25: 0.0398, 26: 0.138}
POLICIES = ("round-robin", "lpt")


def main():
    options = _options()
    rows = []
    least, largest = min(options.scales), max(options.scales)
    for scale in options.scales:
        degree = rmat_degrees(scale)
        order = by_degree(degree)
        all_nodes = [1 << (scale - least)]
        if scale == largest:
            all_nodes += [1 << power for power in range(scale - least + 1, options.nodes.bit_length())]
        for nodes in all_nodes:
            found = {name: _imbalances(name, degree, order, nodes) for name in POLICIES}
            rows.append(
                {
                    "scale": scale,
                    "nodes": nodes,
                    **{f"{name} edges": edges for name, (edges, _) in found.items()},
                    **{f"{name} vertices": vertices for name, (_, vertices) in found.items()},
                    "gain": found["round-robin"][0] - found["lpt"][0],
                    "bound": max(0.0, float(degree.max()) * nodes / float(degree.sum()) - 1),
                    "paper": PAPER.get(scale) if nodes == all_nodes[0] else None,
                }
            )
    heads = ["SCALE, nodes", "round robin", "LPT", "gain", "bound", "the paper's gain"]
    cells = [
        (f"{row['scale']}, {row['nodes']:,}", f"{row['round-robin edges']:.2%}", f"{row['lpt edges']:.2%}",
         f"{row['gain']:.2%}", f"{row['bound']:.2%}", "" if row["paper"] is None else f"{row['paper']:.2%}")
        for row in rows
    ]  # fmt: skip
    harness.show("Load imbalance of edges", heads, cells)
    if not options.no_record:
        harness.record("s13_fig10", question=__doc__.splitlines()[0], rows=rows, folder="figures")


def _imbalances(name, degree, order, nodes):
    """Return the load imbalance of edges and of vertices."""
    cpus = Processors(
        np.full(nodes, 1 / nodes), np.ones(nodes, bool), np.zeros(nodes, int), np.full(nodes, np.inf)
    )
    owner = owners(name, Vertices(order, degree, degree), cpus)
    edges = np.bincount(owner, weights=degree, minlength=nodes)
    return imbalance(edges), imbalance(np.bincount(owner, minlength=nodes))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", type=int, nargs="+", default=[19, 20, 21, 22, 23, 24, 25, 26])
    parser.add_argument("--nodes", type=int, default=4096, help="for the largest scale")
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
