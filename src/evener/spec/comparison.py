"""Compare policies on a graph: `evener.compare_policies`."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from evener.elements.description import describe_elements
from evener.elements.hardware import model_of
from evener.errors import ArgumentError
from evener.graph.checks import graph_remedy, type_name
from evener.graph.graph import Graph
from evener.partition.comparison import count_partitions
from evener.partition.degrees import descending_degree_on_host, vertices_as_stored
from evener.partition.footprint import most_edges
from evener.partition.owners import edge_shares, owners
from evener.partition.placement import Placement
from evener.partition.policy import Processors, Vertices, check_policy, policy_names
from evener.partition.sizes import ElementShare
from evener.planning.planner import cost_model
from evener.planning.ratio import cpu_share, edge_speeds, stored_ratio
from evener.spec.registry import find

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from numpy.typing import NDArray

    from evener.elements.description import ElementDescription
    from evener.partition.comparison import PartCounts
    from evener.planning.cost_model import CostModel

__all__ = ["PolicyComparison", "compare_policies"]


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """The partitions of one policy.

    Attributes
    ----------
    policy : str
    partitioning_seconds : float
        Time to choose the owners. Reading the graph and sorting vertices by degree are not counted.
    edges, vertices : tuple of int
        Of each element.
    edge_imbalance, vertex_imbalance : float
        The largest part less the mean, over the mean (S13 §IV.E).
    beta, beta_aggregated : float
        Share of the edges that cross elements, and mirrors divided by edges.
    predicted_seconds : float
        Predicted time of a run.
    """

    policy: str
    partitioning_seconds: float
    edges: tuple[int, ...]
    vertices: tuple[int, ...]
    edge_imbalance: float
    vertex_imbalance: float
    beta: float
    beta_aggregated: float
    predicted_seconds: float


def compare_policies(
    graph: Graph,
    algorithm: str,
    *,
    on: str | Sequence[str],
    machines: int = 1,
    policies: Sequence[str] | None = None,
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    passes: float = 1.0,
    seed: int = 0,
) -> list[PolicyComparison]:
    """Return the sizes of the partitions of several policies, and predicted times.

    No partition is built and the algorithm does not run. The elements need not exist.

    Parameters
    ----------
    graph : Graph
    algorithm : str
        Name of an algorithm.
    on : str or sequence of str
        Elements of one machine, such as "cpu:16,cuda:0".
    machines : int, default 1
        Number of machines with these elements.
    policies : sequence of str, optional
        Default: all policies, without "metis" if pymetis is not installed.
    alpha : float or "auto", optional
        Share of the edges on the CPU side, as in `partition`. Default, or "auto": 1 / (r + 1) if
        `evener profile --paper` has measured r on this machine, else the speeds of the cost model.
    gpu_memory : str or int, optional
        Memory of each GPU. Default: all edges fit.
    passes : float, default 1
        Number of passes to predict.
    seed : int, default 0

    Returns
    -------
    list of PolicyComparison
        In the order of `policies`.

    Raises
    ------
    ArgumentError
        For an unknown algorithm, element or policy, or a number of machines below 1.

    Examples
    --------
    >>> import evener as ev
    >>> found = ev.compare_policies(ev.read("rmat:8"), "pagerank", on="cpu,cuda:0", machines=2, alpha=0.2)
    >>> best = min(found, key=lambda one: one.edge_imbalance)
    >>> sum(best.vertices)
    256
    """
    spec = find(algorithm)
    if not isinstance(graph, Graph):
        msg = f"graph: expected a Graph, found {type_name(graph)}; {graph_remedy(graph)}"
        raise ArgumentError(msg)
    if not isinstance(machines, int) or isinstance(machines, bool) or machines < 1:
        msg = f"machines=: expected a number of machines of at least 1, found {machines!r}"
        raise ArgumentError(msg)
    names = _all_policies() if policies is None else list(policies)
    for name in names:
        check_policy(name)
    placement = Placement.parse(alpha=alpha, gpu_memory=gpu_memory, directions=spec.directions)
    local = describe_elements(on)
    model = cost_model(spec, local)
    elements = local * machines
    weights, share = _weights(model, local, placement.alpha, graph.m / machines)
    on_cpu = [element.kind == "cpu" for element in elements]
    ranks = np.repeat(np.arange(machines), len(local))
    rooms = [None if cpu else placement.gpu_memory for cpu in on_cpu]
    by_degree, degree, out_degree = descending_degree_on_host(graph)
    vertices = vertices_as_stored(graph, by_degree, degree, out_degree, spec.directions)
    found = []
    for name in names:
        shares = edge_shares(weights * machines, share, on_cpu=on_cpu, policy=name)
        limits = np.array(most_edges(graph, spec.directions, shares, rooms, ranks.tolist()))
        processors = Processors(shares, np.array(on_cpu), ranks, limits)
        owner, seconds = _timed_owners(name, vertices, processors, seed)
        counts = count_partitions(graph, spec.directions, owner, degree, len(elements))
        placed = _shares(elements, counts, limits)
        found.append(
            PolicyComparison(
                name,
                seconds,
                tuple(one.edges for one in counts.sizes),
                tuple(one.vertices for one in counts.sizes),
                counts.edge_imbalance,
                counts.vertex_imbalance,
                counts.beta,
                counts.beta_aggregated,
                model.predict(placed, passes=passes).seconds,
            )
        )
    return found


def _all_policies() -> list[str]:
    """Return the names of the policies that can be used."""
    from importlib.util import find_spec

    return [name for name in policy_names() if name != "metis" or find_spec("pymetis")]


def _weights(
    model: CostModel, local: Sequence[ElementDescription], alpha: float | None, edges: float
) -> tuple[list[float], float | None]:
    """Return the weights of the elements of a machine, and the share of its CPUs if it is known."""
    speeds = edge_speeds(model, local)
    gpus = [element for element in local if element.kind != "cpu"]
    if alpha is None and 0 < len(gpus) < len(local):
        fit = stored_ratio(model_of(gpus[0]))
        alpha = None if fit is None else cpu_share(fit.ratio(edges), gpus=len(gpus))
    return speeds, alpha


def _timed_owners(
    name: str, vertices: Vertices, processors: Processors, seed: int
) -> tuple[NDArray[Any], float]:
    """Return the owners by a policy, and the seconds that choosing them took, without compiling kernels."""
    tiny = Graph.from_edges([0], [1], directed=vertices.graph is not None and vertices.graph.directed)
    two = np.ones(2, vertices.degree.dtype)
    owners(name, Vertices(np.arange(2, dtype=np.uint32), two, two, tiny), processors, seed)
    start = perf_counter()
    owner = owners(name, vertices, processors, seed)
    return owner, perf_counter() - start


def _shares(
    elements: Sequence[ElementDescription], counts: PartCounts, limits: NDArray[np.float64]
) -> list[ElementShare]:
    """Return the share of each element; edges beyond the limit of a GPU are in host memory."""
    return [
        ElementShare(
            element.name,
            element.kind,
            element.threads,
            sizes,
            0 if element.kind == "cpu" else round(max(0.0, sizes.edges - min(limit, sizes.edges))),
        )
        for element, sizes, limit in zip(elements, counts.sizes, limits.tolist(), strict=True)
    ]
