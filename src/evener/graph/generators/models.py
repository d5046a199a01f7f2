"""Graph generators: R-MAT as in Graph500, uniform graphs, lattices and Kronecker powers.

A counter-based random generator computes each edge from its number, so a graph does not depend on the number
of threads. Each pass of the build computes the edges again instead of storing them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph import csr
from evener.graph.generators.sources import (
    GridEdges,
    KroneckerPower,
    KroneckerSampler,
    ReversedEdges,
    UniformEdges,
    check_integer,
)
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from evener.graph.generators.sources import GeneratedEdges

__all__ = ["DEFAULT_SEED", "EDGE_FACTOR", "Recipe", "grid", "kronecker", "recipe_of", "rmat", "uniform"]

# Matrix and edge factor of Graph500 (specification 2.0, section 3.1).
GRAPH500 = ((0.57, 0.19), (0.19, 0.05))
EDGE_FACTOR = 16
DEFAULT_SEED = 1
# Largest scale whose edge count fits 64 bits.
MAX_SCALE = 48


class Recipe(NamedTuple):
    """The edges of a generator, and how a graph is built of them.

    `stored` is the direction of the edges to build first, "out" or "in". With `both_directions`, the source
    lists each edge of an undirected graph in both directions.
    """

    source: GeneratedEdges
    directed: bool
    stored: str = "out"
    both_directions: bool = False

    @property
    def symmetrise(self) -> bool:
        """Whether the graph stores the reverse of each edge of the source."""
        return not (self.directed or self.both_directions)

    @property
    def repeated(self) -> str:
        """Whether the graph keeps or drops self-loops and repeated edges."""
        return "drop" if self.symmetrise else "keep"

    def build(self) -> Graph:
        """Return the graph; raise `OutOfMemoryError` first if it does not fit the available memory."""
        if self.stored == "in":
            turned = self._replace(source=ReversedEdges(self.source), stored="out")
            return Graph.from_in_edges(turned.build())
        fold = self.repeated
        rows = csr.from_source(self.source, symmetrise=self.symmetrise, self_loops=fold, duplicates=fold)
        graph = Graph(*rows[:2], weights=rows.weights, directed=self.directed, validate=False)
        if fold == "drop":
            graph.loops = 0
        return graph


def rmat(
    scale: int,
    *,
    edge_factor: int = EDGE_FACTOR,
    seed: int = DEFAULT_SEED,
    directed: bool = False,
    weights: str | None = None,
    stored: str = "out",
    permute: bool = True,
) -> Recipe:
    """Return random R-MAT edges with the parameters of Graph500 (0.57, 0.19, 0.19, 0.05).

    Parameters
    ----------
    scale : int
        The graph has ``2**scale`` vertices, with or without edges.
    edge_factor : int, default 16
        Number of drawn edges per vertex.
    seed : int, default 1
        An integer from 0 to 2**64 - 1. The graph does not depend on the number of threads.
    directed : bool, default False
        An undirected graph, as in Graph500, has no self-loops and no duplicates. A directed graph keeps all
        drawn edges.
    weights : str, optional
        ``"1..255"`` draws integers uniformly from that range, and ``"int"`` from 1 to 255, as in GAP.
        ``"real"`` draws float32 uniformly from (0, 1]. The lightest of duplicate edges stays.
    stored : {"out", "in"}
        The edges of a directed graph to build first. The first access builds the other direction. PageRank
        reads in-edges only; see `Graph.from_in_edges`.
    permute : bool, default True
        Permute the vertex numbers at random. Without the permutation, low numbers have high degrees.

    References
    ----------
    Chakrabarti, Zhan, Faloutsos: R-MAT: A recursive model for graph mining. SDM 2004.
    """
    m = _vertex_count(scale) * check_integer("edge_factor", edge_factor, 0, 1 << 14)
    source = KroneckerSampler(np.array(GRAPH500), scale, m, seed, weights, permute=permute)
    return _drawn(source, directed=directed, stored=stored)


def uniform(
    scale: int,
    *,
    edge_factor: int = EDGE_FACTOR,
    seed: int = DEFAULT_SEED,
    directed: bool = False,
    weights: str | None = None,
    stored: str = "out",
) -> Recipe:
    """Return edges with uniformly drawn tails and heads among ``2**scale`` vertices; see `rmat`."""
    n = _vertex_count(scale)
    m = n * check_integer("edge_factor", edge_factor, 0, 1 << 14)
    return _drawn(UniformEdges(n, m, seed, weights), directed=directed, stored=stored)


def _drawn(source: GeneratedEdges, *, directed: bool, stored: str) -> Recipe:
    """Return the recipe of drawn edges."""
    if stored not in ("out", "in"):
        msg = f'stored: expected "out" or "in", found {stored!r}'
        raise ArgumentError(msg)
    if stored == "in" and not directed:
        msg = 'stored: expected "out" for an undirected graph, found "in"; make the graph directed'
        raise ArgumentError(msg)
    return Recipe(source, directed, stored)


def grid(rows: int, columns: int, *, seed: int = DEFAULT_SEED, weights: str | None = None) -> Recipe:
    """Return the edges of a lattice, an undirected graph.

    Vertex ``r * columns + c`` has edges to its neighbours in row `r` and column `c`. The parameters are as
    for `rmat`. The seed affects the weights only.
    """
    for name, length in (("rows", rows), ("columns", columns)):
        check_integer(name, length, 1, 1 << 48)
    return Recipe(GridEdges(rows, columns, seed, weights), directed=False)


def kronecker(
    base: ArrayLike,
    power: int,
    *,
    edges: int | None = None,
    seed: int = DEFAULT_SEED,
    directed: bool | None = None,
    weights: str | None = None,
) -> Recipe:
    """Return the edges of the Kronecker power of a base matrix, or edges drawn from it.

    Parameters
    ----------
    base : array_like, shape (v, v)
        A non-negative matrix with ``e`` non-zero entries. The exact power has ``v**power`` vertices and
        ``e**power`` edges. Entries other than 0 and 1 give a weighted graph: the weight of an edge is the
        product of its entries.
    power : int
        Number of factors in the Kronecker product.
    edges : int, optional
        Draw this number of edges instead. Each level chooses an entry with a probability proportional to
        its value; R-MAT uses a 2 x 2 matrix. The matrix then has at most 1024 non-zero entries.
    seed, weights
        As for `rmat`.
    directed : bool, optional
        By default, the exact power is undirected if the matrix is symmetric. Drawn edges are as in `rmat`.

    References
    ----------
    Leskovec et al.: Kronecker graphs: an approach to modeling networks. JMLR 11 (2010).
    """
    matrix = _matrix(base)
    check_integer("power", power, 1, 64)
    if edges is not None:
        check_integer("edges", edges, 0, 1 << 62)
        return Recipe(KroneckerSampler(matrix, power, edges, seed, weights, permute=False), bool(directed))
    symmetric = bool((matrix == matrix.T).all())
    if directed is False and not symmetric:
        msg = "base: expected a symmetric matrix for an undirected graph; remove directed=False"
        raise ArgumentError(msg)
    if weights is not None and symmetric and not directed:
        msg = (
            "weights: expected none, because an undirected exact power has the weights of the matrix; "
            "remove weights"
        )
        raise ArgumentError(msg)
    undirected = symmetric and not directed
    source = KroneckerPower(matrix, power, seed, weights)
    return Recipe(source, not undirected, both_directions=undirected)


def _vertex_count(scale: int) -> int:
    return 1 << check_integer("scale", scale, 0, MAX_SCALE)


def _matrix(base: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix = np.asarray(base, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"base: expected a square matrix of numbers: {error}"
        raise ArgumentError(msg) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        msg = f"base: expected a square matrix of at least 2 x 2, found shape {matrix.shape}"
        raise ArgumentError(msg)
    if not (np.isfinite(matrix).all() and (matrix >= 0).all() and matrix.any()):
        msg = "base: expected finite entries of at least 0, and at least one above 0"
        raise ArgumentError(msg)
    return matrix


# The models, and the options that follow the size in a specification.
_DRAWN = ("edge_factor", "seed", "directed", "weights", "stored")
_MODELS: dict[str, tuple[Callable[..., Recipe], tuple[str, ...]]] = {
    "rmat": (rmat, _DRAWN),
    "uniform": (uniform, _DRAWN),
    "grid": (grid, ("seed", "weights")),
    "kronecker": (kronecker, ("power", "edges", "seed", "directed", "weights")),
}


def recipe_of(spec: str) -> Recipe:
    """Return the edges of a generator specification, and how a graph is built of them.

    Parameters
    ----------
    spec : str
        ``rmat:SCALE``, ``uniform:SCALE``, ``grid:ROWSxCOLUMNS`` or ``kronecker:ROW/ROW/...,power=K``. A row
        is a string of digits, or numbers with colons between them. Options of the functions of this module
        follow after commas: ``edge_factor=8``, ``seed=3``, ``weights=1..255``, ``directed``, ``stored=in``.

    Raises
    ------
    ArgumentError
        If a part of the specification is wrong. The message names the part.

    Examples
    --------
    >>> from evener.graph.generators.models import recipe_of
    >>> recipe_of("grid:3x4").build()
    <Graph: undirected, 12 vertices, 17 edges (34 stored)>
    >>> recipe_of("kronecker:11/10,power=3").build().n
    8
    """
    kind, colon, rest = spec.partition(":")
    if kind not in _MODELS or not colon:
        kinds = ", ".join(f"{kind}:" for kind in _MODELS)
        msg = f'expected a graph specification that starts with one of {kinds}, found "{spec}"'
        raise ArgumentError(msg)
    try:
        return _recipe(kind, *rest.split(","))
    except ArgumentError as error:
        msg = f'"{spec}": {error}'
        raise ArgumentError(msg) from error


def _recipe(kind: str, size: str, *words: str) -> Recipe:
    model, names = _MODELS[kind]
    options = dict(_option(names, word) for word in words)
    if len(options) < len(words):
        raise ArgumentError("expected each option once, found one twice; remove one")
    if kind == "kronecker":
        if "power" not in options:
            raise ArgumentError('expected a power, as in "kronecker:11/10,power=10"')
        return model(_rows(size), **options)
    if not re.fullmatch(r"[0-9]{1,18}x[0-9]{1,18}" if kind == "grid" else r"[0-9]{1,18}", size):
        usual = '"grid:ROWSxCOLUMNS", as in "grid:100x200"'
        expected = usual if kind == "grid" else f'"{kind}:SCALE", as in "{kind}:20"'
        msg = f'expected {expected}, found "{size}" after the colon'
        raise ArgumentError(msg)
    return model(*map(int, size.split("x")), **options)


def _option(names: tuple[str, ...], word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if name not in names:
        msg = f'expected one of the options {", ".join(names)}, found "{name}"'
        raise ArgumentError(msg)
    if name == "directed":
        if equals:
            msg = f'expected "directed" without a value, found "{word}"'
            raise ArgumentError(msg)
        return name, True
    if name in ("weights", "stored"):
        return name, value
    if not re.fullmatch(r"[0-9]{1,20}", value):
        msg = f'expected {name}=INTEGER, found "{word}"'
        raise ArgumentError(msg)
    return name, int(value)


def _rows(text: str) -> list[list[float]]:
    """Return the base matrix of a text such as ``"11/10"`` or ``"0.5:0.2/0.2:0.1"``."""
    rows = [row.split(":") if ":" in row else list(row) for row in text.split("/")]
    try:
        matrix = [[float(entry) for entry in row] for row in rows]
    except ValueError:
        matrix = []
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        msg = f'expected a square base matrix such as "11/10" or "0.5:0.2/0.2:0.1", found "{text}"'
        raise ArgumentError(msg)
    return matrix
