"""Coloring."""

from __future__ import annotations

from evener.spec.algorithm import AlgorithmSpec, Column, Option, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="coloring",
    summary="Colors of vertices, different at both ends of each edge.",
    run="evener.algorithms.coloring.coloring:coloring",
    verify="evener.algorithms.coloring.verify:check",
    verifies_parts=True,
    columns=(Column("color"),),
    options=(Option("seed", "int", "Seed of the order of vertices of one degree (default 1)."),),
    directions="both",
    reads_every_edge=True,
    # priority and color; then order, ends and places on one element, else waits, queue and two bits. Mirrors
    # have no queue.
    state=StateBytes(8 + 4 + 4 + 4 + 8, 8 + 4 + 4 + 2),
    host_state=StateBytes(8 + 4 + 4 + 4, 8 + 4 + 4),
    # Edges to colored vertices, in steps of mirrors that changed; priorities and colors.
    traffic=Traffic(pushed=16.0, pulled=8.0 + 8.0),
    checkpoints=True,
    synonyms=("greedy_color", "graph_coloring", "vertex_coloring", "vertex_coloring_greedy"),
)
