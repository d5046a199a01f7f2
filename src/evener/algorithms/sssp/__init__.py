"""Shortest paths from one or more sources."""

from __future__ import annotations

from evener.spec.algorithm import GOAL_OPTIONS, AlgorithmSpec, Column, Option, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="sssp",
    summary="Shortest paths from one or more sources over edge weights.",
    run="evener.algorithms.sssp.sssp:sssp",
    verify="evener.algorithms.sssp.verify:check",
    verifies_parts=True,
    columns=(Column("distance", "distance"), Column("parent", "vertex")),
    options=(
        *GOAL_OPTIONS,
        Option("delta", "float", "Width of a bucket of distances (default: from mean weight and degree)."),
    ),
    directions="both",
    reads_every_edge=False,
    # distance float64, parent, two queues; bitmaps
    state=StateBytes(8 + 4 + 4 + 4 + 1, 8 + 1),
    host_state=StateBytes(4 + 4 + 4 + 4, 4),
    # Two shorter distances with positions.
    traffic=Traffic(pushed=16.0, pulled=0.0),
    unit="a run from one source",
    source_option="source",
    graphalytics=("distance", "epsilon"),
    checkpoints=True,
    synonyms=(
        "dijkstra",
        "bellman_ford",
        "delta_stepping",
        "shortest_path",
        "shortest_paths",
        "shortest_path_length",
        "single_source_shortest_path",
        "single_source_dijkstra",
        "single_source_bellman_ford",
    ),
)
