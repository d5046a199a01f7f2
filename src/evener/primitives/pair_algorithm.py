"""Algorithms that score pairs of vertices: `pair_algorithm` makes the spec, function and verifier of each.

The algorithms differ in the measure only: how the common neighbours of a pair give its score. See
`evener.primitives.pair_scores` for given pairs, and `evener.primitives.best_pairs` for the best of all pairs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Unpack

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral
from evener.partition.block_exchange import block_bounds
from evener.primitives.best_pairs import best_pairs
from evener.primitives.pair_scores import Measure, numbers_of_pairs, score_pairs
from evener.primitives.pair_verification import check_pairs
from evener.spec.algorithm import AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import BasicOptions

__all__ = ["PairAlgorithm", "PairFunction", "pair_algorithm"]

_DOCSTRING = """Return the {title} of pairs of vertices.

Parameters
----------
graph : Graph, PartitionedGraph or str
    Directions, weights, self-loops and repeated edges do not count.
pairs : array-like of shape (pairs, 2), optional
    The ids of the vertices of each pair. Default: of all pairs of vertices with a common neighbour and
    without an edge, the pairs with the highest scores. All these pairs are found on CPUs only.
k : int, default 100
    The number of the best pairs, if no pairs are given.

Returns
-------
TableResult
    A row for each pair: ``first`` and ``second``, the ids of its vertices, and ``{name}``,
    {score}.

Raises
------
ArgumentError
    If `k` is not an integer of at least 1, or `pairs` has another shape.
UnknownVertexError
    If a vertex of `pairs` is not in the graph.

Examples
--------
>>> import evener as ev
>>> g = ev.Graph.from_edges([0, 0, 0, 1, 2], [1, 2, 3, 4, 4], directed=False)
>>> ev.{name}(g, pairs=[(1, 2), (1, 3)])["{name}"].round(2).tolist()
{example}
"""


class PairFunction(Protocol):
    """A function that returns the scores of given pairs, or the best of all pairs."""

    def __call__(
        self,
        graph: Graph | PartitionedGraph | str,
        *,
        pairs: ArrayLike | None = None,
        k: int = 100,
        **options: Unpack[BasicOptions],
    ) -> Result:
        """Return the scores; the docstring of the function has the parameters."""


class PairAlgorithm(NamedTuple):
    """The contents of the module of an algorithm."""

    spec: AlgorithmSpec
    function: PairFunction
    check: Callable[[Answer], None]


def pair_algorithm(
    name: str, title: str, measure: Measure, *, score: str, example: str, synonyms: tuple[str, ...] = ()
) -> PairAlgorithm:
    """Return an algorithm that scores pairs.

    Parameters
    ----------
    name : str
        The name of the algorithm, of its module, and of the column with the scores.
    title : str
        The name of the score in words.
    measure : Measure
    score : str
        The definition of the score, for the docstring.
    example : str
        The scores of two pairs in the example of the docstring: those of vertices with two common neighbours
        of degree 3 and 2, and those of vertices with the first of these neighbours only.
    synonyms : tuple of str
        As in `AlgorithmSpec`.
    """
    module = f"evener.algorithms.{name}"
    spec = AlgorithmSpec(
        name=name,
        summary=f"{title[0].upper()}{title[1:]} of pairs of vertices.",
        run=f"{module}:{name}",
        verify=f"{module}:check",
        verified_scope="evener.primitives.pair_verification:scope",
        row="pair",
        columns=(
            Column("first", "vertex"),
            Column("second", "vertex"),
            Column(name, real=measure != Measure("sum")),
        ),
        options=(
            Option("pairs", "vertices", "Two ids for each pair (default: the best of all pairs)."),
            Option("k", "int", "Number of the best pairs, without --pairs (default 100)."),
        ),
        directions="both",
        reads_every_edge=True,
        # The degree, the length and the offset of a row, and a weight.
        state=StateBytes(4 + 4 + 8 + 8, 4 + 8),
        host_state=StateBytes(4 + 4 + 8, 4),
        # The lengths of mirrors, and rows of the ends of pairs.
        traffic=Traffic(pushed=0.0, pulled=8.0),
        synonyms=synonyms,
    )

    def score_of_pairs(
        graph: Graph | PartitionedGraph | str,
        *,
        pairs: ArrayLike | None = None,
        k: int = 100,
        **options: Unpack[BasicOptions],
    ) -> Result:
        return _run(spec, measure, graph, pairs, k, options)

    def check(answer: Answer) -> None:
        """Raise VerificationError unless each pair has its score."""
        check_pairs(answer, measure)

    score_of_pairs.__doc__ = _DOCSTRING.format(name=name, title=title, score=score, example=example)
    score_of_pairs.__name__ = score_of_pairs.__qualname__ = name
    score_of_pairs.__module__ = module
    return PairAlgorithm(spec, driver(spec)(score_of_pairs), check)


def _run(
    spec: AlgorithmSpec,
    measure: Measure,
    graph: Graph | PartitionedGraph | str,
    pairs: ArrayLike | None,
    k: int,
    options: BasicOptions,
) -> Result:
    """Return the scores of given pairs, or the best `k` of all pairs two steps apart.

    This is a collective operation; all ranks must call it, and have the results of some pairs.
    """
    if not is_integral(k) or k < 1:
        msg = f"k=: expected an integer of at least 1, found {k!r}"
        raise ArgumentError(msg)
    run = begin(spec, graph, options)
    if pairs is None:
        run.place(replace(spec, kinds=("cpu",)))
        engine = run.engine()
        ends, scores = best_pairs(engine, int(k), measure)
    else:
        # A copy, because the caller may change `pairs`.
        ends = np.array(numbers_of_pairs(run.graph, pairs).T, np.uint32, order="C")
        engine = run.engine()
        scores = score_pairs(engine, ends, measure)
    world = engine.partitioned.world
    block = slice(*block_bounds(len(ends[0]), world.size)[world.rank : world.rank + 2])
    if pairs is None:
        scores = scores[block]
    if not spec.columns[-1].real:
        scores = scores.astype(np.int64)
    parameters = {"k": int(k)} if pairs is None else {}
    arrays: dict[str, NDArray[Any]] = {"first": ends[0, block], "second": ends[1, block], spec.name: scores}
    return run.finish(engine, arrays, parameters=parameters)
