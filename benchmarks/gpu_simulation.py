"""Predict runs on several GPUs of one machine from runs on one GPU, a link, and counts from a small graph.

    computing  = edges of a GPU · seconds per edge on one GPU with as many vertices and mirrors
    exchanging = mirrors · (bytes / bandwidth of the link + 2 · values / random reads of the own memory)
    seconds    = seconds of the smallest graph on as many GPUs + computing + exchanging

The smallest graph has the launches, the barriers and the host. The seconds per edge are those of runs on one
GPU, between two graphs by the logarithm of the vertices: a GPU gathers the values of its vertices and
mirrors, so its edges cost as much as on a graph with that number of vertices. One GPU gathers the values
that another GPU scatters. If GPUs have queued the next pass, the host and the kernels work at the same time:
the seconds are those of the slower one. Such a pass also hides its exchange behind the edges to owned
vertices, which are one of as many parts as there are GPUs.

The CPU counts the supersteps and the bytes per mirror of a small graph. Sizes of partitions are expected from
the degrees of R-MAT.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import evener as ev
import simulation
from cpu_rivals import GROUP, WEIGHTS, draw_sources

# Bytes of a value of a mirror: float64 sums of betweenness; 32 bits otherwise.
_VALUE_BYTES = {"betweenness": 8}
# Algorithms whose next pass is queued before this one ends.
_QUEUED = ("pagerank",)
# Iterations of PageRank whose bytes are counted.
_ITERATIONS = 10


class Counts(NamedTuple):
    """What a pass exchanges on a small graph: supersteps, and bytes and values for each mirror."""

    supersteps: float
    mirror_bytes: float
    mirror_values: float


class Prediction(NamedTuple):
    """Seconds of a pass on several GPUs."""

    fixed: float
    edges: float
    exchange: float

    @property
    def seconds(self):
        return sum(self)


def count(spec, gpus, tasks):
    """Return the counts of each task on as many partitions of a small graph, in runs on the CPU."""
    graph = ev.read(f"{spec},weights={WEIGHTS}")
    placed = ev.partition(graph, on=",".join(["cpu:1"] * gpus), policy="random")
    sources = [int(source) for source in draw_sources(graph, GROUP)]
    mirrors = sum(partition.mirrors for partition in placed.partitions)
    runs = {
        "pagerank": lambda: ev.pagerank(placed, tol=0, max_iter=_ITERATIONS, weights=False),
        "bfs": lambda: ev.bfs(placed, source=sources[0]),
        "wcc": lambda: ev.wcc(placed),
        "sssp": lambda: ev.sssp(placed, source=sources[0]),
        "betweenness": lambda: ev.betweenness(placed, sources=sources),
    }
    found = {}
    for task in tasks:
        timeline, passes = runs[task]().timeline, _ITERATIONS if task == "pagerank" else 1
        nbytes = sum(span.bytes_sent for span in timeline.spans)
        each = nbytes / passes / max(1, mirrors)
        found[task] = Counts(timeline.supersteps / passes, each, each / _VALUE_BYTES.get(task, 4))
    return found


def check(rows, links, counted, tasks):
    """Yield the predicted seconds of a pass on each graph and number of GPUs, and the measured seconds.

    Graphs that were measured on several GPUs are also predicted for other numbers of GPUs in `counted`. The
    fixed seconds are then those of the largest number that was measured.
    """
    measured = {(row["task"], scale_of(row), row["gpus"]): row for row in rows}
    least, scales = min(scale_of(row) for row in rows), {scale_of(row) for row in rows if row["gpus"] > 1}
    for task in tasks:
        of_task = {key[1:]: row for key, row in measured.items() if key[0] == task}
        small = {gpus: row for (scale, gpus), row in of_task.items() if scale == least}
        curve = [
            (
                _vertices(scale, 1),
                (row["median_seconds"] - _fixed(small[1], queued=task in _QUEUED)) / row["stored_edges"],
            )
            for (scale, gpus), row in of_task.items()
            if gpus == 1 and scale > least
        ]
        wanted = {(scale, gpus) for scale in scales for gpus in counted if (scale, 1) in of_task}
        for scale, gpus in sorted({*of_task, *wanted}):
            if scale == least:
                continue
            row, same = of_task.get((scale, gpus)), small.get(gpus, small[max(small)])
            edges = (row or of_task[scale, 1])["stored_edges"]
            queued = task in _QUEUED
            found = predict(scale, gpus, edges, curve, same, links, counted[gpus][task], queued=queued)
            yield {
                "task": task,
                "graph": f"rmat:{scale}",
                "gpus": gpus,
                "measured_seconds": row and row["median_seconds"],
                "predicted_seconds": found.seconds,
                "error": row and found.seconds / row["median_seconds"] - 1,
                "fitted": gpus == 1,
                **found._asdict(),
            }


def predict(scale, gpus, edges, curve, small, links, counts, *, queued):
    """Predict a pass on an R-MAT graph of a number of stored edges, given a pass on the smallest graph."""
    sizes = simulation.expected(simulation.rmat_classes(scale), "random", gpus, [1.0])
    computing = edges / gpus * _along(curve, _vertices(scale, gpus))
    exchanging = float(sizes.mirrors.max()) * (
        counts.mirror_bytes / links["copied bytes a second"]
        + 2 * counts.mirror_values / links["random reads of the own memory a second"]
    )
    if queued:
        exchanging = max(0.0, exchanging - computing / gpus)
    fixed = _fixed(small, queued=queued)
    host = max(0.0, small["median_seconds"] - fixed - computing - exchanging)
    return Prediction(fixed + host, computing, exchanging)


def _fixed(small, *, queued):
    """Return the seconds of a pass on the smallest graph that are added to those of the edges."""
    return small["kernels"] + small["exchange"] if queued else small["median_seconds"]


def _along(curve, vertices):
    """Return the seconds per edge for a number of vertices: on the line between two points, or beyond."""
    values, seconds = np.array(sorted(curve)).T
    i = min(max(int(np.searchsorted(values, vertices)), 1), len(values) - 1)
    (left, right), (before, after) = np.log(values[i - 1 : i + 1]), seconds[i - 1 : i + 1]
    return float(max(0.0, before + (after - before) * (np.log(vertices) - left) / (right - left)))


def _vertices(scale, gpus):
    """Return the connected vertices and the mirrors of a GPU."""
    sizes = simulation.expected(simulation.rmat_classes(scale), "random", gpus, [1.0])
    return float((sizes.vertices + sizes.mirrors).max())


def scale_of(row):
    """Return the scale of an R-MAT graph of a row."""
    return int(row["graph"].partition(":")[2].partition(",")[0])
