"""Eccentricity of each vertex: the largest distance from it to a vertex that it reaches.

Idea, encoding and sources: see `evener.primitives.distance_bounds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.primitives.distance_bounds import HOST_STATE, STATE, EccentricityBounds
from evener.spec.algorithm import AlgorithmSpec, Column, Traffic
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "eccentricity"]

SPEC = AlgorithmSpec(
    name="eccentricity",
    summary="Largest distance from each vertex.",
    run="evener.algorithms.eccentricity:eccentricity",
    verify="evener.primitives.distance_verification:check_eccentricity",
    verifies_parts=True,
    verified_scope="evener.primitives.distance_verification:verified_scope",
    columns=(Column("eccentricity"),),
    directions="both",
    reads_every_edge=False,
    state=STATE,
    host_state=HOST_STATE,
    traffic=Traffic(pushed=0.125, pulled=8.0),
    unit="64 searches",
    checkpoints=True,
    synonyms=("eccentricities", "Eccentricity"),
)


@driver(SPEC)
def eccentricity(graph: Graph | PartitionedGraph | str, **options: Unpack[RunOptions]) -> Result:
    """Return the eccentricity of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A distance is a number of edges, from tail to head; weights do not count.

    Returns
    -------
    Result
        ``eccentricity``: int64, shape (n,), the largest distance from the vertex to a vertex that it reaches;
        0 if it reaches no other. `outcome` has ``searches``, the number of vertices from which searches ran.

    Notes
    -----
    The time grows with the searches and the edges. In graphs with a few central vertices, hundreds of
    searches are enough. If distances hardly differ, as in random graphs, all n vertices are searched from.

    Values are those of igraph. NetworkX raises an error if a vertex does not reach all others.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> ev.eccentricity(g)["eccentricity"].tolist()
    [3, 2, 2, 3]
    """
    run = begin(SPEC, graph, options)
    engine = run.engine()
    bounds = EccentricityBounds(engine)
    with run.checkpoints(engine, {}) as checkpoints:
        bounds.tighten(checkpoints, only_largest=False)
    gather = engine.partitioned.gather
    arrays = {"eccentricity": lambda: gather(bounds.lower.parts).astype(np.int64)}
    return run.finish(engine, arrays, outcome={"searches": bounds.searches})
