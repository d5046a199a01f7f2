"""Betweenness centrality of edges."""

from __future__ import annotations

from evener.algorithms.betweenness import SPEC as BETWEENNESS
from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="edge_betweenness",
    summary="Betweenness centrality of edges, from all or some sources.",
    run="evener.algorithms.edge_betweenness.edge_betweenness:edge_betweenness",
    verify="evener.algorithms.edge_betweenness.verify:check",
    verifies_parts=True,
    row="edge",
    columns=(Column("u", "vertex"), Column("v", "vertex"), Column("centrality", real=True)),
    options=BETWEENNESS.options,
    directions="both",
    reads_every_edge=False,
    # As betweenness. The run itself checks the memory for 8 bytes of each stored edge.
    state=StateBytes(8 + 8 + 8 + 4 + 1, 8 + 8 + 1),
    host_state=StateBytes(8 + 8 + 8 + 4, 8 + 8),
    # A path count and a dependency.
    traffic=Traffic(pushed=8.0, pulled=8.0),
    unit="a run from one source",
    source_option="sources",
    notes=BETWEENNESS.notes,
    claim_parameters=BETWEENNESS.claim_parameters,
    synonyms=("edge_betweenness_centrality",),
)
