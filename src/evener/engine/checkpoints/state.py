"""The state of a loop: arrays of the engine, as values of vertices that any other placement can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError
from evener.kernels.vertex import NO_VERTEX

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine

__all__ = [
    "Bounded",
    "LocalNumbers",
    "StateArray",
    "VertexNumbers",
    "VertexQueue",
    "dtype_of",
    "require_valid",
    "restore",
    "values_of",
]


class Bounded(NamedTuple):
    """An array whose values are from `lowest` to `highest`, and not NaN."""

    array: PartitionedArray
    lowest: float
    highest: float


class VertexNumbers(NamedTuple):
    """An array whose values are the graph's numbers of vertices, or `NO_VERTEX`."""

    array: PartitionedArray


class LocalNumbers(NamedTuple):
    """An array whose values are local numbers of vertices, or `NO_VERTEX`."""

    array: PartitionedArray


class VertexQueue(NamedTuple):
    """The first ``length[0]`` values of an array: local numbers of different owned vertices, in order."""

    array: PartitionedArray
    length: PartitionedArray


if TYPE_CHECKING:
    # An array or a bitmap of the engine, of which the values of owned vertices are kept.
    StateArray = PartitionedArray | Bounded | VertexNumbers | LocalNumbers | VertexQueue


def dtype_of(array: StateArray) -> np.dtype[Any]:
    """Return the type of the values that `values_of` returns."""
    if isinstance(array, LocalNumbers | VertexQueue):
        return np.dtype(np.uint32)
    if isinstance(array, Bounded | VertexNumbers):
        return array.array.dtype
    return np.dtype(bool) if array.bits else array.dtype


def require_valid(array: StateArray, values: NDArray[Any], n: int, *, name: str, path: Path) -> None:
    """Raise FormatError if a value breaks the rule of its array, in a graph of `n` vertices.

    `values` are such as `values_of` returns, and no kernel has used them.
    """
    if isinstance(array, Bounded):
        lowest, highest = array.lowest, array.highest
        valid = (values >= lowest) & (values <= highest)
        expected = f"numbers from {lowest} to {highest}"
    elif isinstance(array, VertexNumbers | LocalNumbers | VertexQueue):
        valid, expected = (values < n) | (values == NO_VERTEX), f"vertex numbers below {n}"
    elif array.bits:
        valid, expected = values.view(np.uint8) <= 1, "bytes 0 or 1"
    else:
        return
    if not valid.all():
        found = values.view(np.uint8)[np.argmin(valid)] if values.dtype == bool else values[np.argmin(valid)]
        raise FormatError(f"expected {expected} in {name!r}, found {found}", path=path)


def values_of(engine: Engine, array: StateArray) -> list[NDArray[Any]]:
    """Return a value for each owned vertex of each partition, in new host arrays.

    Local numbers become the graph's numbers. A queue becomes the position of each vertex in it.
    """
    if isinstance(array, LocalNumbers):
        numbers = engine.download(array.array.first(engine.owned.parts))
        pairs = zip(numbers, engine.download(engine.vertices), strict=True)
        return [_global_numbers(own, vertices) for own, vertices in pairs]
    if isinstance(array, VertexQueue):
        lengths = [int(own[0]) for own in engine.download(array.length)]
        queues = engine.download(array.array.first(lengths))
        return [_positions(own, owned) for own, owned in zip(queues, engine.owned, strict=True)]
    if isinstance(array, Bounded | VertexNumbers):
        return values_of(engine, array.array)
    if array.bits:
        words = zip(engine.download(array), engine.owned, strict=True)
        return [_unpack(own, owned) for own, owned in words]
    return [np.array(own) for own in engine.download(array.first(engine.owned.parts))]


def restore(engine: Engine, array: StateArray, values: Sequence[NDArray[Any]]) -> None:
    """Write values that `values_of` returned, perhaps of another placement. Mirrors are not restored."""
    if isinstance(array, LocalNumbers):
        pairs = zip(values, engine.download(engine.vertices), strict=True)
        engine.write(array.array, [_local_numbers(own, vertices) for own, vertices in pairs])
    elif isinstance(array, VertexQueue):
        queues = [_in_order(own) for own in values]
        engine.write(array.array, queues)
        engine.write(array.length, [np.array([len(own)], np.uint64) for own in queues])
    elif isinstance(array, Bounded | VertexNumbers):
        restore(engine, array.array, values)
    elif array.bits:
        pairs = zip(values, array.parts, strict=True)
        engine.write(array, [_pack(own, len(words)) for own, words in pairs])
    else:
        engine.write(array, values)


def _global_numbers(local: NDArray[np.uint32], vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
    absent = local == NO_VERTEX
    return np.where(absent, NO_VERTEX, vertices[np.where(absent, 0, local)])


def _local_numbers(numbers: NDArray[np.uint32], vertices: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the local number of each vertex; `NO_VERTEX` if the partition does not have the vertex."""
    order = np.argsort(vertices).astype(np.uint32)
    places = np.searchsorted(vertices, numbers, sorter=order)
    local = order[np.minimum(places, len(order) - 1)] if len(order) else numbers
    return np.where(vertices[local] == numbers, local, NO_VERTEX)


def _positions(queue: NDArray[np.uint32], owned: int) -> NDArray[np.uint32]:
    positions = np.full(owned, NO_VERTEX, np.uint32)
    positions[queue] = np.arange(len(queue), dtype=np.uint32)
    return positions


def _in_order(positions: NDArray[np.uint32]) -> NDArray[np.uint32]:
    queued = np.flatnonzero(positions != NO_VERTEX)
    return queued[np.argsort(positions[queued], kind="stable")].astype(np.uint32)


def _unpack(words: NDArray[np.uint64], owned: int) -> NDArray[np.bool_]:
    return np.unpackbits(words.view(np.uint8), count=owned, bitorder="little").view(np.bool_)


def _pack(flags: NDArray[np.bool_], words: int) -> NDArray[np.uint64]:
    packed = np.packbits(flags, bitorder="little")
    return np.concatenate([packed, np.zeros(8 * words - len(packed), np.uint8)]).view(np.uint64)
