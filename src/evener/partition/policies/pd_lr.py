"""The policy `PD-LR`: parallel, then distributed (G16 §III.A and §III.C).

First, CPUs get the vertices with the lowest degrees (L).
Then, on each side, ranks get random vertices (R).
"""

from evener.partition.families import parallel_distributed

__all__ = ["POLICY"]

POLICY = parallel_distributed("L", "R")
