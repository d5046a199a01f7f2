"""Profile: run each algorithm on generated graphs for later plans, or measure the ratio of two elements."""

from __future__ import annotations

from collections import defaultdict
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.elements import parse_elements, usable_cores
from evener.elements.hardware import model_of
from evener.errors import ArgumentError, DeviceOutOfMemory
from evener.graph.edge_counts import edges_in_words
from evener.graph.formats import read
from evener.partition.build import partition
from evener.partition.footprint import bytes_excluding_edges
from evener.planning.ratio import RatioFit, fit_ratio
from evener.spec import recording, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evener.elements import Element
    from evener.graph.graph import Graph
    from evener.spec.algorithm import AlgorithmSpec

__all__ = ["PAPER_SCALES", "PAPER_SEEDS", "ProfileRun", "RatioPoint", "measure_ratio", "profile_algorithms"]

# Scales of the generated graphs on fewer than MANY_CORES cores, and on more.
FEW_CORES_SCALES, MANY_CORES_SCALES, MANY_CORES = (18,), (20, 22), 8
# Seconds without compiling after which no further run begins.
BUDGET_SECONDS = 20.0
# Runs of each algorithm on a placement, after one that may compile kernels.
RUNS = 2
# Part of the edges that fits the GPU in placements with edges in host memory.
FITS = 0.5
# Share of the edges on the CPU where CPU and GPU run together.
ALPHA = 0.1
# G16 §III.E: Scale-20 to Scale-24, parts of the edges, and random divisions.
PAPER_SCALES, PAPER_PARTS, PAPER_SEEDS = (20, 21, 22, 23, 24), (0.1, 0.2, 0.3, 0.4, 0.5), 5


class ProfileRun(NamedTuple):
    """One recorded run: algorithm, elements, stored edges of the graph, and seconds."""

    algorithm: str
    on: str
    edges: int
    seconds: float


def profile_algorithms(gpu: str, *, say: Callable[[str], None]) -> list[ProfileRun]:
    """Run every algorithm except vertex programs on the CPU, on a GPU and on both, and record the runs.

    `gpu` is the name of the GPU. `say` gets a line for each placement.
    """
    deadline = perf_counter() + BUDGET_SECONDS
    runs: list[ProfileRun] = []
    scales = MANY_CORES_SCALES if usable_cores() >= MANY_CORES else FEW_CORES_SCALES
    for scale in scales:
        graph = read(f"rmat:{scale},weights=1..255")
        source = graph.ids[[int(np.argmax(graph.out_degree()))]].tolist()[0]
        for on, place in _placements(graph, gpu):
            say(f"algorithms on {on}, {edges_in_words(graph)}")
            try:
                placed = partition(graph, on, **place)
            except DeviceOutOfMemory:
                continue
            for name in registry.names():
                spec = registry.find(name)
                # Runs of vertex programs take too long. Without GPUs, a plan has no choice.
                if name not in registry.names_with_kernels() or "cuda" not in spec.kinds:
                    continue
                for number in range(RUNS + 1):
                    if perf_counter() > deadline:
                        return runs
                    result = spec.function()(placed, **_arguments(spec, source))
                    deadline += result.timeline.compile_seconds
                    if number:
                        if result.seconds < recording.MIN_SECONDS:
                            recording.record_run(result)  # a longer run is recorded already
                        runs.append(ProfileRun(name, on, graph.m, result.seconds))
            del placed
    return runs


def _placements(graph: Graph, gpu: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield elements and arguments of `partition`: CPU, GPU, GPU with edges in host memory, and both."""
    edge_bytes = 4 + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize)
    vertices = bytes_excluding_edges(graph.n, 0, 0, graph.m, directions=1)
    capped = {"gpu_memory": int(vertices + FITS * graph.m * edge_bytes)}
    yield "cpu", {}
    yield gpu, {}
    yield gpu, capped
    yield f"cpu,{gpu}", {"policy": "low", "alpha": ALPHA, **capped}


def _arguments(spec: AlgorithmSpec, source: int) -> dict[str, Any]:
    """Return the arguments of a run with few passes, from a vertex of high degree."""
    arguments = dict(spec.pass_arguments)
    option = next((option for option in spec.options if option.name == spec.source_option), None)
    if option is not None:
        arguments[option.name] = [source] if option.type == "vertices" else source
    return arguments


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
    """Measure how much faster the second of two elements is, for several workloads, and fit it (G16 §III.E).

    The algorithm is PageRank, because each of its passes reads every edge, on R-MAT graphs of several scales.
    A random part of 10% to 50% of the edges runs on the first element, and the rest on the second. Then the
    elements change places, so both have run each part. The ratio of a workload is the time of the first
    element over the time of the second, as the mean over `seeds` random divisions.

    `on` names a CPU and a GPU, or two CPUs to try the command. `say` gets a line for each graph and part.

    Raises
    ------
    ArgumentError
        If `on` does not name two elements.
    """
    elements = parse_elements(on)
    if len(elements) != 2 or elements[0].kind != "cpu":
        msg = f"--on: expected a CPU and another element, such as cpu,cuda:0, found {on!r}"
        raise ArgumentError(msg)
    specs = map(registry.find, registry.names_with_kernels())
    spec = next(spec for spec in specs if spec.reads_every_edge)
    _measure(spec, read(f"rmat:{min(scales)}"), elements, 0.5, seed=0)  # compiles kernels
    points = []
    for scale in scales:
        graph = read(f"rmat:{scale}")
        for part in PAPER_PARTS:
            say(f"{spec.name} on {on}, {edges_in_words(graph)}, {part:.0%} on one element")
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
