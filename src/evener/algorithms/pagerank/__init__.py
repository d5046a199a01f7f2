"""PageRank."""

from __future__ import annotations

from evener.algorithms.spec import AlgorithmSpec, Column, Option, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="pagerank",
    summary="PageRank of every vertex.",
    run="evener.algorithms.pagerank.pagerank:pagerank",
    verify="evener.algorithms.pagerank.verify:check",
    columns=(Column("rank", real=True),),
    options=(
        Option("damping", "float", "Damping factor, 0.85.", changes_answer=False),
        Option("tol", "float", "Stop at a change of the ranks below this, 1e-6.", changes_answer=False),
        Option("max_iter", "int", "Most iterations, 100.", changes_answer=False),
        Option("dtype", "str", "Ranks in float32 or float64.", changes_answer=False),
        Option("semantics", "str", "networkx or graphalytics."),
        Option("personalization", "weights", "Where random jumps end."),
    ),
    directions="in",
    reads_every_edge=True,
    # rank, teleport and two contributions, all float64
    state=StateBytes(8 + 8 + 16, 16),
    host_state=StateBytes(4 + 8, 8),
    traffic=Traffic(pushed=0.0, pulled=4.0, contiguous=True),
    unit="an iteration",
    pass_arguments={"tol": 0, "max_iter": 8},
    graphalytics=("rank", "epsilon"),
    notes="evener.algorithms.pagerank.notes:notes",
    verified_scope="evener.algorithms.pagerank.notes:verified_scope",
    claimed="evener.algorithms.pagerank.notes:claimed",
)
