"""Question: what speed-up does a GPU beside the CPU bring on ever sparser graphs (T12, figure 9).

The paper keeps 512 million edges and has ever more vertices; the sparser the graph, the more values travel
and the more both algorithms fall behind the model, most of all at 256 million vertices (2 edges each), where
PageRank's error stays below 10%. The speed-ups, and the alpha they were taken at, are not in the text.

Here: graphs of one number of edges, undirected, with 16 to 2 stored edges a vertex; half of the edges on the
CPU, dealt at random.

    python benchmarks/figures/t12_fig9.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import predicted
import projections
import sweep

TITLE = "speed-up on ever sparser graphs, predicted and achieved"
PAPER = (
    "the sparser the graph, the farther behind the model; at 2 edges a vertex PageRank is less than 10% off"
)
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
