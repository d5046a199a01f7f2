"""Answer: the form in which a verifier reads the arrays of a run, and `Claim`, an answer from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from evener.system.world import SingleProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["Answer", "Claim"]


class Answer(Protocol):
    """The form of an answer that a verifier reads: the graph, the parameters, and the arrays in id order."""

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""

    @property
    def graph(self) -> Graph:
        """The graph of the run."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the run: source, damping, tol, ..."""

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Facts about the run, for example the iterations of PageRank. May be empty."""

    def __getitem__(self, name: str, /) -> NDArray[Any]:
        """One array of the answer, shape (n,), in the order of `graph.ids`."""


@dataclass(frozen=True)
class Claim:
    """An answer from a file or another library, in the form that `verify` reads.

    Parameters
    ----------
    algorithm : str
        The name of a registered algorithm.
    graph : Graph
        The graph of the run.
    arrays : mapping of str to ndarray
        The arrays of the answer, under the names that `Result` uses.
    parameters : mapping, optional
        The arguments of the algorithm, such as ``{"source": 0}`` of a search.
    outcome : mapping, optional
        Facts about the run. With PageRank's ``iterations``, the verifier repeats that many iterations.

    Examples
    --------
    >>> import evener as ev, numpy as np
    >>> g = ev.Graph.from_edges([0, 1], [1, 2])
    >>> ev.verify(ev.Claim("wcc", g, {"component": np.zeros(3, np.int64)}))
    """

    algorithm: str
    graph: Graph
    arrays: Mapping[str, NDArray[Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outcome: Mapping[str, Any] = field(default_factory=dict)
    world: ClassVar[World] = SingleProcess()  # each rank verifies its own claims

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]
