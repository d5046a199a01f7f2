"""The policy `DP-RH`: distributed, then parallel (G16 §III.A and §III.C).

First, ranks get random vertices (R).
Then, in each rank, CPUs get the vertices with the highest degrees (H).
"""

from evener.partition.families import distributed_parallel

__all__ = ["POLICY"]

POLICY = distributed_parallel("R", "H")
