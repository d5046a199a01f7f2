"""Transfer: partitions move to the memory of their elements, with the routes between them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError
from evener.partition.footprint import run_bytes, tiers_of, window_bytes
from evener.partition.route import Route, routes_of, upload_route
from evener.partition.upload import upload_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.gpu_build import Built
    from evener.partition.host_build import HostBuilt
    from evener.partition.partition import Partition
    from evener.system.world import World

__all__ = ["check_row_lengths", "transfer_partitions"]

# Largest in-degree on a GPU, where algorithms/pagerank/kernels.cu counts in-edges in an int32.
MAX_GPU_IN_DEGREE = (1 << 31) - (1 << 13)
# Rows per step of the search for the longest row.
_ROWS_COMPARED = 1 << 22


def transfer_partitions(
    elements: list[Element],
    bounds: NDArray[np.int64],
    build: Callable[[int], HostBuilt],
    on_gpus: Mapping[int, Built],
    *,
    prefixes: bool,
    world: World,
    ranks: Sequence[int],
) -> tuple[list[Partition], list[Route]]:
    """Return the partition of each element, in the memory of the element, and the routes of this rank.

    This is a collective operation; all ranks must call it. `bounds` has the first number of each partition.
    `build` returns a partition in host memory, perhaps with pending edges. It is not called for partitions
    that are `on_gpus`. With `prefixes`, GPUs keep prefixes of rows in host memory. `ranks` has the rank of
    every partition.
    """
    first = ranks.index(world.rank)
    partitions: list[Partition] = []
    routes: list[Route] = []
    taken: dict[object, int] = defaultdict(int)  # bytes of placed partitions in each memory
    promised: dict[object, int] = defaultdict(int)  # bytes that runs need in each memory
    others = [q for q, rank in enumerate(ranks) if rank != world.rank]
    for p, element in enumerate(elements, first):
        # Each partition that is not built here yet has at most one mirror of a vertex.
        mirrors = sum(len(route) for route in routes if route.owner == p)
        owned = int(bounds[p + 1] - bounds[p])
        elsewhere = mirrors + owned * (len(ranks) - 1 - len(partitions))
        memory = element.memory
        on_gpu = on_gpus.get(p)
        if on_gpu is not None:
            placed = on_gpu.partition
            check_row_lengths(on_gpu.longest, element)
            routes += on_gpu.routes
            promised[memory] += run_bytes(placed, elsewhere)
        else:
            built, numbers = build(p)
            if element.kind != "cpu":
                check_row_lengths(_longest_row(built), element)
                far_mirrors = int(np.diff(built.mirror_bounds)[others].sum())
                promised[memory] += window_bytes(far_mirrors, built.owned * len(others))
            for route in routes_of(built, numbers, bounds):
                local = ranks[route.owner] == world.rank
                routes.append(upload_route(route, elements[route.owner - first]) if local else route)
            del numbers
            tiers = tiers_of(
                *(built, elsewhere, element),
                prefixes=prefixes, taken=taken[memory], promised=promised[memory],
            )  # fmt: skip
            promised[memory] += run_bytes(built, elsewhere)
            placed = upload_partition(built, element, tiers)
            del built  # free its host arrays before the next partition is built
        taken[memory] += placed.nbytes - placed.host_bytes
        partitions.append(placed)
    routes += _routes_from_other_ranks(routes, elements, bounds, world, ranks)
    for element in elements:
        element.wait()  # the element keeps the sources of its copies until it has waited
    return partitions, routes


def _routes_from_other_ranks(
    routes: list[Route],
    elements: list[Element],
    bounds: NDArray[np.int64],
    world: World,
    ranks: Sequence[int],
) -> list[Route]:
    """Return the routes from mirrors of other ranks to vertices of this rank, uploaded.

    This is a collective operation; all ranks must call it.
    """
    first = ranks.index(world.rank)
    sent: list[list[Route]] = [[] for _ in range(world.size)]
    for route in routes:
        if ranks[route.owner] != world.rank:
            sent[ranks[route.owner]].append(route)
    labels = world.allgather([[(r.mirror_partition, r.owner, r.begin, len(r)) for r in to] for to in sent])
    none = np.empty(0, np.uint32)
    received = world.alltoall([np.concatenate([none, *(route.index for route in to)]) for to in sent])
    found = []
    for of_rank, indices in zip(labels, received, strict=True):
        at = 0
        for mirror_partition, owner, begin, length in of_rank[world.rank]:
            index, owned = indices[at : at + length], int(bounds[owner + 1] - bounds[owner])
            route = Route.from_index(mirror_partition, owner, begin, index, owned)
            found.append(upload_route(route, elements[owner - first]))
            at += length
    return found


def _longest_row(built: Partition) -> int:
    """Return the length of the longest row of in-edges, or 0 if no row can be too long for a GPU."""
    if built.in_ is None or built.in_.count <= MAX_GPU_IN_DEGREE:
        return 0
    offsets = built.in_.offsets
    slices = (offsets[i : i + _ROWS_COMPARED + 1] for i in range(0, built.owned, _ROWS_COMPARED))
    return max(int(np.diff(part).max()) for part in slices)


def check_row_lengths(longest: int, element: Element) -> None:
    """Raise an error if the longest row is too long for the counters of GPU kernels."""
    if longest > MAX_GPU_IN_DEGREE:
        msg = (
            f"expected at most {MAX_GPU_IN_DEGREE:,} in-edges of a vertex on {element.name}, found "
            f'{longest:,}; run with on="cpu", or with on="cpu,{element.name}", policy="high"'
        )
        raise ArgumentError(msg)
