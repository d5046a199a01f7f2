"""The policy `chunking`: chunks of consecutive vertices, dealt to the elements in turn (G16 §III.B).

The policy divides vertices, not edges: α has no effect.
"""

from evener.partition.orders import in_turn
from evener.partition.policy import Policy

__all__ = ["POLICY"]

# Vertices in a chunk, if every element then gets a chunk.
_CHUNK = 4096

POLICY = Policy(
    in_turn(lambda numbers, elements: numbers // max(1, min(_CHUNK, -(-len(numbers) // elements)))),
    "numbers",
    balances="vertices",
    even=True,
)
