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
from evener.kernels.kernel import KernelFile
from evener.partition.block_exchange import block_bounds
from evener.primitives import neighbour_rows
from evener.primitives.neighbour_rows import NeighbourRows
from evener.primitives.partition_messages import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evener.engine.engine import Engine

__all__ = ["Measure", "score_pairs", "weights_of"]

kernels = KernelFile(__package__, "pair_scores")
_MEASURES = {"sum": 0, "jaccard": 1, "overlap": 2}


class Measure(NamedTuple):
    """How common neighbours give the score of a pair.

    Attributes
    ----------
    kind : {"sum", "jaccard", "overlap"}
        The sum of the weights of the common neighbours, or their number over the neighbours of either end, or
        over those of the end with fewer neighbours.
    weight : {"one", "inverse", "logarithm"}
        The weight of a common neighbour: 1, or one over its number of neighbours, or over the logarithm of
        it.
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


def score_pairs(engine: Engine, pairs: NDArray[np.int64], measure: Measure) -> NDArray[np.float64]:
    """Return the scores of this rank's block of pairs.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    engine : Engine
    pairs : ndarray of shape (pairs, 2)
        Numbers of vertices in the graph, the same on all ranks.
    measure : Measure
    """
    engine.superstep("rows", active=engine.owned)
    rows = NeighbourRows(engine, oriented=False)
    weights = weights_of(engine, rows, measure)
    engine.superstep("score", active=engine.scalar(len(pairs)))
    if engine.single:
        _, local = engine.partitioned.places_of(pairs.ravel())
        first, second = local[::2].copy(), local[1::2].copy()
        ends = engine.upload([first]), engine.upload([second])
        scores = engine.local_array(len(pairs), "float64")
        own = rows.offsets, rows.targets
        engine.compute(kernels.score_pairs, *own, ends[0], *own, ends[1], weights, measure.code, scores)
        return engine.download(scores)[0]
    return _score_at_owners(engine, rows, weights, pairs, measure)


def _score_at_owners(
    engine: Engine, rows: NeighbourRows, weights: PartitionedArray, pairs: NDArray[np.int64], measure: Measure
) -> NDArray[np.float64]:
    """Return the scores of this rank's block of pairs, which its first partition sends to owners."""
    world = engine.partitioned.world
    begin, end = block_bounds(len(pairs), world.size)[world.rank : world.rank + 2]
    longer, shorter, lengths = _by_length(engine, rows, pairs[begin:end].astype(np.uint32))
    owner, local = engine.partitioned.places_of(longer)
    order = np.argsort(owner, kind="stable")
    cuts = np.cumsum(np.bincount(owner, minlength=len(engine.partitioned.ranks)))[:-1]

    def send(values: NDArray[Any]) -> list[list[NDArray[Any]]]:
        nothing = [values[:0]] * len(engine.partitioned.ranks)
        others = [nothing] * (len(engine.elements) - 1)
        return exchange(engine, [np.split(values[order], cuts), *others])

    received = [send(values) for values in (local, shorter, lengths)]
    first, second, sizes = ([np.concatenate(own) for own in column] for column in received)
    scores = [np.empty(len(own)) for own in first]
    for batch in _batches(engine, rows, sizes):
        own_first = [own[part] for own, part in zip(first, batch, strict=True)]
        own_second = [own[part] for own, part in zip(second, batch, strict=True)]
        for own, part, found in zip(
            scores, batch, _score_batch(engine, rows, weights, own_first, own_second, measure), strict=True
        ):
            own[part] = found
    answers = exchange(engine, [
        np.split(own, np.cumsum([len(one) for one in asked])[:-1])
        for own, asked in zip(scores, received[0], strict=True)
    ])  # fmt: skip
    placed = np.empty(len(order))
    placed[order] = np.concatenate(answers[0])
    return placed


def _by_length(
    engine: Engine, rows: NeighbourRows, pairs: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the end of each pair with the longer row, the other end, and the length of the shorter row."""
    others = [np.empty(0, np.uint32)] * (len(engine.elements) - 1)
    lengths = rows.lengths_of([pairs.ravel(), *others])[0].reshape(pairs.shape)
    swapped = lengths[:, 0] < lengths[:, 1]
    longer = np.where(swapped, pairs[:, 1], pairs[:, 0])
    shorter = np.where(swapped, pairs[:, 0], pairs[:, 1])
    return longer, shorter, lengths.min(axis=1, initial=np.iinfo(np.uint32).max)


def _batches(engine: Engine, rows: NeighbourRows, sizes: list[NDArray[np.uint32]]) -> Iterator[list[slice]]:
    """Yield the pairs of each partition in batches with at most as many targets as its rows, or a million."""
    bounds = []
    for own, targets in zip(sizes, rows.targets, strict=True):
        most = max(len(targets), neighbour_rows.MIN_BATCH)
        bounds.append(neighbour_rows.cut(own, 0, most))
    for batch in range(max(map(len, engine.gather(bounds))) - 1):
        yield [neighbour_rows.part_of(own, batch) for own in bounds]


def _score_batch(
    engine: Engine,
    rows: NeighbourRows,
    weights: PartitionedArray,
    first: list[NDArray[np.uint32]],
    second: list[NDArray[np.uint32]],
    measure: Measure,
) -> list[NDArray[np.float64]]:
    """Return the scores of pairs, given the local number of the first end and the number of the second."""
    distinct = [np.unique(own, return_inverse=True) for own in second]
    fetched, places = rows.fetch([own for own, _ in distinct])
    engine.compute(neighbour_rows.kernels.sort_rows, fetched.offsets, fetched.targets)
    row_of = [place[inverse].astype(np.uint32) for place, (_, inverse) in zip(places, distinct, strict=True)]
    pairs = zip(engine.elements, first, strict=True)
    scores = PartitionedArray([element.allocate(len(own), "float64") for element, own in pairs])
    engine.compute(
        kernels.score_pairs, rows.offsets, rows.targets, engine.upload(first), fetched.offsets,
        fetched.targets, engine.upload(row_of), weights, measure.code, scores,
    )  # fmt: skip
    return engine.download(scores)
