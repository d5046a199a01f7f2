"""Placement of a graph: one partition for each processing element."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from evener.elements import Element, parse_elements
from evener.errors import ArgumentError
from evener.graph.checks import check_seed, type_name
from evener.graph.graph import Graph
from evener.kernels.cpu import partition as kernels
from evener.partition.footprint import run_bytes, tiers_of
from evener.partition.partition import Numbering, Partition, build_partition, number_vertices
from evener.partition.partitioned import PartitionedGraph
from evener.partition.placement import place
from evener.partition.policies import POLICIES, edge_shares, owners
from evener.partition.route import place as place_route
from evener.partition.route import routes_of
from evener.partition.suggest import with_placement_hint
from evener.system.memory import parse_bytes, require, translate_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.route import Route

__all__ = ["partition"]

# Partitions store out-degrees as uint32.
MOST_OUT_EDGES = (1 << 32) - 1
# In-edges of a vertex on a GPU, which algorithms/pagerank/kernels.cu counts in an int32.
LONGEST_ROW = (1 << 31) - (1 << 13)
# Rows whose lengths are compared at a time.
_ROWS_COMPARED = 1 << 22


@translate_errors("placing a graph")
def partition(
    graph: Graph,
    on: str | Sequence[str] | Sequence[Element] | None = None,
    *,
    policy: str = "random",
    alpha: float | None = None,
    gpu_memory: str | int | None = None,
    directions: str = "both",
    seed: int = 0,
) -> PartitionedGraph:
    """Place a graph on processing elements.

    Parameters
    ----------
    graph : Graph
    on : str or sequence of str, optional
        The elements: "cpu", "cpu:8", "cuda:0", or several. Default: all cores as one element.
    policy : {"random", "high", "low"}
        How vertices are dealt out: at random, or the highest or the lowest degrees to the first element
        (T13 §6.2).
    alpha : float, optional
        Share of the edges on the CPU side, 0 to 1; where all elements are CPUs, on the first of them. The
        others share the rest, and by default all share all, in proportion to their threads, of which a GPU
        counts for hundreds. A single element has all edges.
    gpu_memory : str or int, optional
        What may be taken up on each GPU: bytes, or a size such as "20GiB". Edges that have no room there stay
        in the host's memory, from where the GPU reads them. Default: what is free.
    directions : {"both", "out", "in"}
        Which edges to store; an undirected graph has one direction that serves as both. PageRank needs "in"
        alone, and breadth-first search makes do with "out". With "both", the first few edges of long rows
        that stay in the host's memory lie on the GPU as well, for searches.
    seed : int
        For "random"; at least 0.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    ArgumentError
        For an unknown element or policy, a share outside 0..1, or a seed that is negative or no whole number.
    OutOfMemoryError
        If the partitions would need more memory than there is, before allocating it; `DeviceOutOfMemory` if
        it is a GPU's: the sentence says with which elements, policy and share it would fit.
    DeviceError
        If a GPU is asked for and none can be used.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], directed=False)
    >>> pg = ev.partition(g, on=["cpu:1", "cpu:1"], policy="high", alpha=0.5)
    >>> [(p.vertices, p.mirrors) for p in pg.statistics.partitions]
    [(1, 3), (3, 1)]
    """
    if not isinstance(graph, Graph):
        got = type_name(graph)
        msg = f"partition takes a Graph, not {got}; make one with evener.read or Graph.from_edges"
        raise ArgumentError(msg)
    if directions not in ("both", "out", "in"):
        msg = f'directions is "both", "out" or "in", not {directions!r}'
        raise ArgumentError(msg)
    if not isinstance(policy, str) or policy not in POLICIES:
        known = ", ".join(sorted(POLICIES))
        msg = f"policy {policy!r} does not exist; choose one of {known}, or auto for an algorithm or a plan"
        if policy == "auto":
            msg = f"policy 'auto' is for algorithms and plans; choose one of {known}"
        raise ArgumentError(msg)
    seed = check_seed(seed)
    most = None if gpu_memory is None else parse_bytes(gpu_memory, "gpu_memory")
    elements = parse_elements(on, gpu_memory=most)
    shares = edge_shares([e.weight for e in elements], alpha, on_cpu=[e.kind == "cpu" for e in elements])
    needed = _bytes_needed(
        graph, directions, _share_on_host(elements, shares, _edge_bytes(graph, directions))
    )
    require(needed, f"placing {graph!r} on {len(elements)} element(s)")
    by_degree, degree, out_degree = _descending_degree(graph)
    owner = owners(by_degree, degree, policy=policy, shares=shares, seed=seed)
    del degree
    numbering = number_vertices(by_degree, owner, len(elements))
    del by_degree
    with with_placement_hint(graph, elements, directions=directions):
        partitions, routes = _placed(graph, directions, elements, numbering, out_degree)
    return PartitionedGraph(
        graph, elements, partitions, routes, numbering, policy=policy, directions=directions
    )


def _placed(
    graph: Graph,
    directions: str,
    elements: list[Element],
    numbering: Numbering,
    out_degree: NDArray[np.uint32],
) -> tuple[list[Partition], list[Route]]:
    """Each element's partition, in its memory, and the routes between them."""
    partitions: list[Partition] = []
    routes: list[Route] = []
    taken: dict[object, int] = defaultdict(int)  # by what is placed, in each memory
    promised: dict[object, int] = defaultdict(int)  # to runs on it
    for p, element in enumerate(elements):
        built = build_partition(
            p, numbering, graph, out_degree, out=directions != "in", in_=directions != "out"
        )
        if element.kind != "cpu":
            _refuse_long_rows(built, element)
        own_routes = routes_of(built, numbering)
        # Of partitions still to be made, we know only that each holds one mirror of a vertex at most.
        mirrors = sum(len(route) for route in routes if route.owner == p)
        elsewhere = mirrors + built.owned * (len(elements) - 1 - p)
        memory = element.memory
        tiers = tiers_of(
            *(built, elsewhere, element),
            heads=directions == "both", taken=taken[memory], promised=promised[memory],
        )  # fmt: skip
        promised[memory] += run_bytes(built, elsewhere)
        placed = place(built, element, tiers)
        taken[memory] += placed.nbytes - placed.host_bytes
        partitions.append(placed)
        routes += [place_route(route, elements[route.owner]) for route in own_routes]
        del built  # its arrays on the host, before the next one's are made
    for element in elements:
        element.wait()  # until then it holds what is copied, whoever has forgotten it
    return partitions, routes


def _descending_degree(
    graph: Graph,
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint32]]:
    """The vertices in descending degree; the degrees, in and out together for a directed graph; those out."""
    degree = graph.out_degree()
    if (most := int(degree.max(initial=0))) > MOST_OUT_EDGES:
        msg = (
            f"a vertex with {most:,} out-edges cannot be placed, for partitions count up to "
            f'{MOST_OUT_EDGES:,} of one; build the graph with duplicates="drop"'
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


def _refuse_long_rows(built: Partition, element: Element) -> None:
    """Refuse rows that the kernels of a GPU cannot count."""
    if built.in_ is None or built.in_.count <= LONGEST_ROW:
        return
    offsets = built.in_.offsets
    slices = (offsets[i : i + _ROWS_COMPARED + 1] for i in range(0, built.owned, _ROWS_COMPARED))
    longest = max(int(np.diff(part).max()) for part in slices)
    if longest > LONGEST_ROW:
        msg = (
            f"a vertex with {longest:,} in-edges cannot be placed on {element.name}, which takes up to "
            f'{LONGEST_ROW:,}; run with on="cpu", or leave such vertices to it: on="cpu,{element.name}" '
            'with policy="high"'
        )
        raise ArgumentError(msg)


def _share_on_host(elements: list[Element], shares: NDArray[np.float64], edge_bytes: int) -> float:
    """The share of the edges that stays with the host, at least: the CPU's, and what no GPU has room for."""
    rooms = (element.room() for element in elements)
    return float(
        sum(
            share if room is None else max(0.0, share - room / max(edge_bytes, 1))
            for room, share in zip(rooms, shares, strict=True)
        )
    )


def _edge_bytes(graph: Graph, directions: str) -> int:
    """Bytes of the edges of all partitions."""
    edge = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    return graph.m * edge * (2 if graph.directed and directions == "both" else 1)


def _bytes_needed(graph: Graph, directions: str, on_host: float = 1.0) -> int:
    """Bytes of the partitions and of placing them, mirrors aside: 30 a vertex beside the edges.

    Of the edges, the share `on_host` stays in the host's memory; what a GPU holds passes through it.
    """
    edge = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    edges = graph.m * edge
    stored = 2 if graph.directed and directions == "both" else 1
    # A direction that the graph does not have yet is made of the other, a third at a time.
    wanted = ("out", "in") if directions == "both" else (directions,)
    missing = [one for one in wanted if graph.directed and one not in graph.stored_directions]
    made = len(missing) * (edges + graph.n * 8) + (graph.m * (4 + edge) // 3 if missing else 0)
    return int(_edge_bytes(graph, directions) * on_host) + made + (stored * 8 + 30) * graph.n
