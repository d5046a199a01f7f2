"""Placement cache: the last placement of each graph, for later runs of the process.

A kept placement does not refer to its graph, so both are freed together. Only the thread that placed the
graph reuses it, because a GPU runs one algorithm at a time. A placement is dropped if memory is short, and
before another graph is placed on a GPU.
"""

from __future__ import annotations

from dataclasses import replace
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from evener.partition.partitioned import PartitionedGraph
from evener.system import memory

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.placement import Placement

__all__ = ["find_kept", "forget_kept", "keep"]


class _Kept(NamedTuple):
    """A placed graph without the graph, and the request that it answers.

    `plan` is the plan of the placement, if any, and `run` the algorithm and the passes that it is for.
    """

    request: Placement
    thread: int
    parts: dict[str, Any]
    plan: Any
    run: tuple[str, float]

    @property
    def on_gpu(self) -> bool:
        return any(element.kind != "cpu" for element in self.parts["elements"])

    def serves(self, request: Placement, run: tuple[str, float]) -> bool:
        """Return true if a call of this thread can use the placed graph."""
        # Edges of a direction that the run does not need may have displaced others to host memory.
        spare = self.parts["directions"] == "both" and not any(p.host_edges for p in self.parts["partitions"])
        stored = self.parts["directions"] == request.directions or spare
        equal = replace(self.request, directions=request.directions) == request
        planned = self.plan is None or self.run == run
        return stored and planned and equal and self.thread == get_ident()


_lock = RLock()
_kept: WeakKeyDictionary[Graph, _Kept] = WeakKeyDictionary()


def find_kept(
    graph: Graph, request: Placement, run: tuple[str, float]
) -> tuple[PartitionedGraph, Any] | None:
    """Return the kept placed graph and its plan if it serves a request; else free it and return None.

    `run` is the algorithm and the passes of the run. A placement by a plan serves only the same run.
    """
    with _lock:
        kept = _kept.get(graph)
        if kept is None:
            return None
        if not kept.serves(request, run):
            del _kept[graph]
            return None
    return PartitionedGraph.from_parts(graph, kept.parts), kept.plan


def keep(pg: PartitionedGraph, request: Placement, run: tuple[str, float], plan: Any = None) -> None:
    """Keep a placed graph for later runs, unless it would leave less host memory than it holds."""
    elements = zip(pg.elements, pg.partitions, strict=True)
    on_host = sum(p.nbytes if e.kind == "cpu" else p.host_bytes for e, p in elements)
    if on_host <= memory.available():
        with _lock:
            _kept[pg.graph] = _Kept(request, get_ident(), pg.parts, plan, run)


def forget_kept() -> None:
    """Free all kept placements."""
    with _lock:
        _kept.clear()


def _forget_kept_on_gpus() -> bool:
    """Free the kept placements with a partition on a GPU, and return whether there were any."""
    with _lock:
        graphs = [graph for graph, kept in _kept.items() if kept.on_gpu]
        for graph in graphs:
            del _kept[graph]
    return bool(graphs)


memory.on_shortage(forget_kept)
memory.on_device_shortage(_forget_kept_on_gpus)
