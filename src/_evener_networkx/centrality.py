"""Centralities by paths and by eigenvectors."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import TYPE_CHECKING, Any

from networkx.algorithms.centrality import betweenness as networkx_betweenness

from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.lazy import ev, np
from _evener_networkx.searches import search, searches, weighted_rows
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.results.result import Result


def _ends_of_paths(G: Any, sources: Sequence[int]) -> NDArray[np.int64]:
    """Return how many shortest paths from the sources end at each vertex, at either end."""
    ends = np.zeros(G.n, np.int64)
    if G.is_directed():
        for source, found in zip(sources, searches(G, sources), strict=True):
            ends[found.order] += 1
            ends[source] += len(found.order) - 2
        return ends
    labels = ev.wcc(G.graph)["component"]
    is_source = np.zeros(G.n, np.int64)
    is_source[sources] = 1
    size = np.bincount(labels, minlength=G.n)[labels]
    of_component = np.bincount(labels[sources], minlength=G.n)[labels]
    ends += is_source * (size - 1) + of_component - is_source
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
    return ev.Graph(offsets, own[0], weights=own[1], directed=G.is_directed(), validate=False)


def _sources(G: Any, drawn: list[Any] | None) -> list[int]:
    return list(range(G.n)) if drawn is None else G.numbers(drawn)


@dispatched(work="pairs", passes=3, weight="weight")
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
    from evener.graph.networkx import edges_in_node_order

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


def _inverse(distances: NDArray[Any]) -> NDArray[np.float64]:
    """Return one over each distance, and 0 for a distance of 0."""
    inverse: NDArray[np.float64] = np.divide(
        1.0, distances, out=np.zeros(len(distances)), where=distances != 0
    )
    return inverse


@dispatched(work="pairs", weight="distance")
def harmonic_centrality(
    G: Any, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    # Sets as NetworkX builds them: their order is that of its keys.
    heads = set(G.nodes if nbunch is None else G.source.nbunch_iter(nbunch))
    tails = set(G.nodes if sources is None else G.source.nbunch_iter(sources))
    rows = weighted_rows(G, distance)
    if rows.weights is None and len(heads) == len(tails) == G.n > 0:
        values = ev.harmonic(G.graph)["harmonic"]
    elif len(heads) < len(tails):
        chosen, values = G.numbers(tails), np.zeros(G.n)
        numbers = G.numbers(heads)
        for number, found in zip(numbers, searches(G, numbers, rows=rows.reverse), strict=True):
            reached = np.intersect1d(found.order, chosen)
            values[number] = _inverse(found.distance[reached]).sum()
    else:
        values = np.zeros(G.n)
        for found in searches(G, G.numbers(tails), rows=rows):
            values[found.order] += _inverse(found.distance[found.order])
    centrality = G.by_node(values)
    return {node: centrality[node] for node in heads}


def _converged(run: Callable[..., Result], **arguments: Any) -> Result:
    """Return the result of an iteration; NetworkX decides what happens if it does not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        result = run(**arguments)
    if not result.outcome["converged"]:
        raise LeaveToNetworkXError
    return result


def _enough_iterations(_: Any, given: Mapping[str, Any]) -> str | None:
    """Refuse few iterations and loose tolerances: NetworkX stops at another value, or raises an error."""
    if not isinstance(given["max_iter"], int) or given["max_iter"] < 50 or not 1e-14 < given["tol"] <= 1e-4:
        return "Evener computes the limit, and max_iter= or tol= may end the iteration before it"
    return None


def _values(G: Any, given: Any) -> NDArray[np.float64]:
    """Return the numbers of nodes by vertex; leave a mapping with other keys or values to NetworkX."""
    if not isinstance(given, dict) or set(given) != set(G.nodes):
        raise LeaveToNetworkXError
    if not all(isinstance(value, int | float) and abs(value) < np.inf for value in given.values()):
        raise LeaveToNetworkXError
    return np.array([given[node] for node in G.nodes], np.float64)


def _has_one_limit(G: Any, graph: Graph, first: NDArray[np.float64]) -> bool:
    """Return whether an iteration from these values ends at the only eigenvector without negative values."""
    if (first < 0).any() or not first.any():
        return False
    if graph.weights is not None and not (graph.weights > 0).all():
        return False
    components = ev.scc(G.graph) if G.is_directed() else ev.wcc(G.graph)
    return not components["component"].any()


@dispatched(passes=20, weight="weight", refuse=_enough_iterations)
def eigenvector_centrality(
    G: Any, max_iter: Any = 100, tol: Any = 1.0e-6, nstart: Any = None, weight: Any = None
) -> dict[Any, float]:
    if G.n == 0 or G.graph.m == 0:
        raise LeaveToNetworkXError
    graph = G.weighted(weight)
    if nstart is not None and not _has_one_limit(G, graph, _values(G, nstart)):
        raise LeaveToNetworkXError
    # NetworkX stops when the change of values of length 1 is below n * tol. Their sum is at most sqrt(n).
    change = tol * math.sqrt(G.n)
    centrality = _converged(ev.eigenvector, graph=graph, tol=change, max_iter=max_iter)
    return _in_order(G.by_node(centrality["centrality"]), nstart)


def _in_order(values: dict[Any, float], nstart: Any) -> dict[Any, float]:
    """Return the values in the order of the first values, as NetworkX does."""
    return values if nstart is None else {node: values[node] for node in nstart}


def _katz_program(alpha: float, first: NDArray[np.float64], base: NDArray[np.float64]) -> ev.VertexProgram:
    """Return NetworkX's iteration: `base` plus `alpha` times the values of in-neighbours."""

    def send(state: Any, weight: Any) -> Any:
        return weight * state.value

    def apply(state: Any, message: Any) -> Any:
        return (state.base + alpha * message, state.base), True

    return ev.VertexProgram(
        state={"value": first, "base": base}, send=send, combine=lambda a, b: a + b, apply=apply
    )


def _numbers(_: Any, given: Mapping[str, Any]) -> str | None:
    if not isinstance(given["alpha"], int | float) or not isinstance(given["beta"], int | float | dict):
        return "alpha= or beta= is neither a number nor a dictionary"
    return None


@dispatched(passes=20, weight="weight", refuse=_numbers)
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
    if not isinstance(max_iter, int) or max_iter < 1 or not tol > 0:
        raise LeaveToNetworkXError
    first = np.zeros(G.n) if nstart is None else _values(G, nstart)
    base = _values(G, beta) if isinstance(beta, dict) else np.full(G.n, float(beta))
    try:
        result = _converged(
            ev.vertex_program,
            graph=G.weighted(weight),
            program=_katz_program(float(alpha), first, base),
            until=float(G.n * tol),
            max_iter=max_iter,
        )
    except ev.ArgumentError:  # a value overflows
        raise LeaveToNetworkXError from None
    values = result["value"]
    if normalized:
        values = values / (np.linalg.norm(values) or 1.0)
    return _in_order(G.by_node(values), nstart)
