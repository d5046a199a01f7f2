"""What every algorithm does before it starts: place the graph, and find the number of its source."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np

from evener.algorithms.registry import find
from evener.elements import named, parse_elements
from evener.elements.cuda.discovery import gpus
from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.checks import type_name
from evener.graph.graph import Graph
from evener.partition.partitioned import PartitionedGraph
from evener.partition.place import partition
from evener.system.memory import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Unpack

    from numpy.typing import NDArray

    from evener.algorithms.spec import AlgorithmSpec

__all__ = [
    "NO_VERTEX",
    "Wanted",
    "check_weights",
    "ensure_placed",
    "given_share",
    "graph_of",
    "number_of_source",
    "placed",
    "unsigned",
]

_log = logging.getLogger("evener")

# Stands where there is no local vertex; no partition has this many.
NO_VERTEX = np.uint32(0xFFFFFFFF)


class _Where(TypedDict):
    """Arguments of `partition`, with the policy "auto" besides its own."""

    on: str | Sequence[str] | None
    policy: str
    gpu_memory: str | int | None
    directions: str


class Wanted(_Where):
    """Where a graph is wanted."""

    alpha: float | None


class Asked(_Where):
    """The same as a caller of an algorithm says it."""

    alpha: float | Literal["auto"] | None


def given_share(alpha: float | Literal["auto"] | None) -> float | None:
    """The share of the edges that is asked for; None where a plan is to choose it."""
    return None if isinstance(alpha, str) and alpha == "auto" else alpha


def graph_of(graph: Graph | PartitionedGraph, algorithm: str) -> Graph:
    """The graph itself, placed or not: by it arguments are checked, for placing may take long.

    Raises
    ------
    ArgumentError
        If it is another library's, or no graph.
    """
    if isinstance(graph, PartitionedGraph):
        return graph.graph
    if not isinstance(graph, Graph):
        msg = (
            f"{algorithm} takes a Graph of Evener's, or a placed one, not {type_name(graph)}; make one with "
            "evener.read, Graph.from_edges, Graph.from_scipy or Graph.from_networkx"
        )
        raise ArgumentError(msg)
    return graph


def placed(
    graph: Graph | PartitionedGraph,
    algorithm: str,
    *,
    passes: float = 1.0,
    enough: str | None = None,
    **asked: Unpack[Asked],
) -> PartitionedGraph:
    """The graph on its elements, placed now unless it already is.

    `passes` is how many the run may have, where that is far more than PageRank has iterations; `enough`
    is a direction that the algorithm can make do with, though it is placed with the `directions` wanted.

    Raises
    ------
    ArgumentError
        If the graph is already placed and `on`, `policy`, `alpha` or `gpu_memory` ask for another placement,
        or if the edges that the algorithm follows were left out of it.
    """
    wanted: Wanted = {**asked, "alpha": given_share(asked["alpha"])}
    if not isinstance(graph, PartitionedGraph):
        pg = _place(graph_of(graph, algorithm), algorithm, passes, wanted)
        if wanted["alpha"] is not None and len(pg.elements) == 1:
            namesake = "; what NetworkX calls alpha is damping here" if algorithm == "pagerank" else ""
            told = "alpha=%g shares out nothing here, as %s takes part alone%s"
            _log.warning(told, wanted["alpha"], pg.elements[0].name, namesake)
        return pg
    elsewhere = any(one is not None for one in (wanted["on"], wanted["alpha"], wanted["gpu_memory"]))
    if elsewhere or wanted["policy"] != "auto":
        msg = (
            "the graph is already placed, so on=, policy=, alpha= and gpu_memory= have no effect; give them "
            "to partition() instead"
        )
        raise ArgumentError(msg)
    directions = wanted["directions"]
    if graph.graph.directed and graph.directions not in ("both", directions, enough):
        others = "" if directions == "both" else ' or "both"'
        msg = (
            f'the algorithm needs edges in direction "{directions}" and the graph was placed with '
            f'"{graph.directions}" only; place it with directions="{directions}"{others}'
        )
        raise ArgumentError(msg)
    return graph


def ensure_placed(
    graph: Graph | PartitionedGraph,
    spec: AlgorithmSpec,
    *,
    on: str | Sequence[str] | None,
    policy: str,
    alpha: float | Literal["auto"] | None,
    gpu_memory: str | int | None,
    passes: float = 1.0,
    minimum: str | None = None,
) -> PartitionedGraph:
    """Return the graph on processing elements; place it now unless it is already placed.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
    spec : AlgorithmSpec
        The algorithm that is to run.
    on, policy, alpha, gpu_memory
        Where to run a graph that is not placed, as the caller of the algorithm gave them.
    passes : float, default 1
        The number of passes of the run, if it is much larger than the iterations of PageRank.
    minimum : {"out", "in"}, optional
        The only edges that the algorithm needs, although it is faster with those of ``spec.directions``.

    Raises
    ------
    ArgumentError
        If the graph is no graph of Evener, if it is placed and another placement is asked for, or if it was
        placed without the edges that the algorithm follows.
    """
    return placed(
        graph,
        spec.name,
        passes=passes,
        enough=minimum,
        on=on,
        policy=policy,
        alpha=alpha,
        gpu_memory=gpu_memory,
        directions=spec.directions,
    )


def _place(graph: Graph, algorithm: str, passes: float, wanted: Wanted) -> PartitionedGraph:
    """Place a graph as asked, or by a plan where elements, policy or alpha are open to choose."""
    on, policy = named(wanted["on"]), wanted["policy"]
    limit = None if wanted["gpu_memory"] is None else parse_bytes(wanted["gpu_memory"], "gpu_memory")
    elements = None if on is None else parse_elements(on, gpu_memory=limit)
    several_kinds = elements is not None and len({element.kind for element in elements}) > 1
    if (elements is None and gpus()) or (several_kinds and (policy == "auto" or wanted["alpha"] is None)):
        from evener.planning.place import plan_and_place

        return plan_and_place(
            graph,
            find(algorithm),
            on=elements,
            policy=policy,
            alpha=wanted["alpha"],
            gpu_memory=wanted["gpu_memory"],
            directions=wanted["directions"],
            passes=passes,
        )
    return partition(
        graph,
        elements,
        policy="random" if policy == "auto" else policy,
        alpha=wanted["alpha"],
        gpu_memory=wanted["gpu_memory"],
        directions=wanted["directions"],
    )


def number_of_source(graph: Graph, source: Any) -> int:
    """The graph's number of the vertex with the id `source`.

    Raises
    ------
    ArgumentError
        If it is not one id.
    UnknownVertexError
        If there is no such vertex.
    """
    if np.ndim(source) != 0:
        msg = f"source is the id of one vertex, not {source!r}; run once for each"
        raise ArgumentError(msg)
    try:
        (number,) = graph.numbers_of([source])
    except UnknownVertexError as error:
        msg = f"{error}; give one that is as source="
        raise UnknownVertexError(msg) from None
    return int(number)


def check_weights(graph: Graph, need: str, *, finite: bool = False) -> float:
    """Return the heaviest weight.

    Raises
    ------
    ArgumentError
        If a weight is negative or NaN, or with `finite` infinite. It names an edge and ends with `need`.
    """
    lightest, heaviest = graph.weight_range
    if lightest >= 0 and not (finite and heaviest == np.inf):
        return heaviest
    turned = "out" not in graph.stored_directions
    rows = graph.reverse if turned else graph
    weights = cast("NDArray[Any]", rows.weights)
    e = int(np.argmin((weights >= 0) & ~(finite & np.isinf(weights))))
    ends = int(np.searchsorted(rows.offsets, e, side="right")) - 1, int(rows.targets[e])
    tail, head = reversed(ends) if turned else ends
    msg = f"the edge from {graph.ids[tail]} to {graph.ids[head]} weighs {weights[e]}; {need}"
    raise ArgumentError(msg)


def unsigned(weights: PartitionedArray) -> PartitionedArray:
    """Return the same weights, integers as unsigned ones."""
    return PartitionedArray(
        [own.view(f"u{own.itemsize}") if own.dtype.kind == "i" else own for own in weights]
    )
