"""Splits of test graphs: few for each graph, and for all graphs together every pair of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.partition.build import partition
from evener.partition.policy import PLANNED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["placements"]

# Shares of the first element.
_SHARES = (None, 0, 0.2, 0.5, 0.8, 1)


def placements(graph: Graph, kind: str, number: int) -> Iterator[PartitionedGraph]:
    """Yield a graph on one, two and four elements.

    Twelve consecutive numbers give every policy with every share. The even numbers among them, and the odd
    numbers, give two and four elements every policy and every share.

    Parameters
    ----------
    graph : Graph
    kind : str
        The kind of the elements, such as "cpu:1".
    number : int
        The number of the test graph, which chooses policies and shares.
    """
    for turn, elements in enumerate((1, 2, 4)):
        policy = PLANNED[(number + 2 * turn) % len(PLANNED)]
        alpha = _SHARES[(number // 2 + 3 * turn) % len(_SHARES)] if elements > 1 else None
        yield partition(graph, [kind] * elements, policy=policy, alpha=alpha)
