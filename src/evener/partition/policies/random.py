"""The policy `random`: every element gets the same mixture of degrees (T13 §6.2)."""

from evener.partition.orders import SHUFFLED, in_order
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(in_order(SHUFFLED), "positions", *SHUFFLED)
