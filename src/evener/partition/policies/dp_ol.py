"""The policy `DP-OL`: distributed, then parallel (G16 §III.A and §III.C).

First, ranks get consecutive vertices until each has its share of the edges (O).
Then, in each rank, CPUs get the vertices with the lowest degrees (L).
"""

from evener.partition.families import distributed_parallel

__all__ = ["POLICY"]

POLICY = distributed_parallel("O", "L")
