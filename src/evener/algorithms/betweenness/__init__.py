"""Betweenness centrality."""

from __future__ import annotations

from evener.spec.algorithm import PATH_WEIGHTS_OPTION, AlgorithmSpec, Column, Option, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="betweenness",
    summary="Betweenness centrality, from all or some sources.",
    run="evener.algorithms.betweenness.betweenness:betweenness",
    verify="evener.algorithms.betweenness.verify:check",
    verifies_parts=True,
    columns=(Column("centrality", real=True),),
    options=(
        Option(
            "sources",
            "vertices",
            "Ids of the sources, separated by commas; quote ids with commas (default: all).",
        ),
        Option("k", "int", "Number of sources to draw.", flags=("--k", "-k")),
        Option("seed", "int", "Seed for drawing sources (default 0)."),
        Option(
            "normalized",
            "bool",
            "Divide by the number of pairs of vertices (default), or not.",
            flags=("--normalized/--raw",),
            changes_answer=False,
        ),
        PATH_WEIGHTS_OPTION,
    ),
    directions="both",
    reads_every_edge=False,
    # centrality, value, arriving, order; bitmaps
    state=StateBytes(8 + 8 + 8 + 4 + 1, 8 + 8 + 1),
    host_state=StateBytes(8 + 8 + 8 + 4, 8 + 8),
    # A path count and a dependency.
    traffic=Traffic(pushed=8.0, pulled=8.0),
    unit="a run from one source",
    source_option="sources",
    notes="evener.algorithms.betweenness.notes:notes",
    claim_parameters="evener.algorithms.betweenness.verify:claim_parameters",
    checkpoints=True,
    synonyms=("betweenness_centrality",),
)
