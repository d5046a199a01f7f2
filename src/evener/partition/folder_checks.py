"""Checks of the partitions in a folder, before any kernel reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import FormatError
from evener.partition.degrees import places_in
from evener.partition.numbering import Numbering
from evener.partition.partition import neighbour_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = ["StoredPartition", "check_lengths", "check_partitions", "numbering_of"]

# Edges that are checked at a time.
_EDGES_CHECKED = 1 << 22
# Odd multipliers of a 64-bit mixing function.
_OF_TAIL, _OF_HEAD, _OF_WEIGHT, _MIX = (
    np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9),
    np.uint64(0xD6E8FEB86659FD93),
)  # fmt: skip
_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class StoredPartition:
    """The arrays of a partition in a folder, as in `Partition`.

    `rows` has the rows of owned vertices in local numbers for each stored direction, and `boundary` the
    number of edges that lead to mirrors. `ascending` says whether rows ascend, as on a GPU, or begin with
    hubs: see `PendingEdges.order`.
    """

    vertices: NDArray[np.uint32]
    mirror_bounds: NDArray[np.int64]
    out_degree: NDArray[np.uint32]
    rows: dict[str, Graph]
    boundary: dict[str, int]
    ascending: dict[str, bool]

    @property
    def owned(self) -> int:
        """Number of owned vertices."""
        return len(self.out_degree)


def numbering_of(partitions: Sequence[StoredPartition], n: int) -> Numbering:
    """Return the numbering of all vertices."""
    bounds = np.concatenate([[0], np.cumsum([p.owned for p in partitions])])
    vertices = np.concatenate([p.vertices[: p.owned] for p in partitions])
    numbers = np.empty(n, np.uint32)
    numbers[vertices] = np.arange(n, dtype=np.uint32)
    return Numbering(vertices, numbers, bounds)


def check_lengths(partitions: Sequence[StoredPartition], graph: Graph, path: Path) -> None:
    """Check that the lengths of all arrays match each other and the graph."""
    _require(sum(p.owned for p in partitions) == graph.n, f"out-degrees of {graph.n} vertices", path)
    for number, p in enumerate(partitions):
        bounds = p.mirror_bounds
        ascend = bounds[0] == p.owned and bounds[-1] == len(p.vertices) and (np.diff(bounds) >= 0).all()
        _require(bool(ascend), f"mirror_bounds of partition {number} within its vertices", path)
        for direction, rows in p.rows.items():
            offsets, weights = rows.offsets, rows.weights
            fits = len(offsets) == p.owned + 1 and offsets[0] == 0 and int(offsets[-1]) == len(rows.targets)
            fits = fits and (weights is None or len(weights) == len(rows.targets))
            what = f"{number}.{direction}.offsets from 0 to the number of targets"
            _require(bool(fits) and rows.weight_dtype == graph.weight_dtype, what, path)


def check_partitions(partitions: Sequence[StoredPartition], graph: Graph, path: Path) -> None:
    """Check all values, after the lengths. A FormatError names the array and the rule."""
    owned = np.concatenate([p.vertices[: p.owned] for p in partitions])
    seen = np.zeros(graph.n, np.bool_)
    inside = bool((owned < graph.n).all())
    if inside:
        seen[owned] = True
    _require(inside and bool(seen.all()), "each vertex of the graph in one partition", path)
    numbering = numbering_of(partitions, graph.n)
    found = dict.fromkeys(partitions[0].rows, 0)
    degrees = {"out": graph.out_degree()}
    if graph.directed:
        degrees["in"] = graph.in_degree()
    for number, p in enumerate(partitions):
        own = p.vertices[: p.owned]
        same = np.array_equal(p.out_degree, degrees["out"][own])
        _require(same, f"{number}.out_degree as in the graph", path)
        degree = sum(one[own].astype(np.int64) for one in degrees.values())
        _require(bool((np.diff(degree) <= 0).all()), f"{number}.vertices in descending degree", path)
        _check_mirrors(number, p, numbering, graph.n, path)
        order = neighbour_order(p.vertices, p.owned, degrees["out"])
        place = places_in(order)
        for direction in p.rows:
            lengths = np.diff(p.rows[direction].offsets.astype(np.int64))
            same = np.array_equal(lengths, degrees[direction][own])
            _require(same, f"{number}.{direction}.offsets with the degrees of the graph", path)
            _check_edges(number, p, direction, place[:0] if p.ascending[direction] else place, graph, path)
            found[direction] += _digest_of_rows(p.rows[direction], p.vertices, reverse=direction == "in")
    expected = _digest_of_rows(graph, np.arange(graph.n, dtype=np.uint32))
    for direction, digest in found.items():
        _require((digest - expected) % (1 << 64) == 0, f"{direction}.targets of the edges of the graph", path)


def _check_mirrors(number: int, p: StoredPartition, numbering: Numbering, n: int, path: Path) -> None:
    """Check that the mirrors of each owner are its vertices, in ascending local numbers."""
    for owner in range(len(p.mirror_bounds) - 1):
        mirrors = p.vertices[p.mirror_bounds[owner] : p.mirror_bounds[owner + 1]]
        valid = (mirrors < n).all() and (owner != number or len(mirrors) == 0)
        numbers = numbering.numbers[mirrors].astype(np.int64) if valid else mirrors
        first, end = numbering.bounds[owner : owner + 2]
        valid = valid and ((numbers >= first) & (numbers < end)).all() and (np.diff(numbers) > 0).all()
        _require(bool(valid), f"mirrors of partition {owner} in ascending order in {number}.vertices", path)


def _check_edges(
    number: int,
    p: StoredPartition,
    direction: str,
    place: NDArray[np.uint32],
    graph: Graph,
    path: Path,
) -> None:
    """Check the targets, their order in each row, the weights, and the number of edges to mirrors.

    `place` has the place of each local vertex in the order of rows; empty if rows ascend.
    """
    rows, count = p.rows[direction], len(p.vertices)
    boundary = 0
    lightest, heaviest = graph.weight_range
    for begin in range(0, len(rows.targets), _EDGES_CHECKED):
        end = begin + _EDGES_CHECKED
        targets = rows.targets[max(begin - 1, 0) : end]
        _require(int(targets.max()) < count, f"{number}.{direction}.targets below {count}", path)
        boundary += int(np.count_nonzero(rows.targets[begin:end] >= p.owned))
        places = place[targets] if len(place) else targets
        descents = (np.flatnonzero(places[1:] < places[:-1]) + max(begin, 1)).astype(np.uint64)
        between = rows.offsets[np.searchsorted(rows.offsets, descents)] == descents
        _require(bool(between.all()), f"{number}.{direction}.targets in order in each row", path)
        if rows.weights is not None:
            weights = rows.weights[begin:end]
            within = ((weights >= lightest) & (weights <= heaviest)).all()
            _require(bool(within), f"{number}.{direction}.weights as in the graph", path)
    _require(boundary == p.boundary[direction], f"{p.boundary[direction]} edges to mirrors", path)


def _digest_of_rows(rows: Graph, vertices: NDArray[np.uint32], *, reverse: bool = False) -> int:
    """Return a checksum of edges and their weights that does not depend on their order.

    `vertices` has the number in the graph of each local vertex. Rows of in-edges are the `reverse`.
    """
    digest, offsets = 0, rows.offsets.astype(np.int64)
    for begin in range(0, len(rows.targets), _EDGES_CHECKED):
        end = min(begin + _EDGES_CHECKED, len(rows.targets))
        first, last = np.searchsorted(offsets, [begin, end - 1], side="right") - 1
        bounds = np.clip(offsets[first : last + 2], begin, end)
        lengths = bounds[1:] - bounds[:-1]
        ends = np.repeat(vertices[first : last + 1], lengths), vertices[rows.targets[begin:end]]
        tails, heads = ends[::-1] if reverse else ends
        mixed = tails * _OF_TAIL + heads * _OF_HEAD
        if rows.weights is not None:
            weights = rows.weights[begin:end]
            mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX + weights.view(f"u{weights.itemsize}") * _OF_WEIGHT
        mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX
        digest += int((mixed ^ (mixed >> _SHIFT)).sum(dtype=np.uint64))
    return digest


def _require(valid: Any, what: str, path: Path) -> None:
    """Raise FormatError unless a rule holds."""
    if not valid:
        msg = f"expected {what}, but the arrays break this rule; write the placed graph again"
        raise FormatError(msg, path=path)
