"""GIM-V: generalized iterated matrix-vector multiplication, with operators of the user.

Idea: in each iteration, every vertex combines the messages of its in-neighbours and assigns its next value.
All vertices change at the same time. The operators become a vertex program, or a MapReduce job.

Encoding: float32, float64 or int64 for values and messages; operators see float64 or int64.

Kang, Tsourakakis, Faloutsos: PEGASUS (ICDM 2009); S13 §II.B.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from evener.errors import ArgumentError
from evener.programs.algebra import identity_of
from evener.programs.arguments import UNSIGNED_WEIGHTS, first_values, stop_condition
from evener.programs.compilation import (
    MESSAGE_PARAMETERS,
    VALUE_PARAMETERS,
    Operators,
    check_operators,
    settled,
)
from evener.programs.gimv_program import checked_fields, first_fields, run_supersteps
from evener.programs.mapreduce.compilation import Signature
from evener.programs.mapreduce.gimv import run_two_stages
from evener.programs.operators import read_operator
from evener.programs.payload import Payload
from evener.programs.steps import has_negative
from evener.programs.vertex_program import columns_of, program_state, result_of
from evener.programs.vertex_run import weights_are_real
from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic
from evener.spec.arguments import check_signed_weights
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from numpy.typing import ArrayLike

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["gimv"]

_SPEC = AlgorithmSpec(
    name="gimv",
    summary="Iterated matrix-vector multiplication with operators of the user.",
    run="evener.programs.gimv:gimv",
    columns=(Column("value"),),
    directions="in",
    reads_every_edge=True,
    state=program_state(1),
    host_state=StateBytes(4 + 8, 8),
    traffic=Traffic(pushed=0.0, pulled=8.0),
    unit="an iteration",
    checkpoints=True,
)


@driver(_SPEC, in_order=("v0",))
def gimv(
    graph: Graph | PartitionedGraph | str,
    combine2: Callable[..., Any],
    combine_all: Callable[[Any, Any], Any],
    assign: Callable[..., Any],
    v0: ArrayLike | Mapping[str, ArrayLike],
    *,
    until: int | float | Callable[..., Any] | None = None,
    identity: float | tuple[float, ...] | None = None,
    max_iter: int = 1000,
    engine: Literal["fused", "mapreduce"] = "fused",
    **options: Unpack[RunOptions],
) -> Result:
    """Return the values of all vertices after an iteration with your own operators.

    In each iteration, vertex i gets the value ``assign(v[i], combine_all(x...))``. The messages x are
    ``combine2(m, v[j])`` for all edges from j to i with the weight m.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
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
    v0 : number or array of shape (n,), or mapping of str to number or array
        The first values, in the order of ``graph.ids``, on every rank. float32 and float64 are kept;
        integers become int64. With a mapping, a value is a tuple of fields in the order of the mapping. A
        message is then a number or a tuple of numbers; GPUs combine tuples of up to 8.
    until : int, float or function of (old, new), optional
        An integer is the number of iterations. With a float, the run stops when the sum of all
        absolute changes is below it. With a function, the run stops when the function is true for every
        vertex; it may have the parameters of `assign`. Default: until no value changes.
    identity : number or tuple of numbers, optional
        The combined message of a vertex without in-edges; ``combine_all(identity, x) == x``. Default: the
        one of ±inf (or the limits of int64), 0, 1 and -1 with this property, for each number of a message.
    max_iter : int, default 1000
        The largest number of iterations if `until` is no integer.
    engine : {"fused", "mapreduce"}, default "fused"
        How an iteration runs: in one kernel that reads the in-edges, or as a MapReduce job over the
        out-edges. Both give the same answers; "fused" is many times faster. MapReduce writes no checkpoints,
        and runs on CPUs only if values have fields.

    Returns
    -------
    Result
        ``value``, or an array for each field: shape (n,), or the values of the rank's block of vertices with
        several ranks. `outcome` has ``iterations`` and ``converged``. If `until` is an integer,
        ``converged`` says whether the last iteration changed no value.

    Warns
    -----
    ConvergenceWarning
        If the condition is not met after `max_iter` iterations.

    Raises
    ------
    ArgumentError
        If an operator is not a pure function of numbers, cannot be compiled or raises an exception. If random
        values show that `combine_all` is not associative or commutative. If a value becomes NaN. If a value
        becomes infinite, and neither `v0`, weights, operators nor the identity of a vertex without in-edges
        have this infinity. If a value is infinite, and a sum of other numbers may exceed the largest number.
    MpiError
        If ranks have different operators or arguments.

    Notes
    -----
    Operators see float64, or int64 if `v0` has integers. If `combine2` uses floating-point weights, `v0` must
    have floating-point numbers too. Arithmetic follows NumPy: a division of floating-point numbers by zero is
    infinite, and integers wrap around. On CPUs, a division of integers by zero is an error, as in Python. The
    order in which messages are combined is not defined.

    With fields, operators see each field as float64 or int64, and `m` as the weights are. `initial` is a
    tuple, `total` is the sum over all fields, and changes are those of floating-point fields.

    Examples
    --------
    The length of the shortest path from vertex 0:

    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 0], [1, 2, 2], weights=[2.0, 3.0, 9.0])
    >>> r = ev.gimv(g, lambda m, v: v + m, min, min, [0.0, float("inf"), float("inf")])
    >>> r["value"].tolist()
    [0.0, 2.0, 5.0]

    With the vertex before each vertex on its path:

    >>> inf = float("inf")
    >>> v0 = {"distance": [0.0, inf, inf], "parent": [0, 3, 3]}
    >>> r = ev.gimv(g, lambda m, v, vertex: (v[0] + m, vertex), min, min, v0)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0.0, 2.0, 5.0], [0, 0, 1])
    """
    run = begin(_SPEC, graph, options)
    condition = stop_condition(until, max_iter)
    if engine not in ("fused", "mapreduce"):
        msg = f'engine=: expected "fused" or "mapreduce", found {engine!r}'
        raise ArgumentError(msg)
    if run.checkpoint is not None and engine != "fused":
        msg = 'checkpoint=: MapReduce writes no checkpoints; use engine="fused"'
        raise ArgumentError(msg)
    operators = Operators(
        read_operator("combine2", combine2, MESSAGE_PARAMETERS),
        read_operator("combine_all", combine_all, (), reorder=True),
        read_operator("assign", assign, VALUE_PARAMETERS),
        read_operator("until", until if callable(until) else _unchanged, VALUE_PARAMETERS),
    )
    stop = operators.until.python.__name__ if callable(until) else until
    if isinstance(v0, Mapping):
        first = first_fields(v0, run.graph, condition)
        operators, signature = checked_fields(run.graph, operators, first)
    else:
        first = {"value": first_values(v0, run.graph)}
        operators, signature = _checked_numbers(run.graph, operators, real=first["value"].dtype.kind == "f")
    negative = any(map(has_negative, first.values()))
    unit = identity_of(operators.combine_all, identity, signature.message, negative=negative)
    run_iterations = run_supersteps if engine == "fused" else run_two_stages
    found = run_iterations(run, operators, signature, first=first, identity=unit, condition=condition)
    return result_of(run, found, found.fields, {"until": stop}, columns_of(found))


def _checked_numbers(graph: Graph, operators: Operators, *, real: bool) -> tuple[Operators, Signature]:
    """Return operators that compile for values that are numbers, and what they see."""
    per_edge = graph.weight_dtype is not None and operators.combine2.own[0] in operators.combine2.reads
    if per_edge and weights_are_real(graph) and not real:
        msg = "v0=: expected floating-point numbers, as the weights are that combine2 uses; found integers"
        raise ArgumentError(msg)
    if per_edge and not real:
        check_signed_weights(graph, UNSIGNED_WEIGHTS)
    operators, _ = settled(operators, lambda own: check_operators(own, real=real))
    number = Payload.of_number(real=real)
    return operators, Signature(number, number, real)


def _unchanged(old: Any, new: Any) -> Any:
    return old == new
