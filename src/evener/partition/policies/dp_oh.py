"""The policy `DP-OH` (G16 §III.A and §III.C).

First, ranks get consecutive vertices until each has its share of the edges (O).
Then, in each rank, CPUs get the vertices with the highest degrees (H).
"""

from evener.partition.families import in_phases

__all__ = ["POLICY"]

POLICY = in_phases("DP", distributed="O", parallel="H")
