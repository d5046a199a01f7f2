"""The policy `ldg`: linear deterministic greedy (Stanton and Kliot, KDD 2012; G16 Table I).

Vertices are taken in ascending number. Each goes to the element with the most of its neighbours, times the
part of the element's vertices that is still free. The vertices of an element are its share of all vertices:
α is a share of the vertices, not of the edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.cpu.streaming import assign_by_neighbours
from evener.partition.orders import owner_array
from evener.partition.policy import Policy, Processors, Vertices
from evener.partition.streams import neighbour_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - a policy
    count = len(processors.shares)
    owner = owner_array(len(vertices.degree), count)
    rows = neighbour_rows(vertices.graph)
    capacity = processors.shares * len(owner)
    assign_by_neighbours(*rows, capacity, owner, *np.zeros((2, count), np.uint64))
    return owner


POLICY = Policy(_owners, "edges", balances="vertices")
