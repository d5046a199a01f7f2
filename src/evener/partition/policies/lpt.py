"""The policy `lpt`: longest processing time first (S13 §III.C).

Vertices are taken in descending degree. Each goes to the element with the least load: its edges divided by
its share. On equal elements, the most loaded one has at most 4/3 of the edges of the best division (Graham).
Vertices without edges come last and count one edge, so that they are divided too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.partition.orders import owner_array
from evener.partition.policy import Policy, Processors, Vertices
from evener.partition.streams import least_loaded

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - a policy
    order = read_only(vertices.by_degree)
    degree = np.empty(len(order), vertices.degree.dtype)
    kernels.gather_values(read_only(vertices.degree), order, degree)
    unlimited = np.full(len(processors.shares), np.inf)
    owner = owner_array(len(order), len(processors.shares))
    owner[order] = least_loaded(np.maximum(degree, 1), processors.shares, unlimited)
    return owner


POLICY = Policy(_owners, "positions")
