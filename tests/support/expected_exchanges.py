"""Expected values, flags and bytes of exchanges, for tests of transports.

Expected values are computed by the graph's vertex numbers, so they do not depend on routes and positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.array import PartitionedArray
from support.bitmaps import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

    from evener.engine.engine import Engine

    Values = list[NDArray[Any]]
    Flags = list[NDArray[np.bool_]]
    # Return the bytes of a packet, given a partition and a flag for each of its mirrors.
    Cost = Callable[[int, NDArray[np.bool_]], int]

__all__ = [
    "bit_bytes",
    "bytes_sent",
    "changed_bytes",
    "download_flags",
    "expected_bytes",
    "mirror_flags",
    "owner_values",
    "random_flags",
    "random_values",
    "reduce_all",
    "upload_flags",
    "value_bytes",
    "vertex_numbers",
]

# ---- values and flags ------------------------------------------------------------------------------


def vertex_numbers(engine: Engine) -> Values:
    """Return the graph's number of each local vertex, for each partition."""
    return [e.download(p.vertices) for e, p in zip(engine.elements, engine.partitions, strict=True)]


def random_values(engine: Engine, rng: np.random.Generator, dtype: DTypeLike) -> Values:
    """Return small integers as values of any type. Their sums are exact in any order."""
    return [rng.integers(0, 1000, len(p.vertices)).astype(dtype) for p in engine.partitions]


def random_flags(engine: Engine, rng: np.random.Generator, share: float, *, mirrors: bool = True) -> Flags:
    """Return random flags with a given share set; with ``mirrors=False``, only of owned vertices."""
    flags = [rng.random(len(p.vertices)) < share for p in engine.partitions]
    for p, flag in zip(engine.partitions, flags, strict=True):
        flag[p.owned :] &= mirrors
    return flags


def mirror_flags(engine: Engine, flags: Flags) -> Flags:
    """Return the flags of each partition's mirrors."""
    return [flag[p.owned :] for p, flag in zip(engine.partitions, flags, strict=True)]


def upload_flags(engine: Engine, flags: Flags) -> PartitionedArray:
    """Return flags as bitmaps on their elements."""
    return PartitionedArray(engine.upload([pack(flag) for flag in flags]).parts, bits=True)


def download_flags(engine: Engine, words: PartitionedArray) -> Flags:
    """Return the flags of bitmaps."""
    pairs = zip(engine.partitions, engine.download(words), strict=True)
    return [unpack(part, len(p.vertices)) for p, part in pairs]


def owner_values(engine: Engine, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the owner's value of every vertex of the graph."""
    values = np.zeros(sum(p.owned for p in engine.partitions), parts[0].dtype)
    for p, where, part in zip(engine.partitions, vertex_numbers(engine), parts, strict=True):
        values[where[: p.owned]] = part[: p.owned]
    return values


def reduce_all(engine: Engine, parts: Sequence[NDArray[Any]], reduce: np.ufunc, start: float) -> NDArray[Any]:
    """Return the values of owner and mirrors of every vertex of the graph, reduced."""
    values = np.full(sum(p.owned for p in engine.partitions), start).astype(parts[0].dtype)
    for where, part in zip(vertex_numbers(engine), parts, strict=True):
        reduce.at(values, where, part)
    return values


# ---- bytes -----------------------------------------------------------------------------------------


def bytes_sent(engine: Engine) -> list[int]:
    """Return the bytes that each element sent in the current superstep."""
    return [span.bytes_sent for span in engine.timeline.spans[-len(engine.elements) :]]


def expected_bytes(engine: Engine, sender: str, cost: Cost) -> list[int]:
    """Return the bytes that each element must send.

    Parameters
    ----------
    engine : Engine
    sender : {"owner", "mirrors"}
        The end of each route that sends.
    cost : callable
        The bytes of a packet.
    """
    vertices = vertex_numbers(engine)
    owner_of = np.empty(sum(p.owned for p in engine.partitions), int)
    for q, p in enumerate(engine.partitions):
        owner_of[vertices[q][: p.owned]] = q
    count = [0] * len(engine.partitions)
    for here, p in enumerate(engine.partitions):
        owners = owner_of[vertices[here][p.owned :]]
        for owner in np.unique(owners).tolist():
            count[here if sender == "mirrors" else owner] += cost(here, owners == owner)
    return count


def value_bytes(itemsize: int) -> Cost:
    """Return the cost of a packet of values."""
    return lambda _, mirrors: int(mirrors.sum()) * itemsize


def bit_bytes(partition: int, mirrors: NDArray[np.bool_]) -> int:  # noqa: ARG001 - a cost
    """Return the bytes of a packet of bits."""
    return (int(mirrors.sum()) + 7) // 8


def changed_bytes(itemsize: int, changed: Flags) -> Cost:
    """Return the cost of a packet of changes.

    A sparse packet has a position and a value for each change. A dense packet has all values, and a bit for
    each value. The smaller packet is sent.
    """

    def cost(partition: int, mirrors: NDArray[np.bool_]) -> int:
        sparse = int((mirrors & changed[partition]).sum()) * (4 + itemsize)
        return min(sparse, int(mirrors.sum()) * itemsize + bit_bytes(partition, mirrors))

    return cost
