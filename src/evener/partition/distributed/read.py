"""Read a graph of a path or a generator spec: whole with one rank, in parts with several."""

from __future__ import annotations

import os
from inspect import signature
from typing import TYPE_CHECKING, Any

from evener.graph.formats import read, read_share
from evener.partition.distributed.build import build_graph
from evener.system.agreement import collective
from evener.system.world import current_world

if TYPE_CHECKING:
    from evener.graph.graph import Graph

__all__ = ["READ_OPTIONS", "is_path", "read_graph"]


# The options of `read`.
READ_OPTIONS = tuple(name for name in signature(read).parameters if name != "path")


def is_path(graph: Any) -> bool:
    """Return whether an argument names a graph instead of holding one."""
    return isinstance(graph, str | os.PathLike)


@collective(files=("path",), name="read")
def read_graph(path: str | os.PathLike[str], directions: str, **options: Any) -> Graph:
    """Return the graph of a path or a generator spec.

    With several ranks, each rank reads its own part. This is a collective operation; all ranks must call it.

    Parameters
    ----------
    path : path-like or str
    directions : {"both", "out", "in"}
        The edges that the graph is read for.
    **options
        Options of `evener.read`.
    """
    world = current_world()
    if world.size == 1:
        return read(path, **options)
    return build_graph(world, read_share(path, world, **options), directions)
