"""Question: what speed-up does a CPU with a GPU reach on sparser and sparser graphs (T12, figure 9).

The paper keeps 512 million edges and adds vertices. On sparser graphs more values travel, and both algorithms
are farther below the model. The largest graph has 256 million vertices (2 edges each). There the error of
PageRank is below 10%. The text has no speed-ups, and no alpha.

Here: undirected graphs with the same number of edges, and 16 to 2 stored edges per vertex. Half of the edges
are on the CPU, split at random.

    python benchmarks/figures/t12_fig9.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import predicted
import projections
import sweep

TITLE = "speed-up on sparser graphs, predicted and achieved"
PAPER = "sparser graphs are farther below the model; at 2 edges a vertex PageRank is less than 10% off"
NEEDS = "two elements"
KIND = "lines"
SHOWN = ("edges_a_vertex", *predicted.SHOWN)
_TASKS = ("pagerank", "bfs")


def cases(options):
    return sweep.densities(options, _TASKS)


def rows(runs, options):
    found = []
    for graph in sweep.density_graphs(options):
        for task in _TASKS:
            cpu = projections.cpu_alone(runs, options, task, graph)
            shared = projections.one(
                runs, graph=graph, on=sweep.hybrids(options)[0], policy="random", alpha=0.5, task=task
            )
            if cpu and shared:
                each = shared["stored_edges"] / shared["vertices"]
                found.append({"edges_a_vertex": each, "paper": None, **projections.speedup(shared, cpu)})
    return found


def here(rows):
    sparsest = min(row["edges_a_vertex"] for row in rows)
    said = ", ".join(
        f"{row['achieved']:.2f}x of {row['equation_4']:.2f}x predicted for {sweep.TITLES[row['task']]}"
        for row in rows
        if row["edges_a_vertex"] == sparsest
    )
    return f"at {sparsest:.0f} edges a vertex {said}"


def panels(rows):
    return predicted.panels(rows, x="edges_a_vertex", name="stored edges a vertex")


if __name__ == "__main__":
    output.main(Path(__file__).stem)
