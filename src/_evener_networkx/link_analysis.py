"""PageRank and HITS."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import evener as ev
from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.table import VERSION, dispatched

if TYPE_CHECKING:
    from collections.abc import Mapping


@dispatched(passes=10, weight="weight", only={"nstart": None, "dangling": None})
def pagerank(
    G: Any,
    alpha: Any = 0.85,
    personalization: Any = None,
    max_iter: Any = 100,
    tol: Any = 1e-6,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
) -> dict[Any, float]:
    if G.n == 0 or not isinstance(max_iter, int) or max_iter < 1 or not tol > 0:
        raise LeaveToNetworkXError
    jumps = None
    if personalization is not None:
        jumps = np.array([personalization.get(node, 0) for node in G.nodes], dtype=float)
        if jumps.sum() == 0:
            raise LeaveToNetworkXError
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        result = ev.pagerank(
            G.weighted(weight),
            damping=alpha,
            tol=tol,
            stop="networkx",
            max_iter=max_iter,
            personalization=jumps,
            dtype="float64",
        )
    if not result.outcome["converged"]:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.by_node(result["rank"])  # type: ignore[no-any-return]


def _singular_vectors(_: Any, given: Mapping[str, Any]) -> str | None:
    """Refuse the sign and the scale of a singular vector, which are not those of an iteration."""
    iterates = VERSION >= (3, 7) and given["method"] == "power_iteration"
    return None if iterates or given["normalized"] is True else "normalized= is supported only as True"


@dispatched(passes=10, only={"nstart": None}, refuse=_singular_vectors, newer={"method": (3, 7)})
def hits(
    G: Any,
    max_iter: Any = 100,
    tol: Any = 1.0e-8,
    nstart: Any = None,
    normalized: Any = True,
    *,
    method: Any = "power_iteration",
) -> tuple[dict[Any, float], dict[Any, float]]:
    iterates = VERSION >= (3, 7) and method == "power_iteration"
    if G.n < 3 or not isinstance(max_iter, int) or max_iter < 50 or method not in ("power_iteration", "svd"):
        raise LeaveToNetworkXError
    limit, change = 10_000, 1e-12
    if iterates:  # NetworkX raises an error if its hubs, of maximum 1, do not converge
        limit, change = 2 * max_iter, min(1e-8, max(tol / G.n, 1e-12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        # NetworkX starts with equal hubs, and Evener with equal authorities: those of the reverse graph.
        result = ev.hits(G.weighted("weight").reverse, tol=change, max_iter=limit)
    hubs, authorities = result["authority"], result["hub"]
    if not result.outcome["converged"] or not hubs.any():
        raise LeaveToNetworkXError
    if not normalized:
        hubs, authorities = hubs / hubs.max(), authorities / authorities.max()
    return G.by_node(hubs), G.by_node(authorities)
