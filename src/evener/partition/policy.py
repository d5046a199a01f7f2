"""Policy: the rule that decides the element that owns each vertex.

Each module of `evener.partition.policies` is a policy. `high.py` is the policy "high". A module whose name
begins with a family of Guo et al. (2016, "G16") has the name of the paper: `c_pg.py` is "C-PG".

G16 orders and balances by out-edges, because TOTEM stores out-edges. Evener orders and balances by the edges
that it stores with a vertex: out-edges, in-edges or both. In an undirected graph all three are the same.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.graph.graph import Graph

    Owners = Callable[["Vertices", "Processors", int], NDArray[Any]]

__all__ = [
    "PLANNED",
    "Policy",
    "Processors",
    "Vertices",
    "check_needs",
    "check_policy",
    "find_policy",
    "policy_names",
]

_FOLDER = "evener.partition.policies"
# First parts of the names of modules whose policies have the names of the paper.
_FAMILIES = ("c_", "dp_", "pd_")

# The policies among which a plan chooses. Other policies have the same predicted time as one of them.
PLANNED = ("high", "low", "random")

Needs = Literal["numbers", "positions", "degrees", "edges"]
_NEEDS: dict[Needs, str] = {
    "numbers": "the numbers of the vertices",
    "positions": "the positions of the vertices in descending degree",
    "degrees": "the degrees of all vertices",
    "edges": "all edges of the graph",
}


class Vertices(NamedTuple):
    """The vertices of a graph as a policy sees them.

    Attributes
    ----------
    by_degree : ndarray of uint32, shape (n,)
        The vertices in descending degree.
    degree : ndarray of uint32 or uint64, shape (n,)
        Number of edges that are stored with each vertex: the edges whose shares are given.
    total_degree : ndarray of uint32 or uint64, shape (n,)
        Number of in-edges and out-edges of each vertex of a directed graph, whatever is stored.
    graph : Graph or None
        The edges, for policies that need them.
    """

    by_degree: NDArray[np.uint32]
    degree: NDArray[np.unsignedinteger[Any]]
    total_degree: NDArray[np.unsignedinteger[Any]]
    graph: Graph | None = None


class Processors(NamedTuple):
    """The elements of all ranks as a policy sees them.

    Attributes
    ----------
    shares : ndarray of float64, shape (elements,)
        Share of the stored edges of each element. The shares sum to 1.
    on_cpu : ndarray of bool, shape (elements,)
        Whether each element is a CPU.
    ranks : ndarray of int64, shape (elements,)
        The rank of each element. A rank is a machine of G16.
    most_edges : ndarray of float64, shape (elements,)
        Edges that fit the memory of each element; infinite for a CPU.
    """

    shares: NDArray[np.float64]
    on_cpu: NDArray[np.bool_]
    ranks: NDArray[np.int64]
    most_edges: NDArray[np.float64]

    @property
    def cpu_side(self) -> NDArray[np.bool_]:
        """Whether each element is on the CPU side. Without a GPU, it is the first element of each rank."""
        if not self.on_cpu.all():
            return self.on_cpu
        return np.asarray(np.diff(self.ranks, prepend=-1) != 0)


class Policy(NamedTuple):
    """A rule that decides the owner of each vertex. Each module of `policies` has one named `POLICY`.

    Attributes
    ----------
    owners : callable
        Called with `Vertices`, `Processors` and a seed. Returns the element that owns each vertex, an ndarray
        of shape (n,) with the type of `owner_array`.
    needs : {"numbers", "positions", "degrees", "edges"}
        What the owner of a vertex depends on. With "numbers", it is the number of the vertex. With
        "positions", it is the position in descending degree and how many vertices have each degree. If no
        rank has the whole graph, ranks exchange all degrees and refuse policies of "edges".
    order : callable, optional
        Called with the vertices in descending degree and a seed. Returns the same vertices in the order in
        which elements get them.
    places : callable, optional
        The inverse of `order`: called with positions in descending degree, the number of all vertices and a
        seed. Returns where `order` puts these vertices. Ranks with parts of a graph then find the owners of
        their own vertices; otherwise every rank needs the degrees of all vertices.
    gpu_places : callable, optional
        The same as `places` on a GPU: called with the GPU, the positions of all vertices in its memory, and a
        seed.
    degrees_only : bool
        Whether the planner applies `order` to the degrees. Otherwise the planner expects the same mixture of
        degrees on every element.
    balances : {"stored edges", "all edges", "vertices", "workload"}
        What an element gets its share of. Only "stored edges" follow α, up to some vertices at the cuts. "all
        edges" are in-edges and out-edges, whatever is stored.
    even : bool
        Whether all elements get equal parts, whatever their shares.
    profiled : bool
        Whether a plan prefers the share of the CPU side that `evener profile --paper` has measured, as in the
        paper that defines the policy.
    """

    owners: Owners
    needs: Needs
    order: Callable[[NDArray[np.uint32], int], NDArray[np.uint32]] | None = None
    places: Callable[[NDArray[np.uint32], int, int], NDArray[np.uint32]] | None = None
    gpu_places: Callable[[GpuElement, Any, int], Any] | None = None
    degrees_only: bool = False
    balances: Literal["stored edges", "all edges", "vertices", "workload"] = "stored edges"
    even: bool = False
    profiled: bool = False


@cache
def policy_names() -> tuple[str, ...]:
    """Return the names of all policies, in alphabetical order, without importing them."""
    modules = [module.name for module in iter_modules(import_module(_FOLDER).__path__)]
    named = [name.upper() if name.startswith(_FAMILIES) else name for name in modules]
    return tuple(sorted(name.replace("_", "-") for name in named))


def find_policy(name: str) -> Policy:
    """Return a policy by its name."""
    check_policy(name)
    policy: Policy = import_module(f"{_FOLDER}.{name.lower().replace('-', '_')}").POLICY
    return policy


def check_policy(name: str, *, auto: bool = False) -> None:
    """Raise ArgumentError if there is no policy of this name; `auto` accepts "auto" too."""
    known = ["auto", *policy_names()] if auto else policy_names()
    if not isinstance(name, str) or name not in known:
        more = "" if auto else " (or auto, for an algorithm or a plan)"
        msg = f"policy=: expected one of {', '.join(known)}{more}, found {name!r}"
        raise ArgumentError(msg)


def check_needs(name: str, known: Needs) -> None:
    """Raise ArgumentError if a policy needs more than each rank knows.

    `known` is as `Policy.needs`; a later value includes the earlier values.
    """
    levels = list(_NEEDS)
    needs = find_policy(name).needs
    if levels.index(needs) > levels.index(known):
        able = [one for one in policy_names() if levels.index(find_policy(one).needs) <= levels.index(known)]
        msg = (
            f"policy=: {name} needs {_NEEDS[needs]}, and each rank knows only {_NEEDS[known]}; use one of "
            f"{', '.join(able)}, or let every rank read the whole graph"
        )
        raise ArgumentError(msg)
