"""Minimum spanning forests."""

from __future__ import annotations

from evener.spec.algorithm import WEIGHTS_OPTION, AlgorithmSpec, Column, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="spanning_forest",
    summary="Edges of the minimum spanning forest.",
    run="evener.algorithms.spanning_forest.spanning_forest:spanning_forest",
    verify="evener.algorithms.spanning_forest.verify:check",
    verifies_parts=True,
    row="edge",
    columns=(Column("u", "vertex"), Column("v", "vertex"), Column("weight")),
    options=(WEIGHTS_OPTION,),
    directions="both",
    reads_every_edge=True,
    # component, parent, two choices of components, edges of the forest; of each vertex also its own choice.
    state=StateBytes(8 + 32 + 20, 8 + 32),
    host_state=StateBytes(8 + 32 + 20, 8 + 32),
    traffic=Traffic(pushed=0.0, pulled=0.0),
    checkpoints=True,
    synonyms=(
        "minimum_spanning_tree",
        "minimum_spanning_edges",
        "minimum_spanning_forest",
        "spanning_tree",
        "mst",
        "kruskal",
        "boruvka",
    ),
)
