"""Harmonic centrality of each vertex: the sum of the reciprocal distances from all other vertices.

Idea: 64 searches run at once, and each level adds its reciprocal distance to the vertices that it reaches.
Each vertex adds the levels in order, so the sum does not depend on the split. Encoding: see
`evener.primitives.bit_search`; `sums` float64.

Marchiori, Latora: Harmony in the small-world (2000); Boldi, Vigna: Axioms for centrality (2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.engine.checkpoints.state import Bounded
from evener.primitives.bit_search import BitSearch, kernels
from evener.primitives.sampled_sources import SAMPLE_OPTIONS, Sample, search_batches
from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "harmonic"]

SPEC = AlgorithmSpec(
    name="harmonic",
    summary="Harmonic centrality, exact or from a sample of sources.",
    run="evener.algorithms.harmonic:harmonic",
    verify="evener.primitives.distance_verification:check_harmonic",
    verifies_parts=True,
    verified_scope="evener.primitives.distance_verification:verified_scope",
    columns=(Column("harmonic", real=True),),
    options=SAMPLE_OPTIONS,
    directions="both",
    reads_every_edge=False,
    # Two words, the words seen, and sums; three bitmaps.
    state=StateBytes(8 + 8 + 8 + 8 + 3, 8 + 8 + 3),
    host_state=StateBytes(8 + 8 + 8 + 8, 8 + 8),
    traffic=Traffic(pushed=0.125, pulled=8.0),
    unit="64 searches",
    checkpoints=True,
    synonyms=("harmonic_centrality", "HarmonicCloseness"),
)


@driver(SPEC)
def harmonic(
    graph: Graph | PartitionedGraph | str,
    *,
    k: int | None = None,
    seed: int = 0,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the harmonic centrality of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        A distance is a number of edges, from tail to head; weights do not count.
    k : int, optional
        Number of sources to draw without repeats. Default: all vertices, which is exact.
    seed : int, default 0
        Seed for `k`.

    Returns
    -------
    Result
        ``harmonic``: float64, shape (n,); 0 for vertices that no other vertex reaches. With `k`, values are
        multiplied by n - 1 over the number of sources other than the vertex. `outcome` then has ``error``:
        with high probability, no average reciprocal distance is off by more than this.

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
    >>> g = ev.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=True)
    >>> ev.harmonic(g)["harmonic"].tolist()
    [0.0, 1.0, 1.5, 1.8333333333333333]
    """
    run = begin(SPEC, graph, options)
    sample = Sample.draw(run.graph, k, seed)
    pg = run.place(passes=sample.batches)
    engine = run.engine()
    search, sums = BitSearch(engine), engine.owned_array("float64", 0)
    arguments = {"k": k, "seed": seed}
    with run.checkpoints(engine, arguments) as checkpoints:
        arrays = {"sums": Bounded(sums, 0, np.inf)}
        for level in search_batches(engine, search, sample, checkpoints, arrays):
            engine.compute(kernels.add_reciprocals, level.distance, level.changed, level.reached, sums)

    def values() -> NDArray[np.float64]:
        return pg.gather(sums) * (max(pg.graph.n - 1, 1) / sample.others(pg))

    return run.finish(
        engine, {"harmonic": values}, parameters=arguments, outcome=sample.outcome(), passes=sample.batches
    )
