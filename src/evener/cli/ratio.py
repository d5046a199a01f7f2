"""Ratio: measure how much faster the second of two elements is, for several workloads (G16 §III.E).

1. The algorithm is PageRank, because each of its passes reads every edge.
2. The graphs are R-MAT graphs of several scales.
3. A random part of 10% to 50% of the edges runs on the first element, and the rest on the second. Then the
   elements change places, so both have run each part. The ratio of a workload is the time of the first
   element over the time of the second. It is the mean over several random divisions.
4. The ratio is fitted against the edges of the workload, see `evener.planning.ratio`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.elements import parse_elements
from evener.elements.hardware import model_of
from evener.errors import ArgumentError
from evener.graph.formats import read
from evener.partition.build import partition
from evener.planning.ratio import RatioFit, fit_ratio
from evener.spec import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.elements import Element
    from evener.graph.graph import Graph
    from evener.spec.algorithm import AlgorithmSpec

__all__ = ["PAPER_SCALES", "PAPER_SEEDS", "RatioPoint", "measure_ratio"]

# G16 §III.E: Scale-20 to Scale-24, parts of the edges, and random divisions.
PAPER_SCALES, PAPER_PARTS, PAPER_SEEDS = (20, 21, 22, 23, 24), (0.1, 0.2, 0.3, 0.4, 0.5), 5


class RatioPoint(NamedTuple):
    """A workload: scale of the graph, mean edges, mean seconds of both elements, and the mean ratio."""

    scale: int
    edges: float
    first_seconds: float
    second_seconds: float
    ratio: float


def measure_ratio(
    on: str, scales: Sequence[int], seeds: int, *, say: Callable[[str], None]
) -> tuple[list[RatioPoint], RatioFit]:
    """Measure the ratio of two elements, and fit it.

    Parameters
    ----------
    on : str
        Two elements: a CPU and a GPU, or two CPUs to try the command.
    scales : sequence of int
        Scales of the graphs.
    seeds : int
        Number of random divisions of each part.
    say : callable
        Called with a line for each graph and part.

    Returns
    -------
    list of RatioPoint, RatioFit

    Raises
    ------
    ArgumentError
        If `on` does not name two elements.
    """
    elements = parse_elements(on)
    if len(elements) != 2 or elements[0].kind != "cpu":
        msg = f"--on: expected a CPU and another element, such as cpu,cuda:0, found {on!r}"
        raise ArgumentError(msg)
    spec = _steady_algorithm()
    _measure(spec, read(f"rmat:{min(scales)}"), elements, 0.5, seed=0)  # compiles kernels
    points = []
    for scale in scales:
        graph = read(f"rmat:{scale}")
        for part in PAPER_PARTS:
            say(f"{spec.name} on {on}, {graph.m:,} edges, {part:.0%} on one element")
            points += _points(
                scale, [_measure(spec, graph, elements, part, seed=seed) for seed in range(seeds)]
            )
    fit = fit_ratio(model_of(elements[1]), [one.edges for one in points], [one.ratio for one in points])
    return points, fit


def _points(scale: int, of_seeds: list[list[tuple[int, float, float]]]) -> list[RatioPoint]:
    """Return the workloads of a part and of the rest, each averaged over the random divisions."""
    points = []
    for same in zip(*of_seeds, strict=True):
        edges, first, second = (np.array(column) for column in zip(*same, strict=True))
        means = edges.mean(), first.mean(), second.mean(), (first / second).mean()
        points.append(RatioPoint(scale, *(float(mean) for mean in means)))
    return points


def _steady_algorithm() -> AlgorithmSpec:
    """Return the first built-in algorithm whose passes read every edge."""
    specs = map(registry.find, registry.names_with_kernels())
    return next(spec for spec in specs if spec.reads_every_edge)


def _measure(
    spec: AlgorithmSpec, graph: Graph, elements: list[Element], part: float, *, seed: int
) -> list[tuple[int, float, float]]:
    """Return the edges, and the seconds on the first and on the second element, of a part and of the rest."""
    edges: dict[int, int] = {}
    seconds: dict[tuple[int, int], float] = defaultdict(float)
    for order in ([0, 1], [1, 0]):
        placed_on = [elements[i] for i in order]
        of_cpu = part if placed_on[0].kind == "cpu" else 1 - part
        placed = partition(graph, placed_on, alpha=of_cpu, directions=spec.directions, seed=seed)
        spent: dict[str, float] = defaultdict(float)
        for span in spec.function()(placed, **spec.pass_arguments).timeline:
            spent[span.element] += span.compute
        for workload, (element, own) in enumerate(zip(placed_on, placed.partitions, strict=True)):
            edges[workload] = own.stored_edges
            seconds[workload, order[workload]] = spent[element.name]
    return [(edges[w], seconds[w, 0], seconds[w, 1]) for w in range(2)]
