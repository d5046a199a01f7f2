"""The policy `chunking`: chunks of consecutive vertices, dealt to the elements in turn (G16 §III.B).

The policy divides vertices, not edges: α has no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.partition.orders import owner_array
from evener.partition.policy import Policy, Processors, Vertices

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]

# Vertices in a chunk, if every element then gets a chunk.
_CHUNK = 4096


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - a policy
    n, elements = len(vertices.degree), len(processors.shares)
    owner = owner_array(n, elements)
    chunk = max(1, min(_CHUNK, -(-n // elements)))
    np.remainder(np.arange(n) // chunk, elements, out=owner, casting="unsafe")
    return owner


POLICY = Policy(_owners, "numbers", balances="vertices", even=True)
