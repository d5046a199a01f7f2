"""Arguments that algorithms share: vertices and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError, UnknownVertexError
from evener.partition.distributed.graph import DistributedGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = ["check_signed_weights", "check_weights", "number_of_vertex", "unsigned", "weights_used"]


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


def weights_used(graph: Graph, weights: bool | None, algorithm: str, *, least: str = "of 0 or more") -> bool:  # noqa: FBT001 - an argument
    """Return whether an algorithm uses the weights of the edges; by default, if the graph has weights.

    `least` is the bound of weights in messages.

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
        check_weights(graph, f"{algorithm} needs finite weights {least} on every edge", finite=True)
    return bool(weights)


def unsigned(weights: PartitionedArray) -> PartitionedArray:
    """Return a view of the weights with unsigned integers in place of signed integers."""
    return PartitionedArray(
        [own.view(f"u{own.itemsize}") if own.dtype.kind == "i" else own for own in weights]
    )
