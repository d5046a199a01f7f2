"""Graphs from a few numbers: R-MAT as in Graph500, uniform, lattices, Kronecker powers of any matrix.

Every edge is computed from its number by counter-based random numbers, so a graph is the same on any number
of threads, and its edges are made again for each pass of the build instead of being stored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph import csr as build
from evener.graph.generators.sources import (
    GridEdges,
    PowerEdges,
    SampledEdges,
    TurnedEdges,
    UniformEdges,
    whole,
)
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from evener.graph.generators.sources import MadeEdges

__all__ = ["from_spec", "grid", "is_spec", "kronecker", "rmat", "uniform"]

# Graph500's matrix (specification 2.0, section 3.1), and the edges of each vertex it asks for.
GRAPH500 = ((0.57, 0.19), (0.19, 0.05))
EDGE_FACTOR = 16
DEFAULT_SEED = 1
# Largest scale worth a memory check: beyond it even the count of edges leaves 64 bits.
MAX_SCALE = 48


# ---- graphs -----------------------------------------------------------------------------------------


def rmat(
    scale: int,
    *,
    edge_factor: int = EDGE_FACTOR,
    seed: int = DEFAULT_SEED,
    directed: bool = False,
    weights: str | None = None,
    stored: str = "out",
    permute: bool = True,
) -> Graph:
    """Draw an R-MAT graph with Graph500's parameters (0.57, 0.19, 0.19, 0.05).

    Parameters
    ----------
    scale : int
        The graph has ``2**scale`` vertices; those without edges are kept.
    edge_factor : int, default 16
        Edges drawn, for each vertex.
    seed : int, default 1
        From 0 to 2**64 - 1. The same seed gives the same graph on any number of threads.
    directed : bool, default False
        Graph500's graph is undirected, without self-loops and without duplicates. A directed graph keeps
        the edges as drawn.
    weights : str, optional
        ``"1..255"``: integers drawn evenly from that range; ``"int"``: from 1 to 255, as GAP does;
        ``"real"``: float32, drawn evenly from (0, 1]. Of duplicates the lightest stays.
    stored : {"out", "in"}
        Which edges of a directed graph are made: the others are, when they are asked for. PageRank needs
        "in" alone, see `Graph.from_reverse`.
    permute : bool, default True
        Shuffle the vertex numbers, by a bijection computed for each vertex by itself. Without it, the low
        numbers have the high degrees.

    Returns
    -------
    Graph

    Raises
    ------
    OutOfMemoryError
        If the graph would not fit the memory at hand, before anything is allocated.

    References
    ----------
    Chakrabarti, Zhan, Faloutsos: R-MAT: A recursive model for graph mining. SDM 2004.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.read("rmat:10,seed=7")
    >>> g.n, g.directed
    (1024, False)
    """
    n = _two_to_the(scale)
    m = n * whole("edge_factor", edge_factor, 0, 1 << 14)
    source = SampledEdges(np.array(GRAPH500), scale, m, seed, weights, permute=permute)
    return _graph(source, directed=directed, stored=stored)


def uniform(
    scale: int,
    *,
    edge_factor: int = EDGE_FACTOR,
    seed: int = DEFAULT_SEED,
    directed: bool = False,
    weights: str | None = None,
    stored: str = "out",
) -> Graph:
    """Draw both ends of every edge evenly from ``2**scale`` vertices; parameters as for `rmat`."""
    n = _two_to_the(scale)
    m = n * whole("edge_factor", edge_factor, 0, 1 << 14)
    return _graph(UniformEdges(n, m, seed, weights), directed=directed, stored=stored)


def grid(rows: int, columns: int, *, seed: int = DEFAULT_SEED, weights: str | None = None) -> Graph:
    """Build a lattice: vertex ``r * columns + c`` is joined to its neighbours in row `r` and in column `c`.

    Parameters
    ----------
    rows, columns : int
        At least 1 each.
    seed, weights
        As for `rmat`; the seed matters to the weights only.

    Returns
    -------
    Graph
        Undirected.
    """
    for name, length in (("rows", rows), ("columns", columns)):
        whole(name, length, 1, 1 << 48)
    return _graph(GridEdges(rows, columns, seed, weights), directed=False)


def kronecker(
    base: ArrayLike,
    power: int,
    *,
    edges: int | None = None,
    seed: int = DEFAULT_SEED,
    directed: bool | None = None,
    weights: str | None = None,
) -> Graph:
    """Build the Kronecker power of a base matrix, or draw edges from it.

    Parameters
    ----------
    base : array_like, shape (v, v)
        Non-negative. For the exact power, an adjacency matrix with ``e`` entries other than 0: the graph has
        ``v**power`` vertices and ``e**power`` edges. Entries other than 0 and 1 make a weighted graph, where
        an edge's weight is the product of its entries.
    power : int
        How many times the matrix is multiplied with itself.
    edges : int, optional
        Draw so many edges instead, each level choosing an entry with a probability proportional to it:
        R-MAT is the case of a 2 x 2 matrix. The matrix then has at most 1024 entries other than 0.
    seed, weights
        As for `rmat`.
    directed : bool, optional
        The exact power is undirected if the matrix is symmetric, unless told; drawn edges are as in `rmat`.

    Returns
    -------
    Graph

    References
    ----------
    Leskovec et al.: Kronecker graphs: an approach to modeling networks. JMLR 11 (2010).

    Examples
    --------
    >>> from evener.graph.generators.models import kronecker
    >>> g = kronecker([[1, 1], [1, 0]], 3)
    >>> g.n, g.m, g.directed
    (8, 27, False)
    """
    matrix = _matrix(base)
    whole("power", power, 1, 64)
    if edges is not None:
        whole("edges", edges, 0, 1 << 62)
        return _graph(
            SampledEdges(matrix, power, edges, seed, weights, permute=False), directed=bool(directed)
        )
    symmetric = bool((matrix == matrix.T).all())
    if directed is False and not symmetric:
        msg = "a Kronecker power is undirected only if its base matrix is symmetric; leave directed out"
        raise ArgumentError(msg)
    if weights is not None and symmetric and not directed:
        msg = "an undirected exact power takes its weights from the base matrix; leave weights out"
        raise ArgumentError(msg)
    csr = build.from_slices(PowerEdges(matrix, power, seed, weights), symmetrise=False)
    undirected = symmetric and not directed
    return Graph(csr.offsets, csr.targets, weights=csr.weights, directed=not undirected, validate=False)


def _graph(source: MadeEdges, *, directed: bool, stored: str = "out") -> Graph:
    if stored not in ("out", "in"):
        msg = f'stored is "out" or "in", not {stored!r}'
        raise ArgumentError(msg)
    if stored == "in":
        if not directed:
            msg = 'stored="in" is for directed graphs: an undirected edge is stored in both directions'
            raise ArgumentError(msg)
        return Graph.from_reverse(_graph(TurnedEdges(source), directed=True))
    folded = "keep" if directed else "drop"
    csr = build.from_slices(source, symmetrise=not directed, self_loops=folded, duplicates=folded)
    return Graph(csr.offsets, csr.targets, weights=csr.weights, directed=directed, validate=False)


# ---- arguments --------------------------------------------------------------------------------------


def _two_to_the(scale: int) -> int:
    return 1 << whole("scale", scale, 0, MAX_SCALE)


def _matrix(base: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix = np.asarray(base, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"the base of a Kronecker power must be a square matrix of numbers: {error}"
        raise ArgumentError(msg) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        msg = f"the base of a Kronecker power must be square, at least 2 x 2, not of shape {matrix.shape}"
        raise ArgumentError(msg)
    if not (np.isfinite(matrix).all() and (matrix >= 0).all() and matrix.any()):
        msg = "the base of a Kronecker power must have finite entries, none negative and not all 0"
        raise ArgumentError(msg)
    return matrix


# ---- specifications ---------------------------------------------------------------------------------

_OPTIONS: dict[str, tuple[str, ...]] = {
    "rmat": ("edge_factor", "seed", "directed", "weights", "stored"),
    "uniform": ("edge_factor", "seed", "directed", "weights", "stored"),
    "grid": ("seed", "weights"),
    "kronecker": ("power", "edges", "seed", "directed", "weights"),
}
_MAKERS: dict[str, Callable[..., Graph]] = {
    "rmat": rmat,
    "uniform": uniform,
    "grid": grid,
    "kronecker": kronecker,
}


def is_spec(text: str) -> bool:
    """Whether `text` names a generator, as in ``"rmat:20"``, rather than a file."""
    return text.partition(":")[0] in _OPTIONS and ":" in text


def from_spec(spec: str) -> Graph:
    """Make the graph that a specification names.

    Parameters
    ----------
    spec : str
        ``rmat:SCALE``, ``uniform:SCALE``, ``grid:ROWSxCOLUMNS`` or ``kronecker:ROW/ROW/...,power=K``, where a
        row is a string of digits or numbers joined by colons; then options after commas, as the functions
        of this module take them: ``edge_factor=8``, ``seed=3``, ``weights=1..255``, ``directed``,
        ``stored=in``.

    Raises
    ------
    ArgumentError
        Naming the part that is wrong.

    Examples
    --------
    >>> from evener.graph.generators.models import from_spec
    >>> from_spec("grid:3x4")
    <Graph: undirected, 12 vertices, 34 stored edges>
    >>> from_spec("kronecker:11/10,power=3").n
    8
    """
    kind, _, rest = spec.partition(":")
    if not is_spec(spec):
        msg = f'a graph specification starts with one of {", ".join(f"{k}:" for k in _OPTIONS)}, not "{spec}"'
        raise ArgumentError(msg)
    size, *words = rest.split(",")
    options = dict(_option(spec, kind, word) for word in words)
    if len(options) < len(words):
        msg = f'"{spec}" names an option twice'
        raise ArgumentError(msg)
    if kind == "kronecker":
        if "power" not in options:
            msg = f'"{spec}" needs a power, as in "kronecker:11/10,power=10"'
            raise ArgumentError(msg)
        return kronecker(_rows(spec, size), **options)
    shape = size.split("x") if kind == "grid" else [size]
    if len(shape) != (2 if kind == "grid" else 1) or not all(
        re.fullmatch(r"[0-9]{1,18}", part) for part in shape
    ):
        wanted = (
            '"grid:ROWSxCOLUMNS", as in "grid:100x200"'
            if kind == "grid"
            else f'"{kind}:SCALE", as in "{kind}:20"'
        )
        msg = f'expected {wanted}, but "{spec}" has "{size}" after the colon'
        raise ArgumentError(msg)
    return _MAKERS[kind](*map(int, shape), **options)


def _option(spec: str, kind: str, word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if name not in _OPTIONS[kind]:
        msg = f'{kind} graphs have no option "{name}" (in "{spec}"); they take {", ".join(_OPTIONS[kind])}'
        raise ArgumentError(msg)
    if name == "directed":
        if equals:
            msg = f'"directed" stands alone, but "{spec}" has "{word}"'
            raise ArgumentError(msg)
        return name, True
    if name in ("weights", "stored"):
        return name, value
    if not re.fullmatch(r"[0-9]{1,20}", value):
        msg = f'{name} must be a whole number from 0 on, but "{spec}" has "{word}"'
        raise ArgumentError(msg)
    return name, int(value)


def _rows(spec: str, text: str) -> list[list[float]]:
    """Read a base matrix: ``"11/10"`` or ``"0.5:0.2/0.2:0.1"``."""
    rows = [row.split(":") if ":" in row else list(row) for row in text.split("/")]
    try:
        matrix = [[float(entry) for entry in row] for row in rows]
    except ValueError:
        matrix = []
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        msg = f'"{spec}" needs a square base matrix, rows parted by "/", as in "11/10" or "0.5:0.2/0.2:0.1"'
        raise ArgumentError(msg)
    return matrix
