"""The policy `io`: consecutive vertices with the same number of edges, in and out (PGX.D; G16 Table I).

An element gets vertices in ascending number until it has its share of the edges. The last element gets the
rest. This is like the phase O of `DP-OH` over all elements. O counts the stored edges; IO counts in-edges and
out-edges, whatever is stored. α is then a share of all edges, not of the stored ones.
"""

from evener.partition.families import fill_in_order
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(fill_in_order, "degrees", balances="all edges")
