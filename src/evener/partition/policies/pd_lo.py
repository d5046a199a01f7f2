"""The policy `PD-LO` (G16 §III.A and §III.C).

First, CPUs get the vertices with the lowest degrees (L).
Then, on each side, ranks get consecutive vertices until each has its share of the edges (O).
"""

from evener.partition.families import in_phases

__all__ = ["POLICY"]

POLICY = in_phases("PD", distributed="O", parallel="L")
