"""The placement of a MapReduce job: the out-edges of a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.partition.partitioned import PartitionedGraph
from evener.spec.algorithm import AlgorithmSpec, StateBytes, Traffic
from evener.system.agreement import on_all_ranks
from evener.system.memory import available, parse_bytes
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.spec.run import Run
    from evener.system.world import World

__all__ = ["SPEC", "memory_limit", "place", "place_for_gimv"]

SPEC = AlgorithmSpec(
    name="mapreduce",
    summary="Key-value jobs over edges with functions of the user.",
    run="evener.programs.mapreduce.mapreduce:mapreduce",
    columns=(),
    directions="out",
    reads_every_edge=True,
    # On a GPU: a value, and the records of as many edges as there are vertices, while they are sorted.
    state=StateBytes(8 + 120, 8),
    host_state=StateBytes(0, 0),
    traffic=Traffic(pushed=0.0, pulled=0.0),
    unit="a job",
)
# The share of the available memory that records may use.
_MEMORY_SHARE = 0.5


def place(run: Run) -> PartitionedGraph:
    """Return the graph on elements for MapReduce; the default is all cores.

    This is a collective operation; all ranks must call it.
    """
    run.placement = replace(run.placement, directions=SPEC.directions)
    if not isinstance(run.given, PartitionedGraph) and run.placement.on is None:
        run.placement = replace(run.placement, on=("cpu",))
    return run.place(SPEC)


def place_for_gimv(run: Run, *, fields: bool) -> PartitionedGraph:
    """Return the graph on CPU elements or, without fields, on GPUs of one rank; an error for other GPUs."""
    world = current_world()
    if not isinstance(run.given, PartitionedGraph):
        on_all_ranks(world, lambda: _check_kinds(run.placement.kinds, world.size, fields=fields))
    pg = place(run)
    kinds = pg.world.allgather([element.kind for element in pg.elements])
    _check_kinds([kind for own in kinds for kind in own], pg.world.size, fields=fields)
    return pg


def _check_kinds(kinds: Sequence[str], ranks: int, *, fields: bool) -> None:
    if "cuda" in kinds and (set(kinds) != {"cuda"} or ranks > 1 or fields):
        found = "GPUs" if set(kinds) == {"cuda"} else "CPUs and GPUs"
        name, where = ("fields and ", "") if fields else ("", " or on GPUs of one rank")
        msg = (
            f'gimv with {name}engine="mapreduce" runs on CPU elements{where}, and the graph is on {found}; '
            'place it with on="cpu"'
        )
        raise ArgumentError(msg)


def memory_limit(memory: str | int | None, world: World) -> int:
    """Return the bytes that records may use on this rank; by default, half of the available memory.

    The ranks of a machine divide its memory. This is a collective operation; all ranks must call it.
    """
    here = world.allgather(world.host).count(world.host)
    if memory is None:
        memory = int(_MEMORY_SHARE * available()) // here
    return on_all_ranks(world, lambda: parse_bytes(memory, "memory"))
