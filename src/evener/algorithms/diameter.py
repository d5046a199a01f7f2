"""Diameter of a graph: the largest distance between two vertices of which the first reaches the second.

Idea, encoding and sources: see `evener.primitives.distance_bounds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral
from evener.primitives.distance_bounds import HOST_STATE, STATE, EccentricityBounds
from evener.spec.algorithm import AlgorithmSpec, Column, Option, Traffic
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "diameter"]

SPEC = AlgorithmSpec(
    name="diameter",
    summary="Largest distance between two vertices, exact or as bounds.",
    run="evener.algorithms.diameter:diameter",
    verify="evener.primitives.distance_verification:check_diameter",
    verifies_parts=True,
    verified_scope="evener.primitives.distance_verification:verified_scope",
    row="graph",
    columns=(Column("diameter"), Column("upper"), Column("source", "vertex"), Column("target", "vertex")),
    options=(
        Option("max_searches", "int", "Vertices to search from before ending with bounds (default: all)."),
    ),
    directions="both",
    reads_every_edge=False,
    state=STATE,
    host_state=HOST_STATE,
    traffic=Traffic(pushed=0.125, pulled=8.0),
    unit="64 searches",
    checkpoints=True,
    synonyms=("Diameter", "diameter_approx", "effective_diameter"),
)


@driver(SPEC)
def diameter(
    graph: Graph | PartitionedGraph | str, *, max_searches: int | None = None, **options: Unpack[RunOptions]
) -> Result:
    """Return the diameter of a graph: the largest distance from a vertex to one that it reaches.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A distance is a number of edges, from tail to head; weights do not count.
    max_searches : int, optional
        Number of vertices to search from, after which the run ends with bounds. Default: the run is exact.

    Returns
    -------
    TableResult
        One row with the columns ``diameter``, the largest distance that was found; ``upper``, which no
        distance exceeds; ``source`` and ``target``, a pair at this distance, or -1 in the empty graph.
        ``diameter`` and ``upper`` are equal unless `max_searches` ended the run. ``float(result)`` is the
        diameter. `outcome` has ``searches``, the number of vertices from which searches ran.

    Raises
    ------
    ArgumentError
        If `max_searches` is not an integer of at least 1.

    Notes
    -----
    Only pairs count of which the first vertex reaches the second, as in igraph. NetworkX raises an error if
    a vertex does not reach all others. The time grows with the searches and the edges.

    Examples
    --------
    >>> import evener as ev
    >>> r = ev.diameter(ev.read("grid:30x20"))
    >>> int(r["diameter"][0]), int(r["upper"][0])
    (48, 48)
    """
    if max_searches is not None and (not is_integral(max_searches) or max_searches < 1):
        msg = f"max_searches=: expected an integer of at least 1, found {max_searches!r}"
        raise ArgumentError(msg)
    run = begin(SPEC, graph, options)
    engine = run.engine()
    bounds = EccentricityBounds(engine)
    parameters = {"max_searches": max_searches}
    with run.checkpoints(engine, parameters) as checkpoints:
        bounds.tighten(checkpoints, only_largest=True, most=max_searches)
    upper = bounds.largest_upper()
    row = (0, 0, -1, -1)
    if engine.partitioned.graph.n:
        engine.superstep("pair", active=engine.owned)
        _, source = bounds.largest_lower()
        found, target = bounds.farthest(source)
        row = (found, max(found, upper), source, target)
    arrays = {one.name: np.array([value]) for one, value in zip(SPEC.columns, row, strict=True)}
    return run.finish(engine, arrays, parameters=parameters, outcome={"searches": bounds.searches})
