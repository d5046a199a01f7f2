"""PageRank, by pulling, on any number of partitions.

Idea: power iteration. In each superstep, mirrors pull the contributions of their owners. Then every vertex
adds the contributions of its in-neighbours. The rank of vertices without out-edges is distributed like a
random jump. If jumps end at all vertices with equal probability, all vertices without edges have the same
rank, and one number represents them.

Encoding: `rank` and `contribution` (rank over out-degree) in the dtype of the result, sums in float64. On a
GPU with column blocks, pairs of values and the sums of blocks are float32. With weights, `contribution` is
rank over out-strength in float64, and column blocks are not used.

With column blocks on all elements, the sums of the next iteration are queued before the host knows the L1
change of this one. So GPUs do not wait for the host. If the run then stops, the sums are not used.

Page, Brin, Motwani, Winograd: The PageRank Citation Ranking (1999); T13 §7.1, figure 14.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.algorithms.pagerank import SPEC
from evener.algorithms.pagerank.personalization import as_mapping, jumps_of, teleport_of
from evener.algorithms.pagerank.weights import uses_weights
from evener.engine.checkpoints.state import Bounded
from evener.errors import ArgumentError, ConvergenceWarning
from evener.graph.checks import is_integral, is_number
from evener.kernels.kernel import Kernel, KernelFile
from evener.partition.column_blocks import ColumnBlocks, column_blocks_of
from evener.spec.arguments import unsigned
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.strength import placed_strength
from evener.system.caller import warn_caller

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from numpy.typing import DTypeLike, NDArray

    from evener.elements import Element
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["pagerank", "rank_dtype", "tolerance_of"]

kernels = KernelFile(__package__)
weighted_kernels = KernelFile(__package__, "weighted")

# Smallest tolerance of float32 ranks: the L1 change of an iteration, 25 times the error of rounding.
_FLOAT32_TOL = 5e-7
# Largest error of the sum of the ranks in a checkpoint.
_CLOSE = 1e-2


@driver(SPEC)
def pagerank(
    graph: Graph | PartitionedGraph | str,
    *,
    damping: float = 0.85,
    tol: float = 1e-6,
    stop: Literal["l1", "networkx"] = "l1",
    max_iter: int = 100,
    personalization: Mapping[Any, float] | NDArray[np.floating[Any]] | None = None,
    weights: bool | None = None,
    dtype: DTypeLike | None = None,
    semantics: str = "networkx",
    **options: Unpack[RunOptions],
) -> Result:
    """Return the PageRank of every vertex: the probability that a random surfer is there.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
    damping : float, default 0.85
        Probability of following an edge instead of jumping, 0 to 1.
    tol : float, default 1e-6
        The tolerance of `stop`. 0 runs exactly `max_iter` iterations.
    stop : {"l1", "networkx"}, default "l1"
        "l1" stops when the L1 change of all ranks in one iteration is below `tol`. "networkx" stops below
        ``n * tol``, as NetworkX does. With many vertices, a run then has very few iterations.
    max_iter : int, default 100
        The largest number of iterations.
    personalization : mapping of id to float, or array of shape (n,), optional
        Probability that a jump ends at each vertex; the sum is scaled to 1. Dangling rank is distributed in
        the same way. A pandas Series counts as a mapping of its index. Default: equal for all vertices.
    weights : bool, optional
        Whether a vertex divides its rank in proportion to the weights of its out-edges. A vertex whose
        out-weights sum to 0 is dangling. Default: True if the graph has weights, as in NetworkX and igraph,
        but False with ``semantics="graphalytics"``.
    dtype : {"float32", "float64"} or dtype, optional
        Type of the ranks; sums are always float64. Default: "float32" if `tol` is 0 or the L1 change to reach
        is at least 5e-7, else "float64". Rounding to float32 changes the ranks by about 2e-8.
    semantics : {"networkx", "graphalytics"}, default "networkx"
        "graphalytics" runs exactly `max_iter` iterations and ignores `tol`.

    Returns
    -------
    Result
        ``rank``: shape (n,), sums to 1. `outcome` has ``iterations`` and ``converged``. ``converged`` is None
        without a tolerance: with `tol` 0 or ``semantics="graphalytics"``. `parameters` has the `dtype` that
        was used, and `weights` says whether weights were used.

    Warns
    -----
    ConvergenceWarning
        If the ranks have not met the tolerance after `max_iter` iterations.

    Raises
    ------
    ArgumentError
        For a number outside its range. For a personalization that is negative, NaN, or zero everywhere, or
        that names a vertex twice. If `weights` is True and the graph has none. If weights are used and a
        weight is negative, NaN or infinite.
    UnknownVertexError
        If the personalization names a vertex that is not in the graph.

    Notes
    -----
    The first run on a placement may sort the edges on a GPU into column blocks, for all later runs: see
    `evener.partition.column_blocks`. It does so for a large graph, if the GPU has room for a second copy of
    the edges. `seconds` of the result does not include this sort or the placement of the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    >>> ev.pagerank(g).top(1)[0][0]
    1
    """
    _check(damping, tol, stop, max_iter, semantics)
    given_dtype = None if dtype is None else _dtype_name(dtype)
    max_iter = int(max_iter)
    personalization = as_mapping(personalization)
    run = begin(SPEC, graph, options)
    jumps = jumps_of(run.graph, personalization)
    weights = uses_weights(run.graph, weights, semantics)
    pg = run.place()
    n = pg.graph.n
    tolerance = tolerance_of(n, tol=tol, stop=stop, semantics=semantics)
    dtype = given_dtype or rank_dtype(tolerance)
    # Column blocks and strengths are part of the placement, so they are built before the run begins.
    columns = [
        column_blocks_of(pg, p, "in_") if dtype == "float32" and not weights else None
        for p in range(len(pg.partitions))
    ]
    strength = placed_strength(pg) if weights else None
    engine = run.engine()
    parameters = {
        "damping": damping,
        "tol": tol,
        "stop": stop,
        "max_iter": max_iter,
        "personalization": personalization,
        "weights": weights,
        "dtype": dtype,
        "semantics": semantics,
    }
    with run.checkpoints(engine, parameters) as checkpoints:
        rank, iterations, change = _iterate(
            engine,
            checkpoints,
            n,
            pg.graph.m,
            columns=columns,
            strength=strength,
            damping=damping,
            tolerance=tolerance,
            max_iter=max_iter,
            teleport=engine.upload(teleport_of(pg, jumps)),
            alike=personalization is None,
            dtype=dtype,
        )
    converged = (change < tolerance or n == 0) if tolerance else None
    result = run.finish(
        engine,
        {"rank": rank},
        parameters=parameters,
        outcome={"iterations": iterations, "converged": converged},
        edges=pg.graph.m * iterations,
        passes=iterations,
    )
    if converged is False:
        too_fine = dtype == "float32" and tolerance < _FLOAT32_TOL
        remedy = 'use dtype="float64"' if too_fine else "increase max_iter="
        msg = (
            f"pagerank did not converge in {iterations} iterations: expected an L1 change below "
            f"{tolerance:.2g}, found {change:.2g}; {remedy} or tol="
        )
        warn_caller(msg, ConvergenceWarning)
    return result


def _iterate(
    engine: Engine,
    checkpoints: Checkpoints,
    n: int,
    m: int,
    *,
    columns: list[ColumnBlocks | None],
    strength: PartitionedArray | None,
    damping: float,
    tolerance: float,
    max_iter: int,
    teleport: PartitionedArray,
    alike: bool,
    dtype: str,
) -> tuple[PartitionedArray, int, float]:
    # The `number` vertices from `connected` on have no edge, and all have the rank `others`.
    connected = engine.connected if alike else engine.owned
    others, number = 1 / max(n, 1), engine.total(engine.owned) - engine.total(connected)
    rank = engine.owned_array(dtype)
    own_kernels, share_dtype = (kernels, dtype) if strength is None else (weighted_kernels, "float64")
    contribution = engine.array(share_dtype)
    # Zeros, because kernels also load contributions of vertices without edges into shared memory.
    next_contribution = engine.array(share_dtype, 0)
    offsets, targets, blocks = engine.in_
    iterate: list[Any] = [own_kernels.iterate]
    edges, divisor = [offsets, targets], engine.out_degree
    blocked = engine.per_partition(columns) if all(engine.gather([bool(one) for one in columns])) else None
    # Sums of owned vertices run while mirrors arrive.
    before_pull, then = (_SUM_OWN, _SUM_REST) if engine.has_mirrors else (None, _SUM)
    add: list[Any] = [then, blocked, engine.element]
    if strength is not None:
        edges, divisor = [*edges, unsigned(engine.in_weights)], strength
    elif any(columns):
        iterate = [_ITERATE, engine.element, engine.per_partition(columns)]
    start = engine.upload_to_all(np.array([1 / max(n, 1)]))

    engine.superstep("begin", active=engine.owned)
    if n == 0:
        return rank, 0, 0.0
    dangling = engine.compute(own_kernels.begin, divisor, blocks, start, rank, contribution)
    error = previous = first_error = math.inf
    iteration = 0
    summed = False  # whether elements have the sums of the next iteration
    while iteration < max_iter and not error < tolerance:
        iteration, error, first_error, dangling, others = checkpoints.step(
            {"rank": Bounded(rank, 0, math.inf)}, iteration, error, first_error, dangling, others
        )
        if checkpoints.restored:
            saved = [own.astype(np.float64) for own in engine.download(rank)]
            total = sum(engine.gather([own[:k].sum() for own, k in zip(saved, connected, strict=True)]))
            checkpoints.require(abs(total + number * others - 1) < _CLOSE, "ranks that add up to 1")
            checkpoints.require(iteration == checkpoints.steps < max_iter, f"a step below {max_iter}")
            sums = (error, first_error, dangling, others)
            checkpoints.require(all(one >= 0 for one in sums), "sums of ranks and changes from 0 on")
            checkpoints.require(dangling < 1 + _CLOSE, "ranks of dangling vertices up to 1")
            start = engine.upload(saved)
            engine.compute(own_kernels.begin, divisor, blocks, start, rank, contribution)
        iteration += 1
        done = _fraction(iteration, max_iter, error, first_error, tolerance)
        engine.superstep("iterate", active=engine.owned, edges=m, fraction=done)
        # rank = damping Aᵀ (rank / degree) + (1 - damping + damping · dangling) teleport
        jump = 1 - damping + damping * dangling
        publish = next_contribution if iteration < max_iter else None
        if blocked is None:
            error, dangling = engine.compute(
                *iterate, *edges, blocks, connected, divisor, damping, jump, teleport, contribution, rank,
                next_contribution, pull_before=contribution, publish=publish,
            )  # fmt: skip
        else:
            if not summed:
                engine.compute(*add, contribution, pull_before=contribution, before_pull=before_pull)
            values = engine.compute(
                _FINISH, engine.element, blocked, connected, divisor, damping, jump, teleport, rank,
                next_contribution, publish=publish, wait=False,
            )  # fmt: skip
            # The L1 change falls by about the same factor in each iteration: error² / previous comes next.
            ends = previous < math.inf and error * error < tolerance * previous
            summed = iteration < max_iter and not ends
            if summed:
                array = next_contribution
                engine.compute(*add, array, pull_before=array, before_pull=before_pull)
            previous, (error, dangling) = error, values()
        if number:
            error += number * abs(jump / n - others)
            others = jump / n
            dangling += number * others
        contribution, next_contribution = next_contribution, contribution
        first_error = error if iteration == 1 else first_error
    if number:
        engine.compute(kernels.rank_others, connected, others, rank)
    return rank, iteration, error


def _iterate_on(
    element: Element,
    columns: ColumnBlocks | None,
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
    """Run one iteration on one element: one kernel, or those of `_SUM` and `_FINISH`."""
    if columns is None:
        return element.kernel(kernels.iterate)(
            offsets, targets, blocks, connected, out_degree, damping, jump, teleport, contribution, rank,
            next_contribution,
        )  # fmt: skip
    columns.pull(element, contribution)
    return _finish_on(
        element, columns, connected, out_degree, damping, jump, teleport, rank, next_contribution
    )


def _finish_on(element: Element, columns: ColumnBlocks, *args: Any) -> Any:
    """Finish an iteration on one element from the sums; the arguments are those of the kernel."""
    result = element.kernel(kernels.finish)(
        columns.tile_row, columns.tile_width, columns.tile_places, columns.partial, *args
    )
    if element.deferred:
        result.ready = element.record()
    return result


def _kernel(function: Any) -> Kernel:
    return Kernel(cpu=function, cuda=function)


_ITERATE, _FINISH, _SUM = _kernel(_iterate_on), _kernel(_finish_on), _kernel(ColumnBlocks.pull)
_SUM_OWN, _SUM_REST = _kernel(ColumnBlocks.pull_own), _kernel(ColumnBlocks.pull_rest)


def _fraction(iteration: int, max_iter: int, error: float, first: float, tolerance: float) -> float | None:
    """Return the finished share of the run; it follows the logarithm of the error, which falls linearly."""
    if tolerance == 0:
        return (iteration - 1) / max_iter
    if not tolerance < error < first < math.inf:
        return None  # unknown before the error falls
    return math.log(first / error) / math.log(first / tolerance)


def tolerance_of(n: int, *, tol: float, stop: str, semantics: str) -> float:
    """Return the L1 change of one iteration below which a run stops; 0 if it runs all its iterations."""
    if semantics == "graphalytics":
        return 0.0
    return n * tol if stop == "networkx" else tol


def rank_dtype(tolerance: float) -> str:
    """Return the dtype of ranks that reach this tolerance, by default."""
    return "float64" if 0 < tolerance < _FLOAT32_TOL else "float32"


def _check(damping: float, tol: float, stop: str, max_iter: int, semantics: str) -> None:
    if not is_number(damping) or not 0 <= damping <= 1:
        msg = f"damping=: expected a number from 0 to 1, found {damping!r}"
        raise ArgumentError(msg)
    if not is_number(tol) or not 0 <= tol < math.inf:
        msg = f"tol=: expected a finite number of at least 0, found {tol!r}"
        raise ArgumentError(msg)
    if not is_integral(max_iter) or max_iter < 0:
        msg = f"max_iter=: expected an integer of at least 0, found {max_iter!r}"
        raise ArgumentError(msg)
    if stop not in ("l1", "networkx"):
        msg = f'stop=: expected "l1" or "networkx", found {stop!r}'
        raise ArgumentError(msg)
    if semantics not in ("networkx", "graphalytics"):
        msg = f'semantics=: expected "networkx" or "graphalytics", found {semantics!r}'
        raise ArgumentError(msg)


def _dtype_name(dtype: DTypeLike) -> str:
    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError):
        name = ""
    if name not in ("float32", "float64"):
        msg = f'dtype=: expected "float32" or "float64", found {dtype!r}'
        raise ArgumentError(msg)
    return name
