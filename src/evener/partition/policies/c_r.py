"""The policy `C-R`: random vertices, the same number of edges on every element (G16 §III.C).

The policy is G16's control for `C-PG`. It does not know that a GPU is faster than a CPU: α has no effect.
"""

from evener.partition.orders import SHUFFLED, in_order
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(in_order(SHUFFLED), "positions", *SHUFFLED, even=True)
