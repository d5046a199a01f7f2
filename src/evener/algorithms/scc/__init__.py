"""Strongly connected components."""

from __future__ import annotations

from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="scc",
    summary="Strongly connected components.",
    run="evener.algorithms.scc.scc:scc",
    verify="evener.algorithms.scc.verify:check",
    verifies_parts=True,
    columns=(Column("component", "group"),),
    directions="both",
    reads_every_edge=True,
    # Group, two values, queue, two lists of remaining vertices, bits; mirrors: group, two values and bits.
    state=StateBytes(4 + 8 + 4 + 8 + 1, 4 + 8 + 1),
    host_state=StateBytes(4 + 8 + 4 + 8 + 1, 4 + 8 + 1),
    traffic=Traffic(pushed=8.0, pulled=8.0),
    checkpoints=True,
    synonyms=(
        "strongly_connected_components",
        "strong_components",
        "number_strongly_connected_components",
        "connected_components_strong",
    ),
)
