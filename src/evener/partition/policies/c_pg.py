"""The policy `C-PG`: each vertex goes to the element with the least load (G16 §III.D).

The paper calls it profiling-based greedy (PG). Vertices are taken in ascending number. The load of an
element is its edges divided by its share. For a CPU and a GPU with the shares α and 1 - α, that is the load
of G16 with r = (1 - α) / α: the load of the GPU is divided by r. A GPU that is nearly full gets no more
vertices. If all GPUs are full and there is no CPU, GPUs continue: they read edges that do not fit from host
memory.

An assignment costs the logarithm of the number of elements. In G16 it costs the number of elements.
"""

from evener.partition.policy import Policy
from evener.partition.streams import by_load

__all__ = ["POLICY"]

POLICY = Policy(by_load, "degrees", profiled=True)
