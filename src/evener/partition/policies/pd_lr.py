"""The policy `PD-LR` (G16 §III.A and §III.C).

First, CPUs get the vertices with the lowest degrees (L).
Then, on each side, ranks get random vertices (R).
"""

from evener.partition.families import in_phases

__all__ = ["POLICY"]

POLICY = in_phases("PD", distributed="R", parallel="L")
