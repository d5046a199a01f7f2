"""The policy `mw`: each vertex goes where the workload is then least (min-workload; G16 Table I).

Vertices are taken in ascending number. The workload of an element is its edges, plus its edges to vertices
of other elements once more, divided by its share (Xu et al., TKDE 2015). α is a share of the workload, not of
the edges.
"""

from evener.partition.policy import Policy
from evener.partition.streams import by_workload

__all__ = ["POLICY"]

POLICY = Policy(by_workload(least_increase=False), "edges", balances="workload")
