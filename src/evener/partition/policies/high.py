"""The policy `high`: the first element gets few vertices with many edges (T13 §6.2)."""

from evener.partition.orders import DESCENDING, in_order
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(in_order(DESCENDING), "positions", *DESCENDING, degrees_only=True)
