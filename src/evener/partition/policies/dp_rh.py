"""The policy `DP-RH` (G16 §III.A and §III.C).

First, ranks get random vertices (R).
Then, in each rank, CPUs get the vertices with the highest degrees (H).
"""

from evener.partition.families import in_phases

__all__ = ["POLICY"]

POLICY = in_phases("DP", distributed="R", parallel="H")
