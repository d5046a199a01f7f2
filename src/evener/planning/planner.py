"""Planner: make a plan for an algorithm on this machine, and place a graph by it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evener.elements import parse_elements
from evener.elements.cuda.discovery import gpus
from evener.errors import NO_USABLE_GPU, ArgumentError, DeviceError, DeviceOutOfMemory, printable
from evener.graph.checks import graph_remedy, type_name
from evener.graph.graph import Graph
from evener.partition.build import place_graph
from evener.partition.estimate import GraphSizes, with_placement_hint
from evener.partition.policy import find_policy
from evener.planning.cost_model import CostModel
from evener.planning.observations import observations
from evener.planning.plan import choose
from evener.planning.prior import prior_of, supersteps_of
from evener.planning.ratio import profiled_share
from evener.system.caller import warn_caller
from evener.system.memory import release_on_devices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.elements.description import ElementDescription
    from evener.partition.partitioned import PartitionedGraph
    from evener.partition.placement import Placement
    from evener.planning.plan import Plan
    from evener.planning.prior import Workload

__all__ = ["cost_model", "make_plan", "plan_and_place"]


def make_plan(
    graph: Graph, work: Workload, placement: Placement, *, passes: float = 1.0
) -> tuple[Plan, Placement]:
    """Return a plan and the placement that it chooses, as `choose` does. Nothing is measured.

    If the elements of the placement are not open, the plan uses all of them.
    """
    if not isinstance(graph, Graph):
        msg = f"graph: expected a Graph, found {type_name(graph)}; {graph_remedy(graph)}"
        raise ArgumentError(msg)
    release_on_devices()  # the plan counts the memory as free
    named = placement.on is not None
    elements = placement.elements() if named else _all_elements(placement.gpu_memory)
    sizes = GraphSizes.of(graph, placement.directions)
    policy = placement.policy
    if placement.alpha is None and named and policy != "auto" and find_policy(policy).profiled:
        placement = replace(placement, alpha=profiled_share(sizes, elements, policy))
    model, cpu_alone = cost_model(work, elements), None if named else parse_elements("cpu")[0]
    with with_placement_hint(graph, elements, directions=placement.directions):
        return choose(sizes, work, placement, elements, model, passes=passes, cpu_alone=cpu_alone)


def cost_model(work: Workload, elements: Sequence[Element | ElementDescription]) -> CostModel:
    """Return the model of an algorithm on some elements, from hardware facts and recorded runs."""
    return CostModel.of(
        work.traffic,
        {element.name: prior_of(work, element) for element in elements},
        observations(work.name),
        supersteps=supersteps_of(work),
    )


def plan_and_place(
    graph: Graph, work: Workload, placement: Placement, *, passes: float = 1.0
) -> tuple[PartitionedGraph, Plan | None]:
    """Place a graph by a plan for the algorithm, and return the plan too.

    If no element is named and a GPU turns out to be unusable, warn and use only the CPU, without a plan.

    If the graph does not fit the named elements, a `DeviceOutOfMemory` gives elements that fit.
    """
    try:
        plan, chosen = make_plan(graph, work, placement, passes=passes)
        placed = place_graph(graph, chosen)
    except (DeviceError, DeviceOutOfMemory) as error:
        if placement.on is not None:
            raise
        _warn(str(error))
        return place_graph(graph, placement), None
    if plan.no_gpu_reason is not None:
        _warn(plan.no_gpu_reason)
    return placed, plan


def _warn(why: str) -> None:
    warn_caller(printable(f"{NO_USABLE_GPU}: {why}"), RuntimeWarning)


def _all_elements(gpu_memory: int | None) -> list[Element]:
    """Return the CPU and each usable GPU; if no GPU is usable, raise the error of a GPU."""
    names, refused = ["cpu"], None
    for name in (f"cuda:{index}" for index in range(gpus())):
        try:
            parse_elements(name)
            names.append(name)
        except (DeviceError, DeviceOutOfMemory) as error:
            refused = error
    if len(names) == 1 and refused is not None:
        raise refused
    return parse_elements(names, gpu_memory=gpu_memory)
