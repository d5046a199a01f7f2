"""Contractions on a GPU, and on a CPU and a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from contracts.contraction import ContractionContract, check_contraction, check_edges, random_graph


class TestContraction(ContractionContract):
    kind = "cuda:0"


@pytest.mark.parametrize("directed", [False, True])
def test_a_cpu_and_a_gpu_contract_together(directed):
    graph = random_graph(2000, 30000, directed=directed, weights="float32")
    label = np.arange(2000) // 3
    check_edges(graph, label, check_contraction(ev.partition(graph, on=["cpu:1", "cuda:0"]), label))
