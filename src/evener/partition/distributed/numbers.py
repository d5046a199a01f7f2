"""Numbers of the vertices of a graph in parts: place in degree order, owner, and number.

Each rank computes the numbers of the vertices of its own range. They equal those of one process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.cpu import ranks as kernels
from evener.partition.block_exchange import fetch_in_rounds
from evener.partition.degrees import by_descending_degree, stored_degree
from evener.partition.numbering import Numbering, joined
from evener.partition.orders import PIECE, cut_positions, owner_array
from evener.partition.policy import Vertices, check_needs, find_policy
from evener.system.memory import require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.partition.distributed.graph import DistributedGraph
    from evener.partition.owners import Division
    from evener.system.world import World

__all__ = ["DistributedNumbering", "number_own_vertices"]

# Span of keys that is always counted in a table.
_SMALL_SPAN = 1 << 16
# Bytes per vertex of the graph: two copies of its degree, its place in two orders, and its owner. The total
# degree needs two more copies.
_BYTES_OF_OWNERS, _BYTES_OF_TOTALS = 8 + 8 + 4 + 4 + 2, 8 + 8


class DistributedNumbering(Numbering):
    """The numbers of the vertices of this rank's range; its `vertices` are set when rows are sent to owners.

    `vertices` has the vertices of this rank's partitions by number. `of_ranks` has the first number of each
    rank, shape (ranks + 1,). Methods with vertices or numbers are collective operations; all ranks must call
    them.
    """

    def __init__(
        self,
        graph: DistributedGraph,
        numbers: NDArray[np.uint32],
        bounds: NDArray[np.int64],
        ranks: Sequence[int],
    ) -> None:
        super().__init__(np.empty(0, np.uint32), numbers, bounds)
        self.world, self._ranges = graph.world, graph.ranges.bounds
        self.of_ranks = bounds[[*(ranks.index(rank) for rank in range(self.world.size)), -1]]
        self.first = int(self.of_ranks[self.world.rank])

    def numbers_of(self, vertices: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the numbers of vertices, which differ by rank."""
        [numbers] = fetch_in_rounds(self.world, self._ranges, vertices, [self.numbers])
        return numbers

    def numbers_of_each(self, of_parts: list[NDArray[np.uint32] | None]) -> list[NDArray[np.uint32]]:
        """Return the numbers of the vertices of each part, in new arrays."""
        vertices = [part for part in of_parts if part is not None]
        return np.split(self.numbers_of(joined(vertices)), np.cumsum([len(part) for part in vertices])[:-1])

    def fetch(self, numbers: NDArray[np.uint32], values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the vertices with these numbers, and their values, given those of this rank by number."""
        return fetch_in_rounds(self.world, self.of_ranks, numbers, [self.vertices, values])


def number_own_vertices(
    graph: DistributedGraph,
    owners_of: Callable[[Vertices], NDArray[Any]],
    ranks: Sequence[int],
    division: Division,
    directions: str,
) -> DistributedNumbering:
    """Return the numbers of the vertices of this rank's range.

    This is a collective operation; all ranks must call it. `owners_of` returns the owners of all vertices; it
    is called for policies that do not cut an order. Policies order and balance by the edges that partitions
    store in `directions`. `ranks` has the rank of every partition.
    Raises ArgumentError if the policy needs the edges of the whole graph.
    """
    world, degree, (policy, shares, seed) = graph.world, graph.degrees, division
    stored = stored_degree(degree, graph.out_degrees, directions) if graph.directed else degree
    if find_policy(policy).places is not None or len(shares) == 1:
        owner = _owners(graph, stored, policy, shares, seed)
    else:
        owner = _owners_from_degrees(graph, stored, owners_of, policy)
    counts = np.sum(world.allgather(np.bincount(owner, minlength=len(shares))), axis=0)
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    # Owner and class of the degree in one key: few classes give a dense key.
    distinct, classes, _ = _classes(~degree)
    every = np.unique(np.concatenate(world.allgather(distinct)))
    keys = owner.astype(np.uint64) * np.uint64(len(every))
    keys += np.searchsorted(every, distinct).astype(np.uint64)[classes]
    del owner, classes
    return DistributedNumbering(graph, _order(world, keys).astype(np.uint32), bounds, ranks)


def _order(world: World, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the position of each vertex in ascending order of keys; vertex numbers decide ties."""
    distinct, classes, counts = _classes(keys)
    of_ranks = world.allgather((distinct, counts))
    every = np.unique(np.concatenate([own for own, _ in of_ranks]))
    totals, before = np.zeros(len(every), np.uint64), np.zeros(len(every), np.uint64)
    for rank, (own, own_counts) in enumerate(of_ranks):
        places = np.searchsorted(every, own)
        totals[places] += own_counts.astype(np.uint64)
        if rank < world.rank:
            before[places] += own_counts.astype(np.uint64)
    following = (np.cumsum(totals) - totals + before)[np.searchsorted(every, distinct)]
    order = np.empty(len(keys), np.uint64)
    kernels.number_by_class(classes, following, order)
    return order


def _classes(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return the distinct keys, the class of each vertex, and the number of vertices of each class."""
    lowest = keys.min(initial=np.iinfo(np.uint64).max)
    if len(keys) and int(keys.max() - lowest) < max(len(keys), _SMALL_SPAN):
        counts = np.bincount((keys - lowest).astype(np.int64))
        found = np.flatnonzero(counts)
        class_of = np.zeros(len(counts), np.uint32)
        class_of[found] = np.arange(len(found), dtype=np.uint32)
        return found.astype(np.uint64) + lowest, class_of[keys - lowest], counts[found]
    distinct, classes, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return distinct, classes.astype(np.uint32), counts


def _owners_from_degrees(
    graph: DistributedGraph,
    stored: NDArray[np.uint64],
    owners_of: Callable[[Vertices], NDArray[Any]],
    policy: str,
) -> NDArray[Any]:
    """Return the owner of each vertex of this rank's range, from the stored degrees of all vertices."""
    check_needs(policy, "degrees")
    totals = stored is not graph.degrees and find_policy(policy).balances == "all edges"
    nbytes = _BYTES_OF_OWNERS + (_BYTES_OF_TOTALS if totals else 0)
    require(nbytes * graph.n, "choosing the owners of all vertices")
    degree = np.concatenate(graph.world.allgather(stored))
    every = np.concatenate(graph.world.allgather(graph.degrees)) if totals else degree
    first, last = graph.ranges.bounds[graph.world.rank : graph.world.rank + 2]
    return owners_of(Vertices(by_descending_degree(degree), degree, every))[first:last]


def _owners(
    graph: DistributedGraph, degree: NDArray[np.uint64], policy: str, shares: NDArray[np.float64], seed: int
) -> NDArray[Any]:
    """Return the owner of each vertex of this rank's range, given its stored degree."""
    world, n = graph.world, graph.n
    owner = owner_array(len(degree), len(shares))
    places_of = find_policy(policy).places
    if len(shares) == 1 or n == 0 or places_of is None:
        return owner
    places = places_of(_order(world, ~degree).astype(np.uint32), n, seed)
    if world.allreduce(int(degree.sum()), "sum") == 0:
        degree = np.ones(len(degree), np.uint64)  # the shares count vertices
    sums = np.bincount(places // np.uint32(PIECE), degree, minlength=-(-n // PIECE)).astype(np.uint64)
    sums = np.sum(world.allgather(sums), axis=0)

    def degrees_from(first: int) -> NDArray[np.uint64]:
        """Return the degrees of a piece in the order of the policy. All ranks must call it."""
        inside = (places >= first) & (places < first + PIECE)
        found = np.empty(min(PIECE, n - first), np.uint64)
        for where, own in world.allgather((places[inside] - np.uint32(first), degree[inside])):
            found[where] = own
        return found

    cuts = cut_positions(sums, degrees_from, shares / shares.sum(), n)
    owner[:] = np.searchsorted(np.array(cuts), places, side="right")
    return owner
