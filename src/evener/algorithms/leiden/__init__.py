"""Communities by the Leiden method."""

from __future__ import annotations

from evener.spec.algorithm import WEIGHTS_OPTION, AlgorithmSpec, Column, Option, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="leiden",
    summary="Connected communities of high modularity.",
    run="evener.algorithms.leiden.leiden:leiden",
    verify="evener.algorithms.leiden.verify:check",
    verifies_parts=True,
    columns=(Column("community", "group"),),
    options=(
        Option("resolution", "float", "Factor of the penalty for large communities (default 1)."),
        WEIGHTS_OPTION,
        Option("seed", "int", "Seed of the order in which vertices move (default 1)."),
    ),
    directions="both",
    reads_every_edge=True,
    # labels, strengths and totals of two partitions of the vertices, and the edges of smaller graphs.
    state=StateBytes(125, 40),
    host_state=StateBytes(40, 16),
    traffic=Traffic(pushed=1.0, pulled=4.0),
    checkpoints=True,
    verified_scope="evener.algorithms.louvain:verified_scope",
    synonyms=("leiden_communities", "community_leiden", "parallel_leiden"),
)
