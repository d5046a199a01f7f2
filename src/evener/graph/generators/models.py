"""Graph generators: R-MAT as in Graph500, uniform graphs, lattices and Kronecker powers.

A counter-based random generator computes each edge from its number, so a graph does not depend on the number
of threads. Each pass of the build computes the edges again instead of storing them.
"""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from evener.errors import ArgumentError
from evener.graph import csr
from evener.graph.generators import recipes
from evener.graph.generators.sources import ReversedEdges
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.graph.generators.recipes import Recipe

__all__ = ["from_spec", "grid", "is_spec", "kronecker", "recipe_of", "rmat", "uniform"]

P = ParamSpec("P")

# The models, and the options that follow the size in a specification.
_RECIPES: dict[str, Callable[..., Recipe]] = {
    "rmat": recipes.rmat,
    "uniform": recipes.uniform,
    "grid": recipes.grid,
    "kronecker": recipes.kronecker,
}
_OPTIONS = {
    "rmat": ("edge_factor", "seed", "directed", "weights", "stored"),
    "uniform": ("edge_factor", "seed", "directed", "weights", "stored"),
    "grid": ("seed", "weights"),
    "kronecker": ("power", "edges", "seed", "directed", "weights"),
}


def _returning_graph(function: Callable[P, Recipe]) -> Callable[P, Graph]:
    """Return the function that builds the graph of a recipe.

    It raises `OutOfMemoryError` if the graph does not fit the available memory, before it allocates.
    """

    @wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> Graph:
        return _build_graph(function(*args, **kwargs))

    return build


def _build_graph(recipe: Recipe) -> Graph:
    if recipe.stored == "in":
        turned = recipe._replace(source=ReversedEdges(recipe.source), stored="out")
        return Graph.from_in_edges(_build_graph(turned))
    fold = recipe.repeated
    rows = csr.from_source(recipe.source, symmetrise=recipe.symmetrise, self_loops=fold, duplicates=fold)
    return Graph(*rows[:2], weights=rows.weights, directed=recipe.directed, validate=False)


rmat, uniform = _returning_graph(recipes.rmat), _returning_graph(recipes.uniform)
grid, kronecker = _returning_graph(recipes.grid), _returning_graph(recipes.kronecker)


def is_spec(text: str) -> bool:
    """Return whether a text is a generator specification such as ``"rmat:20"``."""
    return text.partition(":")[0] in _OPTIONS and ":" in text


def from_spec(spec: str) -> Graph:
    """Return the graph of a generator specification.

    Parameters
    ----------
    spec : str
        ``rmat:SCALE``, ``uniform:SCALE``, ``grid:ROWSxCOLUMNS`` or ``kronecker:ROW/ROW/...,power=K``. A row
        is a string of digits, or numbers with colons between them. Options of the functions of `recipes`
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
