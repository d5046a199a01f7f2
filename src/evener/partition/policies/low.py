"""The policy `low`: the first element gets many vertices with few edges (T13 §6.2)."""

from evener.partition.orders import ASCENDING, in_order
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(in_order(ASCENDING), "positions", *ASCENDING, degrees_only=True)
