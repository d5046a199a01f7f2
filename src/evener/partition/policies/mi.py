"""The policy `mi`: each vertex goes where the sum of all workloads grows least (min-increased; G16 Table I).

Workloads are those of `mw`. An element with its share of the edges gets no more vertices, because otherwise
the fastest element would get all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.partition.policy import Policy, Processors, Vertices
from evener.partition.streams import by_workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - a policy
    return by_workload(vertices, processors, least_increase=True)


POLICY = Policy(_owners, "edges")
