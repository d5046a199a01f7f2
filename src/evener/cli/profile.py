"""Profile: run each algorithm on generated graphs, and record the runs for later plans."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.elements import usable_cores
from evener.errors import DeviceOutOfMemory
from evener.graph.formats import read
from evener.partition.build import partition
from evener.partition.footprint import bytes_excluding_edges
from evener.spec import recording, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evener.graph.graph import Graph
    from evener.spec.algorithm import AlgorithmSpec

__all__ = ["ProfileRun", "profile_algorithms"]

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


class ProfileRun(NamedTuple):
    """One recorded run: algorithm, elements, stored edges of the graph, and seconds."""

    algorithm: str
    on: str
    edges: int
    seconds: float


def profile_algorithms(gpu: str, *, say: Callable[[str], None]) -> list[ProfileRun]:
    """Run every algorithm except vertex programs on the CPU, on a GPU and on both, and record the runs.

    Parameters
    ----------
    gpu : str
        The GPU, such as "cuda:0".
    say : callable
        Called with a line for each placement.
    """
    deadline = perf_counter() + BUDGET_SECONDS
    runs: list[ProfileRun] = []
    scales = MANY_CORES_SCALES if usable_cores() >= MANY_CORES else FEW_CORES_SCALES
    for scale in scales:
        graph = read(f"rmat:{scale},weights=1..255")
        source = graph.ids[[int(np.argmax(graph.out_degree()))]].tolist()[0]
        for on, place in _placements(graph, gpu):
            say(f"algorithms on {on}, {graph.m:,} edges")
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
