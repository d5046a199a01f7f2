"""Placing by plan: which elements, which policy and which share, chosen for an algorithm on this machine."""

from __future__ import annotations

import logging
import warnings
from functools import cache
from typing import TYPE_CHECKING

from evener.algorithms.arguments import given_share
from evener.elements import named, parse_elements
from evener.elements.cuda.discovery import gpus, lacking
from evener.errors import NO_USABLE_GPU, ArgumentError, DeviceError, DeviceOutOfMemory
from evener.graph.checks import is_number, type_name
from evener.graph.graph import Graph
from evener.partition.place import partition
from evener.planning.fits import saying_what_fits
from evener.planning.model import TRAVELS, Share, predict
from evener.planning.plan import Plan, check_choices, make_plan
from evener.planning.sizes import Sizes
from evener.profile import rates_kept, rates_of_this_machine
from evener.system.memory import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Unpack

    from evener.algorithms.arguments import Wanted
    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.prediction import Prediction
    from evener.planning.rates import Rates

__all__ = ["Plan", "place_by_plan", "plan"]

_log = logging.getLogger("evener")

# Measuring a machine with a GPU takes a few minutes. With fewer edges than this, a hundred iterations of
# PageRank take one thread 2 s at most, at 220 million edges a second: ten such runs could not pay for it.
_WORTH_MEASURING = 1 << 22
_ITERATIONS = 100
# So many of a nanosecond each take 30 years; of any that can be run, the time is a finite number.
_MOST_PASSES = 10**18


def plan(
    graph: Graph,
    algorithm: str,
    *,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    passes: float = 1.0,
) -> Plan:
    """Say, before a run, what would go where, what it takes up there, and how long the run would take.

    The first plan on a machine measures it, which takes a few minutes, and is logged; the rates are kept.

    Parameters
    ----------
    graph : Graph
    algorithm : {"bfs", "pagerank", "wcc", "sssp", "betweenness"}
    on : str or sequence of str, optional
        The elements to use, all of them. Default: the fastest choice of what this machine has.
    policy : {"auto", "random", "high", "low"}
        How vertices are dealt out to a CPU and GPUs.
    alpha : float or "auto", optional
        Share of the edges on the CPU side; of several elements of one kind, of the one named first. Default,
        or "auto": the one with the least predicted time, should the CPU be somewhat slow, and even shares.
    gpu_memory : str or int, optional
        What may be taken up on each GPU: bytes, or a size such as "20GiB". Default: what is free.
    passes : float, default 1
        How many passes to predict the time of, up to 10^18: iterations of PageRank, sources of the others.

    Returns
    -------
    Plan

    Raises
    ------
    ArgumentError
        For an element, algorithm or policy that does not exist, a share outside 0..1, or what is no number of
        passes.
    DeviceError
        If a GPU is named and none can be used.
    DeviceOutOfMemory
        If the graph does not fit the elements; the sentence says with which it would.

    Examples
    --------
    >>> import evener as ev
    >>> ev.plan(ev.read("rmat:10"), "bfs", on="cpu").on  # doctest: +SKIP
    ('cpu',)
    """
    alpha = given_share(alpha)
    _check(graph, algorithm, policy, alpha)
    if not is_number(passes) or not 0 <= passes <= _MOST_PASSES:
        msg = f"passes is a number from 0 to 10^18, not {passes!r}"
        raise ArgumentError(msg)
    directions = directions_of(algorithm)
    wanted: Wanted = {
        "on": named(on),
        "policy": policy,
        "alpha": alpha,
        "gpu_memory": gpu_memory,
        "directions": directions,
    }
    made, _ = _plan(graph, algorithm, wanted, passes=passes)
    return made


def directions_of(algorithm: str) -> str:
    """Which edges an algorithm follows, as `evener.partition` calls them."""
    return "in" if algorithm == "pagerank" else "both"


def place_by_plan(
    graph: Graph, algorithm: str, *, passes: float = 1.0, **wanted: Unpack[Wanted]
) -> PartitionedGraph:
    """Place a graph for an algorithm: as asked, and by plan where that is left open.

    Where no element is named, a GPU that cannot be used after all is told of in a warning, and the CPU takes
    its place; that there is none, though CuPy is installed, is told in the log. `passes` is how many the run
    may have, where that is far more than PageRank has iterations.

    Raises
    ------
    DeviceOutOfMemory
        If the graph does not fit the elements named; the sentence says with which it would.
    """
    wanted["on"] = named(wanted["on"])
    if wanted["on"] is None:
        if gpus() > 0:
            _check(graph, algorithm, wanted["policy"], wanted["alpha"])
            try:
                if rates_kept() or _worth_measuring(graph, passes, wanted):
                    return _place_as_planned(graph, algorithm, wanted)
            except (DeviceError, DeviceOutOfMemory) as error:
                # Where the caller of the algorithm is, which calls `placed`, which calls this.
                warnings.warn(f"{NO_USABLE_GPU}: {error}", RuntimeWarning, stacklevel=4)
        elif (why := lacking()) is not None:
            _tell_once(why)
        return _place_as_asked(graph, wanted)
    kinds = {element.kind for element in parse_elements(wanted["on"])}
    if len(kinds) > 1 and (wanted["alpha"] is None or wanted["policy"] == "auto"):
        _check(graph, algorithm, wanted["policy"], wanted["alpha"])
        return _place_as_planned(graph, algorithm, wanted)
    return _place_as_asked(graph, wanted)


@cache
def _tell_once(why: str) -> None:
    """Say why runs are the CPU's, where nobody named it."""
    _log.warning("%s: %s", NO_USABLE_GPU, why)


def _check(graph: Graph, algorithm: str, policy: str, alpha: float | None) -> None:
    """Refuse what cannot be planned before this machine is measured for it."""
    if not isinstance(graph, Graph):
        got = type_name(graph)
        msg = f"a plan is made for a Graph, not {got}; make one with evener.read or Graph.from_edges"
        raise ArgumentError(msg)
    if not isinstance(algorithm, str) or algorithm not in TRAVELS:
        msg = f"no plan can be made for {algorithm!r}; choose one of {', '.join(sorted(TRAVELS))}"
        raise ArgumentError(msg)
    check_choices(policy, alpha)


def _worth_measuring(graph: Graph, passes: float, wanted: Wanted) -> bool:
    """Whether a run may take so long that it matters where, or was asked for in terms of GPUs."""
    asked = wanted["alpha"] is not None or wanted["gpu_memory"] is not None
    edges = graph.m * max(1.0, min(passes, graph.n) / _ITERATIONS)
    return asked or edges >= _WORTH_MEASURING


def _place_as_asked(graph: Graph, wanted: Wanted) -> PartitionedGraph:
    settled: Wanted = {**wanted, "policy": "random" if wanted["policy"] == "auto" else wanted["policy"]}
    return partition(graph, **settled)


def _place_as_planned(graph: Graph, algorithm: str, wanted: Wanted) -> PartitionedGraph:
    made, rates = _plan(graph, algorithm, wanted)
    if made.leaves_gpus_out is not None:
        warnings.warn(f"{NO_USABLE_GPU}: {made.leaves_gpus_out}", RuntimeWarning, stacklevel=5)
    settled: Wanted = {**wanted, "on": made.on, "policy": made.policy, "alpha": made.alpha}
    placed = partition(graph, **settled)
    # It is handed the placement again: holding on to it, it would keep its memory until garbage is collected.
    placed.forecast = lambda own, name, passes: _forecast(own, made, rates, name, passes)
    return placed


def _plan(graph: Graph, algorithm: str, wanted: Wanted, *, passes: float = 1.0) -> tuple[Plan, Rates]:
    """A plan, and the rates it goes by; these are measured when it is clear that the elements are there."""
    free = wanted["on"] is None
    most = None if wanted["gpu_memory"] is None else parse_bytes(wanted["gpu_memory"], "gpu_memory")
    elements = parse_elements(_all_elements() if free else wanted["on"], gpu_memory=most)
    gpu = next((element.name.partition("#")[0] for element in elements if element.kind != "cpu"), None)
    rates = rates_of_this_machine(gpu)
    with saying_what_fits(graph, elements, gpu_memory=most, directions=wanted["directions"]):
        made = make_plan(
            Sizes.of(graph, wanted["directions"]),
            algorithm,
            elements,
            rates,
            policy=wanted["policy"],
            alpha=wanted["alpha"],
            passes=passes,
            all_of_them=not free,
            cpu_alone=parse_elements("cpu")[0] if free else None,
        )
    return made, rates


def _all_elements() -> list[str]:
    """The CPU and each GPU that can be started; where none of them can, the error of one."""
    names, refused = ["cpu"], None
    for name in (f"cuda:{index}" for index in range(gpus())):
        try:
            parse_elements(name)
            names.append(name)
        except (DeviceError, DeviceOutOfMemory) as error:
            refused = error
    if len(names) == 1 and refused is not None:
        raise refused
    return names


def _forecast(
    placed: PartitionedGraph, made: Plan, rates: Rates, algorithm: str, passes: float
) -> Prediction | None:
    """What a run should take on the partitions as they are: beta and the sizes are no longer estimates."""
    if algorithm != made.algorithm:
        return None
    return predict(Share.all_of(placed), algorithm, rates, passes=passes).beside(made.alternatives, passes)
