"""Plan a run of an algorithm: `evener.plan`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.graph.checks import is_number
from evener.partition.estimate import GraphSizes
from evener.partition.placement import Placement
from evener.planning.plan import choose
from evener.planning.planner import cost_model, make_plan
from evener.spec.registry import find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from evener.elements import Element
    from evener.graph.formats.heading import Heading
    from evener.graph.graph import Graph
    from evener.planning.plan import Plan

__all__ = ["plan", "plan_on_cpu"]

# Largest number of passes, for which the predicted time is finite.
_MAX_PASSES = 10**18


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
    """Return the placement of a graph with the least predicted time for an algorithm.

    The algorithm does not run. The prediction follows from hardware facts and recorded runs on this machine.

    Parameters
    ----------
    graph : Graph
    algorithm : str
        Name of an algorithm, such as "bfs" or "pagerank".
    on : str or sequence of str, optional
        The elements; the plan uses all of them. Default: the elements with the least predicted time.
    policy : str, default "auto"
        The policy, as in `partition`. With "auto", the fastest of "random", "high" and "low" for a CPU and
        GPUs, and the default policy of `partition` for equal elements.
    alpha : float or "auto", optional
        Share of the edges on the CPU side, or on the first of several elements of one kind. Default, or
        "auto": the share with the least predicted time, and even shares among elements of one kind.
    gpu_memory : str or int, optional
        Memory to use on each GPU: bytes, or a size such as "20GiB". Default: all free memory.
    passes : float, default 1
        Number of passes to predict, up to 10^18: iterations of PageRank, or sources.

    Returns
    -------
    Plan

    Raises
    ------
    ArgumentError
        For an unknown element, algorithm or policy, a share outside 0..1, or an invalid number of passes.
    DeviceError
        If a GPU is named and none can be used.
    DeviceOutOfMemory
        If the graph does not fit the elements. The message gives elements that fit.

    Examples
    --------
    >>> import evener as ev
    >>> ev.plan(ev.read("rmat:10"), "bfs", on="cpu").on
    ('cpu',)
    """
    spec = find(algorithm)
    if not is_number(passes) or not 0 <= passes <= _MAX_PASSES:
        msg = f"passes=: expected a number from 0 to 10^18, found {passes!r}"
        raise ArgumentError(msg)
    placement = Placement.parse(on, policy, alpha, gpu_memory, spec.directions)
    if on is None and "cuda" not in spec.kinds:
        placement = replace(placement, on=("cpu",))
    found, _ = make_plan(graph, spec, placement, passes=passes)
    return found


def plan_on_cpu(heading: Heading, algorithm: str, element: Element, *, policy: str = "auto") -> Plan:
    """Return a plan for one CPU element from the sizes of a graph.

    The plan counts every vertex as a vertex with edges. So the predicted time is that of `plan`, or longer.
    """
    spec = find(algorithm)
    directions = 1 + (heading.directed and spec.directions == "both")
    sizes = GraphSizes.of_one_part(
        heading.n, directions * heading.m, directions=directions, edge_bytes=4 + heading.weight_bytes
    )
    model = cost_model(spec, [element])
    found, _ = choose(sizes, spec, Placement.parse([element], policy), [element], model)
    return found
