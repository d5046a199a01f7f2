"""Core numbers."""

from __future__ import annotations

from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="core_number",
    summary="Core numbers: for each vertex, the largest k whose k-core has it.",
    run="evener.algorithms.core_number.core_number:core_number",
    verify="evener.algorithms.core_number.verify:check",
    verifies_parts=True,
    columns=(Column("core"),),
    directions="both",
    reads_every_edge=True,
    # Degree, lost edges, two lists of remaining vertices, queue; mirrors: degree and lost edges.
    state=StateBytes(4 + 4 + 4 + 4 + 4, 4 + 4),
    host_state=StateBytes(4 + 4 + 4 + 4 + 4, 4 + 4),
    traffic=Traffic(pushed=4.0, pulled=0.0),
    checkpoints=True,
    synonyms=("coreness", "core_decomposition", "core_numbers"),
)
