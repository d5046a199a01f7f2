"""PageRank and HITS."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.lazy import ev, np
from _evener_networkx.table import VERSION, dispatched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph


def _shares(G: Any, given: Any) -> NDArray[np.float64] | None:
    """Return the values of nodes by vertex, with the sum 1; None without values."""
    if given is None:
        return None
    values = np.array([given.get(node, 0) for node in G.nodes], dtype=float)
    if not (values >= 0).all() or not 0 < values.sum() < np.inf:
        raise LeaveToNetworkXError
    shares: NDArray[np.float64] = values / values.sum()
    return shares


def _ranks(G: Any, weight: Any, alpha: Any, jumps: Any, stop: Mapping[str, Any]) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        result = ev.pagerank(
            G.weighted(weight), damping=alpha, personalization=jumps, dtype="float64", **stop
        )
    if not result.outcome["converged"]:
        raise LeaveToNetworkXError
    ranks: NDArray[np.float64] = result["rank"]
    return ranks


@dispatched(passes=10, weight="weight")
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
    jumps, elsewhere = _shares(G, personalization), _shares(G, dangling)
    if nstart is None and elsewhere is None:
        stop = {"tol": tol, "stop": "networkx", "max_iter": max_iter}
        return G.by_node(_ranks(G, weight, alpha, jumps, stop))  # type: ignore[no-any-return]
    # Evener computes the limit, which does not depend on the first values.
    if max_iter < 50 or tol > 1e-4 or not 0 <= alpha < 1:
        raise LeaveToNetworkXError
    _shares(G, nstart)
    limit = {"tol": 1e-12, "max_iter": 10_000}
    ranks = _ranks(G, weight, alpha, jumps, limit)
    if elsewhere is not None:
        ranks = _with_dangling(G, weight, alpha, ranks, _ranks(G, weight, alpha, elsewhere, limit))
    return G.by_node(ranks)  # type: ignore[no-any-return]


def _with_dangling(
    G: Any, weight: Any, alpha: float, ranks: NDArray[np.float64], others: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ranks where dangling vertices jump as in `others`, and the other vertices as in `ranks`.

    The rank of dangling vertices is d, and R is the inverse of 1 - alpha A. If all vertices jump by p, ranks
    are (1 - alpha + alpha d) R p. If dangling vertices jump by q, they are (1 - alpha) R p + alpha d R q.
    """
    rows = G.weighted(weight)
    out = G.out_degree if rows.weights is None else _row_sums(rows)
    is_dangling = out == 0
    of_jumps, of_dangling = (
        values / (1 - alpha + alpha * values[is_dangling].sum()) for values in (ranks, others)
    )
    rank = (1 - alpha) * of_jumps[is_dangling].sum() / (1 - alpha * of_dangling[is_dangling].sum())
    result: NDArray[np.float64] = (1 - alpha) * of_jumps + alpha * rank * of_dangling
    return result


def _row_sums(rows: Graph) -> NDArray[np.float64]:
    tails = np.repeat(np.arange(rows.n), np.diff(rows.offsets).astype(np.int64))
    return np.bincount(tails, rows.weights, minlength=rows.n).astype(np.float64)


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
    if (
        G.n < 3
        or G.graph.m == 0
        or not isinstance(max_iter, int)
        or max_iter < 50
        or method not in ("power_iteration", "svd")
    ):
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
