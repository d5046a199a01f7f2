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
from evener.algorithms.modularity import checked_resolution
from evener.engine.checkpoints.state import Bounded
from evener.engine.engine import Engine
from evener.graph.checks import check_seed
from evener.kernels.kernel import KernelFile
from evener.partition.gathered import Gathered
from evener.primitives.contract import contract, number_labels, with_mirrors
from evener.primitives.exact_weights import exact_weights
from evener.primitives.label_sums import LabelSums, count_labels, own_labels, smallest_vertices
from evener.primitives.local_moving import move_until_settled
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.primitives.contract import Contraction
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

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
    **options: Unpack[RunOptions],
) -> Result:
    """Return connected communities of high modularity.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Self-loops and repeated edges count as in NetworkX's modularity, also of a directed graph.
    resolution : float, default 1
        The factor of the penalty for large communities. A larger one gives smaller communities.
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
        If `resolution` is not a finite number of at least 0, or `seed` not an integer of at least 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> ev.leiden(g)["community"].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    resolution, seed = checked_resolution(resolution), check_seed(seed)
    run = begin(SPEC, graph, options)
    used = weights_used(run.graph, weights, "leiden")
    engine = run.engine()
    pg = run.place()
    parameters = {"resolution": resolution, "weights": used, "seed": seed}
    search = _Search(engine, weighted=used, resolution=resolution, seed=seed)
    with run.checkpoints(engine, parameters) as checkpoints:
        label = search.run(checkpoints)
    outcome = {
        "modularity": search.modularity(with_mirrors(engine, label)),
        "communities": count_labels(engine, label),
        "levels": search.levels,
    }
    return run.finish(
        engine, {"community": Gathered(pg, label.parts, "numbers")}, parameters=parameters, outcome=outcome
    )


class _Search:
    """Two searches for communities, each with several levels. Only the second refines communities.

    Attributes
    ----------
    levels : int
        The levels of both searches so far.
    """

    def __init__(self, engine: Engine, *, weighted: bool, resolution: float, seed: int) -> None:
        self._engine, self._weighted = engine, weighted
        self._resolution, self._seed, self.levels = resolution, seed, 0
        self._first = Engine(exact_weights(engine.partitioned, used=weighted), SPEC.name)
        self._level = self._first  # the engine of the graph of this level
        self._chain: list[Contraction] = []  # the contractions of this search that led to this level
        # The first labels of vertices and mirrors on this level. None: each vertex has its own number.
        self._label: PartitionedArray | None = None
        # Whether this is the second search, and whether this level refines communities.
        self._second = self._refining = False

    def run(self, checkpoints: Checkpoints) -> PartitionedArray:
        """Run all levels. Return the smallest vertex in the community of each owned vertex.

        A checkpoint has, for each vertex, its vertex in the graph of the level, and the label of that vertex.
        A run that continues contracts the whole graph once.
        """
        engine, last = self._engine, self._engine.partitioned.graph.n - 1
        part, begun, done = own_labels(engine), own_labels(engine), False
        while True:
            state = {"part": Bounded(part, 0, last), "label": Bounded(begun, 0, last)}
            self._second, self._refining, coarse, self.levels, done = checkpoints.step(
                state, self._second, self._refining, bool(self._chain), self.levels, done
            )
            if done:
                return begun
            if checkpoints.restored and coarse:
                begun = self._contract(part).collapse(begun)
            if checkpoints.restored:
                self._label, _ = number_labels(self._level, begun, last + 1)
            if (found := self._run_level()) is not None:
                part, begun, done = own_labels(engine), found, self._second
                self._level, self._chain, self._label = self._first, [], with_mirrors(engine, found)
                self._second = self._refining = True
            elif checkpoints.active:
                part = self._expanded(own_labels(self._level))
                begun = part if self._label is None else self._expanded(self._label)

    def _run_level(self) -> PartitionedArray | None:
        """Go to the next level; if there is none, return the communities, as `run` does.

        A level ends when few vertices move in a round. If the search does not refine communities, they may be
        not connected.
        """
        level, label = self._level, self._label
        graph, size = level.partitioned.graph, self._engine.partitioned.graph.n
        self._engine.superstep("move", active=self._engine.owned, edges=graph.m)
        sums = self._sums(level)
        sums.begin(label)
        self.levels += 1
        enough = int((_ENOUGH if self._second else _ENOUGH_FIRST) * graph.n)
        rounds = move_until_settled(sums, seed=self._seed, level=self.levels, buckets=_BUCKETS, enough=enough)
        smallest, part = sums.smallest(), None
        refines, self._refining = self._refining, self._refining and rounds.moves > _FEWEST_MOVED * size
        if graph.n - count_labels(level, smallest) > _FEWEST_JOINED * size and self.levels < _LEVELS:
            if self._refining:
                part = self._refined(sums, smallest)
            else:
                part = _connected(level, smallest) if refines else smallest
        if part is None:
            found = _connected(level, smallest) if self._second else smallest
            return smallest_vertices(self._engine, self._expanded(found))
        contraction, self._label = self._contract(part), None
        if self._refining:
            self._label, _ = number_labels(self._level, contraction.collapse(smallest), graph.n)
        return None

    def modularity(self, label: PartitionedArray) -> float:
        """Return the modularity of communities, given a label for each vertex and mirror."""
        sums = self._sums(self._first)
        sums.begin(label)
        return sums.modularity()

    def _sums(self, level: Engine) -> LabelSums:
        weighted = self._weighted or level is not self._first
        return LabelSums(level, weighted=weighted, resolution=self._resolution)

    def _refined(self, sums: LabelSums, community: PartitionedArray) -> PartitionedArray | None:
        """Return labels of the parts of communities; None if nothing joins. `sums` begins again."""
        level = self._level
        self._engine.superstep("refine", active=self._engine.owned, edges=level.partitioned.graph.m)
        within = with_mirrors(level, community)
        for attempt in range(_TRIES):
            sums.begin()
            rounds = move_until_settled(
                sums, seed=self._seed, level=self.levels, first_round=(1 << 16) + attempt, max_rounds=1,
                buckets=_BUCKETS, within=within, single_only=True,
            )  # fmt: skip
            if rounds.moves:
                return sums.label
        return None

    def _contract(self, label: PartitionedArray) -> Contraction:
        """Go to the graph with a vertex for each label."""
        self._engine.superstep("contract", active=self._engine.owned)
        contraction = contract(self._level, label)
        self._chain.append(contraction)
        self._level = Engine(contraction.partitioned, SPEC.name)
        return contraction

    def _expanded(self, values: PartitionedArray) -> PartitionedArray:
        """Return the value of the level's vertex of each owned vertex, given the values of the level."""
        for contraction in reversed(self._chain):
            values = contraction.expand(values)
        return values


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
