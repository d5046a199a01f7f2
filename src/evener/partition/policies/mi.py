"""The policy `mi`: each vertex goes where the sum of all workloads grows least (min-increased; G16 Table I).

Workloads are those of `mw`. An element with its share of the edges gets no more vertices, because otherwise
the fastest element would get all of them.
"""

from evener.partition.policy import Policy
from evener.partition.streams import by_workload

__all__ = ["POLICY"]

POLICY = Policy(by_workload(least_increase=True), "edges")
