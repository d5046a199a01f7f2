"""Footprint: the bytes that a partition takes up on a GPU, and which of its edges have room there.

T13 §7 finds that the state of each vertex decides between HIGH and LOW as much as speed does: a partition of
low-degree vertices has many of them, and every one takes room from edges.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.errors import DeviceOutOfMemory
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Partition

__all__ = [
    "HEAD",
    "HEAD_BYTES",
    "IN_ONE_MEMORY",
    "LEAST_HEADED",
    "STATE_BYTES",
    "Tiers",
    "beside_edges",
    "columns_bytes",
    "far_edges",
    "long_rows",
    "tiers_of",
    "too_large",
    "whole_rows",
]

# The edges in a head; and the least edges of a row that has one, in each direction stored, so that a head
# takes half of what its row frees or less. Other widths were not tried.
HEAD, LEAST_HEADED = 4, 8
HEAD_BYTES = 4 * HEAD
# The part of the room for edges that heads may take. With an eighth of R-MAT 26's edges near they want 6% of
# it, half or more where the CPU has hubs, whose mirrors leave little room; where all rows are about as long,
# as in a lattice, all that there is.
HEADS_OF_ROOM = 1 / 2
# Steps by which `far_edges` comes near: where each lacks half of what the one before did, 2^64 edges.
_STEPS = 64

# Bytes of state for each owned vertex and each mirror that a GPU keeps free for the runs on a partition.
STATE_BYTES = (32, 20)
# The graph's number of each vertex and mirror, the degree of each vertex, and where its row begins.
_NAME_BYTES, _DEGREE_BYTES, _OFFSET_BYTES = 4, 4, 8
# For each end of a route that a GPU has a part in: values of 8 bytes, positions and listed values, flags.
_MESSAGE_BYTES = 8 + 4 + 8 + 1
# What has come for an owner in a list is laid out before it is reduced: values of 8 bytes.
_PLACED_BYTES = 8
# The owner's index of a route, 4 bytes for each mirror, and its bitmap with counts, 12 for 64 vertices.
_INDEX_BYTES, _BITMAP_BYTES = 4, 12 / 64
# Pieces of long rows that kernels list: two places of 8 bytes for 512 edges.
_PIECES_BYTES = 2 * 8 / 512


def beside_edges(owned: int, mirrors: int, elsewhere: int, edges: int, *, directions: int) -> int:
    """Bytes of a partition on a GPU beside its targets and weights: with the state of any algorithm.

    Parameters
    ----------
    owned, mirrors : int
        Its vertices.
    elsewhere : int
        Mirrors of its owned vertices on other elements.
    edges : int
        Stored, in all directions.
    directions : int
        Adjacencies stored.
    """
    arrays = (
        _NAME_BYTES * (owned + mirrors) + _DEGREE_BYTES * owned + directions * _OFFSET_BYTES * (owned + 1)
    )
    state = STATE_BYTES[0] * owned + STATE_BYTES[1] * mirrors
    messages = (mirrors + elsewhere) * _MESSAGE_BYTES + elsewhere * _PLACED_BYTES
    lookups = elsewhere * _INDEX_BYTES + owned * _BITMAP_BYTES if elsewhere else 0
    return int(arrays + state + messages + lookups + edges * _PIECES_BYTES)


def run_bytes(partition: Partition, elsewhere: int) -> int:
    """Bytes that runs of any algorithm take up beside a partition that is placed: see `beside_edges`."""
    stored = partition.directions
    beside = beside_edges(
        partition.owned, partition.mirrors, elsewhere, partition.stored_edges, directions=len(stored)
    )
    # Of that, names, degrees and offsets are there already, and counted with the partition.
    own = partition.vertices.nbytes + partition.out_degree.nbytes + sum(e.offsets.nbytes for e in stored)
    return beside - own


def columns_bytes(tiles: int, blocks: int, items: int, steps: int, sums: int) -> int:
    """Bytes of edges in blocks of columns, and of making them; see `evener.partition.column_blocks`.

    Parameters
    ----------
    tiles, blocks, items : int
    steps : int
        Of all items, 32 words of 4 bytes each.
    sums : int
        Places of float32 sums.
    """
    # First row, lanes, place and blocks of each tile; the order of each item's lanes, what else a kernel has
    # to know of it, and its tile, block and slices while it is made.
    return (16 + blocks // 8 + 4) * tiles + (256 + 52 + 40) * items + 128 * steps + 4 * sums


def too_large(element: str, owned: int, mirrors: int, needed: int, room: int) -> DeviceOutOfMemory:
    """The error for a partition whose vertices alone have no room on a GPU."""
    msg = (
        f"{element} has room for {format_bytes(room)}, and a partition of {owned:,} vertices and {mirrors:,} "
        f"mirrors needs {format_bytes(needed)} even with all its edges in the host's memory; give it a "
        'smaller share (a larger alpha), or fewer vertices (policy="low")'
    )
    return DeviceOutOfMemory(msg, needed=needed, available=room)


class Tiers(NamedTuple):
    """How a partition lies in the two memories that a GPU reads.

    Attributes
    ----------
    mapped : float
        Share of the edges that stay in the host's memory, those of the rows of highest degree.
    most_heads : int
        Of how many rows, at most, the GPU keeps a head where they lie there whole: the first in-edges once
        more, which lead to vertices of highest degree. A search that looks up finds one of these in its
        frontier as a rule, and reads no others: with an eighth of the edges of R-MAT 26 near, and 57 MiB of
        heads, an H200 took 1.6 ms for one, not 7.9.
    """

    mapped: float = 0.0
    most_heads: int = 0


IN_ONE_MEMORY = Tiers()


def whole_rows(offsets: NDArray[np.uint64], edges: int) -> int:
    """How many rows the first so many edges hold whole."""
    return int(np.searchsorted(offsets, np.uint64(edges), side="right")) - 1 if edges else 0


def far_edges(edges: int, edge_bytes: int, room: int, heads_of: Callable[[int], int]) -> tuple[int, int]:
    """How many edges have no room on a GPU beside the heads of their rows, and how many heads have.

    The least number that leaves room for the rest. It is come near from below, each time by half of what is
    lacking or more while heads take no more than half of what their rows free. They may take more where the
    rows of one direction are long and those of the other short: what comes of that has an end all the same.

    Parameters
    ----------
    edges : int
    edge_bytes : int
        Of a target and its weight.
    room : int
        Bytes for edges and heads.
    heads_of : callable
        Given a number of edges that are far, from the first on, how many of their rows want a head.
    """
    most = int(room * HEADS_OF_ROOM) // HEAD_BYTES

    def far_beside(heads: int) -> int:
        return max(0, edges - (room - heads * HEAD_BYTES) // edge_bytes)

    far = far_beside(0)
    for _ in range(_STEPS):
        # Rows that are far with the others have heads as well.
        more = far_beside(min(heads_of(far), most)) if far else 0
        if more <= far:
            break
        far = more
    else:
        far = far_beside(most)
    return far, min(heads_of(far), most) if far else 0


def tiers_of(
    partition: Partition,
    elsewhere: int,
    element: Element,
    *,
    heads: bool = True,
    taken: int = 0,
    promised: int = 0,
) -> Tiers:
    """Which edges of a partition, before it is placed, have no room on its element.

    Parameters
    ----------
    partition : Partition
    elsewhere : int
        Mirrors of its owned vertices on other elements, at most.
    element : Element
    heads : bool
        Whether searches may look up, for which heads are kept.
    taken, promised : int
        Bytes that other partitions take up there already, and that runs on them will.

    Raises
    ------
    DeviceOutOfMemory
        If there is not even room for what must lie there: the vertices, and the state of any algorithm.
    """
    room = element.room_after(taken)
    if room is None:
        return IN_ONE_MEMORY
    room = max(0, room - promised)
    stored = partition.directions
    needed = beside_edges(
        partition.owned, partition.mirrors, elsewhere, partition.stored_edges, directions=len(stored)
    )
    if needed > room:
        raise too_large(element.name, partition.owned, partition.mirrors, needed, room)
    arrays = [array for e in stored for array in (e.targets, e.weights) if array is not None]
    nbytes, edges = sum(array.nbytes for array in arrays), partition.stored_edges
    if nbytes <= room - needed:
        return IN_ONE_MEMORY
    own = partition.in_
    most = long_rows(partition) if heads else 0

    def heads_of(far: int) -> int:
        # Each direction has the same share of its edges in the host's memory.
        return min(most, whole_rows(own.offsets, far * own.count // edges)) if own and most else 0

    far, most_heads = far_edges(edges, nbytes // edges, room - needed, heads_of)
    return Tiers(far / edges, most_heads)


def long_rows(partition: Partition) -> int:
    """How many rows are worth a head: they lie in descending order of their edges in all directions."""
    stored = partition.directions

    def minus_edges(row: int) -> int:
        return -sum(int(edges.offsets[row + 1] - edges.offsets[row]) for edges in stored)

    return bisect_right(range(partition.owned), -LEAST_HEADED * len(stored), key=minus_edges)
