"""K-core decomposition, an algorithm from outside Evener."""

from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic

__all__ = ["SPEC"]

SPEC = AlgorithmSpec(
    name="kcore",
    summary="Core numbers of an undirected graph.",
    run="evener_kcore.kcore:kcore",
    verify="evener_kcore.verify:check",
    columns=(Column("core"),),
    directions="out",
    reads_every_edge=False,
    # A count, a core number and a queue; mirrors keep the count.
    state=StateBytes(4 + 4 + 4, 4),
    host_state=StateBytes(4 + 4 + 4, 4),
    # The counts of all mirrors, in about ten peeling steps.
    traffic=Traffic(pushed=40.0, pulled=0.0),
)
