"""PageRank and HITS."""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np

import evener as ev
from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.table import dispatched


@dispatched(weight="weight", only={"nstart": None, "dangling": None})
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


@dispatched(only={"nstart": None, "normalized": True})
def hits(
    G: Any, max_iter: Any = 100, tol: Any = 1.0e-8, nstart: Any = None, normalized: Any = True
) -> tuple[dict[Any, float], dict[Any, float]]:
    if G.n < 3 or not isinstance(max_iter, int) or max_iter < 50:
        raise LeaveToNetworkXError
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        result = ev.hits(G.weighted("weight"), tol=1e-12, max_iter=10_000)
    if not result.outcome["converged"] or not result["hub"].any():
        raise LeaveToNetworkXError
    return G.by_node(result["hub"]), G.by_node(result["authority"])
