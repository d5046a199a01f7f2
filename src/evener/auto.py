"""Placing by plan: which elements, which policy and which share, chosen for an algorithm on this machine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evener.elements import parse_elements
from evener.elements.cuda import gpus
from evener.errors import ArgumentError
from evener.graph import Graph
from evener.memory import nbytes_of
from evener.partition import PartitionedGraph, partition
from evener.planning.model import TRAVELS, Share, predict
from evener.planning.plan import Plan, Sizes, make_plan
from evener.profile import rates_of_this_machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.planning.prediction import Prediction
    from evener.planning.rates import Rates

__all__ = ["Plan", "place_by_plan", "plan"]


def plan(
    graph: Graph,
    algorithm: str,
    *,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | None = None,
    gpu_memory: str | int | None = None,
    passes: float = 1.0,
) -> Plan:
    """Say, before a run, what would go where, what it takes up there, and how long the run would take.

    The first plan on a machine measures it, which takes up to a minute; the rates are kept.

    Parameters
    ----------
    graph : Graph
    algorithm : {"bfs", "pagerank", "wcc", "sssp", "betweenness"}
    on : str or sequence of str, optional
        The elements to use, all of them. Default: the fastest choice of what this machine has.
    policy : {"auto", "random", "high", "low"}
        How vertices are dealt out to a CPU and GPUs.
    alpha : float, optional
        Share of the edges on the CPU side. Default: the one with the least predicted time.
    gpu_memory : str or int, optional
        What may be taken up on each GPU: bytes, or a size such as "20GiB". Default: what is free.
    passes : float, default 1
        How many passes to predict the time of: iterations of PageRank, sources of the others.

    Returns
    -------
    Plan

    Raises
    ------
    ArgumentError
        For an element, algorithm or policy that does not exist, a share outside 0..1, or what is no number of
        passes.
    DeviceOutOfMemory
        If no placement fits the GPU.

    Examples
    --------
    >>> import evener as ev
    >>> ev.plan(ev.read("rmat:10"), "bfs", on="cpu").on  # doctest: +SKIP
    ('cpu',)
    """
    _check(graph, algorithm)
    if isinstance(passes, bool) or not isinstance(passes, (int, float)) or not 0 <= passes < math.inf:
        msg = f"passes is a finite number of at least 0, not {passes!r}"
        raise ArgumentError(msg)
    return _plan(graph, algorithm, on, policy, alpha, gpu_memory, passes, rates_of_this_machine())


def place_by_plan(
    graph: Graph,
    algorithm: str,
    *,
    on: str | Sequence[str] | None,
    policy: str,
    alpha: float | None,
    gpu_memory: str | int | None,
    directions: str,
) -> PartitionedGraph:
    """Place a graph for an algorithm: as asked, and by plan where that is left open."""
    open_choice = on is None and gpus() > 0
    kinds = {e.kind for e in parse_elements(on)} if on is not None else {"cpu"}
    mixed = len(kinds) > 1 and (alpha is None or policy == "auto")
    if not (open_choice or mixed):
        policy = "random" if policy == "auto" else policy
        return partition(graph, on, policy=policy, alpha=alpha, gpu_memory=gpu_memory, directions=directions)
    _check(graph, algorithm)
    rates = rates_of_this_machine()
    made = _plan(graph, algorithm, on, policy, alpha, gpu_memory, 1.0, rates)
    placed = partition(
        graph, made.on, policy=made.policy, alpha=made.alpha, gpu_memory=gpu_memory, directions=directions
    )
    placed.forecast = lambda name, passes: _forecast(placed, made, rates, name, passes)
    return placed


def _check(graph: Graph, algorithm: str) -> None:
    """Refuse what cannot be planned before this machine is measured for it."""
    if not isinstance(graph, Graph):
        got = type(graph).__name__
        msg = f"a plan is made for a Graph, not {got}; make one with evener.read or Graph.from_edges"
        raise ArgumentError(msg)
    if algorithm not in TRAVELS:
        msg = f"no plan can be made for {algorithm!r}; choose one of {', '.join(sorted(TRAVELS))}"
        raise ArgumentError(msg)


def _plan(
    graph: Graph,
    algorithm: str,
    on: str | Sequence[str] | None,
    policy: str,
    alpha: float | None,
    gpu_memory: str | int | None,
    passes: float,
    rates: Rates,
) -> Plan:
    everything = ["cpu", *(f"cuda:{i}" for i in range(gpus()))]
    most = None if gpu_memory is None else nbytes_of(gpu_memory)
    elements = parse_elements(everything if on is None else on, gpu_memory=most)
    sizes = Sizes.of(graph, "in" if algorithm == "pagerank" else "both")
    return make_plan(
        sizes,
        algorithm,
        elements,
        rates,
        policy=policy,
        alpha=alpha,
        passes=passes,
        all_of_them=on is not None,
    )


def _forecast(
    placed: PartitionedGraph, made: Plan, rates: Rates, algorithm: str, passes: float
) -> Prediction | None:
    """What a run should take on the partitions as they are: beta and the sizes are no longer estimates."""
    if algorithm != made.algorithm:
        return None
    pairs = zip(placed.elements, placed.partitions, strict=True)
    shares = [
        Share(e.name, e.kind, e.threads, part.owned, part.mirrors, part.stored_edges, part.mapped_edges)
        for e, part in pairs
    ]
    return predict(shares, algorithm, rates, passes=passes).beside(made.alternatives, passes)
