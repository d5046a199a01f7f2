"""Centralities by paths and by eigenvectors."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from networkx.algorithms.centrality import betweenness as networkx_betweenness

import evener as ev
from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.searches import search, searches, weighted_rows
from _evener_networkx.table import dispatched
from evener.graph.graph import Graph
from evener.graph.networkx import edges_in_node_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evener.results.result import Result


def _endpoints(graph: Any, given: Mapping[str, Any]) -> str | None:
    """Refuse the ends of paths in directed graphs, where each search reaches other vertices."""
    return "endpoints= of a directed graph" if given["endpoints"] and graph.is_directed() else None


def _ends_of_paths(G: Any, sources: Sequence[int]) -> NDArray[np.int64]:
    """Return how many shortest paths from the sources end at each vertex, at either end."""
    labels = ev.wcc(G.graph)["component"]
    is_source = np.zeros(G.n, np.int64)
    is_source[sources] = 1
    size = np.bincount(labels, minlength=G.n)[labels]
    of_component = np.bincount(labels[sources], minlength=G.n)[labels]
    ends: NDArray[np.int64] = is_source * (size - 1) + of_component - is_source
    return ends


def _path_rows(G: Any, weight: Any) -> Graph:
    """Return the rows with the lengths of edges; the lightest of parallel edges counts, as one path."""
    rows = G.simple if weight is None else weighted_rows(G, weight)
    if rows.weights is None:
        return G.simple  # type: ignore[no-any-return]
    if not (rows.weights > 0).all():
        msg = f"the edge attribute {weight!r} has weights of 0"
        raise NotImplementedError(msg)
    if not G.is_multigraph():
        return rows
    tails = np.repeat(np.arange(G.n), G.out_degree)
    order = np.lexsort((rows.weights, rows.targets, tails))
    kept = order[np.diff(tails[order] * G.n + rows.targets[order], prepend=-1) != 0]
    offsets = np.append(0, np.cumsum(np.bincount(tails[kept], minlength=G.n))).astype(np.uint64)
    own = rows.targets[kept], rows.weights[kept]
    return Graph(offsets, own[0], weights=own[1], directed=G.is_directed(), validate=False)


def _sources(G: Any, drawn: list[Any] | None) -> list[int]:
    return list(range(G.n)) if drawn is None else G.numbers(drawn)


@dispatched(work="pairs", passes=3, weight="weight", refuse=_endpoints)
def betweenness_centrality(
    G: Any,
    k: Any = None,
    normalized: Any = True,
    weight: Any = None,
    endpoints: Any = False,
    seed: Any = None,
) -> dict[Any, float]:
    if G.n == 0:
        raise LeaveToNetworkXError
    k = None if k == G.n else k
    drawn = None if k is None else seed.sample(G.nodes, k)
    if drawn == []:
        raise LeaveToNetworkXError
    sources, rows = _sources(G, drawn), _path_rows(G, weight)
    result = ev.betweenness(rows, sources=sources, normalized=False, weights=rows.weights is not None)
    # Without factors, as NetworkX adds them up; its own function then scales them as its version does.
    sums = result["centrality"] * (len(sources) / G.n * (1 if G.is_directed() else 2))
    if endpoints:
        sums += _ends_of_paths(G, sources)
    given = {
        "normalized": normalized,
        "directed": G.is_directed(),
        "k": k,
        "endpoints": endpoints,
        "sampled_nodes": drawn,
    }
    rescale = networkx_betweenness._rescale  # noqa: SLF001 - the scaling of the installed version
    taken = inspect.signature(rescale).parameters
    return rescale(  # type: ignore[no-any-return]
        G.by_node(sums), G.n, **{name: value for name, value in given.items() if name in taken}
    )


@dispatched(work="pairs", passes=4, weight="weight", kind="simple")
def edge_betweenness_centrality(
    G: Any, k: Any = None, normalized: Any = True, weight: Any = None, seed: Any = None
) -> dict[tuple[Any, Any], float]:
    drawn = None if k is None else seed.sample(G.nodes, k)
    if G.n == 0 or drawn == []:
        raise LeaveToNetworkXError
    sources, rows = _sources(G, drawn), _path_rows(G, weight)
    result = ev.edge_betweenness(rows, sources=sources, normalized=False, weights=rows.weights is not None)
    # Without factors, as above.
    sums = result["centrality"] * (len(sources) / G.n * (1 if G.is_directed() else 2))
    # In NetworkX's order of edges, which decides ties. The first end of an undirected edge comes first.
    tails, heads, _, _ = edges_in_node_order(G.source, None)
    kept = slice(None) if G.is_directed() else tails <= heads
    ends = tails[kept].astype(np.int64), heads[kept].astype(np.int64)
    places = np.searchsorted(result["u"] * G.n + result["v"], ends[0] * G.n + ends[1])
    edges = zip(G.named(ends[0]), G.named(ends[1]), strict=True)
    values = dict(zip(edges, sums[places].tolist(), strict=True))
    given = {"normalized": normalized, "directed": G.is_directed()}
    if hasattr(networkx_betweenness, "_rescale_e"):
        return networkx_betweenness._rescale_e(values, G.n, **given)  # type: ignore[no-any-return]  # noqa: SLF001 - as above
    return networkx_betweenness._rescale(values, G.n, **given, sampled_nodes=drawn)  # type: ignore[no-any-return]  # noqa: SLF001 - as above


def _closeness(distance: NDArray[Any], n: int, *, wf_improved: bool) -> float:
    """Return the closeness of a vertex from the distances of the vertices that reach it."""
    total, reached = distance.sum().item(), len(distance) - 1.0
    if not (total > 0 and n > 1):
        return 0.0
    return float(reached / total * (reached / (n - 1) if wf_improved else 1))


@dispatched(work="pairs", weight="distance", only={"sp": None}, newer={"sp": (3, 7)})
def closeness_centrality(
    G: Any, u: Any = None, distance: Any = None, wf_improved: Any = True, *, sp: Any = None
) -> dict[Any, float] | float:
    rows = weighted_rows(G, distance)
    wf_improved = bool(wf_improved)
    if u is not None:
        found = search(G, [G.number(u)], rows=rows.reverse)
        return _closeness(found.distance[found.order], G.n, wf_improved=wf_improved)
    if G.n == 0:
        return {}
    if rows.weights is None:
        return G.by_node(ev.closeness(G.graph, wf_improved=wf_improved)["closeness"])  # type: ignore[no-any-return]
    each = searches(G, range(G.n), rows=rows.reverse)
    values = [_closeness(found.distance[found.order], G.n, wf_improved=wf_improved) for found in each]
    return dict(zip(G.nodes, values, strict=True))


@dispatched(work="pairs", weight="distance", only={"nbunch": None, "sources": None})
def harmonic_centrality(
    G: Any, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    if G.n == 0:
        return {}
    rows = weighted_rows(G, distance)
    if rows.weights is None:
        return G.by_node(ev.harmonic(G.graph)["harmonic"])  # type: ignore[no-any-return]
    values = []
    for found in searches(G, range(G.n), rows=rows.reverse):
        distances = found.distance[found.order]
        values.append(float((1 / distances[distances != 0]).sum()))
    return dict(zip(G.nodes, values, strict=True))


def _converged(run: Callable[..., Result], **arguments: Any) -> NDArray[np.float64]:
    """Return the values of an iteration; NetworkX decides what happens if it does not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        result = run(**arguments)
    if not result.outcome["converged"]:
        raise LeaveToNetworkXError
    values: NDArray[np.float64] = result["centrality"]
    return values


def _enough_iterations(_: Any, given: Mapping[str, Any]) -> str | None:
    """Refuse few iterations and loose tolerances: NetworkX stops at another value, or raises an error."""
    if not isinstance(given["max_iter"], int) or given["max_iter"] < 50 or not 1e-14 < given["tol"] <= 1e-4:
        return "Evener computes the limit, and max_iter= or tol= may end the iteration before it"
    return None


@dispatched(passes=20, weight="weight", only={"nstart": None}, refuse=_enough_iterations)
def eigenvector_centrality(
    G: Any, max_iter: Any = 100, tol: Any = 1.0e-6, nstart: Any = None, weight: Any = None
) -> dict[Any, float]:
    if G.n == 0 or G.graph.m == 0:
        raise LeaveToNetworkXError
    graph = G.weighted(weight)
    # NetworkX stops when the change of values of length 1 is below n * tol. Their sum is at most sqrt(n).
    change = tol * math.sqrt(G.n)
    return G.by_node(_converged(ev.eigenvector, graph=graph, tol=change, max_iter=max_iter))  # type: ignore[no-any-return]


def _one_beta(graph: Any, given: Mapping[str, Any]) -> str | None:
    if not isinstance(given["beta"], int | float) or not given["beta"] > 0:
        return "beta= is not a number above 0"
    if not isinstance(given["alpha"], int | float) or not given["alpha"] >= 0:
        return "alpha= is not a number of at least 0"
    return _enough_iterations(graph, given)


@dispatched(passes=20, weight="weight", only={"nstart": None, "normalized": True}, refuse=_one_beta)
def katz_centrality(
    G: Any,
    alpha: Any = 0.1,
    beta: Any = 1.0,
    max_iter: Any = 1000,
    tol: Any = 1.0e-6,
    nstart: Any = None,
    normalized: Any = True,
    weight: Any = None,
) -> dict[Any, float]:
    if G.n == 0:
        return {}
    graph = G.weighted(weight)
    # A positive beta scales all values, and normalization removes it.
    values = _converged(ev.katz, graph=graph, attenuation=alpha, tol=min(1e-8, tol), max_iter=max_iter)
    return G.by_node(values)  # type: ignore[no-any-return]
