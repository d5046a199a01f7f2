"""Core numbers, and the subgraphs that they define."""

from __future__ import annotations

from typing import Any

from _evener_networkx.conversion import LeaveToNetworkXError
from _evener_networkx.lazy import ev
from _evener_networkx.table import dispatched, on_networkx


def _core_numbers(G: Any, given: Any) -> Any:
    """Return the core numbers that the caller gives, or those of the graph."""
    if given is not None:
        return given
    if G.n == 0 or G.loops.any():
        raise LeaveToNetworkXError
    return G.by_node(ev.core_number(G.graph)["core"])


@dispatched(passes=6)
def core_number(G: Any) -> dict[Any, int]:
    return _core_numbers(G, None)  # type: ignore[no-any-return]


@dispatched(passes=6)
def k_core(G: Any, k: Any = None, core_number: Any = None) -> Any:
    return on_networkx("k_core", G, k, _core_numbers(G, core_number))


@dispatched(passes=6)
def k_shell(G: Any, k: Any = None, core_number: Any = None) -> Any:
    return on_networkx("k_shell", G, k, _core_numbers(G, core_number))


@dispatched(passes=6)
def k_crust(G: Any, k: Any = None, core_number: Any = None) -> Any:
    return on_networkx("k_crust", G, k, _core_numbers(G, core_number))


@dispatched(passes=6)
def k_corona(G: Any, k: Any, core_number: Any = None) -> Any:
    return on_networkx("k_corona", G, k, _core_numbers(G, core_number))
