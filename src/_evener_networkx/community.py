"""Communities and their modularity.

The methods are random in NetworkX too. A seed gives the same communities on every element, but others than in
NetworkX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.lazy import ev, np
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Iterator


def _number(seed: Any) -> int:
    """Return a seed for Evener, drawn from the generator that NetworkX makes of ``seed=``."""
    if hasattr(seed, "getrandbits"):
        return int(seed.getrandbits(31))
    if hasattr(seed, "randint"):  # a random state of NumPy
        return int(seed.randint(0, 2**31 - 1))
    return int(seed or 0)


def _in_range(G: Any, resolution: Any, weight: Any) -> None:
    """Leave unusual graphs and parameters to NetworkX."""
    if G.n == 0 or G.graph.m == 0 or not isinstance(resolution, int | float) or not resolution > 0:
        raise LeaveToNetworkXError
    weights = G.weighted(weight).weights
    if weights is not None and not weights.any():
        raise LeaveToNetworkXError


@dispatched(passes=150, weight="weight")
def louvain_communities(
    G: Any,
    weight: Any = "weight",
    resolution: Any = 1,
    threshold: Any = 0.0000001,
    max_level: Any = None,
    seed: Any = None,
) -> list[set[Any]]:
    _in_range(G, resolution, weight)
    if (max_level is not None and not max_level > 0) or not threshold >= 0:
        raise LeaveToNetworkXError
    result = ev.louvain(
        G.weighted(weight), resolution=resolution, seed=_number(seed), max_levels=max_level, tol=threshold
    )
    return list(G.groups(result["community"]))


@dispatched(
    passes=300, weight="weight", only={"metric": "modularity", "max_level": None, "theta": 0.01}, since=(3, 7)
)
def leiden_communities(
    G: Any,
    *,
    weight: Any = "weight",
    resolution: Any = 1.0,
    max_level: Any = None,
    seed: Any = None,
    metric: Any = "cpm",
    theta: Any = 0.01,
) -> list[set[Any]]:
    _in_range(G, resolution, weight)
    return _leiden(G, weight, resolution, seed)


@dispatched(name="leiden_communities", weight="weight", only={"max_level": None}, since=(3, 5), before=(3, 7))
def leiden_by_modularity(
    G: Any, weight: Any = "weight", resolution: Any = 1, max_level: Any = None, seed: Any = None
) -> list[set[Any]]:
    return _leiden(G, weight, resolution, seed) if G.n else []


def _leiden(G: Any, weight: Any, resolution: Any, seed: Any) -> list[set[Any]]:
    result = ev.leiden(G.weighted(weight), resolution=resolution, seed=_number(seed))
    return list(G.groups(result["community"]))


@dispatched(passes=10, weight="weight")
def fast_label_propagation_communities(G: Any, *, weight: Any = None, seed: Any = None) -> Iterator[set[Any]]:
    if G.n == 0:
        return iter(())
    result = ev.label_propagation(G.weighted(weight), seed=_number(seed))
    if not result.outcome["converged"]:
        raise LeaveToNetworkXError
    return G.groups(result["community"])  # type: ignore[no-any-return]


@dispatched(weight="weight")
def modularity(G: Any, communities: Any, weight: Any = "weight", resolution: Any = 1) -> float:
    _in_range(G, resolution, weight)
    communities = communities if isinstance(communities, list) else list(communities)
    labels = np.full(G.n, -1, np.int64)
    for label, community in enumerate(communities):
        for number in G.numbers(community):
            if labels[number] >= 0:
                raise LeaveToNetworkXError
            labels[number] = label
    rows = G.weighted(weight)
    if labels.min() < 0:
        raise LeaveToNetworkXError
    result: Any = ev.modularity(rows, labels, resolution=resolution)
    return float(result)


def _no_nodes(_: Any, given: Any) -> str | None:
    return "nodes= is given" if given["nodes"] else None


@dispatched(refuse=_no_nodes)
def maximal_independent_set(G: Any, nodes: Any = None, seed: Any = None) -> list[Any]:
    if G.n == 0 or G.loops.any():
        raise LeaveToNetworkXError
    member = ev.maximal_independent_set(G.graph, seed=_number(seed))["member"]
    return list(G.named(np.flatnonzero(member)))
