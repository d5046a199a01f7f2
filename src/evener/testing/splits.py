"""Splits of test graphs: few for each graph, and for all graphs together every pair of parameters."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from evener.partition.build import partition
from evener.partition.policy import PLANNED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["placements"]

# Policies and shares of the first element. A stride without a common divisor reaches all of them.
_SPLITS = list(product(PLANNED, (None, 0, 0.2, 0.5, 0.8, 1)))
_STRIDE = 7


def placements(graph: Graph, kind: str, number: int) -> Iterator[PartitionedGraph]:
    """Yield a graph on one, two and four elements.

    Eighteen consecutive numbers give each number of elements every policy with every share.

    Parameters
    ----------
    graph : Graph
    kind : str
        The kind of the elements, such as "cpu:1".
    number : int
        The number of the test graph, which chooses policies and shares.
    """
    for elements in (1, 2, 4):
        policy, share = _SPLITS[(_STRIDE * number + elements) % len(_SPLITS)]
        alpha = share if elements > 1 else None
        yield partition(graph, [kind] * elements, policy=policy, alpha=alpha)
