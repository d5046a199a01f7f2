"""Build the partitions of a graph, one for each processing element."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.elements import Element, parse_elements
from evener.errors import ArgumentError
from evener.graph.checks import check_seed, type_name
from evener.graph.graph import Graph
from evener.kernels.cpu import partition as kernels
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.distributed.mirrors import build_partitions as build_own_partitions
from evener.partition.distributed.numbers import number_vertices as number_own_vertices
from evener.partition.distributed.owned_rows import send_rows
from evener.partition.distributed.read import read_graph
from evener.partition.footprint import run_bytes, tiers_of
from evener.partition.gpu_build import build_parts, build_whole, descending_degree
from evener.partition.hint import with_placement_hint
from evener.partition.host_bytes import bytes_needed, edge_bytes, share_on_host
from evener.partition.owners import edge_shares, owners
from evener.partition.partition import Numbering, Partition, build_partition, number_vertices
from evener.partition.partitioned import PartitionedGraph
from evener.partition.placement_cache import forget_kept_on_gpus
from evener.partition.policy import check_policy
from evener.partition.route import Route, routes_of, upload_route
from evener.partition.shared_gpus import note_shared_gpus
from evener.partition.upload import upload_partition
from evener.system.agreement import check_equal
from evener.system.memory import parse_bytes, require, translate_errors
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evener.elements.cuda.element import CudaElement
    from evener.partition.distributed.mirrors import DistributedNumbering
    from evener.partition.gpu_build import Built
    from evener.system.world import World

    _Placed = tuple[
        list[Partition], list[Route], Numbering | DistributedNumbering, list[NDArray[np.float64]] | None
    ]

__all__ = ["partition", "place_partitions"]

# Largest out-degree: partitions store out-degrees as uint32.
MAX_OUT_DEGREE = (1 << 32) - 1
# Largest in-degree on a GPU, where algorithms/pagerank/kernels.cu counts in-edges in an int32.
MAX_GPU_IN_DEGREE = (1 << 31) - (1 << 13)
# Rows per step of the search for the longest row.
_ROWS_COMPARED = 1 << 22


@translate_errors("placing a graph")
def partition(
    graph: Graph | str | os.PathLike[str],
    on: str | Sequence[str] | Sequence[Element] | None = None,
    *,
    policy: str = "random",
    alpha: float | None = None,
    gpu_memory: str | int | None = None,
    directions: str = "both",
    seed: int = 0,
    **reading: Any,
) -> PartitionedGraph:
    """Place a graph on processing elements.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    graph : Graph, path-like or str
        A graph, or a file or a generator spec such as "rmat:20". With several ranks, each rank reads or
        generates its own part of a file or spec, and no rank holds the whole graph.
    on : str or sequence of str, optional
        The elements: "cpu", "cpu:8", "cuda:0", or several. Default: all cores as one element.
    policy : {"random", "high", "low"}
        Which vertices the first element gets: random ones, or those of highest or of lowest degree
        (T13 §6.2).
    alpha : float, optional
        Share of the edges on the CPU side, 0 to 1. If all elements are CPUs, the CPU side is the first one.
        The elements of a side divide its edges in proportion to their threads. By default, all elements
        divide all edges in this proportion, and a GPU counts as hundreds of threads. A single element gets
        all edges.
    gpu_memory : str or int, optional
        Memory to use on each GPU: bytes, or a size such as "20GiB". The GPU reads edges that do not fit from
        host memory. Default: all free memory.
    directions : {"both", "out", "in"}
        Which edges to store. An undirected graph has one direction that serves as both. PageRank needs only
        "in", and breadth-first search needs only "out". With "both", a GPU also keeps the first few edges of
        long rows in host memory, for searches.
    seed : int, default 0
        Seed of the policy "random"; at least 0.
    **reading
        Options of `evener.read` for a path: `format`, `directed`, `weighted`, `n`, `self_loops`,
        `duplicates` and `columns`.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    ArgumentError
        For an object that is not a Graph, an unknown element or policy, a share outside 0..1, or a seed that
        is no integer of at least 0. For a format that several ranks cannot read together.
    EvenerError
        As `evener.read`, for a path. All ranks raise the error.
    MpiError
        If ranks partition different graphs or in different ways.
    OutOfMemoryError
        If the partitions need more memory than is available. Nothing has been allocated then.
    DeviceOutOfMemory
        If a partition does not fit its GPU. The message gives elements, a policy and a share that fit.
    DeviceError
        If a GPU is named and no GPU is usable.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)
    >>> pg = ev.partition(g, on=["cpu:1", "cpu:1"], policy="high", alpha=0.5)
    >>> [(p.vertices, p.mirrors) for p in pg.statistics.partitions]
    [(1, 3), (3, 1)]
    """
    if isinstance(graph, PartitionedGraph):
        msg = "partition: expected a Graph, found a PartitionedGraph; pass it to algorithms directly"
        raise ArgumentError(msg)
    if not isinstance(graph, Graph | str | os.PathLike):
        got = type_name(graph)
        msg = f"partition: expected a Graph, found {got}; make one with evener.read or Graph.from_edges"
        raise ArgumentError(msg)
    if directions not in ("both", "out", "in"):
        msg = f'directions=: expected "both", "out" or "in", found {directions!r}'
        raise ArgumentError(msg)
    check_policy(policy)
    seed = check_seed(seed)
    if not isinstance(graph, Graph):
        graph = read_graph(graph, directions, **reading)
    elif reading:
        msg = f"partition: expected {next(iter(reading))}= for a path only, found a Graph; give it to read()"
        raise ArgumentError(msg)
    limit = None if gpu_memory is None else parse_bytes(gpu_memory, "gpu_memory")
    elements, world = parse_elements(on, gpu_memory=limit), current_world()
    note_shared_gpus(elements, world)
    if any(element.kind != "cpu" for element in elements):
        forget_kept_on_gpus()
    check_equal(
        world, vertices=graph.n, edges=graph.m, policy=policy, alpha=alpha, directions=directions, seed=seed
    )
    weights, on_cpu, ranks = _all_elements(elements, world)
    shares = edge_shares(weights, alpha, on_cpu=on_cpu)
    first = ranks.index(world.rank)
    own_shares = shares[first : first + len(elements)]
    on_host = share_on_host(elements, own_shares, edge_bytes(graph, directions))
    whole = not isinstance(graph, DistributedGraph)
    needed = (
        bytes_needed(graph, directions, on_host) if whole else int(edge_bytes(graph, directions) * on_host)
    )
    require(needed, f"placing {graph!r} on {len(elements)} element(s)")
    with with_placement_hint(graph, elements, directions=directions) if whole else nullcontext():
        partitions, routes, numbering, strength = _build(
            graph, directions, elements, policy, shares, seed, world, ranks
        )
    return PartitionedGraph(
        graph,
        elements,
        partitions,
        routes,
        numbering,
        policy=policy,
        directions=directions,
        world=world,
        ranks=ranks,
        strength=strength,
    )


def _build(
    graph: Graph,
    directions: str,
    elements: list[Element],
    policy: str,
    shares: NDArray[np.float64],
    seed: int,
    world: World,
    ranks: Sequence[int],
) -> _Placed:
    """Return the partitions and routes of this rank, the numbering, and the sums of weights, if known."""
    if isinstance(graph, DistributedGraph):
        first = ranks.index(world.rank)
        numbers = number_own_vertices(graph, policy=policy, shares=shares, seed=seed)
        owned = send_rows(graph, numbers, ranks)
        built, own_numbering = build_own_partitions(graph, numbers, owned, ranks)
        strength = owned.strength_of(numbers.bounds[first : first + len(elements) + 1])
        del owned
        placed = place_partitions(
            elements, own_numbering, built.pop, {}, prefixes=directions == "both", world=world, ranks=ranks
        )
        return *placed, own_numbering, strength
    order = None
    if world.size == 1 and all(element.kind == "cuda" for element in elements):
        gpu = cast("CudaElement", elements[0])
        if len(elements) > 1:
            order = descending_degree(graph, gpu, gpu.room())
        elif whole := build_whole(graph, directions, gpu, gpu.room()):
            on_gpu, numbering = whole
            _check_row_lengths(on_gpu.longest, gpu)
            return [on_gpu.partition], [], numbering, None
    by_degree, degree, out_degree = order or _descending_degree(graph)
    owner = owners(by_degree, degree, policy=policy, shares=shares, seed=seed)
    del degree
    numbering = number_vertices(by_degree, owner, len(shares))
    del by_degree
    partitions, routes = build_partitions(
        graph, directions, elements, numbering, out_degree, world=world, ranks=ranks
    )
    return partitions, routes, numbering, None


def _all_elements(elements: list[Element], world: World) -> tuple[list[float], list[bool], list[int]]:
    """Return the weight of each element of all ranks, whether it is a CPU, and its rank."""
    facts = world.allgather([(element.weight, element.kind == "cpu") for element in elements])
    ranks = [rank for rank, own in enumerate(facts) for _ in own]
    return [weight for own in facts for weight, _ in own], [cpu for own in facts for _, cpu in own], ranks


def build_partitions(
    graph: Graph,
    directions: str,
    elements: list[Element],
    numbering: Numbering,
    out_degree: NDArray[np.uint32],
    *,
    world: World,
    ranks: Sequence[int],
) -> tuple[list[Partition], list[Route]]:
    """Return the partition of each element, in the memory of the element, and its routes."""

    def build(p: int) -> Partition:
        return build_partition(
            p, numbering, graph, out_degree, out=directions != "in", in_=directions != "out"
        )

    # GPUs build partitions numbered from 0, so on several ranks the host builds all of them.
    on_gpus = build_parts(numbering, graph, out_degree, directions, elements) if world.size == 1 else {}
    prefixes = directions == "both"
    return place_partitions(elements, numbering, build, on_gpus, prefixes=prefixes, world=world, ranks=ranks)


def place_partitions(
    elements: list[Element],
    numbering: Numbering | DistributedNumbering,
    build: Callable[[int], Partition],
    on_gpus: Mapping[int, Built],
    *,
    prefixes: bool,
    world: World,
    ranks: Sequence[int],
) -> tuple[list[Partition], list[Route]]:
    """Return the partition of each element, in the memory of the element, and the routes of this rank.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    elements : list of Element
    numbering : Numbering or DistributedNumbering
    build : callable
        Returns the partition with a number in host memory, perhaps with pending edges.
    on_gpus : mapping of int to Built
        Partitions that are in the memory of their GPUs.
    prefixes : bool
        Whether GPUs keep prefixes of rows in host memory.
    world : World
    ranks : sequence of int
        The rank of each partition of all ranks.
    """
    first = ranks.index(world.rank)
    partitions: list[Partition] = []
    routes: list[Route] = []
    taken: dict[object, int] = defaultdict(int)  # bytes of placed partitions in each memory
    promised: dict[object, int] = defaultdict(int)  # bytes that runs need in each memory
    for p, element in enumerate(elements, first):
        # Each partition that is not built here yet has at most one mirror of a vertex.
        mirrors = sum(len(route) for route in routes if route.owner == p)
        elsewhere = mirrors + len(numbering.owned_by(p)) * (len(ranks) - 1 - len(partitions))
        memory = element.memory
        on_gpu = on_gpus.get(p)
        if on_gpu is not None:
            placed = on_gpu.partition
            _check_row_lengths(on_gpu.longest, element)
            own_routes = routes_of(replace(placed, vertices=on_gpu.vertices), numbering)
            promised[memory] += run_bytes(placed, elsewhere)
        else:
            built = build(p)
            if element.kind != "cpu":
                _check_row_lengths(_longest_row(built), element)
            own_routes = routes_of(built, numbering)
            tiers = tiers_of(
                *(built, elsewhere, element),
                prefixes=prefixes, taken=taken[memory], promised=promised[memory],
            )  # fmt: skip
            promised[memory] += run_bytes(built, elsewhere)
            placed = upload_partition(built, element, tiers)
            del built  # free its host arrays before the next partition is built
        taken[memory] += placed.nbytes - placed.host_bytes
        partitions.append(placed)
        for route in own_routes:
            local = ranks[route.owner] == world.rank
            routes.append(upload_route(route, elements[route.owner - first]) if local else route)
    routes += _routes_from_other_ranks(routes, elements, numbering, world, ranks)
    for element in elements:
        element.wait()  # the element keeps the sources of its copies until it has waited
    return partitions, routes


def _routes_from_other_ranks(
    routes: list[Route],
    elements: list[Element],
    numbering: Numbering | DistributedNumbering,
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
            index, owned = indices[at : at + length], len(numbering.owned_by(owner))
            route = Route.from_index(mirror_partition, owner, begin, index, owned)
            found.append(upload_route(route, elements[owner - first]))
            at += length
    return found


def _descending_degree(
    graph: Graph,
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the vertices in descending degree, their degrees, and their out-degrees.

    The degree of a vertex of a directed graph counts in-edges and out-edges.
    """
    degree = graph.out_degree()
    if (largest := int(degree.max(initial=0))) > MAX_OUT_DEGREE:
        msg = (
            f"expected at most {MAX_OUT_DEGREE:,} out-edges of a vertex, found {largest:,}; "
            'build the graph with duplicates="drop"'
        )
        raise ArgumentError(msg)
    out_degree = degree.astype(np.uint32)
    if graph.directed:
        degree += graph.in_degree()
    by_degree = np.empty(graph.n, dtype=np.uint32)
    degrees = int(degree.max(initial=0)) + 2
    require(8 * degrees, "sorting vertices by their degrees")
    first = np.zeros(degrees, dtype=np.uint64)
    kernels.order_by_degree(degree, first, by_degree)
    return by_degree, degree, out_degree


def _longest_row(built: Partition) -> int:
    """Return the length of the longest row of in-edges, or 0 if no row can be too long for a GPU."""
    if built.in_ is None or built.in_.count <= MAX_GPU_IN_DEGREE:
        return 0
    offsets = built.in_.offsets
    slices = (offsets[i : i + _ROWS_COMPARED + 1] for i in range(0, built.owned, _ROWS_COMPARED))
    return max(int(np.diff(part).max()) for part in slices)


def _check_row_lengths(longest: int, element: Element) -> None:
    """Raise an error if the longest row is too long for the counters of GPU kernels."""
    if longest > MAX_GPU_IN_DEGREE:
        msg = (
            f"expected at most {MAX_GPU_IN_DEGREE:,} in-edges of a vertex on {element.name}, found "
            f'{longest:,}; run with on="cpu", or with on="cpu,{element.name}", policy="high"'
        )
        raise ArgumentError(msg)
