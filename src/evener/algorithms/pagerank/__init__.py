"""PageRank."""

from __future__ import annotations

from evener.spec.algorithm import WEIGHTS_OPTION, AlgorithmSpec, Column, Option, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="pagerank",
    summary="PageRank of every vertex.",
    run="evener.algorithms.pagerank.pagerank:pagerank",
    verify="evener.algorithms.pagerank.verify:check",
    verifies_parts=True,
    columns=(Column("rank", real=True),),
    options=(
        Option("damping", "float", "Damping factor (default 0.85).", changes_answer=False),
        Option("tol", "float", "Tolerance of --stop (default 1e-6).", changes_answer=False),
        Option(
            "stop",
            "str",
            "Stop if the L1 change is below --tol (l1, the default) or n times --tol (networkx).",
            choices=("l1", "networkx"),
            changes_answer=False,
        ),
        Option("max_iter", "int", "Largest number of iterations (default 100).", changes_answer=False),
        WEIGHTS_OPTION,
        Option(
            "dtype",
            "str",
            "Type of the ranks: float32 or float64 (default: float32 if it reaches --tol).",
            choices=("float32", "float64"),
            changes_answer=False,
        ),
        Option(
            "semantics",
            "str",
            "networkx (default) or graphalytics (exactly --max-iter iterations).",
            choices=("networkx", "graphalytics"),
            changes_answer=False,
        ),
        Option(
            "personalization",
            "vertex_values",
            "Vertices at which jumps end: ID or ID=WEIGHT with commas, or a table with a column vertex.",
        ),
    ),
    directions="in",
    reads_every_edge=True,
    # rank, teleport and two contributions, all float64
    state=StateBytes(8 + 8 + 16, 16),
    host_state=StateBytes(4 + 8, 8),
    traffic=Traffic(pushed=0.0, pulled=4.0),
    unit="an iteration",
    pass_arguments={"tol": 0, "max_iter": 8, "weights": False},
    graphalytics=("rank", "epsilon"),
    verified_scope="evener.algorithms.pagerank.verify:verified_scope",
    claim_parameters="evener.algorithms.pagerank.verify:claim_parameters",
    checkpoints=True,
    synonyms=("page_rank", "personalized_pagerank", "personalized_page_rank"),
)
