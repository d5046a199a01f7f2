"""Leiden on a GPU, and on a CPU and a GPU: the communities of a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.testing.graphs import SHAPES, build


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_communities_are_those_of_a_cpu(shape, directed):
    graph = build(SHAPES[shape](), directed=directed)
    expected = ev.leiden(graph, on="cpu:1")["community"]
    for on in (["cuda:0"], ["cpu:1", "cuda:0"]):
        result = ev.leiden(graph, on=on)
        assert np.array_equal(result["community"], expected)
        ev.verify(result)
