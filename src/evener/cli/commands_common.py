"""Steps of several commands: open a graph, run an algorithm, check an answer or an output."""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.spec import AlgorithmSpec, resolve
from evener.algorithms.verify import verify
from evener.cli.options import flag, with_vertices
from evener.cli.output import note
from evener.errors import ArgumentError, FileError
from evener.graph.formats import read
from evener.kernels.cpu.jit import CACHE
from evener.results.report.names import check_name
from evener.system.files import NOT_UTF8, has_utf8_path, require_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evener.algorithms.verify import Answer
    from evener.cli.supervisor import Job
    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result

__all__ = [
    "check_answer",
    "check_graph_output",
    "check_outputs",
    "compute",
    "compute_metered",
    "graph_files",
    "note_isolated_source",
    "note_no_kernel_cache",
    "note_unused",
    "open_graph",
    "repeat",
    "with_elements",
]

# Seed of the sources of a benchmark, equal on every machine.
_SEED = 1


def open_graph(job: Job, name: str, how: Mapping[str, Any] | None = None) -> Graph:
    """Read a graph file, or generate the graph of a specification."""
    job.stage(f"reading {name}")
    return read(name, **(how or {}))


def with_elements(place: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a placement with elements instead of names, to find errors before reading."""
    if "on" not in place:
        return dict(place)
    from evener.elements import parse_elements
    from evener.system.memory import parse_bytes

    limit = parse_bytes(place["gpu_memory"], "gpu_memory") if "gpu_memory" in place else None
    return {**place, "on": parse_elements(place["on"], gpu_memory=limit)}


def note_unused(spec: AlgorithmSpec, result: Result, arguments: Mapping[str, Any]) -> None:
    """Print a note for each argument that had no effect on the run."""
    elements = result.timeline.elements
    if "gpu_memory" in arguments and not any(name.startswith("cuda:") for name in elements):
        note("--gpu-memory is ignored: no GPU is used")
    if arguments.get("policy") not in (None, "auto") and len(elements) == 1:
        note(f"--policy is ignored: {elements[0]} is the only element")
    if spec.notes is not None:
        for sentence in resolve(spec.notes)(result, arguments):
            note(sentence)


def note_no_kernel_cache() -> None:
    """Print a note if compiled kernels cannot be kept, because compiling takes longer than most runs."""
    if not CACHE:
        note(
            "compiled kernels cannot be stored, so each run compiles them again; name a writable folder in "
            "NUMBA_CACHE_DIR"
        )


def note_isolated_source(spec: AlgorithmSpec, result: Result, arguments: Mapping[str, Any]) -> None:
    """Print a note if a search from the default source has no edge to follow."""
    name = spec.source_option
    if name in result.parameters and name not in arguments and result.edges == 0:
        source = result.parameters[name]
        if source is not None:
            note(f"vertex {source}, the default source, has no out-edges; name another with {flag(name)}")


def compute(
    job: Job,
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
    job: Job, spec: AlgorithmSpec, graph: Graph | PartitionedGraph, arguments: Mapping[str, Any]
) -> Result:
    """Run an algorithm and measure its energy from the first superstep on."""
    from evener.elements.cuda.discovery import gpus
    from evener.results.energy.meter import Meter

    # Without elements a plan chooses, so all GPUs are measured.
    names = [e.name for e in arguments["on"]] if "on" in arguments else [f"cuda:{i}" for i in range(gpus())]

    def count(progress: Progress) -> None:
        if progress.superstep == 0:
            meter.begin()
        job.progress(progress)

    with Meter(name.partition("#")[0] for name in names if name.startswith("cuda:")) as meter:
        result = compute(job, spec, graph, arguments, progress=count)
    result.energy = meter.energy.of(result.timeline.elements)
    return result


def check_answer(job: Job, answer: Answer) -> None:
    """Verify an answer. The exceptions are those of `evener.verify`."""
    job.stage(f"verifying {answer.algorithm}")
    verify(answer)


def check_outputs(
    graph: str, *, table: str | None = None, report: str | None = None, trace: str | None = None
) -> None:
    """Check, before the run, that outputs can be written and overwrite no file of the command.

    Raises
    ------
    ArgumentError
        If the suffix of an output is not one of its formats.
    FileError
        If an output is the graph, lies in the folder of the graph, or is another output. If it has no name,
        or if its folder does not exist or is not writable.
    """
    for option, path in (("-o", table), ("--report", report), ("--trace", trace)):
        if path is not None:
            _refuse_no_name(option, path)
    if table is not None:
        from evener.results.table import check_suffix

        check_suffix(Path(table))
        if not has_utf8_path(table):
            msg = f"cannot write {table}: {NOT_UTF8}"
            raise FileError(msg)
    taken = {"the graph": graph}
    for option, path in (("-o", table), ("--report", report), ("--trace", trace)):
        if path is None:
            continue
        if option != "-o":
            check_name(option.removeprefix("--"), path, said=option)
        _refuse_the_same(option, path, taken)
        _refuse_within(option, path, graph)
        taken[option] = path
        _check_place(path)


def _refuse_no_name(option: str, path: str) -> None:
    """Raise FileError for an empty path, which would mean the current folder."""
    if not path:
        msg = f"{option}: expected the path of a file, but the name is empty"
        raise FileError(msg)


def _refuse_within(option: str, path: str, graph: str) -> None:
    """Raise FileError if an output lies in the folder of the container that the command reads."""
    from evener.graph.formats.container import MANIFEST

    named = Path(graph)
    folder = named.parent if named.name == MANIFEST else named
    if graph and folder.is_dir() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        msg = f"{option} {path} is in {folder}, the folder of the graph; name a file in another folder"
        raise FileError(msg)


def _refuse_the_same(option: str, path: str, taken: Mapping[str, str]) -> None:
    """Raise FileError if an output is one of the files in `taken`, a mapping of names to paths."""
    for what, other in taken.items():
        if os.path.realpath(path) == os.path.realpath(other) or (
            Path(path).exists() and Path(other).exists() and Path(path).samefile(other)
        ):
            msg = f"{option} {path} would overwrite {what}; name another file"
            raise FileError(msg)


def _check_place(path: str) -> None:
    """Raise FileError unless the output can be written to its folder."""
    folder = Path(path).parent
    if not folder.is_dir():
        msg = f"cannot write {path}: there is no folder {folder}"
        raise FileError(msg)
    require_writable(Path(path), path)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = f"cannot write {path}: {(error.strerror or str(error)).lower()}"
        raise FileError(msg) from error


def check_graph_output(graph: str, path: str) -> None:
    """Check, before reading, that a graph can be written to `path` and overwrites no file of `graph`."""
    from evener.graph.formats.registry import COMPRESSIONS, format_of

    _refuse_no_name("the output", path)
    kind, _ = format_of(Path(path), takes_name=False)
    read, written = (
        Path(name).with_suffix("") if Path(name).suffix in COMPRESSIONS else Path(name)
        for name in (graph, path)
    )
    if kind.sibling_files and read.suffix in kind.suffixes:
        # A graph of several files is read and written as a whole, by the name of any of them.
        taken = {"the graph itself": str(read.with_suffix(""))}
        _refuse_the_same("the output", str(written.with_suffix("")), taken)
    _refuse_the_same("the output", path, {"the graph itself": graph})
    _refuse_within("the output", path, graph)
    _check_place(path)


def graph_files(path: str) -> list[str]:
    """Return the files of a graph that is written to this path, the named one first."""
    from evener.graph.formats.registry import format_of

    kind, compression = format_of(Path(path), takes_name=False)
    others = kind.sibling_files(Path(path), compression) if kind.sibling_files else ()
    return [path, *(str(other) for other in others if other != Path(path))]


def repeat(
    job: Job,
    spec: AlgorithmSpec,
    graph: Graph,
    arguments: Mapping[str, Any],
    place: Mapping[str, Any],
    *,
    repeats: int,
) -> dict[str, Any]:
    """Time `repeats` verified runs on one placement, after one untimed run."""
    job.stage("partitioning")
    partitioned = _place(graph, spec, place)
    given = with_vertices(spec, graph, arguments)
    each = _arguments_of_runs(spec, graph, given, repeats)
    results = []
    for number, own in enumerate([each[0], *each]):
        result = compute(job, spec, partitioned, own)
        check_answer(job, result)
        if number:
            results.append((result.seconds, result.edges))
        del result  # the next run reuses its arrays
    seconds = [one for one, _ in results]
    rates = [edges / one for one, edges in results]
    drawn = each[0].keys() - given.keys()  # the source option, if sources are drawn
    return {
        "repeats": repeats,
        "verified": True,
        "median_seconds": statistics.median(seconds),
        "least_seconds": min(seconds),
        "most_seconds": max(seconds),
        "median_edges_per_second": statistics.median(rates),
        "seconds": seconds,
        "sources": [np.ravel(own[name])[0].item() for own in each for name in drawn],
    }


def _place(graph: Graph, spec: AlgorithmSpec, place: Mapping[str, Any]) -> PartitionedGraph:
    from evener.algorithms.arguments import ensure_placed

    arguments: Any = {"on": None, "policy": "auto", "alpha": None, "gpu_memory": None, **place}
    return ensure_placed(graph, spec, **arguments)


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
