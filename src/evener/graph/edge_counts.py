"""The numbers of self-loops and edges of a graph, and the edges in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_edges", "count_loops", "edges_in_words"]

# Stored edges that are compared at a time.
_SLICE = 1 << 22
# Stored edges that are counted to describe a graph, at most: about a second from disk.
_MOST = 1 << 28


class _Sizes(Protocol):
    @property
    def m(self) -> int: ...

    @property
    def directed(self) -> bool: ...

    @property
    def loops(self) -> int | None: ...


def count_loops(offsets: NDArray[Any], targets: NDArray[Any]) -> int:
    """Return the number of edges that lead to their own row."""
    found, row, n = 0, 0, len(offsets) - 1
    while row < n:
        last = int(np.searchsorted(offsets, int(offsets[row]) + _SLICE, side="right")) - 1
        last = min(max(last, row + 1), n)
        degrees = np.diff(offsets[row : last + 1]).astype(np.intp)
        tails = np.repeat(np.arange(row, last, dtype=targets.dtype), degrees)
        found += int(np.count_nonzero(tails == targets[int(offsets[row]) : int(offsets[last])]))
        row = last
    return found


def count_edges(graph: _Sizes) -> int:
    """Return the number of edges of a graph with known `loops`; an undirected edge counts once."""
    return graph.m if graph.directed or graph.loops is None else (graph.m + graph.loops) // 2


def edges_in_words(graph: _Sizes) -> str:
    """Return the number of edges in words, and the stored edges of an undirected graph.

    `loops` of a graph without all edges in memory is None, and only its stored edges are known.

    Examples
    --------
    >>> import evener as ev
    >>> edges_in_words(ev.Graph.from_edges([0, 1, 1], [1, 1, 2], directed=False))
    '3 edges (5 stored)'
    """
    if graph.directed:
        return _counted(graph.m, "edge")
    if graph.m > _MOST or graph.loops is None:
        return _counted(graph.m, "stored edge")
    return f"{_counted(count_edges(graph), 'edge')} ({graph.m:,} stored)"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
