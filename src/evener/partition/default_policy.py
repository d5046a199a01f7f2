"""Default policy: how equal elements divide a graph, if the caller names no policy.

If near numbers are near in the graph, contiguous vertices need few mirrors. Otherwise random vertices give
all elements the same mixture of degrees. A sample of neighbours predicts the time of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.partition.neighbour_sample import NeighbourSample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.graph.graph import Graph

__all__ = ["DEFAULT", "default_policy", "equal_parts_policy"]

# The policy of elements that are not equal, and of graphs without near numbers.
DEFAULT = "random"
# Smallest number of vertices for which policies are compared.
_MIN_VERTICES = 1 << 16
# Time in edges of a sent value (rates of benchmarks/divisions.py), and of a vertex (not measured).
_EDGES_PER_VALUE, _EDGES_PER_VERTEX = 4, 2
# Contiguous vertices are chosen below this share of the time of random vertices.
_GAIN = 0.9


def default_policy(graph: Graph, directions: str, shares: Sequence[float]) -> str:
    """Return the policy for elements with these shares of the edges: "contiguous" or "random".

    This function builds the in-edges of a directed graph if partitions will store them.
    """
    if len(set(shares)) > 1 or len(shares) == 1 or graph.n < _MIN_VERTICES:
        return DEFAULT
    if directions != "out":
        _ = graph.reverse
    edges = graph.m * (1 + (graph.directed and directions == "both"))
    return equal_parts_policy(NeighbourSample.by_number(graph, directions), graph.n, edges, len(shares))


def equal_parts_policy(sample: NeighbourSample | None, n: int, edges: int, parts: int) -> str:
    """Return the policy for equal parts of a graph, given a sample by number, if known, and stored edges."""
    if sample is None or n < _MIN_VERTICES or parts == 1:
        return DEFAULT
    count = n / len(sample.position)
    owner = np.minimum((sample.position * parts).astype(np.int64), parts - 1)
    owned = np.bincount(owner, minlength=parts) * count
    connected = np.bincount(owner, sample.weight, minlength=parts) * count
    sent = connected * np.nansum(sample.between([1 / parts] * parts), axis=1)
    contiguous = edges / parts + _EDGES_PER_VALUE * sent.max() + _EDGES_PER_VERTEX * owned.max()
    met = (parts - 1) * float(np.mean(1 - (1 - 1 / parts) ** sample.neighbours))
    shuffled = (edges + _EDGES_PER_VALUE * met * n + _EDGES_PER_VERTEX * n) / parts
    return "contiguous" if contiguous < _GAIN * shuffled else DEFAULT
