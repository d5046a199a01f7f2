"""Build the partitions of a graph, one for each processing element."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import check_seed, graph_remedy, type_name
from evener.graph.graph import Graph
from evener.partition.default_policy import DEFAULT, default_policy
from evener.partition.distributed.build import READ_OPTIONS, read_graph
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.distributed.numbers import number_own_vertices
from evener.partition.distributed.owned_rows import OwnedRows
from evener.partition.estimate import with_placement_hint
from evener.partition.footprint import bytes_needed, edge_bytes, most_edges, share_on_host
from evener.partition.gpu_parts import number_and_build, takes_rows_of_host
from evener.partition.host_build import build_on_host, part_of_graph
from evener.partition.numbering import gathered
from evener.partition.owners import Division, edge_shares, owners
from evener.partition.partitioned import PartitionedGraph
from evener.partition.placement import Placement
from evener.partition.policy import Processors, check_policy
from evener.partition.processors import all_elements, note_shared_gpus
from evener.partition.transfer import transfer_partitions
from evener.system import memory
from evener.system.agreement import collective, on_all_ranks
from evener.system.memory import release_on_devices, require, return_freed, translate_errors
from evener.system.notebook import stage
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.distributed.numbers import DistributedNumbering
    from evener.partition.gpu_build import Built
    from evener.partition.host_build import HostBuilt
    from evener.partition.numbering import Numbering
    from evener.partition.policy import Vertices

__all__ = ["partition", "place_graph"]


@collective()
@translate_errors("placing a graph")
def partition(
    graph: Graph | str | os.PathLike[str],
    on: str | Sequence[str] | Sequence[Element] | None = None,
    *,
    policy: str | None = None,
    alpha: float | Literal["auto"] | None = None,
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
        The elements: "cpu", "cpu:8", "cuda:0", or several. Default: all cores as one element; for a graph of
        arrays on a GPU, this GPU.
    policy : str, optional
        How the owners of the vertices are chosen: see the table in the section Notes. Default: "random", or
        "contiguous" if elements get equal shares and a sample of edges predicts a gain of more than 10%. A
        graph gets "random" if it is in parts on several ranks, or if no host memory has the rows to sample.
    alpha : float or "auto", optional
        Share of the stored edges on the CPU side, 0 to 1. If all elements are CPUs, or all are GPUs, the CPU
        side is the first one. The elements of a side divide its edges in proportion to their threads.
        Default, or "auto": all elements divide all edges in this proportion, and a GPU counts as hundreds of
        threads. A single element gets all edges.
    gpu_memory : str or int, optional
        Memory to use on each GPU: bytes, or a size such as "20GiB". The GPU reads edges that do not fit from
        host memory. Default: all free memory.
    directions : {"both", "out", "in"}, default "both"
        Which edges to store. An undirected graph has one direction that serves as both. PageRank needs only
        "in", and breadth-first search needs only "out". With "both", a GPU also keeps copies of the
        first edges of the long rows that are in host memory, for searches.
    seed : int, default 0
        Seed of the policies that are random; at least 0.
    **reading
        Options of `evener.read` for a path: `format`, `directed`, `weighted`, `n`, `self_loops`,
        `duplicates` and `columns`.

    Returns
    -------
    PartitionedGraph

    Notes
    -----
    T13, G16 and S13 are papers: see Sources in ``docs/design.md``. The policies are:

    - "contiguous": consecutive vertices. They have few mirrors in grids, road networks and crawls.
    - "random", "high", "low": the first element gets random vertices, or those of highest or of lowest degree
      (T13 §6.2). The degree of a vertex is the number of edges that are stored with it.
    - "C-PG": each vertex goes to the element with the least load. "C-R" is its random control (G16 §III).
    - "DP-OH", "DP-OL", "DP-RH", "DP-RL": among the ranks first, then between CPUs and GPUs (G16 §III).
    - "PD-HO", "PD-LO", "PD-HR", "PD-LR": between CPUs and GPUs first, then among the ranks (G16 §III).
    - "lpt", "round-robin": longest processing time first, and vertices in turn (S13).
    - "io", "hash", "chunking", "ldg", "mw", "mi", "metis": others of G16's Table I.

    With one rank, a policy of family DP or PD is "high" or "low", with the CPUs first.

    The shares of the stored edges are those of `alpha`, up to the edges of a vertex at each cut. Exceptions:
    "C-R", "round-robin", "hash" and "chunking" give equal parts to all elements and ignore `alpha`; the last
    three divide vertices. "ldg" divides vertices by `alpha`, "mw" a workload that also counts crossing edges,
    and "io" in-edges and out-edges, also if only one direction is stored. "metis" keeps its own tolerance.

    Raises
    ------
    ArgumentError
        For an object that is neither a Graph nor a path, or an unknown element or policy. For a share outside
        0..1, or a seed that is not an integer of at least 0. For a format that several ranks cannot read
        together.
    TypeError
        For an argument that is neither one of `partition` nor, for a path, one of `evener.read`.
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
    _check_arguments(graph, policy, reading)
    seed = check_seed(seed)
    placement = on_all_ranks(
        current_world(), lambda: Placement.parse(on, policy or "auto", alpha, gpu_memory, directions)
    )
    if not isinstance(graph, Graph):
        graph = read_graph(graph, directions, near=placement if placement.on else None, **reading)
    return place_graph(graph, placement.near(graph), seed=seed)


@translate_errors("placing a graph")
def place_graph(graph: Graph, placement: Placement, *, seed: int = 0) -> PartitionedGraph:
    """Place a graph on processing elements. If the policy is open, it is the default policy.

    This is a collective operation; all ranks must call it. The errors are those of `partition`.
    """
    world, directions = current_world(), placement.directions
    policy = DEFAULT if placement.policy == "auto" else placement.policy
    elements = on_all_ranks(world, placement.elements)
    note_shared_gpus(elements, world)
    if any(element.kind != "cpu" for element in elements):
        release_on_devices()
    weights, on_cpu, ranks, rooms = all_elements(elements, world)
    shares = edge_shares(weights, placement.alpha, on_cpu=on_cpu, policy=policy)
    first = ranks.index(world.rank)
    own_shares = shares[first : first + len(elements)]
    on_all_ranks(world, lambda: _require_memory(graph, directions, elements, own_shares))
    whole = not isinstance(graph, DistributedGraph)
    if placement.policy == "auto" and whole:
        own = on_all_ranks(world, lambda: default_policy(graph, directions, shares.tolist()))
        policy = world.allgather(own)[0]

    def owners_of(vertices: Vertices) -> NDArray[Any]:
        most = most_edges(graph, directions, shares, rooms, ranks)
        processors = Processors(shares, np.array(on_cpu), np.array(ranks), np.array(most))
        return owners(policy, vertices, processors, seed)

    hint = with_placement_hint(graph, elements, directions=directions) if whole else nullcontext()
    division = Division(policy, shares, seed)
    with stage("placing the graph"), hint:
        if isinstance(graph, DistributedGraph):
            numbers = number_own_vertices(graph, owners_of, ranks, division, directions)
            steps, strength = _build_own(graph, numbers, range(first, first + len(elements)))
        else:
            steps, strength = _build(graph, directions, elements, owners_of, division), None
        partitions, routes = transfer_partitions(
            elements, steps.numbering.bounds, steps.build, steps.on_gpus,
            prefixes=directions == "both", world=world, ranks=ranks,
        )  # fmt: skip
    return PartitionedGraph(
        graph,
        elements,
        partitions,
        routes,
        steps.numbering,
        policy=policy,
        directions=directions,
        world=world,
        ranks=ranks,
        strength=strength,
    )


def _check_arguments(graph: Any, policy: str | None, reading: Mapping[str, Any]) -> None:
    """Raise ArgumentError or TypeError for an argument that has a wrong type, name or value."""
    if isinstance(graph, PartitionedGraph):
        msg = "partition: expected a Graph, found a PartitionedGraph; pass it to algorithms directly"
        raise ArgumentError(msg)
    if not isinstance(graph, Graph | str | os.PathLike):
        msg = f"partition: expected a Graph, found {type_name(graph)}; {graph_remedy(graph)}"
        raise ArgumentError(msg)
    if policy is not None:
        check_policy(policy)
    if unknown := next((name for name in reading if name not in READ_OPTIONS), None):
        known = ", ".join(READ_OPTIONS)
        msg = f"partition() got an unexpected keyword argument {unknown!r}; for a path it also takes {known}"
        raise TypeError(msg)
    if reading and isinstance(graph, Graph):
        msg = f"partition: expected {next(iter(reading))}= for a path only, found a Graph; give it to read()"
        raise ArgumentError(msg)


def _require_memory(
    graph: Graph, directions: str, elements: list[Element], shares: NDArray[np.float64]
) -> None:
    """Raise OutOfMemoryError if the host lacks memory for the shares of its elements."""
    nbytes = edge_bytes(graph, directions)
    on_host = share_on_host(elements, shares, nbytes)
    needed = int(nbytes * on_host)
    if not isinstance(graph, DistributedGraph):
        stored = graph.host_directions if takes_rows_of_host(graph, elements) else graph.stored_directions
        needed = bytes_needed(graph, directions, on_host, stored=stored)
    if needed > memory.available():  # the description of the graph counts its edges
        require(needed, f"placing {graph!r} on {len(elements)} element(s)")


class _Steps(NamedTuple):
    """The numbers of vertices, the partitions that GPUs have built, and how the host builds the others."""

    numbering: Numbering
    on_gpus: Mapping[int, Built]
    build: Callable[[int], HostBuilt]


def _build_own(
    graph: DistributedGraph, numbering: DistributedNumbering, mine: Sequence[int]
) -> tuple[_Steps, list[NDArray[np.float64]] | None]:
    """Return the steps for a graph in parts, and the sums of weights of the partitions `mine`, if known."""
    return_freed()
    rows = OwnedRows(graph, numbering)
    return_freed()
    parts = [rows.part(p) for p in mine]
    built = build_on_host(parts, numbering, rows.out_degree, directed=graph.directed)
    return_freed()
    return _Steps(numbering, {}, dict(zip(mine, built, strict=True)).pop), rows.strength_of(mine)


def _build(
    graph: Graph,
    directions: str,
    elements: Sequence[Element],
    owners_of: Callable[[Vertices], NDArray[Any]],
    division: Division,
) -> _Steps:
    """Return the steps for a graph that each rank has."""
    numbering, out_degree, on_gpus = number_and_build(graph, directions, elements, owners_of, division)

    @cache
    def degrees_by_number() -> NDArray[np.uint32]:
        degree = graph.out_degree().astype(np.uint32) if out_degree is None else out_degree
        return gathered(degree, numbering.vertices)

    def build(p: int) -> HostBuilt:
        part = part_of_graph(p, graph, directions, numbering)
        [built] = build_on_host([part], numbering, degrees_by_number(), directed=graph.directed)
        return built

    return _Steps(numbering, on_gpus, build)
