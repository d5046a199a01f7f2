"""Verify PageRank of a graph in parts: the same checks as on one process, with sums over all ranks.

Each rank adds up the in-edges of its own vertices in float64, with its own exchange of the contributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.pagerank import verify_cpu as kernels
from evener.algorithms.pagerank.pagerank import tolerance_of
from evener.algorithms.pagerank.personalization import jumps_of
from evener.algorithms.pagerank.verify import agree, slack_of, warn_not_converged
from evener.algorithms.pagerank.weights import uses_weights
from evener.partition.upload import edges_on_host
from evener.spec.edges_in_parts import EdgesInParts
from evener.spec.verification import edge_blocks, fail

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.results.result import Result

__all__ = ["check"]


def check(result: Result) -> None:
    """Raise VerificationError unless `rank` is the PageRank that the result's parameters ask for."""
    stored, parameters, n = result["rank"], result.parameters, result.graph.n
    if n == 0:
        return
    edges = EdgesInParts(result)
    rule = "a rank is a non-negative number"
    edges.require(np.isfinite(stored) & (stored >= 0), rule, lambda v: f"has {stored[v]}")
    rows = [e.download(p.in_.offsets) for e, p in edges.partitions]
    longest = max(int(np.diff(offsets).max(initial=0)) for offsets in rows)
    slack = slack_of(result, stored.dtype, edges.world.allreduce(longest, "max"))
    total = edges.world.allreduce(float(stored.sum(dtype=np.float64)), "sum")
    if abs(total - 1.0) > slack:
        fail(result, "ranks sum to one", f"expected the sum 1.0, found {total}")
    step = _iteration(edges, rows)
    iterations = int(result.outcome["iterations"])
    expected = np.full(len(stored), 1.0 / n)
    for _ in range(iterations):
        expected = step(expected)
    edges.require(
        agree(stored, expected, iterations),
        f"ranks are those of {iterations} iterations",
        lambda v: f"has {float(stored[v])}, recomputed {expected[v]}",
    )
    rules = {name: parameters[name] for name in ("tol", "stop", "semantics")}
    tolerance = tolerance_of(n, **rules)
    if tolerance == 0.0:
        return
    if not result.outcome["converged"]:
        if iterations < parameters["max_iter"]:
            rule = "a run ends when it converges, or after max_iter"
            fail(result, rule, f"it took {iterations} of {parameters['max_iter']}")
        if result.world.rank == 0:
            warn_not_converged(result)
        return
    moved = float(np.abs(step(stored.astype(np.float64)) - stored).sum())
    moved = edges.world.allreduce(moved, "sum")
    if moved > tolerance + slack:
        detail = f"expected a change of at most {tolerance + slack:.3g} in total, found {moved:.3g}"
        fail(result, "another iteration does not change the ranks", detail)


def _iteration(
    edges: EdgesInParts, rows: list[NDArray[np.uint64]]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function for one iteration in float64 on the ranks of this rank's block.

    `rows` has the offsets of the in-edges of each partition.
    """
    result: Any = edges.result
    pg = result.partitioned
    parameters, damping, block = result.parameters, result.parameters["damping"], result.block
    jumps: Any = jumps_of(edges.graph, parameters["personalization"])
    teleport = 1.0 / edges.graph.n if jumps is None else jumps[block.start : block.stop]
    weighted = uses_weights(edges.graph, parameters["weights"], parameters["semantics"])
    divisor = np.zeros(len(block))
    parts = pg.strength if weighted else [e.download(p.out_degree) for e, p in edges.partitions]
    owned = np.concatenate(pg.owned_vertices())
    edges.combine_at(owned, np.concatenate(parts).astype(np.float64), divisor, np.add)
    dangling = divisor == 0
    divisor[dangling] = 1
    arrays = [
        [
            edges_on_host(array, e)
            for array in (p.in_.targets, p.in_.weights if weighted else None)
            if array is not None
        ]
        for e, p in edges.partitions
    ]

    def step(rank: NDArray[np.float64]) -> NDArray[np.float64]:
        spread = edges.world.allreduce(float(rank.sum(where=dangling)), "sum")
        [given] = edges.fetch(rank / divisor)
        sums, base = [], 0
        for (_, partition), offsets, own in zip(edges.partitions, rows, arrays, strict=True):
            local = given[base : base + partition.owned + partition.mirrors]
            total = np.empty(partition.owned)
            if weighted:
                kernels.weighted_sums(offsets, own[0], own[1], local, total, edge_blocks(offsets))
            else:
                kernels.sums(offsets, own[0], local, total, edge_blocks(offsets))
            sums.append(total)
            base += len(local)
        arriving = np.zeros(len(block))
        edges.combine_at(owned, np.concatenate(sums), arriving, np.add)
        return np.asarray(damping * arriving + (damping * spread + 1.0 - damping) * teleport)

    return step
