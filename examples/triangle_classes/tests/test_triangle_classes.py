"""Triangles by degree class equal those of NetworkX for any split."""

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener_triangle_classes import triangle_classes


def expected(graph):
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(np.int64))
    near = nx.Graph(zip(tails.tolist(), graph.targets.tolist(), strict=True))
    degree = np.bincount(tails, minlength=graph.n)
    found = Counter()
    for v in near:
        for u, w in combinations(set(near[v]) - {v}, 2):
            if v < min(u, w) and near.has_edge(u, w):
                classes = [int(degree[one]).bit_length() - 1 for one in (u, v, w)]
                found[min(classes), max(classes)] += 1
    return sorted((*classes, count) for classes, count in found.items())


@pytest.mark.parametrize("elements", [1, 2, 4])
@pytest.mark.parametrize("spec", ["rmat:8", "uniform:6", "grid:9x9"])
def test_classes(spec, elements):
    graph = ev.read(spec)
    result = triangle_classes(graph, on=["cpu:1"] * elements)
    assert list(zip(*(result[name].tolist() for name in result), strict=True)) == expected(graph)
