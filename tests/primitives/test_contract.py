"""Contractions on CPUs and on ranks."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from contracts.contraction import ContractionContract, check_contraction, check_edges, random_graph
from evener.testing.ranks import run_ranks


class TestContraction(ContractionContract):
    kind = "cpu:1"


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_ranks_contract_together(ranks, directed):
    graph = random_graph(300, 3000, directed=directed, weights="int32")
    label = np.arange(300) // 7

    def run(world):  # noqa: ARG001 - ranks call it with their world
        return check_contraction(ev.partition(graph, on=["cpu:1"]), label)

    rows = [one for own in run_ranks(ranks, run, late=0) for one in own]
    check_edges(graph, label, rows)


def test_weights_that_are_no_integers_are_added():
    graph = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], [0.5, 0.25, 2.5, 1.0], directed=False)
    rows = check_contraction(ev.partition(graph, on="cpu:1"), np.array([0, 0, 3, 3]))
    assert sorted(zip(*(part.tolist() for part in rows[0]), strict=True)) == [
        (0, 0, 0.5), (0, 1, 2.75), (1, 0, 2.75), (1, 1, 1.0),
    ]  # fmt: skip
