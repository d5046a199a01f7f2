"""Small graphs with the shapes that break graph algorithms, as ``(sources, targets, number of vertices)``.

Sizes are at and next to multiples of 64, where bitmaps end inside a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Edges = tuple[NDArray[np.int64], NDArray[np.int64], int | None]

__all__ = ["SHAPES", "build"]


def rmat(scale: int, *, edge_factor: int = 8) -> Edges:
    """R-MAT with the parameters of Graph500, with its self-loops and repeated edges."""
    rng = np.random.default_rng(scale)
    quadrant = rng.choice(4, (scale, edge_factor << scale), p=[0.57, 0.19, 0.19, 0.05])
    place = 1 << np.arange(scale)[:, None]
    label = rng.permutation(1 << scale)
    return label[((quadrant >> 1) * place).sum(0)], label[((quadrant & 1) * place).sum(0)], 1 << scale


def uniform(scale: int) -> Edges:
    """Edges between vertices drawn at random, three for each vertex."""
    src, dst = np.random.default_rng(scale).integers(0, 1 << scale, (2, 3 << scale))
    return src, dst, 1 << scale


def grid(rows: int, columns: int) -> Edges:
    """A grid whose edges point right and down."""
    number = np.arange(rows * columns).reshape(rows, columns)
    across, down = (number[:, :-1].ravel(), number[:, 1:].ravel()), (number[:-1].ravel(), number[1:].ravel())
    return np.concatenate([across[0], down[0]]), np.concatenate([across[1], down[1]]), number.size


def star(leaves: int) -> Edges:
    """A star whose hub has the middle number. Edges alternate between leaf to hub and hub to leaf."""
    hub, others = leaves // 2, np.delete(np.arange(leaves + 1), leaves // 2)
    outward = np.arange(leaves) % 2 == 0
    return np.where(outward, hub, others), np.where(outward, others, hub), leaves + 1


def chain(n: int) -> Edges:
    """A path through the vertices in random order."""
    order = np.random.default_rng(n).permutation(n)
    return order[:-1], order[1:], n


def self_loops(n: int) -> Edges:
    """Random edges, and a self-loop at every third vertex."""
    src, dst = np.random.default_rng(n).integers(0, n, (2, n))
    return np.concatenate([src, np.arange(n)[::3]]), np.concatenate([dst, np.arange(n)[::3]]), n


def duplicates(n: int) -> Edges:
    """Random edges, each zero to four times."""
    src, dst = np.random.default_rng(n).integers(0, n, (2, n))
    return np.repeat(src, np.arange(n) % 5), np.repeat(dst, np.arange(n) % 5), n


def isolated(n: int) -> Edges:
    """Edges among a quarter of the vertices, without vertex 0."""
    src, dst = np.random.default_rng(n).integers(0, n // 4, (2, n // 2)) * 3 + 1
    return src, dst, n


def gaps(n: int) -> Edges:
    """Random edges between ids with gaps, from 1000. Only ids that occur are vertices."""
    src, dst = np.random.default_rng(n).integers(0, n, (2, 2 * n)) * 7 + 1000
    return src, dst, None


def ends_early(n: int) -> Edges:
    """Edges into five vertices, so that most in-rows of a directed graph are empty."""
    rng = np.random.default_rng(n)
    return rng.integers(0, n, 3 * n), rng.integers(0, 5, 3 * n), n


_NONE = np.empty(0, dtype=np.int64)

SHAPES: dict[str, Callable[[], Edges]] = {
    "rmat": lambda: rmat(7),
    "uniform": lambda: uniform(6),
    "grid": lambda: grid(9, 9),
    "star": lambda: star(127),
    "chain": lambda: chain(65),
    "one vertex": lambda: (_NONE, _NONE, 1),
    "self-loops": lambda: self_loops(64),
    "duplicates": lambda: duplicates(63),
    "isolated": lambda: isolated(129),
    "gaps": lambda: gaps(50),
    "ends early": lambda: ends_early(64),
}


def build(edges: Edges, *, directed: bool, simple: bool = False) -> Graph:
    """Build a graph whose weights are multiples of 1/8 from 0 to 2, so that sums of weights are exact.

    `simple` drops self-loops and repeated edges.
    """
    src, dst, n = edges
    weights = np.random.default_rng(len(src)).integers(0, 17, len(src)) / 8
    kept = "drop" if simple else "keep"
    return Graph.from_edges(src, dst, weights, directed=directed, n=n, self_loops=kept, duplicates=kept)
