"""Streams: policies that assign one vertex after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import streaming as kernels
from evener.partition.orders import owner_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.policy import Owners, Processors, Vertices

__all__ = ["by_load", "by_neighbours", "by_workload", "least_loaded", "neighbour_rows"]

# Part of the edges that fit an element. With less room than this, the element is nearly full.
_RESERVE = 0.02
# Bits of the weight of an edge, and of a load: the sum must fit the bits of a key that name no element.
_RATE_BITS, _LOAD_BITS = 20, 62
# Workload of an edge that crosses elements, in edges.
_CROSSING = 1.0


def least_loaded(
    degree: NDArray[np.unsignedinteger[Any]],
    shares: NDArray[np.float64],
    most_edges: NDArray[np.float64],
) -> NDArray[Any]:
    """Return the owners of a stream in which each vertex goes to the element with the least load.

    The load of an element is its edges divided by its share. Loads are integers: an edge counts at least
    2^20, unless loads would then need more than 64 bits. Among equal loads, the first element gets it.

    An element that has nearly `most_edges` edges is closed. If no element has room, the limits are dropped.
    """
    n, count = len(degree), len(shares)
    bits = max(1, (count - 1).bit_length())
    ratio = np.divide(shares.max(), shares, out=np.zeros(count), where=shares > 0)
    largest = float(degree.sum(dtype=np.float64)) * float(ratio.max())
    scale = min(_RATE_BITS, max(0, _LOAD_BITS - bits - int(np.ceil(np.log2(largest + 1)))))
    rate = np.rint(ratio * 2.0**scale).astype(np.uint64)
    unlimited = float(1 << 62)
    room = np.minimum(most_edges, unlimited).astype(np.uint64)
    reserve = (np.minimum(most_edges, unlimited) * _RESERVE).astype(np.uint64)
    tree = np.full(2 << bits, kernels.CLOSED, np.uint64)
    there = np.flatnonzero(shares > 0)
    tree[(1 << bits) + there] = there
    kernels.build_tree(tree)
    owner = owner_array(n, count)
    names = np.uint64(bits)
    done = int(kernels.assign_to_least_loaded(read_only(degree), rate, names, room, reserve, tree, owner))
    if done < n:
        # Closed elements continue with the load of the edges that they have.
        held = np.bincount(owner[:done], degree[:done], minlength=count)[there].astype(np.uint64)
        tree[(1 << bits) + there] = (held * rate[there] << names) | there.astype(np.uint64)
        kernels.build_tree(tree)
        room[:] = np.uint64(1 << 62)
        rest = owner[done:]
        kernels.assign_to_least_loaded(read_only(degree[done:]), rate, names, room, reserve, tree, rest)
    return owner


def by_load(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - owners
    """Return the owners of all vertices in ascending number, as `least_loaded`."""
    return least_loaded(vertices.degree, processors.shares, processors.most_edges)


def by_neighbours(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - owners
    """Return the owners of a stream in which each vertex goes to many neighbours and to free places."""
    count = len(processors.shares)
    owner = owner_array(len(vertices.degree), count)
    rows, capacity = neighbour_rows(vertices.graph), processors.shares * len(owner)
    kernels.assign_by_neighbours(*rows, capacity, owner, *np.zeros((2, count), np.uint64))
    return owner


def by_workload(*, least_increase: bool) -> Owners:
    """Return the `owners` of a policy in which workloads count edges and crossing edges.

    With `least_increase`, a vertex goes where the sum of all workloads grows least, among elements that have
    less than their share of the edges. Otherwise it goes where the workload is then least.
    """

    def owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - owners
        shares, count = processors.shares, len(processors.shares)
        owner = owner_array(len(vertices.degree), count)
        most = shares * float(vertices.degree.sum()) if least_increase else np.full(count, np.inf)
        kernels.assign_by_workload(
            *neighbour_rows(vertices.graph),
            read_only(vertices.degree),
            shares / shares.max(),
            _CROSSING,
            least_increase,
            most,
            owner,
            *np.zeros((2, count)),
            np.zeros(count, np.uint64),
        )
        return owner

    return owners


def neighbour_rows(graph: Graph | None, directions: str = "both") -> tuple[NDArray[Any], ...]:
    """Return offsets and targets of each direction; empty arrays take the place of a missing second one.

    An undirected graph has one direction.
    """
    if graph is None:
        msg = "expected a graph with edges for a policy that reads edges, found None"
        raise ValueError(msg)
    adjacencies = [graph] if directions != "in" or not graph.directed else []
    if directions != "out" and graph.directed:
        adjacencies.append(graph.reverse)
    rows = [read_only(array) for one in adjacencies for array in (one.offsets, one.targets)]
    return *rows, *[read_only(np.empty(0, array.dtype)) for array in rows[: 4 - len(rows)]]
