"""Sizes: what a plan needs to know of a graph, and what each element would get of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.partition.column_blocks import BYTES_AN_EDGE
from evener.partition.footprint import (
    HEAD_BYTES,
    LEAST_HEADED,
    bare_rows,
    beside_edges,
    far_edges,
    too_large,
)
from evener.partition.policies import edge_shares
from evener.planning.model import Degrees, Share, owned_by_degree, parts_of
from evener.planning.neighbours import Neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.graph import Graph

__all__ = ["ALPHAS", "Sizes", "shares_of"]

# Shares of the CPU side that are tried.
ALPHAS = tuple(np.round(np.arange(0.01, 1.0, 0.01), 2).tolist())


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a plan needs to know of a graph.

    Attributes
    ----------
    degrees : Degrees
        In-edges and out-edges together for a directed graph.
    directions : int
        Adjacencies that are stored: 2 for both directions of a directed graph.
    edge_bytes : int
        Of a target and its weight.
    heads : bool
        Whether a search can look up, so that a GPU keeps heads of rows in the host's memory.
    neighbours : Neighbours or None
        Those of some vertices, where they are known.
    """

    degrees: Degrees
    directions: int
    edge_bytes: int
    heads: bool = True
    neighbours: Neighbours | None = None

    @classmethod
    def of(cls, graph: Graph, directions: str = "both") -> Sizes:
        """Those of a graph."""
        weight = 0 if graph.weight_dtype is None else graph.weight_dtype.itemsize
        heads, stored = directions == "both", 1 + (graph.directed and directions == "both")
        if not graph.directed:
            degree = graph.out_degree()
            degrees = Degrees.of(degree)
        else:
            into, out = graph.in_degree(), graph.out_degree()
            degree = into + out
            of_one = {"in": (into, out), "out": (out, into)}.get(directions, ())
            degrees = Degrees.of(degree, *of_one)
        neighbours = Neighbours.of(graph, directions, degree, degrees)
        return cls(degrees, stored, 4 + weight, heads, neighbours)

    def mirrored(self, policy: str, shares: Sequence[float]) -> NDArray[np.float64] | None:
        """The part of each partition's vertices that has mirrors at each other, where it is known."""
        return None if self.neighbours is None else self.neighbours.mirrored(policy, shares)

    def rows(self, owned: NDArray[np.float64]) -> _Rows:
        """The rows of one direction, where so many vertices of each degree are owned."""
        each = self.degrees.each_stored
        there = owned * each > 0
        return _Rows(
            np.append(0, np.cumsum(owned[there])),
            np.append(0, np.cumsum((owned * each)[there])),
            float(owned[there & (each >= LEAST_HEADED * self.directions)].sum()),
        )


class _Rows(NamedTuple):
    """Rows from the highest degree on, with the edges of all directions: how many, before each degree."""

    rows: NDArray[np.float64]
    edges: NDArray[np.float64]
    long: float

    def of(self, edges: int) -> int:
        """How many have so many edges."""
        return round(float(np.interp(edges, self.edges, self.rows)))

    def long_of(self, edges: int) -> int:
        """How many of these are long, and worth a head."""
        return min(self.of(edges), int(self.long))


def _no_heads(_: int) -> int:
    """Where nothing looks up."""
    return 0


def shares_of(
    sizes: Sizes, elements: Sequence[Element], policy: str, alpha: float | None, *, usable: float = 1.0
) -> tuple[list[Share], list[int]]:
    """What each element gets, and the bytes that it takes up there; `usable` is the part of its room to fill.

    Raises
    ------
    DeviceOutOfMemory
        If a share does not fit its GPU.
    """
    of_edges = edge_shares([e.weight for e in elements], alpha, on_cpu=[e.kind == "cpu" for e in elements])
    owned = owned_by_degree(sizes.degrees, policy, of_edges.tolist())
    parts = parts_of(sizes.degrees, owned, sizes.mirrored(policy, of_edges.tolist()))
    shares: list[Share] = []
    nbytes: list[int] = []
    free: dict[object, int] = {}  # of each memory, which several elements may share
    for element, part, own in zip(elements, parts, owned, strict=True):
        beside = beside_edges(
            part.vertices, part.mirrors, part.elsewhere, part.edges, directions=sizes.directions
        )
        share = Share(element.name, element.kind, element.threads, part)
        room = element.room()
        if room is not None:
            room = free.setdefault(element.memory, int(room * usable))
            if beside > room:
                raise too_large(element.name, part.vertices, part.mirrors, beside, room)
            if beside + part.edges * sizes.edge_bytes > room:
                rows = sizes.rows(own)
                heads_of = rows.long_of if sizes.heads else _no_heads
                far, heads = far_edges(part.edges, sizes.edge_bytes, room - beside, heads_of)
                far_rows = rows.of(far)
                bare_long, bare_short = bare_rows(far_rows, int(rows.long), heads)
                share = replace(
                    share,
                    mapped=far,
                    mapped_rows=sizes.directions * far_rows,
                    bare_long=bare_long,
                    bare_short=bare_short,
                )
                beside += heads * HEAD_BYTES
            free[element.memory] = room - beside - (part.edges - share.mapped) * sizes.edge_bytes
        shares.append(share)
        nbytes.append(beside + (part.edges - share.mapped) * sizes.edge_bytes)
    # Blocks of columns are made where all is placed, one element's after the other's.
    for k, (element, share) in enumerate(zip(elements, shares, strict=True)):
        if element.memory in free:
            needed = BYTES_AN_EDGE * share.part.edges
            shares[k] = replace(share, columns=free[element.memory] >= needed)
            free[element.memory] -= needed if shares[k].columns else 0
    return shares, nbytes
