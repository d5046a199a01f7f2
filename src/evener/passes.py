"""Passes: what of each algorithm is timed, over and over, to learn how fast a machine is."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.algorithms.betweenness.betweenness import betweenness
from evener.algorithms.bfs.bfs import bfs
from evener.algorithms.pagerank.pagerank import pagerank
from evener.algorithms.sssp.sssp import sssp
from evener.algorithms.wcc.wcc import wcc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result

__all__ = ["FROM_A_SOURCE", "LOOK_UP", "PASSES", "READ_ALL", "READ_FIRST", "SKIP_SOME", "Run", "repeated"]

# Iterations of PageRank, and runs of each algorithm that are timed: so many at least, and more until they
# have taken so many seconds. Others on the machine disturb some of them, and of short ones more can be had.
# Two of five searches of an R-MAT graph take up to twice as long as the others, so the median of nine, from
# as many sources, was now that of these and now of those; from several sources there are more runs at least.
_ITERATIONS, _REPEATS, _FROM_SEVERAL = 8, 3, 7
_MORE_REPEATS, _SECONDS = 25, 0.5


class Run(NamedTuple):
    """What is noted of a run: its arrays are given up, or the next one would have to find fresh memory.

    `first_computes` is the seconds that the first element was in kernels, `beside_computing` those that the
    run took longer than the kernels of the element that was in them longest.
    """

    seconds: float
    supersteps: int
    first_computes: float
    beside_computing: float

    @classmethod
    def of(cls, result: Result) -> Run:
        """That of a result."""
        computes: defaultdict[str, float] = defaultdict(float)
        for span in result.timeline.spans:
            computes[span.element] += span.compute
        first = result.timeline.spans[0].element
        longest = max(computes.values())
        return cls(result.seconds, result.timeline.supersteps, computes[first], result.seconds - longest)


def repeated(
    run: Callable[[PartitionedGraph, Any], Result],
    placed: PartitionedGraph,
    sources: Sequence[Any] = (None,),
    *,
    read: bool = False,
) -> list[Run]:
    """Runs enough to take a median of, after one that may compile: from one source after another.

    With `read` each result is read before the next run, as users do, who thereby find caches and threads
    cold. It matters to short runs on several elements: searches of R-MAT 26 with a twentieth of the edges on
    15 cores and the others on an H200 took 8.3 ms without, 13.2 with; the CPU alone 65 and 67.
    """
    run(placed, sources[0])
    runs: list[Run] = []
    least = _FROM_SEVERAL if len(sources) > 1 else _REPEATS
    while len(runs) < least or (len(runs) < _MORE_REPEATS and sum(one.seconds for one in runs) < _SECONDS):
        result = run(placed, sources[len(runs) % len(sources)])
        runs.append(Run.of(result))
        if read:
            for name in result:
                result[name]
        del result
    return runs


# A pass of each algorithm, and how many of them its run has.
PASSES: dict[str, tuple[Callable[[PartitionedGraph, Any], Result], int]] = {
    "bfs": (lambda placed, source: bfs(placed, source=source), 1),
    "pagerank": (lambda placed, _: pagerank(placed, tol=0, max_iter=_ITERATIONS, weights=False), _ITERATIONS),
    "wcc": (lambda placed, _: wcc(placed), 1),
    "sssp": (lambda placed, source: sssp(placed, source=source), 1),
    "betweenness": (lambda placed, source: betweenness(placed, sources=[source]), 1),
}
# Those that read every edge in a pass; on a GPU from blocks of columns where it has room for them.
READ_ALL = ("pagerank",)
# Those whose time hangs on where they begin.
FROM_A_SOURCE = ("bfs", "sssp", "betweenness")
# Those in which a vertex is done with its edges once it has found one, so that many more cost little more.
LOOK_UP = ("bfs",)
# Those that read the first edges of many rows: a GPU keeps heads of rows in the host's memory for them.
READ_FIRST = (*LOOK_UP, "wcc")
# Those that do not read every edge.
SKIP_SOME = tuple(name for name in PASSES if name not in READ_ALL)
