"""Share: the edges that one of several ranks reads, and facts about the whole graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    from evener.graph.csr import CSR, EdgeSource
    from evener.graph.generators.models import Recipe

__all__ = ["EdgeIds", "EdgeRange", "EdgeShare", "StoredRows", "share_of_recipe"]


class EdgeRange:
    """Consecutive edges of another source; an `evener.graph.csr.EdgeSource`."""

    def __init__(self, source: EdgeSource, start: int, stop: int) -> None:
        self.n, self.m, self.weight_dtype = source.n, stop - start, source.weight_dtype
        self._source, self._start = source, start

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        """Write the tails and heads of edges ``start:stop``."""
        self._source.fill(self._start + start, self._start + stop, src, dst)

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``."""
        self._source.fill_weights(self._start + start, self._start + stop, weights)


@dataclass
class EdgeIds:
    """Edges between ids, which are not vertex numbers yet.

    Attributes
    ----------
    src, dst : ndarray of integers, shape (edges,)
    weights : ndarray, shape (edges,), or None
    path : Path
        The file of the edges, for messages.
    directed : bool, optional
        True or false if the file states a direction.
    both_directions : bool
        True if the file lists an undirected edge in both directions.
    n : int, optional
        The number of vertices, if the ids are ``0..n-1``.
    names : ndarray of str, optional
        Strings that are the ids: distinct and ascending. Tails and heads are then positions in `names`.
    vertices : ndarray of int64
        Ids of vertices with or without edges.
    listed : bool
        Whether `vertices` of all ranks lists all vertices, so that edges must not name others.
    line_of : callable, optional
        Returns the line number of an edge, from its row.
    """

    src: NDArray[Any]
    dst: NDArray[Any]
    weights: NDArray[Any] | None
    path: Path
    directed: bool | None = None
    both_directions: bool = False
    n: int | None = None
    names: NDArray[Any] | None = None
    vertices: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    listed: bool = False
    line_of: Callable[[int], int] | None = None

    @classmethod
    def empty(cls, path: Path, weight_dtype: DTypeLike | None = None) -> EdgeIds:
        """Return no edges, with weights of `weight_dtype` if given."""
        weights = None if weight_dtype is None else np.empty(0, weight_dtype)
        return cls(np.empty(0, np.uint32), np.empty(0, np.uint32), weights, path)


@dataclass
class StoredRows:
    """The rows of the whole graph in a mapped file; each rank reads its own."""

    rows: CSR


@dataclass
class EdgeShare:
    """The edges that this rank reads, and facts about the whole graph.

    Attributes
    ----------
    edges : EdgeSource, EdgeIds or StoredRows
        The edges of an `EdgeSource` are between vertex numbers.
    directed : bool
    symmetrise : bool
        Whether the graph stores the reverse of each edge.
    self_loops, duplicates : {"keep", "drop"}
    ids : ndarray, optional
        The id of each vertex, mapped from a file; of `EdgeIds`, the ids follow from the edges.
    """

    edges: EdgeSource | EdgeIds | StoredRows
    directed: bool
    symmetrise: bool
    self_loops: str = "keep"
    duplicates: str = "keep"
    ids: NDArray[Any] | None = None


def share_of_recipe(recipe: Recipe, rank: int, size: int) -> EdgeShare:
    """Return the edges of a generator that one of `size` ranks computes."""
    m = recipe.source.m
    edges = EdgeRange(recipe.source, m * rank // size, m * (rank + 1) // size)
    return EdgeShare(edges, recipe.directed, recipe.symmetrise, recipe.repeated, recipe.repeated)
