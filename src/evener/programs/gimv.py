"""GIM-V: generalized iterated matrix-vector multiplication, by pulling, on any number of partitions.

Idea: in each superstep, mirrors pull the messages of their owners. Then every vertex combines the messages of
its in-neighbours and assigns its next value. All vertices change at the same time.

Encoding: float32, float64 or int64 for values and messages; operators see float64 or int64. If `combine2`
does not need the weight of an edge, a vertex makes one message for all its edges, so mirrors hold messages.
Otherwise mirrors hold values, and each edge makes its message.

Kang, Tsourakakis, Faloutsos: PEGASUS (ICDM 2009); S13 §II.B.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.algorithms.arguments import ensure_placed, graph_of, opened
from evener.algorithms.recording import finish_run
from evener.algorithms.spec import AlgorithmSpec, Column, StateBytes, Traffic
from evener.elements import named
from evener.engine.checkpoints.checkpoints import open_checkpoints
from evener.engine.engine import Engine, PartitionedArray
from evener.errors import ArgumentError, ConvergenceWarning, MpiError
from evener.graph.checks import is_integral, is_number, type_name
from evener.partition.partitioned import PartitionedGraph
from evener.programs.algebra import check_algebra
from evener.programs.compilation import MESSAGE_PARAMETERS, VALUE_PARAMETERS, Operators, iterate_kernel
from evener.programs.operators import read_operator
from evener.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import ArrayLike, NDArray

    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.checkpoints.request import Checkpoint
    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.kernels.kernel import Kernel

__all__ = ["gimv"]

_SPEC = AlgorithmSpec(
    name="gimv",
    summary="Iterated matrix-vector multiplication with operators of the user.",
    run="evener.programs.gimv:gimv",
    columns=(Column("value"),),
    directions="in",
    reads_every_edge=True,
    # A value and two messages of 8 bytes.
    state=StateBytes(8 + 16, 16),
    host_state=StateBytes(4 + 8, 8),
    traffic=Traffic(pushed=0.0, pulled=8.0),
    unit="an iteration",
    checkpoints=True,
)


def gimv(
    graph: Graph | PartitionedGraph | str,
    combine2: Callable[..., Any],
    combine_all: Callable[[Any, Any], Any],
    assign: Callable[..., Any],
    v0: ArrayLike,
    *,
    until: int | float | Callable[..., Any] | None = None,
    identity: float | None = None,
    max_iter: int = 1000,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Return the values of all vertices after an iteration with your own operators, on CPUs.

    In each iteration, vertex i gets the value ``assign(v[i], combine_all(x...))``. The messages x are
    ``combine2(m, v[j])`` for all edges from j to i with the weight m.

    This is a collective operation and must be called by all ranks.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A path or a generator spec is read; with several ranks, each rank reads its own part.
    combine2 : function of (m, v)
        Returns the message of a vertex with the value `v` along an edge of weight `m`. In a graph without
        weights, `m` is 1. Further parameters may be named `degree` (out-edges of the vertex), `vertex`
        (its position in ``graph.ids``) and `n` (number of vertices).
    combine_all : function of (x, y)
        Returns one message for two. It must be associative and commutative.
    assign : function of (old, new)
        Returns the next value of a vertex, from its value and its combined messages. Further parameters may
        be named `degree`, `vertex`, `n`, `initial` (the vertex's value in `v0`) and `total` (the sum of all
        absolute values before the iteration).
    v0 : number or array of shape (n,)
        The first values, in the order of ``graph.ids``, on every rank. float32 and float64 are kept;
        integers become int64.
    until : int, float or function of (old, new), optional
        An integer is the number of iterations. A float stops below this sum of all absolute changes. A
        function stops when it is true for every vertex; it may have the parameters of `assign`. Default:
        until no value changes.
    identity : number, optional
        The combined message of a vertex without in-edges; ``combine_all(identity, x) == x``. Default: the
        one of ±inf (or the limits of int64), 0, 1 and -1 with this property.
    max_iter : int, default 1000
        The largest number of iterations if `until` is no integer.
    on, policy, alpha
        Where to run a graph that is not placed: see `plan`. The default is ``on="cpu"``.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.
    checkpoint : Checkpoint, optional
        Where to write checkpoints, and whether to continue from one.

    Returns
    -------
    Result
        ``value``: shape (n,), or the values of the rank's block of vertices with several ranks. `outcome` has
        ``iterations`` and ``converged``, which is None if `until` is an integer.

    Warns
    -----
    ConvergenceWarning
        If the condition is not met after `max_iter` iterations.

    Raises
    ------
    ArgumentError
        If an operator is not a pure function of numbers or cannot be compiled. If random values show that
        `combine_all` is not associative or commutative. If a value becomes NaN. If an element is a GPU.
    MpiError
        If ranks have different operators or arguments.
    OutOfMemoryError
        If the run needs more memory than is available.

    Notes
    -----
    Operators see float64, or int64 if `v0` has integers. Their arithmetic follows NumPy: a division by zero
    is infinite, and integers wrap around. The order in which messages are combined is not defined.

    Examples
    --------
    The length of the shortest path from vertex 0:

    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 0], [1, 2, 2], weights=[2.0, 3.0, 9.0])
    >>> r = ev.gimv(g, lambda m, v: v + m, min, min, [0.0, float("inf"), float("inf")])
    >>> r["value"].tolist()
    [0.0, 2.0, 5.0]
    """
    given = opened(graph, _SPEC)
    source = graph_of(given, "gimv")
    first = _first_values(v0, source)
    condition = _condition(until, max_iter)
    operators = Operators(
        read_operator("combine2", combine2, MESSAGE_PARAMETERS),
        read_operator("combine_all", combine_all, (), reorder=True),
        read_operator("assign", assign, VALUE_PARAMETERS),
        read_operator("until", until if callable(until) else _unchanged, VALUE_PARAMETERS),
    )
    real = first.dtype.kind == "f"
    negative = bool(first.min(initial=0) < 0)
    keeps_initial = any("initial" in one.extra for one in operators)
    unit = check_algebra(operators.combine_all.python, identity, real=real, negative=negative)
    per_edge = source.weight_dtype is not None and operators.combine2.reads_first
    kernel = iterate_kernel(operators, real=real, per_edge=per_edge)
    pg = _placed(given, on=on, policy=policy, alpha=alpha)
    arguments = ([one.key for one in operators], condition, unit, str(first.dtype))
    _check_ranks(pg, arguments)
    engine = Engine(pg, "gimv", progress=progress, host_state=_SPEC.host_state)
    facts = {"operators": repr(arguments), "v0": first}
    with open_checkpoints(engine, pg, checkpoint, "gimv", facts) as checkpoints:
        value, iterations, converged = _iterate(
            engine,
            checkpoints,
            pg,
            kernel,
            first=first,
            identity=unit,
            condition=condition,
            per_edge=per_edge,
            keeps_initial=keeps_initial,
        )
    result = Result(
        "gimv",
        pg.graph,
        {"value": lambda: pg.gather(value)},
        columns=(Column("value", real=real),),
        parameters={"until": operators.until.python.__name__ if callable(until) else until},
        outcome={"iterations": iterations, "converged": converged},
        timeline=engine.timeline,
        seconds=engine.finish(),
        edges=pg.graph.m * iterations,
        partitioned=pg,
        passes=iterations,
    )
    if converged is False:
        msg = (
            f"gimv did not converge in {iterations} iterations: expected {condition.text}; increase "
            "max_iter= or change until="
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)
    return finish_run(result)


def _iterate(
    engine: Engine,
    checkpoints: Checkpoints,
    pg: PartitionedGraph,
    kernel: Kernel,
    *,
    first: NDArray[Any],
    identity: float,
    condition: _Condition,
    per_edge: bool,
    keeps_initial: bool,
) -> tuple[PartitionedArray, int, bool | None]:
    """Return the values, the number of iterations, and whether the condition is met."""
    graph = pg.graph
    values = [first[vertices] for vertices in pg.owned_vertices()]
    owned = engine.upload(values)
    initial = engine.copy(owned) if keeps_initial else owned
    message, next_message = engine.array(first.dtype), engine.array(first.dtype)
    offsets, targets, blocks = engine.in_
    if per_edge:
        degree, weights = engine.array("uint32"), engine.in_weights
        _copy(engine, values, message)
        _copy(engine, engine.out_degree, degree)
        engine.pull(degree)
    else:
        degree, weights = engine.out_degree, targets  # no kernel reads the weights

    def advance(*, begin: bool, total: float, last: bool) -> tuple[int, float, float]:
        found: tuple[int, float, float] = engine.compute(
            kernel, begin, offsets, targets, weights, blocks, identity, degree, engine.vertices, graph.n,
            total, initial, message, message if per_edge else owned, next_message,
            pull_before=None if begin else message, publish=None if last else next_message,
        )  # fmt: skip
        return found

    engine.superstep("begin", active=engine.owned)
    if graph.n == 0:
        return owned, 0, None if condition.fixed else True
    _, _, total = advance(begin=True, total=0.0, last=condition.limit == 0)
    message, next_message = next_message, message
    iteration, converged = 0, False
    while iteration < condition.limit and not converged:
        arrays = {"message": message} if per_edge else {"value": owned, "message": message}
        iteration, total = checkpoints.step(arrays, iteration, total)
        iteration += 1
        engine.superstep("iterate", active=engine.owned, edges=graph.m)
        ready, change, total = advance(begin=False, total=total, last=iteration == condition.limit)
        message, next_message = next_message, message
        value = message if per_edge else owned
        if math.isnan(total):
            engine.finish()
            _raise_nan(pg, value, iteration)
        converged = condition.is_met(ready == graph.n, change)
    return message if per_edge else owned, iteration, None if condition.fixed else converged


def _copy(engine: Engine, sources: Sequence[Any], target: PartitionedArray) -> None:
    """Copy a value for each owned vertex to an array that also has mirrors."""
    for element, source, own in zip(engine.elements, sources, target, strict=True):
        element.copy_in(source, own[: len(source)])


def _raise_nan(pg: PartitionedGraph, value: PartitionedArray, iteration: int) -> None:
    """Raise an error that names the first vertex with NaN, on all ranks."""
    found = np.flatnonzero(np.isnan(pg.gather(value)))
    own = pg.block.start + int(found[0]) if len(found) else pg.graph.n
    (vertex,) = pg.graph.ids_of(np.array([pg.world.allreduce(own, "min")]))
    msg = (
        f"gimv: the value of vertex {vertex} is NaN after iteration {iteration}; the operators divide 0 by "
        "0, or combine infinities"
    )
    raise ArgumentError(msg)


def _check_ranks(pg: PartitionedGraph, arguments: tuple[Any, ...]) -> None:
    """Raise an error on all ranks unless they have the same operators and arguments."""
    of_ranks = pg.world.allgather(arguments)
    other = next((rank for rank, own in enumerate(of_ranks) if own != of_ranks[0]), None)
    if other is not None:
        msg = (
            f"gimv: expected the same operators, until= and type of v0= on all ranks, found others on rank "
            f"{other} than on rank 0; operators may use only numbers that are equal on all ranks"
        )
        raise MpiError(msg)


class _Condition(NamedTuple):
    """When a run stops: after `limit` iterations, or when no vertex, or no sum, changes enough."""

    limit: int
    fixed: bool
    tolerance: float | None
    text: str

    def is_met(self, all_converged: bool, change: float) -> bool:  # noqa: FBT001 - the value of the kernel
        if self.fixed:
            return False
        return all_converged if self.tolerance is None else change < self.tolerance


def _condition(until: Any, max_iter: Any) -> _Condition:
    if not is_integral(max_iter) or max_iter < 0:
        msg = f"max_iter=: expected an integer of at least 0, found {max_iter!r}"
        raise ArgumentError(msg)
    if until is None:
        return _Condition(int(max_iter), fixed=False, tolerance=None, text="no value to change")
    if callable(until):
        return _Condition(
            int(max_iter), fixed=False, tolerance=None, text="until= to be true for all vertices"
        )
    if is_number(until) and isinstance(until, int | np.integer) and until >= 0:
        return _Condition(int(until), fixed=True, tolerance=None, text="")
    if is_number(until) and not isinstance(until, int | np.integer) and 0 < until < math.inf:
        text = f"a sum of changes below {until:g}"
        return _Condition(int(max_iter), fixed=False, tolerance=float(until), text=text)
    msg = (
        "until=: expected a number of iterations (an integer of at least 0), a sum of changes (a float above "
        f"0) or a function, found {until!r}"
    )
    raise ArgumentError(msg)


def _unchanged(old: Any, new: Any) -> Any:
    return old == new


def _first_values(v0: ArrayLike, graph: Graph) -> NDArray[Any]:
    """Return the first value of each vertex: float32, float64 or int64."""
    try:
        values = np.asarray(v0)
    except ValueError as error:
        msg = f"v0=: expected a number or an array of numbers: {error}"
        raise ArgumentError(msg) from error
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8 or values.dtype == np.float16:
        msg = f"v0=: expected integers, float32 or float64, found {values.dtype} in {type_name(v0)}"
        raise ArgumentError(msg)
    if values.shape not in ((), (graph.n,)):
        msg = f"v0=: expected a number, or an array of shape ({graph.n},), found shape {values.shape}"
        raise ArgumentError(msg)
    if values.dtype.kind == "f" and np.isnan(values).any():
        (vertex,) = graph.ids_of(np.array([np.argmax(np.isnan(values))]))
        msg = f"v0=: expected numbers, found NaN for vertex {vertex}"
        raise ArgumentError(msg)
    if values.dtype.kind != "f":
        if values.dtype == np.uint64 and values.max(initial=0) > np.iinfo(np.int64).max:
            msg = f"v0=: expected integers below 2^63, found {values.max()}"
            raise ArgumentError(msg)
        values = values.astype(np.int64)
    return np.broadcast_to(values, (graph.n,))


def _placed(
    graph: Graph | PartitionedGraph,
    *,
    on: str | Sequence[str] | None,
    policy: str,
    alpha: float | Literal["auto"] | None,
) -> PartitionedGraph:
    """Return the graph on CPUs; the default is all cores."""
    if not isinstance(graph, PartitionedGraph):
        on = "cpu" if on is None else on
        _require_cpus([name.partition(":")[0].strip() for name in named(on) or () if isinstance(name, str)])
    pg = ensure_placed(graph, _SPEC, on=on, policy=policy, alpha=alpha, gpu_memory=None)
    kinds = pg.world.allgather([element.kind for element in pg.elements])
    _require_cpus([kind for own in kinds for kind in own])
    return pg


def _require_cpus(kinds: Sequence[str]) -> None:
    if "cuda" in kinds:
        msg = 'gimv: operators run on CPUs today, and the graph is on a GPU; place it with on="cpu"'
        raise ArgumentError(msg)
