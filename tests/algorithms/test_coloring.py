"""Coloring: its contract, and the greedy algorithm of NetworkX in the same order."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.testing.algorithms import AlgorithmContract
from support.reference import edges

_WORD = 0xFFFFFFFF


def _mixed(word):
    word = (word ^ (word >> 16)) * 0x85EBCA6B & _WORD
    word = (word ^ (word >> 13)) * 0xC2B2AE35 & _WORD
    return word ^ (word >> 16)


def _colors(graph, seed=1):
    """Return the colors of the greedy algorithm, highest degree first."""
    key = int(np.random.SeedSequence(seed).generate_state(1)[0])
    src, dst = edges(graph)
    degree = np.bincount(src, minlength=graph.n)
    if graph.directed:
        degree += np.bincount(dst, minlength=graph.n)
    order = sorted(range(graph.n), key=lambda v: (-degree[v], -_mixed(v ^ key)))
    made = nx.Graph()
    made.add_nodes_from(range(graph.n))
    made.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v)
    color = nx.greedy_color(made, strategy=lambda *_: order)
    return np.array([color[v] for v in range(graph.n)], np.int64)


class TestColoring(AlgorithmContract):
    name = "coloring"

    def expected(self, graph, arguments):
        return {"color": _colors(graph)}


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("on", [["cpu:2"], ["cpu:1"] * 3], ids=",".join)
@pytest.mark.parametrize("spec", ["rmat:9", "uniform:8,directed", "grid:20x20"])
def test_a_seed_gives_the_colors_of_its_order(spec, on, seed):
    graph = ev.read(spec)
    result = ev.coloring(graph, seed=seed, on=on)
    assert result["color"].tolist() == _colors(graph, seed).tolist()
    assert result.outcome["colors"] == result["color"].max() + 1
    ev.verify(result)


def test_more_colors_than_one_pass_examines():
    near = np.triu_indices(700, 1)
    result = ev.coloring(ev.Graph.from_edges(*near, directed=False))
    assert sorted(result["color"]) == list(range(700))


@pytest.mark.parametrize("seed", [-1, 1.5, "a"])
def test_refuses_other_seeds(seed):
    with pytest.raises(ev.ArgumentError, match="seed=: expected an integer of at least 0"):
        ev.coloring(ev.read("grid:2x2"), seed=seed)
