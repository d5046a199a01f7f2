"""Owners of vertices by a policy, with defaults: CPUs of one rank, and one direction of edges."""

from __future__ import annotations

import numpy as np

from evener.partition import owners as home
from evener.partition.policy import Processors, Vertices

__all__ = ["owners"]


def owners(
    by_degree, degree, *, policy, shares, on_cpu=None, ranks=None, most_edges=None, total_degree=None,
    graph=None, seed=0,
):  # fmt: skip
    """Return the owners; the arguments are as in `Vertices` and `Processors`."""
    count = len(shares)
    processors = Processors(
        np.asarray(shares),
        np.ones(count, bool) if on_cpu is None else np.asarray(on_cpu, bool),
        np.zeros(count, np.int64) if ranks is None else np.asarray(ranks, np.int64),
        np.full(count, np.inf) if most_edges is None else np.asarray(most_edges, np.float64),
    )
    every = degree if total_degree is None else total_degree
    return home.owners(policy, Vertices(by_degree, degree, every, graph), processors, seed)
