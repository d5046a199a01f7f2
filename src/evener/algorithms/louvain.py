"""Communities by the Louvain method: vertices move to the community with the largest gain of modularity.

Idea: each level begins with a community for each vertex. Vertices move, in random groups, to the community
of a neighbour with the largest gain. When few vertices move, each community becomes a vertex of the graph of
the next level. The run ends when a level does not raise the modularity.

Blondel, Guillaume, Lambiotte, Lefebvre: Fast unfolding of communities in large networks (2008); Dugué, Perez:
Directed Louvain (2015); Lu, Halappanavar, Kalyanaraman: Parallel heuristics for scalable community detection
(2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from evener.algorithms.modularity import checked_resolution
from evener.engine.checkpoints.state import Bounded
from evener.errors import ArgumentError
from evener.graph.checks import check_seed, is_integral, is_number
from evener.partition.gathered import Gathered
from evener.primitives.contract import contract
from evener.primitives.exact_weights import exact_weights
from evener.primitives.label_sums import LabelSums, count_labels, engine_on, own_labels, smallest_vertices
from evener.primitives.local_moving import move_until_settled
from evener.spec.algorithm import WEIGHTS_OPTION, AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.answer_parts import parts_of
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification_communities import checked_communities, require_modularity

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.primitives.contract import Contraction
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.run_options import RunOptions

__all__ = ["LOUVAIN_OPTIONS", "SPEC", "check", "louvain"]

LOUVAIN_OPTIONS = (
    Option("resolution", "float", "Factor of the expected weight inside communities (default 1)."),
    Option("seed", "int", "Seed of the random groups (default 1).", changes_answer=False),
    Option("max_levels", "int", "Largest number of levels (default: any).", changes_answer=False),
    Option(
        "tol",
        "float",
        "Gain of modularity of a level at which the run ends (default 1e-7).",
        changes_answer=False,
    ),
    WEIGHTS_OPTION,
)

SPEC = AlgorithmSpec(
    name="louvain",
    summary="Communities by the Louvain method.",
    run="evener.algorithms.louvain:louvain",
    verify="evener.algorithms.louvain:check",
    verifies_parts=True,
    columns=(Column("community", "group"),),
    options=LOUVAIN_OPTIONS,
    directions="both",
    reads_every_edge=True,
    # Labels, strengths, totals and bitmaps; members and merged rows of the next level.
    state=StateBytes(85, 16),
    host_state=StateBytes(28, 8),
    traffic=Traffic(pushed=0.125, pulled=4.125),
    unit="a round",
    checkpoints=True,
    verified_scope="evener.algorithms.louvain:verified_scope",
    synonyms=("louvain_communities", "community_multilevel", "best_partition", "plm"),
)

# A level ends when at most this share of its vertices moves in a round.
_ENOUGH = 1e-3


@driver(SPEC)
def louvain(
    graph: Graph | PartitionedGraph | str,
    *,
    resolution: float = 1.0,
    seed: int = 1,
    max_levels: int | None = None,
    tol: float = 1e-7,
    weights: bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the community of every vertex, by the Louvain method.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Directions, self-loops and repeated edges count as in NetworkX's modularity.
    resolution : float, default 1
        The factor of the expected weight inside communities. With more than 1, communities are smaller.
    seed : int, default 1
        The seed of the random groups. With the same seed, the communities are the same on any elements.
    max_levels : int, optional
        The largest number of levels.
    tol : float, default 1e-7
        The run ends when a level raises the modularity by at most `tol`; NetworkX calls it ``threshold``.
    weights : bool, optional
        Whether edges have their weights; otherwise each edge weighs 1. Default: if the graph has weights.

    Returns
    -------
    Result
        ``community``: shape (n,), the id of the first vertex in the community. A vertex without neighbours is
        a community. `outcome` has the ``modularity``, the number of ``communities``, and the ``levels``.

    Raises
    ------
    ArgumentError
        If a parameter is outside its range. If a weight is negative or infinite.

    Notes
    -----
    Weights that are no integers are rounded to 50 bits of their sum, so that the communities do not depend on
    the split of the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> r = ev.louvain(g)
    >>> r["community"].tolist(), round(r.outcome["modularity"], 4)
    ([0, 0, 0, 3, 3, 3], 0.3571)
    """
    given = checked_options(resolution, seed, max_levels, tol)
    run = begin(SPEC, graph, options)
    weighted = weights_used(run.graph, weights, "louvain")
    given["weights"] = weighted
    pg = run.place()
    engine = run.engine()
    same = {name: given[name] for name in ("resolution", "seed", "weights")}
    with run.checkpoints(engine, same) as checkpoints:
        levels = _Levels(engine, weighted=weighted, given=given)
        community = levels.run(checkpoints)
    outcome = {
        "modularity": levels.modularity,
        "communities": count_labels(engine, community),
        "levels": levels.count,
    }
    arrays = {"community": Gathered(pg, community, "numbers")}
    return run.finish(engine, arrays, parameters=given, outcome=outcome)


def checked_options(resolution: Any, seed: Any, max_levels: Any, tol: Any) -> dict[str, Any]:
    """Return the parameters by name; raise `ArgumentError` for one outside its range."""
    if max_levels is not None and (not is_integral(max_levels) or max_levels < 1):
        msg = f"max_levels=: expected an integer of at least 1 or None, found {max_levels!r}"
        raise ArgumentError(msg)
    if not is_number(tol) or not tol >= 0:
        msg = f"tol=: expected a number of at least 0, found {tol!r}"
        raise ArgumentError(msg)
    return {
        "resolution": checked_resolution(resolution),
        "seed": check_seed(seed),
        "max_levels": None if max_levels is None else int(max_levels),
        "tol": float(tol),
    }


class _Levels:
    """The levels of a run.

    Attributes
    ----------
    count : int
        The levels that raised the modularity.
    modularity : float
        That of the communities so far.
    """

    def __init__(self, engine: Engine, *, weighted: bool, given: dict[str, Any]) -> None:
        self._engine, self._weighted, self._given = engine, weighted, given
        # The engine of the graph of this level, and the contractions that led to it.
        self._coarse = engine_on(engine, exact_weights(engine.partitioned, used=weighted))
        self._contractions: list[Contraction] = []
        self.count, self.modularity = 0, 0.0

    def run(self, checkpoints: Checkpoints) -> PartitionedArray:
        """Run all levels. Return the smallest vertex number of the community of each owned vertex."""
        limit = self._given["max_levels"]
        community, done = own_labels(self._engine), self._engine.partitioned.graph.m == 0
        label = None  # of the vertices of the last level
        last = self._engine.partitioned.graph.n - 1
        while True:
            state = {"community": Bounded(community, 0, last)}
            self.count, self.modularity, done = checkpoints.step(state, self.count, self.modularity, done)
            if done or (limit is not None and self.count >= limit):
                return community
            if self.count:
                self._contract(community if label is None else label)
            label, done = self._level()
            if label is not None:
                community = self._original(label)

    def _contract(self, label: PartitionedArray) -> None:
        """Go to the graph with a vertex for each label."""
        self._engine.superstep("contract", active=self._engine.owned)
        self._contractions.append(contract(self._coarse, label))
        self._coarse = engine_on(self._engine, self._contractions[-1].partitioned)

    def _level(self) -> tuple[PartitionedArray | None, bool]:
        """Return the labels of the vertices of a level, or None, and whether it is the last level."""
        graph, given = self._coarse.partitioned.graph, self._given
        self._engine.superstep("move", active=self._engine.owned, edges=graph.m)
        weighted = self._weighted or bool(self._contractions)
        sums = LabelSums(self._coarse, weighted=weighted, resolution=given["resolution"])
        sums.begin()
        if not self.count:
            self.modularity = sums.modularity()
        move_until_settled(sums, seed=given["seed"], level=self.count, enough=int(_ENOUGH * graph.n))
        found = sums.modularity()
        if found <= self.modularity:
            return None, True
        done = found - self.modularity <= given["tol"]
        self.count, self.modularity = self.count + 1, found
        return sums.smallest(), done

    def _original(self, label: PartitionedArray) -> PartitionedArray:
        """Return the smallest vertex number for each vertex of the graph, given labels of this level."""
        if not self._contractions:
            return label
        for contraction in reversed(self._contractions):
            label = contraction.expand(label)
        return smallest_vertices(self._engine, label)


def check(answer: Answer) -> None:
    """Raise VerificationError unless the communities have the modularity of the outcome.

    The verifier checks that communities have the names of their smallest vertices, and that the number of
    communities and their modularity are right. It does not show that no better communities exist.
    """
    parts = parts_of(answer)
    weighted = weights_used(parts.graph, answer.parameters.get("weights"), "louvain")
    community = checked_communities(parts)
    require_modularity(parts, community, weighted=weighted)


def verified_scope(answer: Answer) -> str:  # noqa: ARG001 - every answer has the same scope
    """Return what the verification shows."""
    return "communities and their modularity; better communities may exist"
