"""Question: how balanced are the partitions of each policy, and how many edges cross (G16, table I).

The paper says that C-PG balances computing within and between machines, and that C-R ignores that GPUs are
faster. With DP-OH on Scale-25, the fourth GPU has 200 times the vertices of the first one. The reason is that
vertices of high degree have small numbers.

Here: all policies on four machines of a CPU and a GPU, with the share of the CPUs by r of the paper (G16
§IV.B). "edges" and "vertices" are the largest over the mean among the GPUs, minus one. No GPU is needed,
because only owners are computed. R-MAT runs twice: with the generator's numbers, as in the paper, and with
random numbers.

    python benchmarks/figures/g16_table1.py --graphs web-NotreDame.txt.gz soc-Epinions1.txt.gz --scale 20
"""

from __future__ import annotations

import argparse
from pathlib import Path

import search_path  # noqa: F401 - first: it makes the folder above importable

import evener as ev
import harness
from evener.graph.generators.models import rmat
from evener.partition.statistics import imbalance
from evener.planning.ratio import RatioFit, cpu_share

PAPER = "C-PG is balanced; with DP-OH the fourth GPU has 200 times the vertices of the first"
MACHINES = 4
# G16 §IV.B: r of its machines against the edges of a machine.
RATIO = RatioFit("GTX 480", 9.3, 0.2e-6, (50e6, 125e6), (19.5, 23.7))


def main():
    options = _options()
    rows = []
    graphs = {
        f"rmat:{options.scale}": lambda: rmat(options.scale).build(),
        f"rmat:{options.scale}, numbers of the generator": lambda: rmat(options.scale, permute=False).build(),
        **{Path(name).name: lambda name=name: ev.read(name) for name in options.graphs},
    }
    for name, read in graphs.items():
        graph = read()
        alpha = cpu_share(RATIO.ratio(graph.m / MACHINES))
        own = [
            _row(name, alpha, one)
            for one in ev.compare_policies(
                graph,
                "pagerank",
                on="cpu:8,cuda:0",
                machines=MACHINES,
                alpha=alpha,
                policies=options.policies,
            )
        ]
        heads = [
            "",
            "owners",
            "CPU share",
            "GPU edges",
            "GPU vertices",
            "last/first GPU",
            "beta",
            "aggregated",
        ]
        cells = [
            (row["policy"], harness.duration(row["partitioning_seconds"]), f"{row['cpu_share']:.3f}",
             f"{row['gpu_edge_imbalance']:.1%}", f"{row['gpu_vertex_imbalance']:.1%}",
             f"{row['last_gpu_vertices_over_first']:.1f}", f"{row['beta']:.3f}",
             f"{row['beta_aggregated']:.3f}")
            for row in own
        ]  # fmt: skip
        harness.show(f"{name}: {graph.n:,} vertices, {graph.m:,} edges, alpha {alpha:.3f}", heads, cells)
        rows += own
    print(f"The paper: {PAPER}.")
    if not options.no_record:
        question = __doc__.splitlines()[0]
        harness.record("g16_table1", question=question, rows=rows, folder="figures", paper=PAPER)


def _row(graph, alpha, one):
    gpu_edges, gpu_vertices = one.edges[1::2], one.vertices[1::2]
    return {
        "graph": graph,
        "alpha": alpha,
        "policy": one.policy,
        "partitioning_seconds": one.partitioning_seconds,
        "cpu_share": sum(one.edges[::2]) / max(1, sum(one.edges)),
        "gpu_edge_imbalance": imbalance(gpu_edges),
        "gpu_vertex_imbalance": imbalance(gpu_vertices),
        "last_gpu_vertices_over_first": gpu_vertices[-1] / max(1, gpu_vertices[0]),
        "beta": one.beta,
        "beta_aggregated": one.beta_aggregated,
        "edges": one.edges,
        "vertices": one.vertices,
    }


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--graphs", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--policies", nargs="+", default=None, help="default: all")
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
