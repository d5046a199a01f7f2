"""Whether Evener is expected to be faster than NetworkX, from the size of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _evener_networkx.conversion import ConvertedGraph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _evener_networkx.table import Dispatched

__all__ = ["reason_against_running"]

# Steps that NetworkX does in about a second: vertices and edges read, for each source.
_STEPS_PER_SECOND = 3e6
# Seconds of the first call of a function in this process, which loads kernels, and of a later call.
_FIRST, _LATER = 1.0, 0.02

_called: set[str] = set()


def reason_against_running(
    function: Dispatched, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> str | None:
    """Return why NetworkX is expected to be faster, or None."""
    name = function.name
    if function.work == "degrees":
        return "NetworkX answers in the time of a conversion"
    given = function.signature.bind(*args, **kwargs).arguments
    graph = given["G"]
    n = len(graph)
    steps = (n + _edges(graph)) * function.passes
    if function.work == "pairs":
        drawn = given.get("k")
        steps *= 1 if given.get("u") is not None else drawn if isinstance(drawn, int) and drawn else n
    expected, overhead = steps / _STEPS_PER_SECOND, _LATER if name in _called else _FIRST
    if expected < overhead:
        return f"NetworkX is expected to take {expected:.2g} s, and Evener at least {overhead:.2g} s"
    _called.add(name)
    return None


def _edges(graph: Any) -> int:
    """Return the number of edges about; an undirected edge counts once or twice."""
    backends = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {})
    for kept in backends.get("evener", {}).values():
        if isinstance(kept, ConvertedGraph):
            return int(kept.graph.m)
    # NetworkX counts edges in a loop of Python; the lengths of the rows are read faster.
    rows = getattr(graph, "_adj", None)
    return sum(map(len, rows.values())) if isinstance(rows, dict) else int(graph.number_of_edges())
