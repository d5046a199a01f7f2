"""PageRank, by pulling, on any number of partitions.

Idea: power iteration. In each superstep every vertex adds up what its in-neighbours contribute, mirrors
having been told by their owners; rank on vertices without out-edges is spread like a random jump. Where jumps
end everywhere alike, all vertices without any edge, half of those of R-MAT 24, have one rank: a number does.

Encoding: `rank` and `contribution` (rank over out-degree) in the result's dtype, sums in float64. On a GPU
that holds its edges in blocks of columns, two values are added in float32, and each block's sum kept so.

Page, Brin, Motwani, Winograd: The PageRank Citation Ranking (1999); T13 §7.1, figure 14.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.arguments import graph_of, placed
from evener.algorithms.pagerank import SPEC
from evener.engine.engine import Engine, Spread
from evener.errors import ArgumentError
from evener.graph.checks import is_integral, is_number
from evener.kernels.kernel import Kernel, KernelFile
from evener.partition.column_blocks import columns_of
from evener.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.column_blocks import Columns
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["jumps_of", "pagerank"]

kernels = KernelFile(__package__)

_log = logging.getLogger("evener")

# What ranks, which sum to 1, may be off by, all together, before that is worth a warning. Of the top hundred
# vertices 98 are right on R-MAT 16, where that is 0.36; 90 on soc-Epinions1, where it is 0.43; 89 on R-MAT
# 18, where it is more than 1.
_MUCH = 0.4
# What is recommended then: those ranks are off by 0.04% of their sum.
_LITTLE = 1e-3


def pagerank(
    graph: Graph | PartitionedGraph,
    *,
    damping: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 100,
    personalization: Mapping[Any, float] | NDArray[np.floating[Any]] | None = None,
    dtype: str = "float32",
    semantics: str = "networkx",
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """The chance that a random surfer is at each vertex.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
        Edge weights play no part.
    damping : float, default 0.85
        Chance of following an edge rather than jumping, 0 to 1.
    tol : float, default 1e-6
        Stop when the ranks change by less than ``n * tol`` in an iteration, all together, as NetworkX does.
        With very many vertices that is met by ranks far from the right ones, and a warning is logged. 0 runs
        `max_iter` iterations. Where ranks are float32, rounding alone moves them by some 1e-8 all together:
        less is not met.
    max_iter : int, default 100
        Iterations at most.
    personalization : mapping of id to float, or array of shape (n,), optional
        Where jumps end, and where dangling rank goes; scaled to sum 1. A pandas Series counts as a mapping of
        its index. Default: everywhere alike.
    dtype : {"float32", "float64"}
        How ranks are stored; sums are carried in float64.
    semantics : {"networkx", "graphalytics"}
        "graphalytics" runs exactly `max_iter` iterations, whatever `tol` is.
    on, policy, alpha, gpu_memory
        Where to run, for a graph that is not yet placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.

    Returns
    -------
    Result
        ``rank``: shape (n,), sums to 1. Its `outcome` has ``iterations`` and ``converged``: whether the
        change fell below what `tol` asks for; None where nothing is asked, with `tol` 0 or the semantics
        of Graphalytics.

    Raises
    ------
    ArgumentError
        For a number outside its range, or a personalization that is negative, NaN, or zero everywhere, or
        that names a vertex twice.
    UnknownVertexError
        If the personalization names a vertex that is not in the graph.
    DeviceError
        If a GPU is named and none can be used, or one fails.
    OutOfMemoryError
        If the graph takes more memory than there is; `DeviceOutOfMemory` if it is a GPU's.

    Notes
    -----
    Where a GPU has room for the edges of a large graph with hubs a second time, the first run on a placement
    sorts them into blocks of columns, for all runs (`evener.partition.column_blocks`). Like placing the
    graph, that is not part of the result's `seconds`.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    >>> ev.pagerank(g).top(1)[0][0]
    1
    """
    _check(damping, tol, max_iter, dtype, semantics)
    max_iter = int(max_iter)
    personalization = _as_mapping(personalization)
    jumps = jumps_of(graph_of(graph, "pagerank"), personalization)
    pg = placed(graph, "pagerank", on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory, directions="in")
    n = pg.graph.n
    tolerance = n * tol if semantics == "networkx" else 0.0
    # What is prepared once for all runs belongs to the placement.
    columns = [
        columns_of(partition, element, pg.mirrors_of(p)) if dtype == "float32" else None
        for p, (partition, element) in enumerate(zip(pg.partitions, pg.elements, strict=True))
    ]
    engine = Engine(pg, "pagerank", progress=progress)
    rank, iterations, change = _iterate(
        engine,
        n,
        pg.graph.m,
        columns=columns,
        damping=damping,
        tolerance=tolerance,
        max_iter=max_iter,
        teleport=engine.hold(_teleport(pg, jumps)),
        alike=personalization is None,
        dtype=dtype,
    )
    asked = tol > 0 and semantics == "networkx"
    converged = (change < tolerance or n == 0) if asked else None
    # Each change to come is at most `damping` times the one before it.
    off = change * damping / (1 - damping) if damping < 1 else math.inf
    if converged and off > _MUCH:
        _log.warning(
            "pagerank stopped after %d iterations: with tol %g the ranks of %s vertices, which sum to 1, may "
            "be off by up to %.2g, all together; give a tol of %.1g or less",
            *(iterations, tol, f"{n:,}", min(off, 2.0), _LITTLE / n),
        )
    return Result(
        "pagerank",
        pg.graph,
        {"rank": lambda: pg.gather(rank.parts)},
        columns=SPEC.columns,
        parameters={
            "damping": damping,
            "tol": tol,
            "max_iter": max_iter,
            "personalization": personalization,
            "dtype": dtype,
            "semantics": semantics,
        },
        outcome={"iterations": iterations, "converged": converged},
        timeline=engine.timeline,
        seconds=engine.finish(),
        edges=pg.graph.m * iterations,
        partitioned=pg,
        passes=iterations,
    )


def _iterate(
    engine: Engine,
    n: int,
    m: int,
    *,
    columns: list[Columns | None],
    damping: float,
    tolerance: float,
    max_iter: int,
    teleport: Spread,
    alike: bool,
    dtype: str,
) -> tuple[Spread, int, float]:
    # From there on vertices have no edge, and all of them the rank `others`.
    connected = engine.connected if alike else engine.owned
    others, number = 1 / max(n, 1), sum(engine.owned.parts) - sum(connected.parts)
    rank = engine.owned_array(dtype)
    contribution = engine.array(dtype)
    # A kernel that keeps some at hand reads those of vertices without an edge as well.
    next_contribution = engine.array(dtype, 0)
    offsets, targets, blocks = engine.in_
    iterate: list[Any] = [kernels.iterate]
    if any(columns):
        iterate = [_ITERATE, Spread(engine.elements), Spread(columns)]
    start = engine.hold([np.array([1 / max(n, 1)])] * len(engine.elements))

    engine.superstep("begin", active=engine.owned)
    if n == 0:
        return rank, 0, 0.0
    dangling = engine.compute(kernels.begin, engine.out_degree, blocks, start, rank, contribution)
    error = first_error = math.inf
    iteration = 0
    for iteration in range(1, max_iter + 1):
        done = _fraction(iteration, max_iter, error, first_error, tolerance)
        engine.superstep("iterate", active=engine.owned, edges=m, fraction=done)
        # rank = damping Aᵀ (rank / degree) + (1 - damping + damping · dangling) teleport
        jump = 1 - damping + damping * dangling
        error, dangling = engine.compute(
            *iterate, offsets, targets, blocks, connected, engine.out_degree, damping, jump, teleport,
            contribution, rank, next_contribution, pulled=contribution,
            posts=next_contribution if iteration < max_iter else None,
        )  # fmt: skip
        if number:
            error += number * abs(jump / n - others)
            others = jump / n
            dangling += number * others
        contribution, next_contribution = next_contribution, contribution
        first_error = error if iteration == 1 else first_error
        if error < tolerance:
            break
    if number:
        engine.compute(kernels.rank_others, connected, others, rank)
    return rank, iteration, error


def _iterate_on(
    element: Element,
    columns: Columns | None,
    offsets: Any,
    targets: Any,
    blocks: Any,
    connected: int,
    out_degree: Any,
    damping: float,
    jump: float,
    teleport: Any,
    contribution: Any,
    rank: Any,
    next_contribution: Any,
) -> Any:
    """One iteration on one element: a kernel, or three where it holds the edges in blocks of columns."""
    if columns is None:
        return element.kernel(kernels.iterate)(
            offsets, targets, blocks, connected, out_degree, damping, jump, teleport, contribution, rank,
            next_contribution,
        )  # fmt: skip
    columns.pull(element, contribution)
    return element.kernel(kernels.finish)(
        columns.tile_row, columns.tile_width, columns.tile_places, columns.partial, connected, out_degree,
        damping, jump, teleport, rank, next_contribution,
    )  # fmt: skip


_ITERATE = Kernel(cpu=_iterate_on, cuda=_iterate_on)


def _fraction(iteration: int, max_iter: int, error: float, first: float, tolerance: float) -> float | None:
    """The part of the run that is done; errors shrink by a constant factor, so count in their logarithm."""
    if tolerance == 0:
        return (iteration - 1) / max_iter
    if not tolerance < error < first < math.inf:
        return None  # nothing to go by yet
    return math.log(first / error) / math.log(first / tolerance)


def _as_mapping(personalization: Any) -> Any:
    """A mapping of what has items but is none, such as a pandas Series; anything else as it is.

    Raises
    ------
    ArgumentError
        If a vertex is named twice, which a Series may do.
    """
    if isinstance(personalization, Mapping) or not hasattr(personalization, "items"):
        return personalization
    by_id: dict[Any, Any] = {}
    for vertex, value in personalization.items():
        if vertex in by_id:
            msg = f"personalization has one value for each vertex it names, but vertex {vertex} has several"
            raise ArgumentError(msg)
        by_id[vertex] = value
    return by_id


def jumps_of(graph: Graph, personalization: Any) -> NDArray[np.float64] | None:
    """The chance of each vertex that a jump ends there; None if it is the same for all.

    Raises
    ------
    ArgumentError
        For values that are no such chances, or not one for each vertex.
    UnknownVertexError
        For a vertex that is not in the graph.
    """
    n = graph.n
    if personalization is None:
        return None
    by_id = hasattr(personalization, "items")
    try:
        given = list(personalization.values()) if by_id else personalization
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"personalization has numbers for values: {error}"
        raise ArgumentError(msg) from error
    if by_id:
        if values.ndim != 1:
            msg = f"personalization has one number for each vertex it names, not shape {values.shape}"
            raise ArgumentError(msg)
        own, values = values, np.zeros(n)
        values[graph.numbers_of(list(personalization))] = own
    if values.shape != (n,):
        msg = f"personalization has one value for each of the {n} vertices, not shape {values.shape}"
        raise ArgumentError(msg)
    if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
        msg = "personalization has finite values, none negative and at least one above zero"
        raise ArgumentError(msg)
    values = values / values.max()  # their sum might be more than float64 holds
    return np.asarray(values / values.sum())


def _teleport(pg: PartitionedGraph, jumps: NDArray[np.float64] | None) -> list[NDArray[np.float64]]:
    """Where jumps end: a chance for each owned vertex of each partition, or one for all."""
    if jumps is None:
        return [np.array([1 / max(pg.graph.n, 1)])] * len(pg.partitions)
    return [jumps[vertices] for vertices in pg.owned_vertices()]


def _check(damping: float, tol: float, max_iter: int, dtype: str, semantics: str) -> None:
    if not is_number(damping) or not 0 <= damping <= 1:
        msg = f"damping is a probability, 0 to 1, not {damping!r}"
        raise ArgumentError(msg)
    if not is_number(tol) or not 0 <= tol < math.inf:
        msg = f"tol is a finite number of at least 0, not {tol!r}"
        raise ArgumentError(msg)
    if not is_integral(max_iter) or max_iter < 0:
        msg = f"max_iter is a whole number of at least 0, not {max_iter!r}"
        raise ArgumentError(msg)
    if dtype not in ("float32", "float64"):
        msg = f'dtype is "float32" or "float64", not {dtype!r}'
        raise ArgumentError(msg)
    if semantics not in ("networkx", "graphalytics"):
        msg = f'semantics is "networkx" or "graphalytics", not {semantics!r}'
        raise ArgumentError(msg)
