"""The policy `hash`: a hash of the vertex number, modulo the number of elements (Pregel; G16 Table I).

The hash is the finalizer of SplitMix64. The policy divides vertices, not edges: α has no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.cpu.mixing import mix
from evener.partition.orders import owner_array
from evener.partition.policy import Policy, Processors, Vertices

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - a policy
    owner = owner_array(len(vertices.degree), len(processors.shares))
    hashes = mix(np.arange(len(owner), dtype=np.uint64))
    np.remainder(hashes, np.uint64(len(processors.shares)), out=owner, casting="unsafe")
    return owner


POLICY = Policy(_owners, "numbers", balances="vertices", even=True)
