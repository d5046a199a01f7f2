"""Sources of many searches: all vertices, or a sample of them, in batches of 64."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import check_seed, is_integral
from evener.primitives.bit_search import WIDTH, BitSearch, Level
from evener.spec.algorithm import Option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["SAMPLE_OPTIONS", "Sample", "search_batches"]

SAMPLE_OPTIONS = (
    Option("k", "int", "Number of sources to draw (default: all vertices).", flags=("--k", "-k")),
    Option("seed", "int", "Seed for drawing sources (default 0)."),
)
# Most supersteps of a run, each for consecutive batches.
_SUPERSTEPS = 1000


@dataclass(frozen=True)
class Sample:
    """The sources of a run.

    Attributes
    ----------
    n : int
        The vertices of the graph.
    sources : ndarray of int64
        Numbers of the sources.
    exact : bool
        Whether the sources are all vertices.
    """

    n: int
    sources: NDArray[np.int64]
    exact: bool

    @staticmethod
    def draw(graph: Graph, k: int | None, seed: int) -> Sample:
        """Return all vertices, or `k` of them at random; an ArgumentError is raised if `k` is not 1 to n."""
        seed = check_seed(seed)
        if k is None:
            return Sample(graph.n, np.arange(graph.n), exact=True)
        if not is_integral(k) or not 1 <= k <= graph.n:
            msg = f"k=: expected a number of vertices from 1 to {graph.n}, found {k!r}"
            raise ArgumentError(msg)
        drawn = np.random.default_rng(seed).choice(graph.n, size=int(k), replace=False)
        return Sample(graph.n, drawn, exact=False)

    @property
    def batches(self) -> int:
        """The number of batches."""
        return ceil(len(self.sources) / WIDTH)

    def batch(self, number: int) -> NDArray[np.int64]:
        """Return the sources of a batch."""
        return self.sources[number * WIDTH : (number + 1) * WIDTH]

    def others(self, pg: PartitionedGraph) -> NDArray[np.float64]:
        """Return the number of sources other than each vertex of this rank's block, and at least 1."""
        block = pg.block
        own = self.sources[(self.sources >= block.start) & (self.sources < block.stop)] - block.start
        others = np.full(len(block), float(len(self.sources)))
        others[own] -= 1
        others[others < 1] = 1
        return others

    def outcome(self) -> dict[str, Any]:
        """Return the error of an average distance, as a share of the largest distance; empty if exact."""
        return {} if self.exact else {"error": sqrt(log(max(self.n, 2)) / len(self.sources))}


def search_batches(
    engine: Engine, search: BitSearch, sample: Sample, checkpoints: Checkpoints, arrays: Mapping[str, Any]
) -> Iterator[Level]:
    """Yield the levels of the searches from all sources.

    This is a collective operation; all ranks must call it, and take all levels. After each batch, `arrays`
    are part of a checkpoint.
    """
    done, each = 0, ceil(sample.batches / _SUPERSTEPS)
    while done < sample.batches:
        (done,) = checkpoints.step(arrays, done)
        if checkpoints.restored:
            checkpoints.require(done == checkpoints.steps < sample.batches, f"a step below {sample.batches}")
        if done % each == 0:
            engine.superstep("search", active=engine.owned, fraction=done / sample.batches)
        yield from search.run(sample.batch(done))
        done += 1
