"""Arguments that all algorithms share: placement, sources and weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.elements.cuda.discovery import gpus
from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.checks import graph_remedy, type_name
from evener.graph.graph import Graph
from evener.partition.build import place_graph
from evener.partition.distributed.build import is_path, read_graph
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.partitioned import PartitionedGraph
from evener.partition.placement import Placement
from evener.partition.placement_cache import find_kept, keep
from evener.system.agreement import collective, on_all_ranks
from evener.system.log import log
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from evener.planning.plan import Plan
    from evener.spec.algorithm import AlgorithmSpec

__all__ = [
    "check_signed_weights",
    "check_weights",
    "ensure_placed",
    "graph_of",
    "number_of_vertex",
    "opened",
    "parse_placement",
    "unsigned",
    "weights_used",
]


def opened(graph: Any, spec: AlgorithmSpec) -> Any:
    """Return the graph of a path or a generator spec for an algorithm, and any other argument unchanged.

    With several ranks, each rank reads its own part. This is a collective operation; all ranks must call it.
    """
    return read_graph(graph, spec.directions) if is_path(graph) else graph


def graph_of(graph: Graph | PartitionedGraph, algorithm: str) -> Graph:
    """Return the graph of a placed graph, or the graph itself, to check arguments before it is placed.

    Raises
    ------
    ArgumentError
        If `graph` is neither a Graph nor a PartitionedGraph.
    """
    if isinstance(graph, PartitionedGraph):
        return graph.graph
    if not isinstance(graph, Graph):
        msg = (
            f"{algorithm}: expected a Graph or a PartitionedGraph, found {type_name(graph)}; "
            f"{graph_remedy(graph)}"
        )
        raise ArgumentError(msg)
    return graph


def parse_placement(
    spec: AlgorithmSpec,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
) -> Placement:
    """Return the placement that the caller of an algorithm asks for, with the edges that the algorithm needs.

    This is a collective operation; all ranks must call it. The ranks may have other elements.

    Raises
    ------
    ArgumentError
        On all ranks, if an argument of one rank has a wrong type or value.
    """
    return on_all_ranks(
        current_world(), lambda: Placement.parse(on, policy, alpha, gpu_memory, spec.directions)
    )


@collective()
def ensure_placed(
    graph: Graph | PartitionedGraph,
    spec: AlgorithmSpec,
    placement: Placement,
    *,
    passes: float = 1.0,
    required_directions: str | None = None,
) -> tuple[PartitionedGraph, Plan | None]:
    """Return the graph on processing elements; place it now unless it is already placed.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
    spec : AlgorithmSpec
        The algorithm that is to run.
    placement : Placement
        Where to run a graph that is not placed: see `parse_placement`.
    passes : float, default 1
        The number of passes of the run, if it is much larger than the iterations of PageRank.
    required_directions : {"out", "in"}, optional
        The edges that the algorithm needs. It is faster with the edges of ``spec.directions``.

    Returns
    -------
    PartitionedGraph, Plan or None
        The plan that chose the placement, if there is one, for `finish_run`.

    Raises
    ------
    ArgumentError
        If `graph` is neither a Graph nor a PartitionedGraph. If the graph is already placed, and another
        placement is requested. If the placement lacks the edges that the algorithm follows.
    """
    if not isinstance(graph, PartitionedGraph):
        if "cuda" not in spec.kinds:
            placement = placement if placement.on is not None else replace(placement, on=("cpu",))
            on_all_ranks(current_world(), lambda: _require_cpus(spec, placement.kinds))
        pg, plan = _place(graph_of(graph, spec.name), spec, placement, passes)
        if placement.alpha is not None and len(pg.elements) == 1:
            own = {option.name for option in spec.options} & {"attenuation", "damping"}
            hint = f"; NetworkX's alpha is called {own.pop()} here" if own else ""
            log.warning(
                "alpha=%g is ignored: %s is the only element%s", placement.alpha, pg.elements[0].name, hint
            )
        return pg, plan
    on_all_ranks(graph.world, lambda: _refuse(placement))
    if "cuda" not in spec.kinds:
        of_ranks = graph.world.allgather([element.kind for element in graph.elements])
        _require_cpus(spec, [kind for own in of_ranks for kind in own])
    if graph.graph.directed and graph.directions not in ("both", spec.directions, required_directions):
        others = "" if spec.directions == "both" else ' or "both"'
        msg = (
            f'{spec.name} needs edges in direction "{spec.directions}", and the graph was placed with '
            f'"{graph.directions}" only; place it with directions="{spec.directions}"{others}'
        )
        raise ArgumentError(msg)
    return graph, None


def _refuse(placement: Placement) -> None:
    """Raise an error if the caller asks for a placement."""
    if not placement.is_open:
        msg = (
            "the graph is already placed, so on=, policy=, alpha= and gpu_memory= have no effect; give them "
            "to partition() instead"
        )
        raise ArgumentError(msg)


def _require_cpus(spec: AlgorithmSpec, kinds: Sequence[str]) -> None:
    """Raise an error if an element is a GPU."""
    if "cuda" in kinds:
        msg = f'{spec.name} runs on CPUs, and the graph is on a GPU; place it with on="cpu"'
        raise ArgumentError(msg)


def _place(
    graph: Graph, spec: AlgorithmSpec, request: Placement, passes: float
) -> tuple[PartitionedGraph, Plan | None]:
    """Place a graph as requested, or by a plan if elements, policy or alpha are to be chosen.

    The placed graph of an earlier call with the same request is used instead, if it is kept.
    """
    world, run = current_world(), (spec.name, passes)
    single = world.size == 1  # ranks place together, so a rank must not skip a placement
    if single and (kept := find_kept(graph, request, run)):
        return kept
    placement, plan = on_all_ranks(world, request.with_elements), None
    if single and _needs_plan(placement):
        from evener.planning.planner import plan_and_place

        placed, plan = plan_and_place(graph, spec, placement, passes=passes)
        if plan is None or plan.no_gpu_reason is not None:
            return placed, plan  # the next call tries the GPUs again
    else:
        placed = place_graph(graph, placement.without_plan())
    if single:
        keep(placed, request, run, plan)
    return placed, plan


def _needs_plan(placement: Placement) -> bool:
    """Return whether elements, policy or alpha are to be chosen."""
    if placement.on is None:
        return bool(gpus())
    return len(set(placement.kinds)) > 1 and (placement.policy == "auto" or placement.alpha is None)


def number_of_vertex(graph: Graph, vertex: Any, name: str) -> int:
    """Return the global number of the vertex whose id is the argument `name`.

    Raises
    ------
    UnknownVertexError
        If the vertex is not in the graph.
    """
    try:
        (number,) = graph.numbers_of([vertex])
    except UnknownVertexError as error:
        msg = f"{error}; name another vertex with {name}="
        raise UnknownVertexError(msg) from None
    return int(number)


def check_weights(graph: Graph, need: str, *, finite: bool = False) -> float:
    """Return the heaviest weight.

    Raises
    ------
    ArgumentError
        If a weight is negative or NaN, or with `finite` infinite. The message names an edge and ends with
        `need`.
    """
    lightest, heaviest = graph.weight_range
    if lightest >= 0 and not (finite and heaviest == np.inf):
        return heaviest
    if isinstance(graph, DistributedGraph):
        msg = f"an edge weighs {lightest if not lightest >= 0 else heaviest}; {need}"
        raise ArgumentError(msg)
    _raise_weight(graph, lambda weights: ~(weights >= 0) | (finite & np.isinf(weights)), need)
    return heaviest


def check_signed_weights(graph: Graph, need: str) -> None:
    """Raise an error for a weight that is negative as a signed integer of 64 bits.

    Raises
    ------
    ArgumentError
        If an unsigned weight is 2^63 or more. The message names an edge and ends with `need`.
    """
    if graph.weight_dtype != np.uint64 or graph.weight_range[1] < 2.0**63:
        return
    if isinstance(graph, DistributedGraph):
        msg = f"an edge weighs about {graph.weight_range[1]:g}; {need}"
        raise ArgumentError(msg)
    _raise_weight(graph, lambda weights: weights > np.uint64(np.iinfo(np.int64).max), need)


def _raise_weight(graph: Graph, is_wrong: Callable[[NDArray[Any]], NDArray[np.bool_]], need: str) -> None:
    """Raise an error that names the first edge with a wrong weight; return if there is none."""
    turned = "out" not in graph.stored_directions
    rows = graph.reverse if turned else graph
    weights = cast("NDArray[Any]", rows.weights)
    wrong = is_wrong(weights)
    e = int(np.argmax(wrong))
    if not wrong[e]:
        return
    ends = int(np.searchsorted(rows.offsets, e, side="right")) - 1, int(rows.targets[e])
    tail, head = reversed(ends) if turned else ends
    msg = f"the edge from {graph.ids[tail]} to {graph.ids[head]} weighs {weights[e]}; {need}"
    raise ArgumentError(msg)


def weights_used(graph: Graph, weights: bool | None, algorithm: str) -> bool:  # noqa: FBT001 - an argument
    """Return whether an algorithm uses the weights of the edges; by default, if the graph has weights.

    Raises
    ------
    ArgumentError
        If `weights` is not a truth value, or is True and the graph has none. If weights are used and a weight
        is negative, NaN or infinite.
    """
    if weights is None:
        weights = graph.weight_dtype is not None
    if not isinstance(weights, bool | np.bool_):
        msg = f"weights=: expected True, False or None, found {weights!r}"
        raise ArgumentError(msg)
    if weights and graph.weight_dtype is None:
        msg = "weights=: expected a graph with weights, found none; read it with weights, or omit weights="
        raise ArgumentError(msg)
    if weights:
        check_weights(graph, f"{algorithm} needs finite weights of 0 or more on every edge", finite=True)
    return bool(weights)


def unsigned(weights: PartitionedArray) -> PartitionedArray:
    """Return a view of the weights with unsigned integers in place of signed integers."""
    return PartitionedArray(
        [own.view(f"u{own.itemsize}") if own.dtype.kind == "i" else own for own in weights]
    )
