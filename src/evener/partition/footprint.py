"""Footprint: the bytes of a partition on a GPU, the edges that fit there, and the bytes on the host.

A partition of low-degree vertices has many vertices, whose state leaves less room for edges (T13 §7). The
footprint therefore matters as much as speed for the choice between the policies `high` and `low`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.errors import DeviceOutOfMemory
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.graph.graph import Graph
    from evener.partition.partition import Partition

__all__ = [
    "IN_ONE_MEMORY",
    "MIN_PREFIXED_ROW",
    "PREFIX_BYTES",
    "PREFIX_EDGES",
    "STATE_BYTES",
    "Tiers",
    "bytes_excluding_edges",
    "bytes_needed",
    "column_block_bytes",
    "count_host_edges",
    "edge_bytes",
    "long_rows",
    "most_edges",
    "run_bytes",
    "share_on_host",
    "tiers_of",
    "too_large",
    "whole_rows",
    "window_bytes",
]

# Edges in the prefix of a row, and edges per stored direction of the shortest row with a prefix.
PREFIX_EDGES, MIN_PREFIXED_ROW = 4, 8
PREFIX_BYTES = 4 * PREFIX_EDGES
# Largest share of the room for edges that prefixes may fill.
PREFIX_ROOM_SHARE = 1 / 2
# Largest number of steps of the approximation in `count_host_edges`.
_STEPS = 64

# Bytes of state per owned vertex and per mirror that a GPU keeps free for runs on a partition.
STATE_BYTES = (32, 20)
# Bytes of a vertex's global number, its degree and its row offset.
_NAME_BYTES, _DEGREE_BYTES, _OFFSET_BYTES = 4, 4, 8
# Bytes per vertex of a message: a value, a position, a listed value and a flag.
_MESSAGE_BYTES = 8 + 4 + 8 + 1
# Bytes per vertex of a message in the two windows of a link to a GPU of another rank.
_WINDOW_BYTES = 2 * 8
# Bytes per mirror that an owner needs to place listed values before the reduction.
_PLACED_BYTES = 8
# Bytes of a route at the owner: the index per mirror, and bitmap with rank per vertex.
_INDEX_BYTES, _BITMAP_BYTES = 4, 12 / 64
# Bytes per edge of the lists of pieces of long rows: two values of 8 bytes per 512 edges.
_PIECES_BYTES = 2 * 8 / 512


def bytes_excluding_edges(owned: int, mirrors: int, elsewhere: int, edges: int, *, directions: int) -> int:
    """Return the bytes of a partition on a GPU without targets and weights, with the state of any algorithm.

    `elsewhere` is the number of mirrors, on other elements, of the owned vertices. `edges` counts all stored
    edges, and `directions` the stored adjacencies.
    """
    arrays = (
        _NAME_BYTES * (owned + mirrors) + _DEGREE_BYTES * owned + directions * _OFFSET_BYTES * (owned + 1)
    )
    state = STATE_BYTES[0] * owned + STATE_BYTES[1] * mirrors
    messages = (mirrors + elsewhere) * _MESSAGE_BYTES + elsewhere * _PLACED_BYTES
    lookups = elsewhere * _INDEX_BYTES + owned * _BITMAP_BYTES if elsewhere else 0
    return int(arrays + state + messages + lookups + edges * _PIECES_BYTES)


def window_bytes(mirrors: int, elsewhere: int) -> int:
    """Return the bytes that a GPU keeps for links to partitions on other ranks.

    `mirrors` are mirrors here of vertices of other ranks, and `elsewhere` those on other ranks of owned ones.
    """
    return _WINDOW_BYTES * (mirrors + elsewhere)


def run_bytes(partition: Partition, elsewhere: int) -> int:
    """Return the bytes that a run of any algorithm needs in addition to the arrays of a placed partition."""
    stored = partition.directions
    needed = bytes_excluding_edges(
        partition.owned, partition.mirrors, elsewhere, partition.stored_edges, directions=len(stored)
    )
    # Vertex numbers, degrees and offsets are arrays of the partition.
    own = partition.vertices.nbytes + partition.out_degree.nbytes + sum(e.offsets.nbytes for e in stored)
    return needed - own


def column_block_bytes(tiles: int, blocks: int, items: int, steps: int, sums: int) -> int:
    """Return the bytes of column blocks and of building them; see `evener.partition.column_blocks`.

    `steps` counts those of all items, 32 words of 4 bytes each, and `sums` float32 sums.
    """
    # Per tile: first row, lanes, place and blocks. Per item: order of lanes, description, build buffers.
    return (16 + blocks // 8 + 4) * tiles + (256 + 52 + 56) * items + 128 * steps + 4 * sums


def too_large(element: str, owned: int, mirrors: int, needed: int, room: int) -> DeviceOutOfMemory:
    """Return the error for a partition whose vertices do not fit a GPU."""
    msg = (
        f"{element} has room for {format_bytes(room)}, but a partition of {owned:,} vertices and {mirrors:,} "
        f"mirrors needs {format_bytes(needed)} without its edges; give it a smaller share of the edges (a "
        'larger alpha), or fewer vertices (policy="low")'
    )
    return DeviceOutOfMemory(msg, needed=needed, available=room)


class Tiers(NamedTuple):
    """How a partition is divided between host memory and GPU memory.

    `host_share` of the edges stay in host memory: the rows of highest degree. The GPU keeps a prefix of at
    most `max_prefixes` of these rows: a copy of the first in-edges, which lead to vertices of highest degree.
    A bottom-up search step usually finds one of these vertices in the frontier and reads no more edges.
    """

    host_share: float = 0.0
    max_prefixes: int = 0


IN_ONE_MEMORY = Tiers()


def whole_rows(offsets: NDArray[np.uint64], edges: int) -> int:
    """Return the number of rows that lie completely within the first `edges` edges."""
    return int(np.searchsorted(offsets, np.uint64(edges), side="right")) - 1 if edges else 0


def count_host_edges(
    edges: int, edge_bytes: int, room: int, prefixes_of: Callable[[int], int]
) -> tuple[int, int]:
    """Return how many edges stay in host memory, and how many of their rows get a prefix on the GPU.

    The number of edges is the smallest that leaves room for the other edges and the prefixes. The search
    increases it step by step. Each step closes half of the gap or more, if a prefix is at most half as large
    as its row. The number of steps is limited, because rows of one direction may be short.

    `room` bytes are for edges and prefixes. `prefixes_of` returns how many rows have a prefix, given the
    number of edges in host memory.
    """
    limit = int(room * PREFIX_ROOM_SHARE) // PREFIX_BYTES

    def edges_without_room(prefixes: int) -> int:
        return max(0, edges - (room - prefixes * PREFIX_BYTES) // edge_bytes)

    on_host = edges_without_room(0)
    for _ in range(_STEPS):
        # The prefixes of rows in host memory take room from further edges.
        more = edges_without_room(min(prefixes_of(on_host), limit)) if on_host else 0
        if more <= on_host:
            break
        on_host = more
    else:
        on_host = edges_without_room(limit)
    return on_host, min(prefixes_of(on_host), limit) if on_host else 0


def tiers_of(
    partition: Partition,
    elsewhere: int,
    element: Element,
    *,
    prefixes: bool = True,
    taken: int = 0,
    promised: int = 0,
) -> Tiers:
    """Return which edges of a partition stay in host memory, before the partition is uploaded.

    `elsewhere` is an upper bound of the mirrors, on other elements, of the owned vertices. With `prefixes`,
    the GPU keeps them for bottom-up search steps. `taken` and `promised` are the bytes of other partitions in
    the same memory, and those that runs on them need. Raises DeviceOutOfMemory if the vertices and the state
    of any algorithm do not fit.
    """
    room = element.room_after(taken)
    if room is None:
        return IN_ONE_MEMORY
    room = max(0, room - promised)
    stored = partition.directions
    needed = bytes_excluding_edges(
        partition.owned, partition.mirrors, elsewhere, partition.stored_edges, directions=len(stored)
    )
    if needed > room:
        raise too_large(element.name, partition.owned, partition.mirrors, needed, room)
    arrays = [array for e in stored for array in (e.targets, e.weights) if array is not None]
    nbytes, edges = sum(array.nbytes for array in arrays), partition.stored_edges
    if nbytes <= room - needed:
        return IN_ONE_MEMORY
    own = partition.in_
    limit = long_rows(partition) if prefixes else 0

    def prefixes_of(on_host: int) -> int:
        # Each direction has the same share of its edges in host memory.
        return min(limit, whole_rows(own.offsets, on_host * own.count // edges)) if own and limit else 0

    on_host, max_prefixes = count_host_edges(edges, nbytes // edges, room - needed, prefixes_of)
    return Tiers(on_host / edges, max_prefixes)


def long_rows(partition: Partition) -> int:
    """Return the number of rows long enough for a prefix; rows are in descending order of degree."""
    stored = partition.directions

    def minus_edges(row: int) -> int:
        return -sum(int(edges.offsets[row + 1] - edges.offsets[row]) for edges in stored)

    return bisect_right(range(partition.owned), -MIN_PREFIXED_ROW * len(stored), key=minus_edges)


# ---- before a graph is placed ---------------------------------------------------------------------


def most_edges(
    graph: Graph,
    directions: str,
    shares: NDArray[np.float64],
    rooms: Sequence[int | None],
    ranks: Sequence[int],
) -> list[float]:
    """Return the stored edges that fit each element with its share of the vertices and all mirrors.

    `shares`, `rooms` and `ranks` have the share, the room in bytes and the rank of each element.
    """
    stored = 1 + (graph.directed and directions == "both")
    others = len(shares) - 1
    fitting = []
    for share, room, rank in zip(shares.tolist(), rooms, ranks, strict=True):
        owned, edges = round(share * graph.n), round(share * graph.m) * stored
        needed = bytes_excluding_edges(owned, graph.n - owned, owned * others, edges, directions=stored)
        far = np.asarray(ranks) != rank
        needed += window_bytes(round(float(shares[far].sum()) * graph.n), owned * int(far.sum()))
        fitting.append(math.inf if room is None else max(0.0, (room - needed) / graph.edge_bytes))
    return fitting


def share_on_host(elements: list[Element], shares: NDArray[np.float64], stored: int) -> float:
    """Return the smallest share of the edges in host memory: the CPU's, and the edges that fit no GPU.

    `stored` is the bytes of the edges of all partitions.
    """
    rooms = (element.room() for element in elements)
    return float(
        sum(
            share if room is None else max(0.0, share - room / max(stored, 1))
            for room, share in zip(rooms, shares, strict=True)
        )
    )


def _stored_adjacencies(graph: Graph, directions: str) -> int:
    """Return the number of adjacencies that the partitions store."""
    return 2 if graph.directed and directions == "both" else 1


def edge_bytes(graph: Graph, directions: str) -> int:
    """Return the bytes of the edges of all partitions."""
    return graph.m * graph.edge_bytes * _stored_adjacencies(graph, directions)


def bytes_needed(
    graph: Graph, directions: str, on_host: float = 1.0, *, stored: Sequence[str] | None = None
) -> int:
    """Return the bytes of the partitions without mirrors, and of the temporary arrays to build them.

    The share `on_host` of the edges stays in host memory. `stored` are the directions of rows that need not
    be built in host memory. Default: those that the graph stores.
    """
    stored = graph.stored_directions if stored is None else stored
    edges = graph.m * graph.edge_bytes
    # A direction that the graph does not store is built from the other one, a third at a time.
    wanted = ("out",) if not graph.directed else ("out", "in") if directions == "both" else (directions,)
    missing = [one for one in wanted if one not in stored]
    reverse_bytes = len(missing) * (edges + graph.n * 8) + ((graph.m * 4 + edges) // 3 if missing else 0)
    # Per vertex: an offset for each adjacency, and 30 bytes of degrees, numbers and orders. One direction
    # of a directed graph needs a second degree and a second order.
    second = 12 if graph.directed and directions != "both" else 0
    vertices = (_stored_adjacencies(graph, directions) * 8 + 30 + second) * graph.n
    return int(edge_bytes(graph, directions) * on_host) + reverse_bytes + vertices
