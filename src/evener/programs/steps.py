"""Steps of all programs: checks that involve all ranks, and arrays of owned values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.kernels.cpu.partition import gather_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine
    from evener.partition.partitioned import PartitionedGraph

__all__ = [
    "absolute_sum",
    "all_have_edges",
    "exception_of",
    "has_negative",
    "is_constant",
    "message_dtypes",
    "owned_values",
    "upload_owned",
    "write_owned",
]


def exception_of(name: str) -> ArgumentError:
    """Return the error for a function of the user that raises an exception while a kernel runs."""
    msg = (
        f"{name}: a function raises an exception for a vertex, an edge or a key; check its indices of tuples "
        "and lists, its keys of dictionaries, and its integers: divisions by 0, negative exponents and "
        "shifts, and int of NaN or of a number beyond 64 bits"
    )
    return ArgumentError(msg)


def all_have_edges(pg: PartitionedGraph, *offsets: PartitionedArray) -> bool:
    """Return whether each vertex has an edge in one of several directions, given the offsets of their rows.

    This is a collective operation; all ranks must call it.
    """
    empty = False
    for element, *own in zip(pg.elements, *offsets, strict=True):
        degrees = sum(np.diff(element.download(rows)) for rows in own)
        empty = empty or bool((degrees == 0).any())
    return not pg.world.allreduce(int(empty), "max")


def is_constant(values: NDArray[Any]) -> bool:
    """Return whether an array is one number that NumPy broadcasts to all vertices."""
    return len(values) > 0 and values.strides == (0,)


def has_negative(values: NDArray[Any]) -> bool:
    """Return whether a value of an array is below 0."""
    return bool(((values[:1] if is_constant(values) else values) < 0).any())


def absolute_sum(values: NDArray[Any]) -> float:
    """Return the sum of the absolute values of an array."""
    if is_constant(values):
        return abs(float(values[0])) * len(values)
    return float(np.abs(values, dtype=np.float64).sum())


def message_dtypes(fields: Iterable[str], wide: Sequence[np.dtype[Any]]) -> list[np.dtype[Any]]:
    """Return the types of messages in memory, given the types of fields and those that functions see.

    Real numbers are float32 if a field is float32 and none is float64. Other numbers are as in `wide`.
    """
    given = set(fields)
    short = "float32" in given and "float64" not in given
    return [np.dtype("float32") if short and one.kind == "f" else one for one in wide]


def owned_values(pg: PartitionedGraph, values: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the values of the vertices that each partition owns, given a value for each vertex."""
    if is_constant(values):
        return [np.full(partition.owned, values[0]) for partition in pg.partitions]
    vertices = pg.owned_vertices()
    parts = [np.empty(len(own), values.dtype) for own in vertices]
    for own, part in zip(vertices, parts, strict=True):
        gather_values(read_only(values), read_only(own), part)
    return parts


def upload_owned(engine: Engine, pg: PartitionedGraph, values: NDArray[Any]) -> PartitionedArray:
    """Return the values of the owned vertices on each element, given a value for each vertex."""
    if is_constant(values):
        return engine.owned_array(values.dtype, values[0])
    return engine.upload(owned_values(pg, values))


def write_owned(engine: Engine, source: PartitionedArray, target: PartitionedArray) -> None:
    """Copy a value for each owned vertex to an array that also has mirrors."""
    for element, own, values in zip(engine.elements, source, target, strict=True):
        element.run(values.__setitem__, slice(len(own)), own)
