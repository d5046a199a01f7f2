"""Kernels that join the trees of partitions, compared with SciPy's components."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evener.algorithms.wcc import kernels_cpu as wcc

NO_VERTEX = 0xFFFFFFFF


def smallest_labels(n, pairs):
    """Return, for each label below `n`, the smallest label in its component."""
    joined = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, group = connected_components(joined, directed=False)
    _, first = np.unique(group, return_index=True)
    return first[group]


def joined_labels(n, labels, pairs):
    """Return the labels after `join`. Each vertex is a tree of one vertex."""
    label, component = labels.astype(np.uint32), np.arange(len(labels), dtype=np.uint32)
    joined, giant = np.full(n, NO_VERTEX, np.uint32), np.array([len(labels) - 1], np.uint64)
    assert wcc.join(len(labels), giant, component, label, pairs, joined) == label[-1]
    return label


@pytest.mark.parametrize("pairs", [0, 100, 1000, 3000, 20_000])
def test_labels_become_the_smallest_of_their_component(pairs):
    """Some labels occur in no pair, and some occur only in pairs."""
    n = 6000
    rng = np.random.default_rng(pairs)
    ends = rng.integers(0, n, (pairs, 2)).astype(np.uint32)
    labels = rng.permutation(n)[:4000]
    assert (joined_labels(n, labels, ends) == smallest_labels(n, ends)[labels]).all()


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_a_long_chain_of_trees_is_joined(order):
    """A chain of 200,000 labels becomes one component, in any order of its pairs."""
    n = 200_000
    tails = {"ascending": np.arange, "descending": lambda k: np.arange(k)[::-1], "random": None}[order]
    tails = np.random.default_rng(1).permutation(n - 1) if tails is None else tails(n - 1)
    chain = np.stack([tails + 1, tails], axis=1).astype(np.uint32)
    assert not joined_labels(n, np.arange(n), chain).any()


def test_pairs_of_mirrors_whose_two_labels_differ():
    """Only mirrors whose label differs from the label at their owner give a pair, and each pair once.

    Vertices 0 and 1 are owned; 2 to 5 are mirrors, and mirror 5 is the only vertex of its tree.
    Mirror 2 has the same label at its owner. Mirrors 3 and 4 give the same pair.
    """
    component = np.array([0, 1, 0, 1, 1, 5], np.uint32)
    label = np.array([10, 11, 10, 7, 7, 3], np.uint32)
    pairs, length = np.zeros((4, 2), np.uint32), np.zeros(1, np.uint64)
    assert wcc.boundary_pairs(2, component, label, pairs, length) == 1
    assert pairs[0].tolist() == [11, 7]


def test_a_partition_without_vertices_has_no_giant():
    none, pairs = np.empty(0, np.uint32), np.empty((0, 2), np.uint32)
    giant, joined = np.zeros(1, np.uint64), np.zeros(3, np.uint32)
    assert wcc.join(0, giant, none, none, pairs, joined) == 0
