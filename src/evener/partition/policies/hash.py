"""The policy `hash`: a hash of the vertex number, modulo the number of elements (Pregel; G16 Table I).

The hash is the finalizer of SplitMix64. The policy divides vertices, not edges: α has no effect.
"""

from evener.kernels.cpu.mixing import mix
from evener.partition.orders import in_turn
from evener.partition.policy import Policy

__all__ = ["POLICY"]

POLICY = Policy(in_turn(lambda numbers, _: mix(numbers)), "numbers", balances="vertices", even=True)
