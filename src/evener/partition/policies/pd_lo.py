"""The policy `PD-LO`: parallel, then distributed (G16 §III.A and §III.C).

First, CPUs get the vertices with the lowest degrees (L).
Then, on each side, ranks get consecutive vertices until each has its share of the edges (O).
"""

from evener.partition.families import parallel_distributed

__all__ = ["POLICY"]

POLICY = parallel_distributed("L", "O")
