"""Weakly connected components."""

from __future__ import annotations

from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="wcc",
    summary="Weakly connected components.",
    run="evener.algorithms.wcc.wcc:wcc",
    verify="evener.algorithms.wcc.verify:check",
    verifies_parts=True,
    columns=(Column("component", "group"),),
    directions="both",
    reads_every_edge=False,
    # component, label, joined; mirrors: pairs of labels. `joined` has 4 bytes for each vertex of the whole
    # graph: an element with few vertices uses bytes reserved for other algorithms.
    state=StateBytes(8 + 4, 8 + 8),
    host_state=StateBytes(4 + 4, 4 + 4),
    traffic=Traffic(pushed=0.0, pulled=4.0),
    graphalytics=("component", "equivalence"),
    checkpoints=True,
    synonyms=(
        "connected_components",
        "weakly_connected_components",
        "number_connected_components",
        "connected_component",
    ),
)
