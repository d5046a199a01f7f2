"""The table of dispatched functions, and the decorator `dispatched` that adds a function to it."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx

from _evener_networkx.conversion import ConvertedGraph, LeaveToNetworkXError
from _evener_networkx.lazy import ev

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Refusal = Callable[[Any, Mapping[str, Any]], str | None]

__all__ = ["TABLE", "VERSION", "Dispatched", "dispatched", "on_networkx"]

VERSION = tuple(map(int, nx.__version__.split(".")[:2]))


class Dispatched(NamedTuple):
    """A function of NetworkX that Evener computes.

    Attributes
    ----------
    name : str
    call : callable
        The function, which takes converted graphs.
    signature : Signature
    only : mapping of str to value
        Parameters that Evener supports with one value only.
    weight : str or None
        The parameter that names an edge attribute.
    kind : {"any", "simple", "undirected", "undirected simple", "directed simple"}
        The graphs that Evener supports.
    work : {"edges", "pairs", "degrees"}
        What the time grows with: edges, edges times vertices, or vertices.
    passes : int
        How often NetworkX reads all edges, compared with a search from one vertex.
    refuse : callable or None
        Returns why Evener does not support the arguments, or None.
    """

    name: str
    call: Callable[..., Any]
    signature: inspect.Signature
    only: Mapping[str, Any]
    weight: str | None
    kind: str
    work: str
    passes: int
    refuse: Refusal | None

    def reason_against(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Return why Evener does not run a call, or None if it does."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            return str(error)
        bound.apply_defaults()
        given = bound.arguments
        graph = given["G"]
        if changed := _changed_methods(type(graph)):
            return f"the class of the graph has its own {', '.join(sorted(changed))}"
        if iterators := [name for name, value in given.items() if hasattr(value, "__next__")]:
            return f"{iterators[0]}= is an iterator, which a call that NetworkX repeats would find used up"
        if self.kind.startswith("directed") and not graph.is_directed():
            return "the graph is undirected"
        if "undirected" in self.kind and graph.is_directed():
            return "the graph is directed"
        if "simple" in self.kind and graph.is_multigraph():
            return "the graph is a multigraph"
        for name, value in self.only.items():
            if type(given[name]) is not type(value) or given[name] != value:
                return f"{name}= is supported only as {value!r}"
        if self.weight is not None and not isinstance(given[self.weight], str | None):
            return f"{self.weight}= is not a string"
        return self.refuse(graph, given) if self.refuse else None


# Attributes that read a graph. Evener reads `_adj` in their place.
_READ = {"_adj", "_pred", "_succ", "__getitem__", "__iter__", "__len__", "adj", "adjacency", "nodes", "edges"}
_READ |= {"in_degree", "in_edges", "neighbors", "out_degree", "out_edges", "pred", "predecessors", "succ"}
_READ |= {"degree", "is_directed", "is_multigraph", "successors"}


def _changed_methods(kind: type[Any]) -> set[str]:
    """Return the attributes that read a graph and that a class outside of NetworkX's own four changes."""
    four = {nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph, ConvertedGraph, object}
    return {name for base in set(kind.__mro__) - four for name in _READ & set(vars(base))}


TABLE: dict[str, Dispatched] = {}


def dispatched(
    *,
    only: Mapping[str, Any] | None = None,
    weight: str | None = None,
    kind: str = "any",
    work: str = "edges",
    passes: int = 1,
    refuse: Refusal | None = None,
    name: str | None = None,
    since: tuple[int, int] = (3, 4),
    before: tuple[int, int] | None = None,
    newer: Mapping[str, tuple[int, int]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of NetworkX of the same signature; see `Dispatched`.

    NetworkX has the function under `name` (default: its name here), from the version `since` to the last
    version before `before`. It has the parameters in `newer` from their versions on. If the function raises
    `LeaveToNetworkXError`, NetworkX does the call, with its own errors.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        called = name or function.__name__

        @functools.wraps(function)
        def call(G: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return function(G, *args, **kwargs)
            except LeaveToNetworkXError:
                return on_networkx(called, G, *args, **kwargs)
            except ev.ArgumentError as error:
                raise NotImplementedError(str(error)) from error

        if since <= VERSION and (before is None or before > VERSION):
            signature = inspect.signature(function)
            missing = {parameter for parameter, version in (newer or {}).items() if version > VERSION}
            present = [p for p in signature.parameters.values() if p.name not in missing]
            supported = {
                parameter: value for parameter, value in (only or {}).items() if parameter not in missing
            }
            signature = signature.replace(parameters=present)
            TABLE[called] = Dispatched(called, call, signature, supported, weight, kind, work, passes, refuse)
        return call

    return declare


def on_networkx(name: str, graph: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the answer of NetworkX's own function."""
    function = nx.utils.backends._registered_algorithms[name]  # noqa: SLF001 - names may be in submodules
    return function(graph.source, *args, backend="networkx", **kwargs)
