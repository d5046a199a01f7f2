"""Graph generators: R-MAT as in Graph500, uniform graphs, lattices and Kronecker powers.

A counter-based random generator computes each edge from its number, so a graph does not depend on the number
of threads. Each pass of the build computes the edges again instead of storing them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError
from evener.graph import csr
from evener.graph.generators import recipes
from evener.graph.generators.recipes import DEFAULT_SEED, EDGE_FACTOR
from evener.graph.generators.sources import ReversedEdges
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from evener.graph.generators.recipes import Recipe

__all__ = ["from_spec", "grid", "is_spec", "kronecker", "recipe_of", "rmat", "uniform"]

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
    """Return a random R-MAT graph with the parameters of Graph500 (0.57, 0.19, 0.19, 0.05).

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

    Returns
    -------
    Graph

    Raises
    ------
    OutOfMemoryError
        If the graph does not fit the available memory, before it allocates.

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
    return _build_graph(
        recipes.rmat(
            scale, edge_factor, seed, directed=directed, weights=weights, stored=stored, permute=permute
        )
    )


def uniform(
    scale: int,
    *,
    edge_factor: int = EDGE_FACTOR,
    seed: int = DEFAULT_SEED,
    directed: bool = False,
    weights: str | None = None,
    stored: str = "out",
) -> Graph:
    """Return a graph with uniformly drawn tails and heads among ``2**scale`` vertices; see `rmat`."""
    return _build_graph(
        recipes.uniform(scale, edge_factor, seed, directed=directed, weights=weights, stored=stored)
    )


def grid(rows: int, columns: int, *, seed: int = DEFAULT_SEED, weights: str | None = None) -> Graph:
    """Return a lattice: vertex ``r * columns + c`` has edges to its neighbours in row `r` and column `c`.

    Parameters
    ----------
    rows, columns : int
        At least 1 each.
    seed, weights
        As for `rmat`. The seed affects the weights only.

    Returns
    -------
    Graph
        An undirected graph.
    """
    return _build_graph(recipes.grid(rows, columns, seed=seed, weights=weights))


def kronecker(
    base: ArrayLike,
    power: int,
    *,
    edges: int | None = None,
    seed: int = DEFAULT_SEED,
    directed: bool | None = None,
    weights: str | None = None,
) -> Graph:
    """Return the Kronecker power of a base matrix, or a graph of edges drawn from it.

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
    return _build_graph(
        recipes.kronecker(base, power, edges=edges, seed=seed, directed=directed, weights=weights)
    )


def _build_graph(recipe: Recipe) -> Graph:
    if recipe.stored == "in":
        turned = recipe._replace(source=ReversedEdges(recipe.source), stored="out")
        return Graph.from_in_edges(_build_graph(turned))
    fold = recipe.repeated
    rows = csr.from_source(recipe.source, symmetrise=recipe.symmetrise, self_loops=fold, duplicates=fold)
    return Graph(*rows[:2], weights=rows.weights, directed=recipe.directed, validate=False)


# ---- specifications ---------------------------------------------------------------------------------

_OPTIONS: dict[str, tuple[str, ...]] = {
    "rmat": ("edge_factor", "seed", "directed", "weights", "stored"),
    "uniform": ("edge_factor", "seed", "directed", "weights", "stored"),
    "grid": ("seed", "weights"),
    "kronecker": ("power", "edges", "seed", "directed", "weights"),
}
_RECIPES: dict[str, Callable[..., Recipe]] = {
    "rmat": recipes.rmat,
    "uniform": recipes.uniform,
    "grid": recipes.grid,
    "kronecker": recipes.kronecker,
}


def is_spec(text: str) -> bool:
    """Return whether a text is a generator specification such as ``"rmat:20"``."""
    return text.partition(":")[0] in _OPTIONS and ":" in text


def from_spec(spec: str) -> Graph:
    """Return the graph of a generator specification.

    Parameters
    ----------
    spec : str
        ``rmat:SCALE``, ``uniform:SCALE``, ``grid:ROWSxCOLUMNS`` or ``kronecker:ROW/ROW/...,power=K``. A row
        is a string of digits, or numbers with colons between them. Options of the functions in this module
        follow after commas: ``edge_factor=8``, ``seed=3``, ``weights=1..255``, ``directed``, ``stored=in``.

    Raises
    ------
    ArgumentError
        If a part of the specification is wrong. The message names the part.

    Examples
    --------
    >>> from evener.graph.generators.models import from_spec
    >>> from_spec("grid:3x4")
    <Graph: undirected, 12 vertices, 34 stored edges>
    >>> from_spec("kronecker:11/10,power=3").n
    8
    """
    return _build_graph(recipe_of(spec))


def recipe_of(spec: str) -> Recipe:
    """Return the edges of a generator specification, and how a graph is built of them; see `from_spec`."""
    kind, _, rest = spec.partition(":")
    if not is_spec(spec):
        kinds = ", ".join(f"{kind}:" for kind in _OPTIONS)
        msg = f'expected a graph specification that starts with one of {kinds}, found "{spec}"'
        raise ArgumentError(msg)
    size, *words = rest.split(",")
    options = dict(_option(spec, kind, word) for word in words)
    if len(options) < len(words):
        msg = f'"{spec}": expected each option once, found one twice; remove one'
        raise ArgumentError(msg)
    if kind == "kronecker":
        if "power" not in options:
            msg = f'"{spec}": expected a power, as in "kronecker:11/10,power=10"'
            raise ArgumentError(msg)
        return _recipe(spec, _rows(spec, size), **options)
    shape = size.split("x") if kind == "grid" else [size]
    if len(shape) != (2 if kind == "grid" else 1) or not all(
        re.fullmatch(r"[0-9]{1,18}", part) for part in shape
    ):
        expected = (
            '"grid:ROWSxCOLUMNS", as in "grid:100x200"'
            if kind == "grid"
            else f'"{kind}:SCALE", as in "{kind}:20"'
        )
        msg = f'"{spec}": expected {expected}, found "{size}" after the colon'
        raise ArgumentError(msg)
    return _recipe(spec, *map(int, shape), **options)


def _recipe(spec: str, *size: Any, **options: Any) -> Recipe:
    """Call the function of a specification; an error shows the specification."""
    try:
        return _RECIPES[spec.partition(":")[0]](*size, **options)
    except ArgumentError as error:
        msg = f'"{spec}": {error}'
        raise ArgumentError(msg) from error


def _option(spec: str, kind: str, word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if name not in _OPTIONS[kind]:
        msg = f'"{spec}": expected one of the options {", ".join(_OPTIONS[kind])}, found "{name}"'
        raise ArgumentError(msg)
    if name == "directed":
        if equals:
            msg = f'"{spec}": expected "directed" without a value, found "{word}"'
            raise ArgumentError(msg)
        return name, True
    if name in ("weights", "stored"):
        return name, value
    if not re.fullmatch(r"[0-9]{1,20}", value):
        msg = f'"{spec}": expected {name}=INTEGER, found "{word}"'
        raise ArgumentError(msg)
    return name, int(value)


def _rows(spec: str, text: str) -> list[list[float]]:
    """Return the base matrix of a text such as ``"11/10"`` or ``"0.5:0.2/0.2:0.1"``."""
    rows = [row.split(":") if ":" in row else list(row) for row in text.split("/")]
    try:
        matrix = [[float(entry) for entry in row] for row in rows]
    except ValueError:
        matrix = []
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        msg = f'"{spec}": expected a square base matrix such as "11/10" or "0.5:0.2/0.2:0.1", found "{text}"'
        raise ArgumentError(msg)
    return matrix
