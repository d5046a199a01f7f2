"""The policy `contiguous`: consecutive vertices with a share of the stored edges.

If near numbers are near in the graph, as in grids, road networks and crawls, few edges cross elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.partition.orders import assign_in_order, owner_array
from evener.partition.policy import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.partition.policy import Processors, Vertices

__all__ = ["POLICY"]


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - a policy
    n = len(vertices.degree)
    owner = owner_array(n, len(processors.shares))
    assign_in_order(np.arange(n, dtype=np.uint32), vertices.degree, processors.shares, owner)
    return owner


def _places_on_gpu(gpu: GpuElement, positions: Any, _: int) -> Any:
    return gpu.upload(np.arange(len(positions), dtype=np.uint32))


POLICY = Policy(_owners, "degrees", gpu_places=_places_on_gpu)
