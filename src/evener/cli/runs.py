"""Runs of a command: open the graph, run the algorithm, verify the answer, and repeat for a benchmark."""

from __future__ import annotations

import shlex
import warnings
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.cli.options import flag, with_vertices
from evener.cli.run_output import timed_json
from evener.engine.checkpoints.request import Checkpoint
from evener.errors import ArgumentError, ConvergenceWarning
from evener.graph.formats import read
from evener.partition.distributed.build import read_graph
from evener.partition.folder import is_partitioned, read_partitioned
from evener.partition.placement import Placement
from evener.spec.run import begin
from evener.spec.verify import verify
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evener.cli.supervisor import Command
    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.algorithm import AlgorithmSpec
    from evener.spec.run_options import BasicOptions
    from evener.spec.verify import Answer

__all__ = [
    "check_answer",
    "checkpoint_arguments",
    "compute",
    "compute_metered",
    "directions_in_parts",
    "open_graph",
    "open_placed",
    "repeat",
    "with_elements",
]

# Seed of the sources of a benchmark, equal on every machine.
_SEED = 1


def open_graph(
    job: Command,
    name: str,
    how: Mapping[str, Any] | None = None,
    *,
    in_parts: str | None = None,
    near: Placement | None = None,
) -> Graph:
    """Read a graph file, or generate the graph of a specification.

    With several ranks and the directions `in_parts`, each rank reads its own part. The GPU of the placement
    `near` generates a graph.
    """
    job.stage(f"reading {name}")
    options = how or {}
    return read(name, **options) if in_parts is None else read_graph(name, in_parts, near=near, **options)


def directions_in_parts(spec: AlgorithmSpec, *, verify: bool) -> str | None:
    """Return the directions for which ranks read parts of a graph; None if rank 0 needs the whole graph."""
    return None if verify and not spec.verifies_parts else spec.directions


def open_placed(
    job: Command,
    name: str,
    how: Mapping[str, Any],
    place: Mapping[str, Any],
    *,
    in_parts: str | None = None,
    on_gpu: bool = False,
) -> tuple[Graph, Graph | PartitionedGraph, dict[str, Any]]:
    """Return the graph, what an algorithm gets, and the rest of the placement.

    An algorithm gets the graph, or the placed graph in a folder of `write_partitioned`. With `on_gpu`, a GPU
    of the placement may generate the graph.
    """
    if not is_partitioned(name):
        near = Placement.parse(**place) if on_gpu else None
        graph = open_graph(job, name, how, in_parts=in_parts, near=near)
        return graph, graph, dict(place)
    if how:
        names = ", ".join(flag(option) for option in how)
        msg = f"{name} is a placed graph, so {names} cannot be used; give the option to evener partition"
        raise ArgumentError(msg)
    job.stage(f"reading {name}")
    own = {option: place[option] for option in ("on", "gpu_memory") if option in place}
    placed = read_partitioned(name, **own)
    return placed.graph, placed, {option: place[option] for option in place if option not in own}


def with_elements(place: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a placement with elements instead of names, to find errors before reading."""
    if "on" not in place:
        return dict(place)
    return {**place, "on": Placement.parse(**place).elements()}


def checkpoint_arguments(
    job: Command, spec: AlgorithmSpec, folder: str | None, *, every: str | None, resume: bool
) -> dict[str, Any]:
    """Return the argument ``checkpoint`` of an algorithm, if --checkpoint is given.

    Raises
    ------
    ArgumentError
        If the algorithm writes no checkpoints, or if --every or --resume is given without --checkpoint.
    """
    if folder is None:
        if every is not None or resume:
            given = "--resume" if resume else "--every"
            msg = f"{given} needs the folder of the checkpoints; add --checkpoint DIR"
            raise ArgumentError(msg)
        return {}
    if not spec.checkpoints:
        msg = f"{spec.name} writes no checkpoints; run it without --checkpoint"
        raise ArgumentError(msg)
    job.world = world = current_world()
    launcher = f"mpiexec -n {world.size} " if world.size > 1 else ""
    words = job.words if resume else [*job.words, "--resume"]
    command = f"{launcher}{shlex.join(['evener', *words])}"
    return {"checkpoint": Checkpoint(folder, every=every or "60s", resume=resume, command=command)}


def compute(
    job: Command,
    spec: AlgorithmSpec,
    graph: Graph | PartitionedGraph,
    arguments: Mapping[str, Any],
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Run an algorithm. Its progress is shown, or passed to `progress`."""
    job.stage(f"preparing {spec.name}")
    result: Result = spec.function()(graph, **arguments, progress=progress or job.progress)
    return result


def compute_metered(
    job: Command, spec: AlgorithmSpec, graph: Graph | PartitionedGraph, arguments: Mapping[str, Any]
) -> Result:
    """Run an algorithm and measure its energy from the first superstep on."""
    from evener.elements.cuda.discovery import gpus
    from evener.results.energy.meter import Meter

    # Without elements a plan chooses, so all GPUs are measured.
    elements = getattr(graph, "elements", arguments.get("on"))
    names = [f"cuda:{i}" for i in range(gpus())] if elements is None else [e.name for e in elements]

    begun = False

    def count(progress: Progress) -> None:
        nonlocal begun
        if not begun:  # a search from each source has several first supersteps
            meter.begin()
            begun = True
        job.progress(progress)

    with Meter(name.partition("#")[0] for name in names if name.startswith("cuda:")) as meter:
        result = compute(job, spec, graph, arguments, progress=count)
    result.energy = meter.energy.of(result.timeline.elements)
    return result


def check_answer(job: Command, answer: Answer) -> None:
    """Verify an answer; raise the exceptions of `evener.verify`."""
    job.stage(f"verifying {answer.algorithm}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the scope of the verification says it
        verify(answer)


def repeat(
    job: Command,
    spec: AlgorithmSpec,
    given_graph: Graph | PartitionedGraph,
    arguments: Mapping[str, Any],
    place: Mapping[str, Any],
    *,
    name: str,
    repeats: int,
) -> tuple[dict[str, Any], bool]:
    """Time `repeats` verified runs on one placement of the graph `name`, after one untimed run.

    Returns
    -------
    content : dict
        What `timed_json` returns, of the run with the median time, with all runs.
    drawn : bool
        Whether each run has another source.
    """
    job.stage("partitioning")
    run = begin(spec, given_graph, cast("BasicOptions", place))
    partitioned, graph = run.place(), run.graph
    given = with_vertices(spec, graph, arguments)
    each = _arguments_of_runs(spec, graph, given, repeats)
    timed = []
    for number, own in enumerate([each[0], *each]):
        result = compute(job, spec, partitioned, own)
        if run.plan is not None:
            result.prediction = run.plan.predict(partitioned, result.passes)
        check_answer(job, result)
        if number:
            timed.append(timed_json(name, result, verified=True))
        del result  # the next run reuses its arrays
    median = sorted(timed, key=itemgetter("seconds"))[(repeats - 1) // 2]
    return {**median, "runs": [run for one in timed for run in one["runs"]]}, each[0].keys() != given.keys()


def _arguments_of_runs(
    spec: AlgorithmSpec, graph: Graph, arguments: dict[str, Any], repeats: int
) -> list[dict[str, Any]]:
    """Return the arguments of each run; if no source is given, each run gets another vertex with edges."""
    own = spec.source_option
    if own is None or own in arguments or "k" in arguments:
        return [arguments] * repeats
    able = np.flatnonzero(graph.out_degree())
    if len(able) == 0:
        msg = f"nothing to time: expected a graph with edges, found {graph.n:,} vertices and no edge"
        raise ArgumentError(msg)
    drawn = graph.ids[np.random.default_rng(_SEED).choice(able, repeats)].tolist()
    several = any(option.name == own and option.type == "vertices" for option in spec.options)
    return [{**arguments, own: [source] if several else source} for source in drawn]
