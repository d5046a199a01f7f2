"""Planner: make a plan for an algorithm on this machine, and place a graph by it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from evener.elements import parse_elements
from evener.elements.cuda.discovery import gpus
from evener.errors import NO_USABLE_GPU, ArgumentError, DeviceError, DeviceOutOfMemory, printable
from evener.graph.checks import graph_remedy, type_name
from evener.graph.graph import Graph
from evener.partition.build import partition
from evener.partition.estimate import GraphSizes
from evener.partition.hint import with_placement_hint
from evener.partition.placement_cache import forget_kept_on_gpus
from evener.partition.policy import find_policy
from evener.planning.cost_model import CostModel
from evener.planning.observations import observations
from evener.planning.plan import Plan, check_choices, choose
from evener.planning.prior import prior_of, supersteps_of
from evener.planning.ratio import profiled_share
from evener.system.memory import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.elements.description import ElementDescription
    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.workload import Workload

__all__ = ["cost_model", "make_plan", "plan_and_place"]

# Frames up to the caller of an algorithm: _warn, plan_and_place, _place, ensure_placed, the algorithm, the
# decorators of the last two, the caller.
_CALLER = 8


def make_plan(
    graph: Graph,
    spec: Workload,
    *,
    on: str | Sequence[str] | Sequence[Element] | None,
    policy: str,
    alpha: float | None,
    gpu_memory: str | int | None,
    directions: str,
    passes: float = 1.0,
) -> tuple[Plan, list[Element], CostModel]:
    """Return a plan, its elements, and the cost model that it follows. Nothing is measured.

    Parameters
    ----------
    graph : Graph
    spec : Workload
    on : str, sequence of str or of Element, or None
        The elements; the plan uses all of them. None: the elements with the least predicted time.
    policy, alpha, gpu_memory
        As in `plan`.
    directions : {"both", "in", "out"}
        The edges that the partitions will store.
    passes : float, default 1

    Returns
    -------
    Plan, list of Element, CostModel

    Raises
    ------
    ArgumentError, DeviceError, DeviceOutOfMemory
        As in `plan`.
    """
    if not isinstance(graph, Graph):
        msg = f"graph: expected a Graph, found {type_name(graph)}; {graph_remedy(graph)}"
        raise ArgumentError(msg)
    check_choices(policy, alpha)
    limit = None if gpu_memory is None else parse_bytes(gpu_memory, "gpu_memory")
    forget_kept_on_gpus()  # the plan counts the memory as free
    elements = _all_elements(limit) if on is None else parse_elements(on, gpu_memory=limit)
    cpu_alone = parse_elements("cpu")[0] if on is None else None
    model = cost_model(spec, elements)
    sizes = GraphSizes.of(graph, directions)
    if alpha is None and on is not None and policy != "auto" and find_policy(policy).profiled:
        alpha = profiled_share(sizes, elements, policy)
    with with_placement_hint(graph, elements, directions=directions):
        plan, members = choose(
            sizes,
            spec.name,
            spec.unit,
            elements,
            model,
            policy=policy,
            alpha=alpha,
            passes=passes,
            use_all=on is not None,
            cpu_alone=cpu_alone,
        )
    return plan, members, model


def cost_model(work: Workload, elements: Sequence[Element | ElementDescription]) -> CostModel:
    """Return the model of an algorithm on some elements, from hardware facts and recorded runs."""
    return CostModel.of(
        work.traffic,
        {element.name: prior_of(work, element) for element in elements},
        observations(work.name),
        supersteps=supersteps_of(work),
    )


def plan_and_place(
    graph: Graph,
    spec: Workload,
    *,
    on: str | Sequence[str] | Sequence[Element] | None,
    policy: str,
    alpha: float | None,
    gpu_memory: str | int | None,
    directions: str,
    passes: float = 1.0,
) -> PartitionedGraph:
    """Place a graph by a plan for the algorithm, and attach the plan and its model.

    If no element is named and a GPU turns out to be unusable, warn and use only the CPU.

    Parameters
    ----------
    graph, spec, on, policy, alpha, gpu_memory, directions, passes
        As in `make_plan`.

    Raises
    ------
    DeviceOutOfMemory
        If the graph does not fit the named elements. The message gives elements that fit.
    """
    try:
        plan, elements, model = make_plan(
            graph,
            spec,
            on=on,
            policy=policy,
            alpha=alpha,
            gpu_memory=gpu_memory,
            directions=directions,
            passes=passes,
        )
        placed = partition(
            graph,
            elements,
            policy=plan.policy,
            alpha=plan.alpha,
            gpu_memory=gpu_memory,
            directions=directions,
        )
    except (DeviceError, DeviceOutOfMemory) as error:
        if on is not None:
            raise
        _warn(str(error))
        return partition(
            graph,
            policy="random" if policy == "auto" else policy,
            alpha=alpha,
            gpu_memory=gpu_memory,
            directions=directions,
        )
    if plan.no_gpu_reason is not None:
        _warn(plan.no_gpu_reason)
    placed.plan, placed.cost_model = plan, model
    return placed


def _warn(why: str) -> None:
    """Warn at the line that calls the algorithm."""
    warnings.warn(printable(f"{NO_USABLE_GPU}: {why}"), RuntimeWarning, stacklevel=_CALLER)


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
