"""The placement of a MapReduce job: the out-edges of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.elements import named
from evener.errors import ArgumentError
from evener.partition.partitioned import PartitionedGraph
from evener.spec.algorithm import AlgorithmSpec, StateBytes, Traffic
from evener.spec.arguments import ensure_placed
from evener.system.agreement import on_all_ranks
from evener.system.memory import available, parse_bytes
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["SPEC", "memory_limit", "placed", "placed_for_gimv"]

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


def placed(
    graph: Graph | PartitionedGraph,
    *,
    on: str | Sequence[str] | None,
    policy: str,
    alpha: float | Literal["auto"] | None,
    gpu_memory: str | int | None,
) -> PartitionedGraph:
    """Return the graph on elements; the default is all cores.

    This is a collective operation; all ranks must call it. The arguments are those of algorithms.
    """
    if not isinstance(graph, PartitionedGraph) and on is None:
        on = "cpu"
    return ensure_placed(graph, SPEC, on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory)


def placed_for_gimv(
    graph: Graph | PartitionedGraph,
    *,
    on: str | Sequence[str] | None,
    policy: str,
    alpha: float | Literal["auto"] | None,
    gpu_memory: str | int | None,
    fields: bool,
) -> PartitionedGraph:
    """Return the graph on CPU elements or, without fields, on GPUs of one rank; an error for other GPUs."""
    world = current_world()

    def check() -> None:
        names = [name.partition(":")[0].strip() for name in named(on) or () if isinstance(name, str)]
        _check_kinds(names, world.size, fields=fields)

    if not isinstance(graph, PartitionedGraph):
        on_all_ranks(world, check)
    pg = placed(graph, on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory)
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
