"""The functions of the algorithms in this folder, for type checkers and editors.

At run time ``evener.NAME`` comes from the registry, which needs no list.
"""

from __future__ import annotations

from evener.algorithms.betweenness.betweenness import betweenness
from evener.algorithms.bfs.bfs import bfs
from evener.algorithms.pagerank.pagerank import pagerank
from evener.algorithms.sssp.sssp import sssp
from evener.algorithms.wcc.wcc import wcc

__all__ = ["betweenness", "bfs", "pagerank", "sssp", "wcc"]
