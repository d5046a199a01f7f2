"""MapReduce over the edges of a graph, with map and reduce functions of the user.

Idea: a map function makes a record of an edge: a key and a payload of numbers. The records of a key go to one
element, which sorts its records and reduces the payloads of each key to one row. S13 §II.C and §III.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.errors import ArgumentError
from evener.programs.arguments import UNSIGNED_WEIGHTS, vertex_values
from evener.programs.compilation import settled
from evener.programs.mapreduce.compilation import (
    MAP_PARAMETERS,
    combine_kernel,
    map_kernel,
    reduce_kernel,
)
from evener.programs.mapreduce.job import SPEC, MapReduceJob, memory_limit, place
from evener.programs.mapreduce.reducer import Combine, Reduce
from evener.programs.mapreduce.routers import by_block, by_hash
from evener.programs.mapreduce.rows import Rows
from evener.programs.mapreduce.runs import joined
from evener.programs.mapreduce.stages import Stages
from evener.programs.mapreduce.worker import JobFunctions
from evener.programs.operators import read_operator
from evener.spec.arguments import check_signed_weights
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.mapreduce.records import SortedRun
    from evener.programs.mapreduce.reducer import Reducer
    from evener.programs.mapreduce.routers import Router
    from evener.spec.run_options import BasicOptions

__all__ = ["mapreduce"]

_ROUTERS: dict[str, Callable[[PartitionedGraph], Router]] = {"hash": by_hash, "block": by_block}


@driver(SPEC, own=("memory",))
def mapreduce(
    graph: Graph | PartitionedGraph | str,
    map: Callable[..., Any],  # noqa: A002 - the name of the stage
    *,
    combine: Callable[[Any, Any], Any] | None = None,
    reduce: Callable[[Any, Any], Any] | None = None,
    values: ArrayLike | None = None,
    owner: Literal["hash", "block"] = "hash",
    memory: str | int | None = None,
    **options: Unpack[BasicOptions],
) -> Rows:
    """Return one row for each key of a key-value job over the edges of a graph.

    The job runs on all cores unless `on` names other elements.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Both directions of an undirected edge are mapped.
    map : function of (source, target)
        Returns the pair ``(key, payload)`` of an edge, or None for no pair. `source` and `target` are
        positions in ``graph.ids``. The key is an integer, the payload a number or a tuple of numbers. Further
        parameters may be named `weight`, `source_value`, `target_value`, `degree` and `n`. `weight` is 1 in a
        graph without weights. The values are those of both vertices in `values`. `degree` counts the
        out-edges of the source, and `n` the vertices.
    combine : function of (x, y), optional
        Returns one payload for two. It must be associative and commutative. Give `combine` or `reduce`.
    reduce : function of (key, values), optional
        Returns a number or a tuple of numbers for all values of a key, in any order. `values` is an array, or
        a tuple of arrays if payloads are tuples. It cannot reduce a part of the values, so it needs more
        memory than `combine`. On a GPU, one thread calls it for each key, and it can make no arrays.
    values : number or array of shape (n,), optional
        A value for each vertex, in the order of ``graph.ids``, on every rank. Functions see float64 or int64.
    owner : {"hash", "block"}, default "hash"
        How keys are divided among elements: by a hash of the key, or by blocks of vertex numbers. With
        "block", keys are vertex numbers, and a rank gets the keys of its block of vertices.
    memory : int or str, optional
        The bytes that records may use on each rank, and on each GPU, such as ``"2GiB"``. A larger job runs in
        chunks, and writes sorted runs to the cache folder. Default: half of the available memory.

    Returns
    -------
    Rows
        ``keys`` and ``values``, in ascending order of keys; with several ranks, those of the rank's keys.

    Raises
    ------
    ArgumentError
        If a function is not a pure function of numbers, cannot be compiled or raises an exception. If random
        values show that `combine` is not associative or commutative. If a key of ``owner="block"`` is no
        vertex number.
    DeviceError
        If functions cannot be compiled for a GPU, because its compiler is not installed.
    FileError
        If sorted runs cannot be written.
    MpiError
        If ranks have different functions or arguments.
    OutOfMemoryError
        If the rows, or with `reduce` the values of one key, need more memory than is available.

    Examples
    --------
    The number and the largest weight of the edges to each vertex:

    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 0], [2, 2, 1], weights=[2.0, 3.0, 9.0])
    >>> rows = ev.mapreduce(
    ...     g,
    ...     map=lambda source, target, weight: (target, (1, weight)),
    ...     combine=lambda x, y: (x[0] + y[0], max(x[1], y[1])),
    ... )
    >>> rows.keys.tolist(), [column.tolist() for column in rows.values]
    ([1, 2], [[1, 2], [9.0, 3.0]])
    """
    run = begin(SPEC, graph, options)
    source = run.graph
    if owner not in _ROUTERS:
        msg = f'owner=: expected "hash" or "block", found {owner!r}'
        raise ArgumentError(msg)
    mapped = read_operator("map", map, MAP_PARAMETERS)
    if "weight" in mapped.extra:
        check_signed_weights(source, UNSIGNED_WEIGHTS)
    of_vertices = _vertex_values(values, source, mapped.extra)
    weight = None if source.weight_dtype is None else _wide(source.weight_dtype)
    value = _wide(of_vertices.dtype)
    mapped, map_stage = settled(mapped, lambda operator: map_kernel(operator, weight=weight, value=value))
    payload = map_stage.payload
    reducer: Reducer
    if combine is not None and reduce is None:
        reduced = read_operator("combine", combine, (), reorder=True)
        reduced, reduce_stage = settled(reduced, lambda operator: combine_kernel(operator, payload))
        reducer = Combine(reduce_stage)
    elif reduce is not None and combine is None:
        reduced = read_operator("reduce", reduce, ())
        reduced, reduce_stage = settled(reduced, lambda operator: reduce_kernel(operator, payload))
        reducer = Reduce(reduce_stage)
    else:
        found = "neither" if combine is None else "both"
        msg = f"mapreduce: expected combine= or reduce=, found {found}"
        raise ArgumentError(msg)
    pg = place(run)
    stages = Stages(pg, "mapreduce", run.progress)
    job = MapReduceJob(
        pg,
        stages,
        functions=JobFunctions(map_stage, reducer, np.dtype(np.int64), payload.dtypes),
        router=_ROUTERS[owner](pg),
        memory=memory_limit(memory, pg.world),
    )
    keys, columns = _of_rank(job.run(_local_values(pg, of_vertices)))
    pairs, spilled = pg.world.allreduce((job.pairs, job.spilled), "sum")
    outcome = {"pairs": pairs, "spilled": spilled}
    result = run.finish(stages, {}, parameters={"owner": owner}, outcome=outcome, passes=0)
    return Rows(keys, columns, single=reduce_stage.payload.single, run=result)


def _vertex_values(values: ArrayLike | None, graph: Graph, extra: Sequence[str]) -> NDArray[Any]:
    """Return the value of each vertex as float64 or int64; one zero without values."""
    used = [name for name in extra if name.endswith("_value")]
    if values is None:
        if used:
            msg = f"map: expected values= for the parameter {used[0]}, found none"
            raise ArgumentError(msg)
        return np.zeros(1)
    numbers = vertex_values(values, graph, "values=")
    return np.broadcast_to(numbers.astype(_wide(numbers.dtype)), (graph.n,))


def _wide(dtype: Any) -> type:
    return np.float64 if np.dtype(dtype).kind == "f" else np.int64


def _local_values(pg: PartitionedGraph, values: NDArray[Any]) -> list[tuple[NDArray[Any]]]:
    """Return the values of the vertices and mirrors of each partition."""
    if len(values) != pg.graph.n:
        return [(values,) for _ in pg.partitions]
    pairs = zip(pg.elements, pg.partitions, strict=True)
    return [(values[element.download(partition.vertices)],) for element, partition in pairs]


def _of_rank(runs: Sequence[SortedRun]) -> tuple[NDArray[np.int64], list[NDArray[Any]]]:
    """Return the rows of all elements in ascending order of keys."""
    if len(runs) == 1:
        return runs[0].keys, runs[0].columns
    keys, columns = joined(runs)
    order = np.argsort(keys, kind="stable")
    return keys[order], [column[order] for column in columns]
