"""The policy `round-robin`: vertex v goes to element v modulo the number of elements (S13 §IV.E).

The policy divides vertices, not edges: α has no effect.
"""

from evener.partition.orders import in_turn
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(in_turn(lambda numbers, _: numbers), "numbers", balances="vertices", even=True)
