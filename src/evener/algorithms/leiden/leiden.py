"""Communities by the Leiden method, on any number of partitions.

Idea: vertices move to the community that raises modularity most, until few move. Then each community is
refined: its vertices start alone, and a vertex that is alone joins a neighbour of its community. Such parts
are connected, and become the vertices of a smaller graph. They begin in the communities found before, and the
method starts again. Once few vertices move, whole communities become vertices. The first communities are
those of a fast search without refinement, as in the Louvain method.

A vertex joins no part whose number is a vertex that may move at the same time: see `choose_labels`. So parts
stay connected without locks, and the answer does not depend on the split. If a community is not connected at
the end, as without further gain, its connected parts become communities.

Encoding: `label` uint32, a vertex number of the graph of a level.

Traag, Waltman, van Eck: From Louvain to Leiden: guaranteeing well-connected communities (2019); Sahu:
GVE-Leiden (2023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from evener.algorithms.leiden import SPEC
from evener.engine.engine import Engine
from evener.errors import ArgumentError
from evener.graph.checks import check_seed, is_number
from evener.kernels.kernel import KernelFile
from evener.primitives.contract import contract, number_labels, with_mirrors
from evener.primitives.exact_weights import exact_weights
from evener.primitives.label_sums import LabelSums, count_labels, smallest_vertices
from evener.primitives.local_moving import move_until_settled
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.primitives.contract import Contraction
    from evener.results.result import Result
    from evener.spec.run_options import BasicOptions

__all__ = ["leiden"]

kernels = KernelFile(__package__)

# Vertices that move at a time are one over this number of all vertices.
_BUCKETS = 8
# Shares of the vertices of a level that must move for another round, in the first and in the second search.
_ENOUGH_FIRST, _ENOUGH = 1e-2, 1e-3
# Shares of the vertices of the graph: moves of a level after which whole communities become vertices, and
# vertices that join others in the last level.
_FEWEST_MOVED, _FEWEST_JOINED = 1e-3, 1e-4
# Levels, and refinements of a level that changes nothing.
_LEVELS, _TRIES = 64, 4


@driver(SPEC)
def leiden(
    graph: Graph | PartitionedGraph | str,
    *,
    resolution: float = 1.0,
    weights: bool | None = None,
    seed: int = 1,
    **options: Unpack[BasicOptions],
) -> Result:
    """Return connected communities of high modularity.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Self-loops and repeated edges count as in NetworkX's modularity, also of a directed graph.
    resolution : float, default 1
        The factor of the penalty for large communities, above 0. A larger one gives smaller communities.
    weights : bool, optional
        Whether edges have weights. Default: if the graph has weights. Otherwise each edge weighs 1.
    seed : int, default 1
        Another seed lets vertices move in another order. The same seed gives the same answer on all elements.

    Returns
    -------
    Result
        ``community``: shape (n,), the id of the first vertex in the community. `outcome` has the number of
        ``communities``, their ``modularity`` and the number of ``levels``.

    Raises
    ------
    ArgumentError
        If `resolution` is not a number above 0, or `seed` not an integer of at least 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> ev.leiden(g)["community"].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    if not is_number(resolution) or not 0 < resolution < float("inf"):
        msg = f"resolution=: expected a number above 0, found {resolution!r}"
        raise ArgumentError(msg)
    seed = check_seed(seed)
    run = begin(SPEC, graph, options)
    used = weights_used(run.graph, weights, "leiden")
    engine = run.engine()
    pg = run.place()
    search = _Search(engine, weighted=used, resolution=float(resolution), seed=seed)
    label = search.communities(None, _ENOUGH_FIRST, refines=False)
    label = search.communities(with_mirrors(engine, label), _ENOUGH, refines=True)
    outcome = {
        "modularity": search.modularity(with_mirrors(engine, label)),
        "communities": count_labels(engine, label),
        "levels": search.levels,
    }
    parameters = {"resolution": float(resolution), "weights": used, "seed": seed}
    return run.finish(
        engine, {"community": lambda: pg.gather_numbers(label.parts)}, parameters=parameters, outcome=outcome
    )


class _Search:
    """Searches for communities, each with several levels.

    Attributes
    ----------
    levels : int
        The levels of all searches so far.
    """

    def __init__(self, engine: Engine, *, weighted: bool, resolution: float, seed: int) -> None:
        self._engine, self._weighted = engine, weighted
        self._resolution, self._seed, self.levels = resolution, seed, 0
        self._first = Engine(exact_weights(engine.partitioned, used=weighted), SPEC.name)

    def communities(
        self, label: PartitionedArray | None, enough: float, *, refines: bool
    ) -> PartitionedArray:
        """Return the smallest vertex in the community of each owned vertex.

        `label` is a vertex number for each vertex and mirror, equal in each community of an earlier search.
        A level ends when at most the share `enough` of its vertices moves in a round. If the search does not
        refine communities, as in the Louvain method, they may be not connected.
        """
        chain: list[Contraction] = []
        level, refining = self._first, refines
        size = self._engine.partitioned.graph.n
        while True:
            n = level.partitioned.graph.n
            self._engine.superstep("move", active=self._engine.owned, edges=level.partitioned.graph.m)
            sums = self._sums(level)
            sums.begin(label)
            self.levels += 1
            rounds = move_until_settled(
                sums, seed=self._seed, level=self.levels, buckets=_BUCKETS, enough=int(enough * n)
            )
            smallest = sums.smallest()
            contraction = None
            if n - count_labels(level, smallest) > _FEWEST_JOINED * size and len(chain) < _LEVELS:
                if refining and rounds.moves > _FEWEST_MOVED * size:
                    contraction = self._refined(level, smallest)
                else:
                    whole = _connected(level, smallest) if refining else smallest
                    contraction, refining = self._contracted(level, whole), False
            if contraction is None:
                break
            chain.append(contraction)
            level, label = Engine(contraction.partitioned, SPEC.name), None
            if refining:
                label, _ = number_labels(level, contraction.collapse(smallest), n)
        found = _connected(level, smallest) if refines else smallest
        for contraction in reversed(chain):
            found = contraction.expand(found)
        return smallest_vertices(self._engine, found)

    def modularity(self, label: PartitionedArray) -> float:
        """Return the modularity of communities, given a label for each vertex and mirror."""
        sums = self._sums(self._first)
        sums.begin(label)
        return sums.modularity()

    def _sums(self, level: Engine) -> LabelSums:
        weighted = self._weighted or level is not self._first
        return LabelSums(level, weighted=weighted, resolution=self._resolution)

    def _refined(self, level: Engine, community: PartitionedArray) -> Contraction | None:
        """Return the graph of the parts of communities; None if nothing joins."""
        self._engine.superstep("refine", active=self._engine.owned, edges=level.partitioned.graph.m)
        within = with_mirrors(level, community)
        for attempt in range(_TRIES):
            refined = self._sums(level)
            refined.begin()
            rounds = move_until_settled(
                refined, seed=self._seed, level=self.levels, first_round=(1 << 16) + attempt, max_rounds=1,
                buckets=_BUCKETS, within=within, single_only=True,
            )  # fmt: skip
            if rounds.moves:
                return self._contracted(level, refined.label)
        return None

    def _contracted(self, level: Engine, label: PartitionedArray) -> Contraction:
        self._engine.superstep("contract", active=self._engine.owned)
        return contract(level, label)


def _connected(engine: Engine, community: PartitionedArray) -> PartitionedArray:
    """Return the smallest vertex that each vertex reaches inside its community."""
    within, label = with_mirrors(engine, community), engine.copy(engine.vertices)
    both = engine.partitioned.graph.directed
    while True:
        changes = engine.compute(kernels.spread_smallest, *engine.out[:2], within, label)
        if both:
            changes += engine.compute(kernels.spread_smallest, *engine.in_[:2], within, label)
        if not changes:
            return label
        engine.pull(label)
