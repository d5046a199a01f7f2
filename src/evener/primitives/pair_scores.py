"""Scores of pairs of vertices from their common neighbours: link prediction and similarity.

Idea: the owner of the end with more neighbours scores a pair. It fetches the row of the other end, and
searches the shorter row in the longer row. Pairs are scored in batches, so that the fetched rows never need
more memory than the rows of the partition.

Encoding: rows of all distinct neighbours, ascending; `score` float64.

Liben-Nowell, Kleinberg: The link-prediction problem for social networks (2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError
from evener.kernels.kernel import KernelFile
from evener.partition.block_exchange import block_bounds
from evener.primitives import neighbour_rows
from evener.primitives.neighbour_rows import NeighbourRows
from evener.primitives.partition_messages import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.engine.engine import Engine
    from evener.graph.graph import Graph

__all__ = ["Measure", "numbers_of_pairs", "score_pairs", "weights_of"]

kernels = KernelFile(__package__, "pair_scores")
_MEASURES = {"sum": 0, "jaccard": 1, "overlap": 2}


class Measure(NamedTuple):
    """How common neighbours give the score of a pair.

    Attributes
    ----------
    kind : {"sum", "jaccard", "overlap"}
        "sum" adds the weights of common neighbours. "jaccard" is their number over the neighbours of either
        end. "overlap" is their number over the neighbours of the end with fewer.
    weight : {"one", "inverse", "logarithm"}
        The weight of a common neighbour: 1, one over its number of neighbours, or one over the logarithm.
    """

    kind: Literal["sum", "jaccard", "overlap"]
    weight: Literal["one", "inverse", "logarithm"] = "one"

    @property
    def code(self) -> int:
        """The number of the kind in kernels."""
        return _MEASURES[self.kind]


def weights_of(engine: Engine, rows: NeighbourRows, measure: Measure) -> PartitionedArray:
    """Return the weight of each vertex and mirror as a common neighbour; empty arrays if all are 1."""
    if measure.weight == "one":
        return engine.local_array(0, "float64")
    weights = engine.array("float64")
    engine.compute(kernels.weigh_neighbours, rows.lengths(), measure.weight == "logarithm", weights)
    return weights


def numbers_of_pairs(graph: Graph, pairs: Any) -> NDArray[np.int64]:
    """Return the numbers of the vertices of pairs, of shape (pairs, 2).

    Raises
    ------
    ArgumentError
        If `pairs` has another shape.
    UnknownVertexError
        If a vertex is not in the graph.
    """
    if graph.has_object_ids and not isinstance(pairs, np.ndarray):
        listed = list(pairs)
        ids: Any = [vertex for pair in listed for vertex in pair]
        paired = all(len(pair) == 2 for pair in listed)
    else:
        try:
            given = np.asarray(pairs)
        except ValueError:  # sequences of unequal lengths
            given = np.empty(1)
        ids = given.ravel()
        ordinal = not graph.has_custom_ids and given.dtype.kind in "iu" and given.shape[1:] == (2,)
        if ordinal and len(ids) and given.min() >= 0 and given.max() < graph.n:
            return given
        paired = given.shape[1:] == (2,) or (given.ndim == 1 and len(ids) % 2 == 0)
    if not paired:
        msg = "pairs=: expected two vertices for each pair, an array of shape (pairs, 2); found another shape"
        raise ArgumentError(msg)
    return graph.numbers_of(ids).reshape(-1, 2) if len(ids) else np.empty((0, 2), np.int64)


def score_pairs(engine: Engine, ends: NDArray[np.uint32], measure: Measure) -> NDArray[np.float64]:
    """Return the scores of this rank's block of pairs.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    engine : Engine
    ends : ndarray of shape (2, pairs)
        The numbers of both vertices of each pair in the graph, the same on all ranks.
    measure : Measure
    """
    engine.superstep("rows", active=engine.owned)
    rows = NeighbourRows(engine, oriented=False)
    weights = weights_of(engine, rows, measure)
    engine.superstep("score", active=engine.scalar(len(ends[0])))
    if engine.single:
        return _score_alone(engine, rows, weights, ends, measure)
    return _score_at_owners(engine, rows, weights, ends, measure)


def _score_alone(
    engine: Engine, rows: NeighbourRows, weights: PartitionedArray, ends: NDArray[np.uint32], measure: Measure
) -> NDArray[np.float64]:
    """Return the scores of pairs on the only element. A CPU gets pairs with the same longer row together."""
    _, local = engine.partitioned.places_of(ends.ravel())
    first, second = np.split(local, 2)
    order = None
    if engine.only_cpus:
        lengths = engine.download(rows.lengths())[0]
        first, second = _by_length(first, second, lengths[first] < lengths[second])
        order = np.argsort(first)
        first, second = first[order], second[order]
    scores = engine.local_array(len(first), "float64")
    all_rows = rows.offsets, rows.targets
    places = engine.upload([first]), engine.upload([second])
    engine.compute(
        kernels.score_pairs, *all_rows, places[0], *all_rows, places[1], weights, measure.code, scores
    )
    (computed,) = engine.download(scores)
    if order is None:
        return computed
    placed = np.empty_like(computed)
    placed[order] = computed
    return placed


def _by_length(
    first: NDArray[np.uint32], second: NDArray[np.uint32], swapped: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the ends of pairs, of which some are swapped."""
    return np.where(swapped, second, first), np.where(swapped, first, second)


def _score_at_owners(
    engine: Engine, rows: NeighbourRows, weights: PartitionedArray, ends: NDArray[np.uint32], measure: Measure
) -> NDArray[np.float64]:
    """Return the scores of this rank's block of pairs, which its first partition sends to owners."""
    world = engine.partitioned.world
    begin, end = block_bounds(len(ends[0]), world.size)[world.rank : world.rank + 2]
    block = np.ascontiguousarray(ends[:, begin:end])
    nothing = [block[0, :0]] * (len(engine.elements) - 1)
    lengths = rows.lengths_of([block.ravel(), *nothing])[0].reshape(block.shape)
    longer, shorter = _by_length(block[0], block[1], lengths[0] < lengths[1])
    sizes_of_shorter = np.minimum(*lengths)
    owner, local = engine.partitioned.places_of(longer)
    order = np.argsort(owner, kind="stable")
    cuts = np.cumsum(np.bincount(owner, minlength=len(engine.partitioned.ranks)))[:-1]

    def send(values: NDArray[Any]) -> list[list[NDArray[Any]]]:
        others = [[values[:0]] * len(engine.partitioned.ranks)] * (len(engine.elements) - 1)
        return exchange(engine, [np.split(values[order], cuts), *others])

    received = [send(values) for values in (local, shorter, sizes_of_shorter)]
    first, second, sizes = ([np.concatenate(parts) for parts in column] for column in received)
    together = [np.argsort(parts) for parts in first]  # pairs with the same longer row
    scores = [np.empty(len(parts)) for parts in first]
    for batch in _batches(engine, rows, _take(sizes, together)):
        places = [places[part] for places, part in zip(together, batch, strict=True)]
        batch_scores = _score_batch(
            engine, rows, weights, _take(first, places), _take(second, places), measure
        )
        for parts, place, values in zip(scores, places, batch_scores, strict=True):
            parts[place] = values
    answers = exchange(engine, [
        np.split(parts, np.cumsum(list(map(len, messages)))[:-1])
        for parts, messages in zip(scores, received[0], strict=True)
    ])  # fmt: skip
    placed = np.empty(len(order))
    placed[order] = np.concatenate(answers[0])
    return placed


def _take(columns: Sequence[NDArray[Any]], places: Sequence[NDArray[np.int64]]) -> list[NDArray[Any]]:
    """Return the values at places, for each partition of this rank."""
    return [values[place] for values, place in zip(columns, places, strict=True)]


def _batches(engine: Engine, rows: NeighbourRows, sizes: list[NDArray[np.uint32]]) -> Iterator[list[slice]]:
    """Yield the pairs of each partition in batches with at most as many targets as its rows, or a million."""
    bounds = []
    for lengths, targets in zip(sizes, rows.targets, strict=True):
        most = max(len(targets), neighbour_rows.MIN_BATCH)
        bounds.append(neighbour_rows.cut(lengths, 0, most))
    for batch in range(max(map(len, engine.gather(bounds))) - 1):
        yield [neighbour_rows.part_of(cuts, batch) for cuts in bounds]


def _score_batch(
    engine: Engine,
    rows: NeighbourRows,
    weights: PartitionedArray,
    first: list[NDArray[np.uint32]],
    second: list[NDArray[np.uint32]],
    measure: Measure,
) -> list[NDArray[np.float64]]:
    """Return the scores of pairs, given the local number of the first end and the number of the second."""
    distinct = [np.unique(vertices, return_inverse=True) for vertices in second]
    fetched, places = rows.fetch([vertices for vertices, _ in distinct], ascending=True)
    row_of = [place[inverse].astype(np.uint32) for place, (_, inverse) in zip(places, distinct, strict=True)]
    pairs = zip(engine.elements, first, strict=True)
    scores = PartitionedArray([element.allocate(len(part), "float64") for element, part in pairs])
    engine.compute(
        kernels.score_pairs, rows.offsets, rows.targets, engine.upload(first), fetched.offsets,
        fetched.targets, engine.upload(row_of), weights, measure.code, scores,
    )  # fmt: skip
    return engine.download(scores)
