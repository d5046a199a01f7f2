"""The policy `random`: every element gets the same mixture of degrees (T13 §6.2)."""

from evener.partition.orders import in_order, shuffled, shuffled_places
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(in_order(shuffled), "positions", order=shuffled, places=shuffled_places)
