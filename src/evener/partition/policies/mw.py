"""The policy `mw`: each vertex goes where the workload is then least (min-workload; G16 Table I).

Vertices are taken in ascending number. The workload of an element is its edges, plus its edges to vertices
of other elements once more, divided by its share (Xu et al., TKDE 2015). α is a share of the workload, not of
the edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.partition.policy import Policy, Processors, Vertices
from evener.partition.streams import by_workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - a policy
    return by_workload(vertices, processors, least_increase=False)


POLICY = Policy(_owners, "edges", balances="workload")
