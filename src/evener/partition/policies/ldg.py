"""The policy `ldg`: linear deterministic greedy (Stanton and Kliot, KDD 2012; G16 Table I).

Vertices are taken in ascending number. Each goes to the element with the most of its neighbours, times the
part of the element's vertices that is still free. The vertices of an element are its share of all vertices:
α is a share of the vertices, not of the edges.
"""

from evener.partition.policy import Policy
from evener.partition.streams import by_neighbours

__all__ = ["POLICY"]

POLICY = Policy(by_neighbours, "edges", balances="vertices")
