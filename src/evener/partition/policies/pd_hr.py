"""The policy `PD-HR`: parallel, then distributed (G16 §III.A and §III.C).

First, CPUs get the vertices with the highest degrees (H).
Then, on each side, ranks get random vertices (R).
"""

from evener.partition.families import parallel_distributed

__all__ = ["POLICY"]

POLICY = parallel_distributed("H", "R")
