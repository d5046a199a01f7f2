"""Breadth-first search."""

from __future__ import annotations

from evener.spec.algorithm import GOAL_OPTIONS, AlgorithmSpec, Column, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="bfs",
    summary="Breadth-first search: distances and parents from one or more sources.",
    run="evener.algorithms.bfs.bfs:bfs",
    verify="evener.algorithms.bfs.verify:check",
    verifies_parts=True,
    columns=(Column("distance", "distance"), Column("parent", "vertex")),
    options=GOAL_OPTIONS,
    directions="both",
    reads_every_edge=False,
    # distance, parent, two queues and offered; mirrors: offered and offers; bitmaps
    state=StateBytes(4 + 4 + 4 + 4 + 4 + 1, 4 + 8 + 1),
    host_state=StateBytes(4 + 4 + 4 + 4, 4),
    # Parents offered by few mirrors, and one bit in each of three bottom-up steps.
    traffic=Traffic(pushed=0.1, pulled=3 / 8),
    unit="a run from one source",
    source_option="source",
    graphalytics=("distance", "exact"),
    checkpoints=True,
    synonyms=("breadth_first_search", "bfs_tree", "bfs_edges", "bfs_predecessors"),
)
