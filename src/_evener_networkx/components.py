"""Connected, weakly, strongly connected and attracting components, and trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _evener_networkx.conversion import LeaveToNetworkXError, stable_order
from _evener_networkx.lazy import ev, np
from _evener_networkx.searches import search
from _evener_networkx.table import dispatched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def _count(G: Any) -> int:
    """Return the number of components; NetworkX raises an error for a graph without nodes."""
    if G.n == 0:
        raise LeaveToNetworkXError
    return int(ev.wcc(G.graph).outcome["components"])


@dispatched()
def connected_components(G: Any) -> Iterator[set[Any]]:
    return iter(()) if G.n == 0 else G.groups(ev.wcc(G.graph)["component"])


@dispatched()
def number_connected_components(G: Any) -> int:
    return _count(G) if G.n else 0


@dispatched()
def is_connected(G: Any) -> bool:
    return _count(G) == 1


@dispatched()
def node_connected_component(G: Any, n: Any) -> set[Any]:
    return set(G.named(search(G, [G.number(n)]).order))


@dispatched()
def weakly_connected_components(G: Any) -> Iterator[set[Any]]:
    return connected_components(G)  # type: ignore[no-any-return]


@dispatched()
def number_weakly_connected_components(G: Any) -> int:
    return _count(G) if G.n else 0


@dispatched()
def is_weakly_connected(G: Any) -> bool:
    return _count(G) == 1


def _strong(G: Any) -> NDArray[np.int64]:
    """Return the first vertex of the strongly connected component of each vertex."""
    labels: NDArray[np.int64] = ev.scc(G.graph)["component"] if G.n else np.empty(0, np.int64)
    return labels


@dispatched(passes=2)
def strongly_connected_components(G: Any) -> Iterator[set[Any]]:
    if G.n == 0:
        return iter(())
    ranks = G.ranks(_strong(G))
    count = int(ranks.max()) + 1
    tails, heads = np.repeat(ranks, G.out_degree), ranks[G.graph.targets]
    leaving = np.flatnonzero(tails != heads)
    between = np.unique(tails[leaving] * np.uint64(count) + heads[leaving])
    starts = np.searchsorted(between, np.arange(count + 1, dtype=np.uint64) * np.uint64(count))
    position = np.empty(count, np.int64)
    position[_postorder(starts.tolist(), (between % np.uint64(count)).tolist())] = np.arange(count)
    return G.sets(position[ranks])  # type: ignore[no-any-return]


def _postorder(starts: list[int], heads: list[int]) -> list[int]:
    """Return the components in the order in which a depth-first search leaves them, as NetworkX does."""
    count, left = len(starts) - 1, []
    seen, at = bytearray(count), starts[:-1]
    for root in range(count):
        if seen[root]:
            continue
        seen[root] = True
        path = [root]
        while path:
            tail = path[-1]
            if at[tail] == starts[tail + 1]:
                left.append(path.pop())
                continue
            head = heads[at[tail]]
            at[tail] += 1
            if not seen[head]:
                seen[head] = True
                path.append(head)
    return left


@dispatched(only={"source": None})
def kosaraju_strongly_connected_components(G: Any, source: Any = None) -> Iterator[set[Any]]:
    return strongly_connected_components(G)  # type: ignore[no-any-return]


@dispatched()
def number_strongly_connected_components(G: Any) -> int:
    return len(np.unique(_strong(G)))


@dispatched()
def is_strongly_connected(G: Any) -> bool:
    if G.n == 0:
        raise LeaveToNetworkXError
    return number_strongly_connected_components(G) == 1  # type: ignore[no-any-return]


def _attracting(G: Any) -> NDArray[np.int64]:
    """Return the label of each vertex if no edge leaves its component, and else -1."""
    labels = _strong(G)
    tails = np.repeat(labels, G.out_degree)
    leaving = np.zeros(G.n, np.bool_)
    leaving[tails[tails != labels[G.graph.targets]]] = True
    return np.where(leaving[labels], -1, labels)


@dispatched()
def attracting_components(G: Any) -> Iterator[set[Any]]:
    if G.n == 0:
        return iter(())
    labels = _attracting(G)
    members = np.flatnonzero(labels >= 0)
    members = members[stable_order(labels[members])]
    starts = np.flatnonzero(np.diff(labels[members], prepend=-1))
    return (set(G.named(component)) for component in np.split(members, starts[1:]))


@dispatched()
def number_attracting_components(G: Any) -> int:
    labels = _attracting(G)
    return len(np.unique(labels[labels >= 0]))


@dispatched()
def is_attracting_component(G: Any) -> bool:
    return number_strongly_connected_components(G) == 1  # type: ignore[no-any-return]


@dispatched()
def is_tree(G: Any) -> bool:
    return _count(G) == 1 and G.edges == G.n - 1


@dispatched()
def is_forest(G: Any) -> bool:
    return bool(_count(G) == G.n - G.edges)


@dispatched()
def is_arborescence(G: Any) -> bool:
    return is_tree(G) and int(G.in_degree.max()) <= 1


@dispatched()
def is_branching(G: Any) -> bool:
    return is_forest(G) and int(G.in_degree.max()) <= 1
