"""Footprint: the bytes that a partition takes up on a GPU, and which of its edges have room there.

T13 §7 finds that the state of each vertex decides between HIGH and LOW as much as speed does: a partition of
low-degree vertices has many of them, and every one takes room from edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.errors import DeviceOutOfMemory
from evener.memory import readable

if TYPE_CHECKING:
    from evener.elements import Element
    from evener.partition.partition import Partition

__all__ = ["STATE_BYTES", "beside_edges", "columns_bytes", "mapped_share", "too_large"]

# Bytes of state that an algorithm keeps for each owned vertex and for each mirror, bitmaps counted as bytes.
# A partition can be used by any of them, so it leaves room for the most that any keeps.
STATE_BYTES = {
    # distance, parent, two queues; offered; six bitmaps
    "bfs": (4 + 4 + 4 + 4 + 4 + 1, 4 + 1),
    # rank and, with a personalization, teleport; two contributions, all float64
    "pagerank": (8 + 8 + 16, 16),
    # component, label, a copy of it; the pairs of a mirror
    "wcc": (12, 12 + 8),
    # distance float64, parent, two queues; four bitmaps
    "sssp": (8 + 4 + 4 + 4 + 1, 8 + 1),
    # centrality, value, arriving, order; three bitmaps
    "betweenness": (8 + 8 + 8 + 4 + 1, 8 + 8 + 1),
}
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
    state = max(own * owned + other * mirrors for own, other in STATE_BYTES.values())
    messages = (mirrors + elsewhere) * _MESSAGE_BYTES + elsewhere * _PLACED_BYTES
    lookups = elsewhere * _INDEX_BYTES + owned * _BITMAP_BYTES if elsewhere else 0
    return int(arrays + state + messages + lookups + edges * _PIECES_BYTES)


def columns_bytes(tiles: int, blocks: int, items: int, steps: int, sums: int) -> int:
    """Bytes of edges in blocks of columns, and of making them; see `evener.partition.columns`.

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
        f"{element} has room for {readable(room)}, and a partition of {owned:,} vertices and {mirrors:,} "
        f"mirrors needs {readable(needed)} even with all its edges in the host's memory; give it a smaller "
        'share (a larger alpha), or fewer vertices (policy="low")'
    )
    return DeviceOutOfMemory(msg, needed=needed, available=room)


def mapped_share(partition: Partition, elsewhere: int, element: Element) -> float:
    """The share of a partition's edges that have no room on its element.

    Parameters
    ----------
    partition : Partition
    elsewhere : int
        Mirrors of its owned vertices on other elements, at most.
    element : Element

    Raises
    ------
    DeviceOutOfMemory
        If there is not even room for what must lie there: the vertices, and the state of any algorithm.
    """
    room = element.room()
    if room is None:
        return 0.0
    stored = partition.directions
    needed = beside_edges(
        partition.owned, partition.mirrors, elsewhere, partition.stored_edges, directions=len(stored)
    )
    if needed > room:
        raise too_large(element.name, partition.owned, partition.mirrors, needed, room)
    arrays = [array for e in stored for array in (e.targets, e.weights) if array is not None]
    nbytes = sum(array.nbytes for array in arrays)
    return max(0.0, 1 - (room - needed) / nbytes) if nbytes else 0.0
