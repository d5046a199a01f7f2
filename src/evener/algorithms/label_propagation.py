"""Communities by label propagation: each vertex takes the label with the most weight among its neighbours.

Each vertex begins with a label of its own. In a round, vertices choose in 16 groups, which are drawn again
for each round. A vertex keeps its label unless another label has more weight, and takes the smallest of the
best labels. The run ends when no vertex has a better label.

Raghavan, Albert, Kumara: Near linear time algorithm to detect community structures in large-scale networks
(2007); Cordasco, Gargano: Community detection via semi-synchronous label propagation algorithms (2010).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.engine.checkpoints.state import Bounded
from evener.errors import ArgumentError
from evener.graph.checks import check_seed, is_integral
from evener.partition.gathered import Gathered
from evener.primitives.exact_weights import exact_weights
from evener.primitives.label_sums import LabelSums, count_labels, engine_on, smallest_vertices
from evener.primitives.local_moving import move_until_settled
from evener.spec.algorithm import WEIGHTS_OPTION, AlgorithmSpec, Column, Option, StateBytes, Traffic
from evener.spec.answer_parts import parts_of
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.spec.verification_communities import (
    checked_communities,
    directions_of,
    require_modularity,
    weighted_pieces,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts
    from evener.spec.run_options import RunOptions

__all__ = ["SPEC", "check", "label_propagation"]

SPEC = AlgorithmSpec(
    name="label_propagation",
    summary="Communities by label propagation in random groups.",
    run="evener.algorithms.label_propagation:label_propagation",
    verify="evener.algorithms.label_propagation:check",
    verifies_parts=True,
    columns=(Column("community", "group"),),
    options=(
        Option("seed", "int", "Seed of the groups (default 1).", changes_answer=False),
        Option("max_iter", "int", "Largest number of rounds (default 100).", changes_answer=False),
        WEIGHTS_OPTION,
    ),
    directions="both",
    reads_every_edge=True,
    # Labels, strengths and bitmaps, and a bit of each group.
    state=StateBytes(42, 8),
    host_state=StateBytes(16, 4),
    traffic=Traffic(pushed=0.125, pulled=4.125),
    unit="a round",
    checkpoints=True,
    synonyms=(
        "asyn_lpa_communities",
        "label_propagation_communities",
        "community_label_propagation",
        "plp",
        "lpa",
    ),
)

# Groups of vertices. More groups give better communities, and rounds take longer.
_GROUPS = 16


@driver(SPEC)
def label_propagation(
    graph: Graph | PartitionedGraph | str,
    *,
    seed: int = 1,
    max_iter: int = 100,
    weights: bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the community of every vertex, by label propagation.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        In a directed graph, an edge counts at both ends. Repeated edges count, and self-loops do not.
    seed : int, default 1
        The seed of the groups. With the same seed, the communities are the same on any elements.
    max_iter : int, default 100
        The largest number of rounds.
    weights : bool, optional
        Whether edges have their weights; otherwise each edge weighs 1. Default: if the graph has weights.

    Returns
    -------
    Result
        ``community``: shape (n,), the id of the first vertex in the community. A vertex without neighbours is
        a community. `outcome` has the number of ``communities``, the rounds as ``iterations``, and
        ``converged``: whether no vertex has a better label.

    Raises
    ------
    ArgumentError
        If `seed` or `max_iter` is not an integer of at least 0. If a weight is negative or infinite.

    Notes
    -----
    Weights that are no integers are rounded to 50 bits of their sum, so that the communities do not depend on
    the split of the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> ev.label_propagation(g)["community"].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    seed, limit = check_seed(seed), _checked_limit(max_iter)
    run = begin(SPEC, graph, options)
    weighted = weights_used(run.graph, weights, "label propagation")
    pg = run.place()
    engine = run.engine()
    sums = LabelSums(engine_on(engine, exact_weights(pg, used=weighted)), weighted=weighted, resolution=None)
    rounds, settled = 0, False
    with run.checkpoints(engine, {"seed": seed, "weights": weighted}) as checkpoints:
        sums.begin()
        while True:
            state: dict[str, Any] = {"label": Bounded(sums.label, 0, pg.graph.n - 1), "active": sums.active}
            rounds, settled = checkpoints.step(state, rounds, settled)
            if checkpoints.restored:
                engine.pull(sums.label)
            if settled or rounds >= limit:
                break
            engine.superstep("propagate", active=engine.owned, edges=pg.graph.m)
            found = move_until_settled(sums, seed=seed, buckets=_GROUPS, first_round=rounds, max_rounds=1)
            rounds, settled = rounds + 1, found.settled
    community = smallest_vertices(engine, sums.label)
    outcome = {
        "communities": count_labels(engine, community),
        "iterations": rounds,
        "converged": settled or pg.graph.m == 0,
    }
    return run.finish(
        engine,
        {"community": Gathered(pg, community, "numbers")},
        parameters={"seed": seed, "max_iter": limit, "weights": weighted},
        outcome=outcome,
    )


def _checked_limit(max_iter: Any) -> int:
    if not is_integral(max_iter) or max_iter < 0:
        msg = f"max_iter=: expected an integer of at least 0, found {max_iter!r}"
        raise ArgumentError(msg)
    return int(max_iter)


def check(answer: Answer) -> None:
    """Raise VerificationError unless vertices have the best label, if the run has converged.

    Different communities can pass: the verifier does not repeat the rounds.
    """
    parts = parts_of(answer)
    weighted = weights_used(parts.graph, answer.parameters.get("weights"), "label propagation")
    community = checked_communities(parts)
    require_modularity(parts, community, weighted=weighted)
    if not answer.outcome.get("converged"):
        return
    own, best = _label_weights(parts, community, weighted=weighted)
    parts.require(
        own >= best * (1 - 1e-9),
        "no community has more of the weight at a vertex than its own",
        lambda v: f"vertex {parts.id(v)} has a better community",
    )


def _label_weights(
    parts: AnswerParts, community: NDArray[np.uint32], *, weighted: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each vertex, the weight to its own community and the largest weight to a community."""
    own_of_parts, best_of_parts = [], []
    per_direction = [parts.rows(direction) for direction in directions_of(parts)]
    for rows, (label,) in zip(zip(*per_direction, strict=True), parts.fetch(community), strict=True):
        pieces = [piece for one in rows for piece in weighted_pieces(one, weighted=weighted)]
        pieces = [(t[t != h], label[h[t != h]], w[t != h]) for t, h, w in pieces]
        size = len(rows[0].offsets) - 1
        tails, labels, weights = (np.concatenate([*columns]) for columns in zip(*pieces, strict=True))
        order = np.lexsort((labels, tails))
        tails, labels, weights = tails[order], labels[order], weights[order]
        fresh = np.ones(len(tails), np.bool_)
        fresh[1:] = (np.diff(tails) != 0) | (np.diff(labels.astype(np.int64)) != 0)
        begins = np.flatnonzero(fresh)
        sums = np.add.reduceat(weights, begins) if len(begins) else weights
        own, best = np.zeros(size), np.zeros(size)
        np.maximum.at(best, tails[begins], sums)
        here = labels[begins] == label[tails[begins]]
        own[tails[begins][here]] = sums[here]
        own_of_parts.append(own)
        best_of_parts.append(best)
    return parts.collect(own_of_parts), parts.collect(best_of_parts)
