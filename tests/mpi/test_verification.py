"""Answers on a graph that no rank holds: each rank checks its own edges, and all raise the same error."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.errors import VerificationError
from evener.testing.ranks import run_ranks


def answers(graph, source, other):
    """The results of all algorithms on a path, which hold for other ranks too."""
    pg = ev.partition(graph, "cpu:1", policy="high", alpha=0.4)
    yield ev.bfs(pg, source=source)
    yield ev.sssp(pg, source=source)
    yield ev.wcc(pg)
    yield ev.pagerank(pg, tol=1e-4)
    yield ev.pagerank(pg, tol=0, max_iter=3, personalization={source: 1.0}, weights=False)
    yield ev.betweenness(pg, k=3)
    yield ev.bfs(pg, source=[source, other], cutoff=1)
    yield ev.sssp(pg, source=source, target=other)


GRAPHS = {
    "directed": {"directed": True, "weights": [0, 1, 2]},
    "undirected": {"directed": False, "weights": None},
}


@pytest.fixture(params=GRAPHS)
def file(request, tmp_path):
    """A graph with ids beyond 32 bits, two large components, and edges of weight 0."""
    how, rng = GRAPHS[request.param], np.random.default_rng(5)
    ends = np.concatenate([rng.integers(0, 40, (2, 90)), rng.integers(40, 60, (2, 40))], axis=1) + (1 << 40)
    weights = None if how["weights"] is None else rng.choice(how["weights"], ends.shape[1])
    graph = ev.Graph.from_edges(*ends, weights, directed=how["directed"])
    ev.write(graph, tmp_path / "g.evg")
    return str(tmp_path / "g.evg"), int(graph.ids[graph.out_degree()[:30].argmax()]), int(graph.ids[35])


def test_right_answers_are_accepted(file):
    def run(_):
        for result in answers(*file):
            ev.verify(result)

    run_ranks(3, run)


def test_ranks_before_convergence_are_a_warning(file):
    def run(_):
        ev.verify(ev.pagerank(ev.partition(file[0], "cpu:1"), tol=1e-9, max_iter=2))

    with pytest.warns(ev.ConvergenceWarning, match=r"correct for 2 iterations, and have not converged"):
        run_ranks(3, run)


# What is wrong with one vertex: the array, its new value given the old one, and the rule.
WRONG = [
    (0, "distance", lambda x: x + 1, "plus the edge's weight"),
    (0, "distance", lambda _: -1, "exactly the reached vertices have a parent"),
    (0, "distance", lambda _: -2, "no distance is negative"),
    (0, "parent", lambda _: 77, "parent contains vertices of the graph"),
    (0, "parent", lambda _: -1, "exactly the reached vertices have a parent"),
    (1, "distance", lambda x: x * 0.5 + 0.25, "plus the edge's weight"),
    (1, "distance", lambda _: np.nan, "negative or NaN"),
    (2, "component", lambda x: x + 1, "smallest vertex|is a member|share a component"),
    (3, "rank", lambda x: x * 1.01, "ranks sum to one"),
    (3, "rank", lambda x: -x, "non-negative"),
    (5, "centrality", lambda x: x + 1e-3, "dependencies from 3 sources"),
    (6, "distance", lambda x: x + 2, "farther away than the target or the cutoff"),
]


def test_wrong_answers_are_refused_on_all_ranks(file):
    """A neighbour of a source, on rank 0, has a wrong value."""

    def run(world):
        results = list(answers(*file))
        neighbours = np.flatnonzero(results[6]["distance"] > 0)
        for place, name, change, rule in WRONG:
            values = results[place][name]
            own = values.copy()
            if world.rank == 0:
                v = int(neighbours[-1])
                values[v] = change(own[v])
            with pytest.raises(VerificationError, match=rule) as caught:
                ev.verify(results[place])
            assert set(world.allgather(str(caught.value))) == {str(caught.value)}
            values[:] = own

    run_ranks(3, run)


def test_what_no_single_edge_shows(tmp_path):
    """Parents that lead into a cycle of weight 0, and two components with one name."""
    (tmp_path / "g.txt").write_text("0 3 1\n1 2 0\n2 1 0\n")
    wrong = {"distance": [0.0, 5, 5, 1], "parent": [0, 2, 1, 0], "component": [0, 0, 0, 0]}

    def run(_):
        pg = ev.partition(tmp_path / "g.txt", "cpu:1")
        search, components = ev.sssp(pg, source=0), ev.wcc(pg)
        for result, name in ((search, "distance"), (search, "parent"), (components, "component")):
            result[name][:] = wrong[name][pg.block.start : pg.block.stop]
        with pytest.raises(VerificationError, match="from vertex 1, its parent 2 leads back to vertex 1"):
            ev.verify(search)
        with pytest.raises(
            VerificationError, match="vertex 1 has component 0, but no path joins them; expected 1"
        ):
            ev.verify(components)

    run_ranks(2, run)
