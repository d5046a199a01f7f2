"""Estimate: the share of a graph that each element would get, before any partition is built."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evener.elements import parse_elements
from evener.errors import DeviceOutOfMemory
from evener.partition.default_policy import equal_parts_policy
from evener.partition.footprint import (
    MIN_PREFIXED_ROW,
    PREFIX_BYTES,
    bytes_excluding_edges,
    count_host_edges,
    too_large,
)
from evener.partition.neighbour_sample import NeighbourSample
from evener.partition.owners import edge_shares
from evener.partition.policy import PLANNED
from evener.partition.sizes import Degrees, ElementShare, Groups, owned_by_degree, partition_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.graph import Graph

__all__ = ["GraphSizes", "estimate_shares", "with_placement_hint"]

# Share of a GPU's room that a suggested placement fills; sizes are estimates.
_USABLE = 0.75
# Values of alpha to try, in hundredths.
_HUNDREDTHS = range(1, 100)


@dataclass(frozen=True, slots=True)
class GraphSizes:
    """The sizes of a graph, from which the sizes of its partitions are estimated.

    `degrees` are over the stored edges. `directions` counts the stored adjacencies, and `edge_bytes` the
    bytes of a target and its weight. With `prefixes`, a GPU keeps the first edges of long rows that stay in
    host memory.
    """

    degrees: Degrees
    directions: int
    edge_bytes: int
    prefixes: bool = True
    neighbours: NeighbourSample | None = None
    by_number: NeighbourSample | None = None

    @classmethod
    def of(cls, graph: Graph, directions: str = "both") -> GraphSizes:
        """Return the sizes of a graph whose partitions store these directions."""
        prefixes, stored = directions == "both", 1 + (graph.directed and directions == "both")
        if not graph.directed:
            degree = graph.out_degree()
            degrees = Degrees.of(degree)
        else:
            into, out = graph.in_degree(), graph.out_degree()
            if directions == "both":
                into = out = into + out
            degree, opposite = (into, out) if directions == "in" else (out, into)
            degrees = Degrees.of(degree, opposite)
        neighbours = NeighbourSample.of(graph, directions, degree, degrees)
        by_number = NeighbourSample.by_number(graph, directions)
        return cls(degrees, stored, graph.edge_bytes, prefixes, neighbours, by_number)

    @classmethod
    def of_one_part(cls, n: int, edges: int, *, directions: int, edge_bytes: int) -> GraphSizes:
        """Return the sizes of a graph on one element, where the degrees of the vertices are not needed.

        `edges` counts the stored edges in all directions.
        """
        mean, counts = np.array([edges / max(n, 1)]), np.array([n], np.int64)
        return cls(Degrees(mean, counts, Groups.of_equal(mean), edges), directions, edge_bytes)

    def mirrored(self, policy: str, shares: Sequence[float]) -> NDArray[np.float64] | None:
        """Return the share of each partition's vertices with a mirror in each other partition, if known."""
        if policy == "contiguous" and self.by_number is not None:
            return self.by_number.between(shares)
        return None if self.neighbours is None else self.neighbours.mirrored(policy, shares)

    def equal_parts_policy(self, parts: int) -> str:
        """Return the default policy for equal parts."""
        n = int(self.degrees.count.sum())
        return equal_parts_policy(self.by_number, n, self.degrees.edges, parts)

    def prefixes_of(self, owned: NDArray[np.float64]) -> Callable[[int], int]:
        """Return how many rows of a number of edges get a prefix, as a function of this number.

        `owned` has the vertices of each degree in the partition. Without `prefixes`, no row gets one.
        """
        each = self.degrees.degree
        there = owned * each > 0
        # Rows and edges of all directions before each degree, from the highest degree on.
        rows, edges = (np.append(0, np.cumsum(counts[there])) for counts in (owned, owned * each))
        long = int(owned[there & (each >= MIN_PREFIXED_ROW * self.directions)].sum()) if self.prefixes else 0
        return lambda on_host: min(round(float(np.interp(on_host, edges, rows))), long)


def estimate_shares(
    sizes: GraphSizes,
    elements: Sequence[Element],
    policy: str,
    alpha: float | None,
    *,
    usable: float = 1.0,
) -> tuple[list[ElementShare], list[int]]:
    """Return the share of each element, and the bytes of each share.

    `alpha` is as in `partition`, and `usable` the share of a GPU's room that may be filled. Raises
    DeviceOutOfMemory if a share does not fit its GPU.
    """
    on_cpu = [e.kind == "cpu" for e in elements]
    of_edges = edge_shares([e.weight for e in elements], alpha, on_cpu=on_cpu, policy=policy)
    owned = owned_by_degree(sizes.degrees, policy, of_edges.tolist())
    parts = partition_sizes(sizes.degrees, owned, sizes.mirrored(policy, of_edges.tolist()))
    shares: list[ElementShare] = []
    nbytes: list[int] = []
    free: dict[object, int] = {}  # of each memory, which several elements may share
    for element, part, own in zip(elements, parts, owned, strict=True):
        needed = bytes_excluding_edges(
            part.vertices, part.mirrors, part.remote_mirrors, part.edges, directions=sizes.directions
        )
        share = ElementShare(element.name, element.kind, element.threads, part)
        room = element.room()
        if room is not None:
            room = free.setdefault(element.memory, int(room * usable))
            if needed > room:
                raise too_large(element.name, part.vertices, part.mirrors, needed, room)
            if needed + part.edges * sizes.edge_bytes > room:
                room_for_edges, prefixes_of = room - needed, sizes.prefixes_of(own)
                host, prefixes = count_host_edges(part.edges, sizes.edge_bytes, room_for_edges, prefixes_of)
                share = replace(share, host_edges=host)
                needed += prefixes * PREFIX_BYTES
        nbytes.append(needed + (part.edges - share.host_edges) * sizes.edge_bytes)
        if room is not None:
            free[element.memory] = room - nbytes[-1]
        shares.append(share)
    return shares, nbytes


@contextmanager
def with_placement_hint(graph: Graph, elements: Sequence[Element], *, directions: str) -> Iterator[None]:
    """Add arguments that fit to the message of a `DeviceOutOfMemory` that the block raises."""
    try:
        yield
    except DeviceOutOfMemory as error:
        msg = f"{error}; it fits with {_fitting_arguments(graph, elements, directions)}"
        raise DeviceOutOfMemory(msg, needed=error.needed, available=error.available) from error


def _fitting_arguments(graph: Graph, elements: Sequence[Element], directions: str) -> str:
    """Return the arguments of the placement with the fewest edges on the CPU side."""
    on_gpu = [element for element in elements if element.kind != "cpu"]
    found = _fitting(GraphSizes.of(graph, directions), [*parse_elements("cpu"), *on_gpu])
    if found is None:
        return 'on="cpu"'
    policy, alpha = found
    names = ",".join(["cpu", *(element.name.partition("#")[0] for element in on_gpu)])
    return f'on="{names}", policy="{policy}", alpha={alpha}'


def _fitting(sizes: GraphSizes, elements: Sequence[Element]) -> tuple[str, float] | None:
    """Return the policy and the smallest alpha with which a graph fits, or None."""
    for hundredths in _HUNDREDTHS:
        for policy in PLANNED:
            alpha = hundredths / 100
            try:
                shares, _ = estimate_shares(sizes, elements, policy, alpha, usable=_USABLE)
            except DeviceOutOfMemory:
                continue
            if all(share.sizes.edges for share in shares):
                return policy, alpha
    return None
