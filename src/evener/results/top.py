"""The largest values of a result, over all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.views import html_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evener.results.record import RunRecord
    from evener.system.world import World

__all__ = ["TopRows", "largest", "largest_values"]

# Rows of a table in a notebook, at most.
_MOST_ROWS = 100


class TopRows(list[Any]):
    """A list of rows that a notebook shows as a table, with six digits of a number."""

    def __init__(self, heads: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        super().__init__(rows)
        self._heads = tuple(heads)

    def _repr_html_(self) -> str | None:
        """Return a table, or None for so many rows that the text of a list is shown."""
        return html_table(self._heads, self) if len(self) <= _MOST_ROWS else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._heads, list(self))


def largest_values(result: RunRecord, k: int) -> list[tuple[Any, int | float]]:
    """Return the ids and values of `Result.top`. This is a collective operation; all ranks must call it."""
    name = next(iter(result))
    values, kind, first = result.gathered(name), result.columns[name].kind, result.block.start
    if kind == "group":
        keys, values = _group_sizes(values, result.world)
        best = largest(values, k)
        keys = keys[best]
        ids = result.names_of(keys)
    elif kind == "distance":
        reached = np.flatnonzero((values >= 0) & (values != np.inf))
        values = values[reached]
        best = largest(values, k)
        keys, ids = first + reached[best], result.ids[reached[best]]
    else:
        best = largest(values, k)
        keys, ids = first + best, result.ids[best]
    values = values[best]
    if result.world.size > 1:
        of_ranks = result.world.allgather((keys, ids, values))
        keys, ids, values = (np.concatenate(column) for column in zip(*of_ranks, strict=True))
        order = np.lexsort((keys, -values.astype(np.float64)))[:k]
        ids, values = ids[order], values[order]
    heads = (name, "vertices") if kind == "group" else ("vertex", name)
    return TopRows(heads, zip(ids.tolist(), values.tolist(), strict=True))


def _group_sizes(groups: NDArray[Any], world: World) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the names and sizes of the groups that this rank counts: one of all ranks counts each group."""
    names, sizes = np.unique(groups, return_counts=True)
    if world.size == 1:
        return names, sizes
    counted_by = names % world.size
    chosen = [np.flatnonzero(counted_by == rank) for rank in range(world.size)]
    own = np.concatenate(world.alltoall([names[where] for where in chosen]))
    counts = np.concatenate(world.alltoall([sizes[where] for where in chosen]))
    names, position = np.unique(own, return_inverse=True)
    totals = np.zeros(len(names), np.int64)
    np.add.at(totals, position, counts)
    return names, totals


def largest(values: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Return the positions of the k largest values, largest first, earlier positions first among equals."""
    k = min(k, len(values))
    if k == 0:
        return np.empty(0, dtype=np.intp)
    # Finding the k-th largest value in linear time avoids sorting all values.
    least = np.partition(values, len(values) - k)[len(values) - k]
    above = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)[: k - len(above)]
    chosen = np.concatenate([above, equal])
    return chosen[np.lexsort((chosen, -values[chosen].astype(np.float64)))]
