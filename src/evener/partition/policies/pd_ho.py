"""The policy `PD-HO`: parallel, then distributed (G16 §III.A and §III.C).

First, CPUs get the vertices with the highest degrees (H).
Then, on each side, ranks get consecutive vertices until each has its share of the edges (O).
"""

from evener.partition.families import parallel_distributed

__all__ = ["POLICY"]

POLICY = parallel_distributed("H", "O")
