"""The policy `DP-OL` (G16 §III.A and §III.C).

First, ranks get consecutive vertices until each has its share of the edges (O).
Then, in each rank, CPUs get the vertices with the lowest degrees (L).
"""

from evener.partition.families import in_phases

__all__ = ["POLICY"]

POLICY = in_phases("DP", distributed="O", parallel="L")
