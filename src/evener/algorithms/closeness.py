"""Closeness of each vertex: the reciprocal of the average distance from the vertices that reach it.

Idea: 64 searches run at once, and each level adds its distance to the vertices that it reaches. Sums are
exact integers. Without all sources, the average over a sample estimates that over all vertices.

Encoding: see `evener.primitives.bit_search`; `counts` and `sums` uint64, the searches that reached a vertex,
and their distances.

Wasserman, Faust: Social network analysis (1994); Eppstein, Wang: Fast approximation of centrality (2004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.engine.checkpoints.state import Bounded
from evener.graph.checks import check_bool
from evener.primitives.bit_search import BitSearch, kernels
from evener.primitives.sampled_sources import SAMPLE_OPTIONS, Sample, search_batches
from evener.spec.algorithm import AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "closeness"]

SPEC = AlgorithmSpec(
    name="closeness",
    summary="Closeness centrality, exact or from a sample of sources.",
    run="evener.algorithms.closeness:closeness",
    verify="evener.primitives.distance_verification:check_closeness",
    verifies_parts=True,
    verified_scope="evener.primitives.distance_verification:verified_scope",
    columns=(Column("closeness", real=True),),
    options=(
        *SAMPLE_OPTIONS,
        Option(
            "wf_improved",
            "bool",
            "Multiply by the share of vertices that reach the vertex (default), or not.",
            flags=("--wf-improved/--raw",),
            changes_answer=False,
        ),
    ),
    directions="both",
    reads_every_edge=False,
    # Two words, the words seen, counts and sums; three bitmaps.
    state=StateBytes(8 + 8 + 8 + 8 + 8 + 3, 8 + 8 + 3),
    host_state=StateBytes(8 + 8 + 8 + 8 + 8, 8 + 8),
    traffic=Traffic(pushed=0.125, pulled=8.0),
    unit="64 searches",
    checkpoints=True,
    synonyms=("closeness_centrality", "approx_closeness", "ApproxCloseness"),
)


@driver(SPEC)
def closeness(
    graph: Graph | PartitionedGraph | str,
    *,
    k: int | None = None,
    seed: int = 0,
    wf_improved: bool = True,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the closeness centrality of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A distance is a number of edges, from tail to head; weights do not count.
    k : int, optional
        Number of sources to draw without repeats. Default: all vertices, which is exact.
    seed : int, default 0
        Seed for `k`.
    wf_improved : bool, default True
        Whether to multiply by the share of the other vertices that reach the vertex (Wasserman and Faust).

    Returns
    -------
    Result
        ``closeness``: float64, shape (n,); 0 for vertices that no other vertex reaches. With `k`, `outcome`
        has ``error``: with high probability, no average distance is off by more than this share of the
        largest distance.

    Raises
    ------
    ArgumentError
        If `k` is not between 1 and n.

    Notes
    -----
    Values are those of NetworkX, which also follows the edges to the vertex. The time grows with the sources
    and the edges: n m / 64 for all sources.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> ev.closeness(g)["closeness"].tolist()
    [0.5, 0.75, 0.75, 0.5]
    """
    wf_improved = check_bool(wf_improved, "wf_improved")
    run = begin(SPEC, graph, options)
    sample = Sample.draw(run.graph, k, seed)
    pg = run.place(passes=sample.batches)
    engine = run.engine()
    search = BitSearch(engine)
    counts, sums = engine.owned_array("uint64", 0), engine.owned_array("uint64", 0)
    arguments = {"k": k, "seed": seed}
    with run.checkpoints(engine, arguments) as checkpoints:
        arrays = {"counts": Bounded(counts, 0, pg.graph.n), "sums": Bounded(sums, 0, np.inf)}
        for level in search_batches(engine, search, sample, checkpoints, arrays):
            engine.compute(kernels.add_distances, level.distance, level.changed, level.reached, counts, sums)

    def values() -> NDArray[np.float64]:
        reached, total = (pg.gather(one).astype(np.float64) for one in (counts, sums))
        close = np.zeros(len(total))
        np.divide(reached, total, out=close, where=total > 0)
        if wf_improved:
            close *= reached / sample.others(pg)
        return close

    parameters: dict[str, Any] = {**arguments, "wf_improved": wf_improved}
    return run.finish(
        engine, {"closeness": values}, parameters=parameters, outcome=sample.outcome(), passes=sample.batches
    )
