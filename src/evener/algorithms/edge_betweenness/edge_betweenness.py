"""Betweenness of edges by Brandes' algorithm: two BSP cycles per source, on any number of partitions.

Idea: forward, the search of `betweenness` counts the shortest paths to each vertex. Backward, from the
farthest level on, each vertex pulls its dependency from the next level, and its out-edges get their shares.
On one CPU, with weights, on a small graph or with narrow levels, each thread searches from a source of its
own: see `evener.primitives.source_paths`. With weights on other elements, see `betweenness.weighted`.

Encoding: as `betweenness`; `edge_centrality` float64, a value for each stored out-edge of a partition. Both
stored edges of an undirected edge are added up at the end.

Brandes: On variants of shortest-path betweenness centrality and their generic computation (2008).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from evener.algorithms.betweenness.betweenness import NARROW, NARROW_LEVELS, count_paths, sources_of
from evener.algorithms.betweenness.betweenness import kernels as path_kernels
from evener.algorithms.betweenness.search import BetweennessState, Pace
from evener.algorithms.betweenness.weighted import WEIGHTED_STATE, WeightedSearch
from evener.algorithms.edge_betweenness import SPEC
from evener.algorithms.edge_betweenness.edge_rows import StoredEdges, edge_rows
from evener.graph.checks import check_bool
from evener.kernels.kernel import KernelFile
from evener.partition.upload import edges_on_host
from evener.primitives.source_paths import (
    SourcePaths,
    check_positive_weights,
    is_one_cpu,
    place_by_size,
    searches_are_faster,
)
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.system.memory import translate_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from evener.algorithms.edge_betweenness.edge_rows import EdgeRows
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import BasicOptions

__all__ = ["edge_betweenness"]

kernels = KernelFile(__package__)


@driver(SPEC)
def edge_betweenness(
    graph: Graph | PartitionedGraph | str,
    *,
    sources: ArrayLike | None = None,
    k: int | None = None,
    seed: int = 0,
    normalized: bool = True,
    weights: bool | None = False,
    **options: Unpack[BasicOptions],
) -> Result:
    """Return the share of the shortest paths between vertices that leads through each edge.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Edges lead from tail to head. Parallel edges count as separate paths; build the graph with
        ``duplicates="drop"`` to merge them. No shortest path uses a self-loop.
    sources : sequence of ids, optional
        Count only the shortest paths from these vertices; a repeated id counts repeatedly. Default: all.
    k : int, optional
        Number of sources to draw without repeats.
    seed : int, default 0
        Seed for `k`.
    normalized : bool, default True
        Divide by the number of pairs, ``n (n - 1)``. Otherwise the values of an undirected graph are halved,
        because each pair is counted from both ends.
    weights : bool or None, default False
        Whether the length of an edge is its weight; None: if the graph has weights. Otherwise each edge has
        the length 1. Lengths of paths are compared as float64, without a tolerance.

    Returns
    -------
    Result
        A row for each edge: the ends ``u`` and ``v``, and ``centrality``, float64. An undirected edge has a
        single row, with ``u`` first in the order of vertices. Rows ascend by ``u``, then by ``v``, then by
        weight with `weights`. The parameter ``sources`` lists the ids drawn for `k`.

    Raises
    ------
    ArgumentError
        If both `sources` and `k` are given, or if `k` is not between 1 and n. If the numbers of shortest
        paths to the vertices of one level differ by a factor of more than 2^1700.

        With weights: if a weight is not above 0. If more than 2^960 paths lead to a vertex. If a weight is
        too small to change a distance, or a distance is infinite. If a sum of integer weights is 2^53 or
        more.
    UnknownVertexError
        If a source is not in the graph.

    Notes
    -----
    With all vertices as sources, values equal NetworkX's values. With some sources, values are multiplied by
    n over the number of sources, to estimate the centrality.

    The run needs 8 bytes for each stored edge, and as much for each of several searches on a CPU. It writes
    no checkpoints. Several GPUs run one launch for each step of a level. With weights, a graph of at most
    2^19 stored edges runs on the CPU by default.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 3, 4], directed=False)
    >>> ev.edge_betweenness(g, normalized=False).top(2)
    [(1, 2, 6.0), (0, 1, 4.0)]
    """
    normalized = check_bool(normalized, "normalized")
    run = begin(SPEC, graph, options)
    weights = check_positive_weights(run.graph, weights, "edge_betweenness")
    if weights:
        place_by_size(run)
        run.spec = replace(SPEC, state=WEIGHTED_STATE)
    chosen = sources_of(run.graph, sources, k, seed)
    pg = run.place(passes=len(chosen))
    engine = run.engine(from_both_ends=not pg.graph.directed)
    centrality, edges = _accumulate(engine, pg, chosen, weights=weights)
    rows = _Rows(engine, centrality, _factor(pg.graph, len(chosen), normalized=normalized), weights=weights)
    parameters = {
        "sources": None if sources is None and k is None else pg.graph.ids_of(chosen).tolist(),
        "k": k,
        "seed": seed,
        "normalized": normalized,
        "weights": weights,
    }
    return run.finish(
        engine,
        {"u": rows.first, "v": rows.second, "centrality": rows.centrality},
        parameters=parameters,
        edges=edges if pg.graph.directed else edges // 2,
        passes=len(chosen),
    )


@translate_errors("computing edge_betweenness")
def _accumulate(
    engine: Engine, pg: PartitionedGraph, chosen: NDArray[np.int64], *, weights: bool
) -> tuple[PartitionedArray, int]:
    """Return the sums of the dependencies of stored edges, and the out-edges of all reached vertices."""
    centrality, done, edges = engine.edge_array("float64", 0), 0, 0
    state, pace = None, Pace(engine, len(chosen))
    on_threads = is_one_cpu(engine)
    if weights and not on_threads:
        search = WeightedSearch(engine, pg.graph, centrality, of_edges=True)
        for done, source in enumerate(chosen.tolist()):
            pace.source(done, edges)
            edges += search.run(source, pace)
        return centrality, edges
    by_source = weights or searches_are_faster(engine)
    searches = None
    while done < len(chosen):
        if by_source:
            searches = searches or SourcePaths(engine, len(chosen), weights=weights, of_edges=True)
            engine.superstep("sources", fraction=done / len(chosen))
            edges += searches.add(chosen[done : done + searches.per_call], centrality)
            done += searches.per_call
            continue
        state = state or BetweennessState(engine, pg.graph.n, NARROW_LEVELS, engine.owned_array("float64", 0))
        pace.source(done, edges)
        levels = count_paths(engine, state, pg, int(chosen[done]), pace)
        _add_dependencies(engine, state, levels, pace, centrality)
        edges += int(levels[:, 1].sum())
        done += 1
        # Narrow levels do not occupy several threads. A source that reaches little shows nothing.
        reached = levels[:, 1].sum()
        by_source = on_threads and engine.out_edges[0] / 2 < reached < NARROW * len(levels)
    return centrality, edges


def _add_dependencies(
    engine: Engine,
    state: BetweennessState,
    levels: NDArray[np.float64],
    pace: Pace,
    centrality: PartitionedArray,
) -> None:
    offsets, targets, _ = engine.out
    value, arriving, order, bounds = state.value, state.arriving, state.order, state.bounds
    farthest = len(levels) - 1
    for level in range(farthest, -1, -1):
        scale, edges = 1.0, int(levels[level, 1])
        pace.level("dependencies pulled", edges)
        if level < farthest:
            scale = float(levels[level + 1, 3])
            # arriving = A +.× (1 + dependency) / paths of the next level
            engine.compute(path_kernels.flag_level, order, bounds, level + 1, state.frontier)
            engine.pull(value, changed=state.frontier)
            engine.compute(
                path_kernels.pull_dependencies, offsets, targets, order, bounds, level, edges, value,
                state.frontier, arriving,
            )  # fmt: skip
            # of an edge: paths of the tail × (1 + dependency) / paths of the head
            engine.compute(
                kernels.add_to_edges, offsets, targets, order, bounds, level, edges, scale, value,
                state.frontier, centrality,
            )  # fmt: skip
        # dependency = paths × arriving
        engine.compute(
            path_kernels.finish_level, order, bounds, level, scale, 1.0, arriving, state.visited, value,
            state.centrality, count_next_active=True,
        )  # fmt: skip


def _factor(graph: Graph, sources: int, *, normalized: bool) -> float:
    """Return the factor from a sum of dependencies on some sources to an estimate of the centrality."""
    n = graph.n
    if n <= 1 or sources == 0:
        return 0.0
    if normalized:
        return n / sources / (n * (n - 1))
    return n / sources / (1 if graph.directed else 2)


class _Rows:
    """The rows of this rank, which the first call of a method sorts and sends.

    This is a collective operation; all ranks must call it.
    """

    def __init__(self, engine: Engine, centrality: PartitionedArray, factor: float, *, weights: bool) -> None:
        self._engine, self._centrality, self._factor = engine, centrality, factor
        self._weights = weights
        self._rows: EdgeRows | None = None

    def _own(self) -> EdgeRows:
        if self._rows is None:
            engine, pg = self._engine, self._engine.partitioned
            parts = []
            for element, partition, values in zip(
                engine.elements, engine.partitions, engine.download(self._centrality), strict=True
            ):
                out: Any = partition.out
                parts.append(
                    StoredEdges.of_part(
                        element.download(partition.vertices),
                        element.download(out.offsets),
                        edges_on_host(out.targets, element),
                        edges_on_host(out.weights, element) if self._weights else None,
                        values,
                    )
                )
            self._rows = edge_rows(pg.world, pg.graph.n, directed=pg.graph.directed, parts=parts)
        return self._rows

    def first(self) -> NDArray[np.int64]:
        return self._own().u

    def second(self) -> NDArray[np.int64]:
        return self._own().v

    def centrality(self) -> NDArray[np.float64]:
        return self._own().values * self._factor
