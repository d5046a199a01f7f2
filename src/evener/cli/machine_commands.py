"""Commands for this machine: devices, profile, warmup."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.options import Json  # noqa: TC001 - typer evaluates annotations
from evener.cli.output import note, say, say_json
from evener.cli.supervisor import Command
from evener.errors import ArgumentError, printable
from evener.results.report.units import columns, seconds_text
from evener.spec import registry
from evener.system import memory
from evener.system.agreement import collective
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements.cuda.discovery import GpuDescription, Versions
    from evener.planning.ratio import RatioFit
    from evener.system.probe import RankRoute
    from evener.system.world import World

__all__ = ["COMMANDS", "show_ranks"]


def devices(*, as_json: Json = False) -> None:
    """Print the elements of this machine: CPU cores and GPUs. Without a usable GPU, print the reason.

    On several ranks, print the elements of each rank, and the measured routes between ranks.
    """
    import numba

    from evener.elements import usable_cores  # importing it chooses the threading layer
    from evener.elements.cuda.discovery import all_gpus, missing, versions

    world = current_world()
    if world.size > 1:
        show_ranks(world, as_json=as_json)
        return
    cores, available = usable_cores(), memory.available()
    layer = str(vars(numba.config)["THREADING_LAYER"])
    gpus, known = all_gpus(), versions()
    usable = [gpu for gpu in gpus if not gpu.problem]
    if as_json:
        cpu = {"name": "cpu", "threads": cores, "available_bytes": available, "threading_layer": layer}
        others = [{"name": gpu.element, "available_bytes": gpu.free_bytes} for gpu in usable]
        facts = {"gpus": [asdict(gpu) for gpu in gpus], "no_gpu": missing()}
        say_json({"elements": [cpu, *others], **facts, "versions": known and known._asdict()})
        return
    heads = ("element", "threads", "free memory", "threading layer")
    say(columns(heads, [("cpu", cores, memory.format_bytes(available), layer)], left=1))
    say()
    if known:
        say(_gpus(gpus, known))
        say()
    several = f"cpu,{usable[0].element}" if usable else "cpu:1,cpu:1"
    say(f"cpu:N is N threads; separate several elements with commas, as in {several}.")
    if not known:
        say(f"No GPU can be used: {missing()}.")


@collective(own=("world",), name="evener devices")
def show_ranks(world: World, *, as_json: bool) -> None:
    """Print the elements of each rank, and the routes between ranks."""
    from evener.elements import parse_elements, usable_cores
    from evener.elements.cuda.discovery import all_gpus
    from evener.engine.exchange.probe import measure_gpu_routes
    from evener.system.probe import measure_routes

    usable = [gpu for gpu in all_gpus() if not gpu.problem]
    own = [("cpu", usable_cores(), memory.available()), *((gpu.element, 1, gpu.free_bytes) for gpu in usable)]
    of_ranks = world.allgather((world.host, own))
    routes = measure_routes(world)
    gpu_routes = measure_gpu_routes(world, parse_elements("cuda:local")[0] if usable else None)
    rows = [(rank, host, *element) for rank, (host, found) in enumerate(of_ranks) for element in found]
    if as_json:
        heads = ("rank", "host", "name", "threads", "available_bytes")
        elements = [dict(zip(heads, row, strict=True)) for row in rows]
        of_hosts, of_gpus = ([route._asdict() for route in found] for found in (routes, gpu_routes))
        say_json({"elements": elements, "routes": of_hosts, "gpu_routes": of_gpus})
        return
    heads = ("rank", "machine", "element", "threads", "free memory")
    say(columns(heads, [(*row[:4], _bytes(row[4])) for row in rows], left=3))
    say()
    say(_routes(routes, "ranks"))
    if gpu_routes:
        say()
        say(_routes(gpu_routes, "GPUs of ranks"))


def _routes(found: Sequence[RankRoute], title: str) -> str:
    """Return a table with a row and a column for each rank: transport, latency and bandwidth."""
    cells = {
        pair: f"{one.transport}, {seconds_text(one.latency)}, {memory.format_bytes(int(one.bandwidth))}/s"
        for one in found
        for pair in ((one.first, one.second), (one.second, one.first))
    }
    known = range(1 + max(rank for pair in cells for rank in pair))
    rows = [(f"rank {a}", *(cells.get((a, b), "-") for b in known)) for a in known]
    return columns((title, *(f"rank {rank}" for rank in known)), rows, left=1)


def _gpus(found: Sequence[GpuDescription], known: Versions) -> str:
    """Return a table of the GPUs, the problems of unusable GPUs, and the versions of driver and CuPy."""
    heads = ("element", "name", "free", "memory", "capability", "multiprocessors", "power limit")
    rows = [
        (
            gpu.element,
            gpu.name or "-",
            _bytes(gpu.free_bytes),
            _bytes(gpu.total_bytes),
            gpu.compute_capability or "-",
            gpu.multiprocessors or "-",
            "-" if gpu.power_limit_watts is None else f"{gpu.power_limit_watts:.0f} W",
        )
        for gpu in found
    ]
    driver = "The driver" if known.driver is None else f"Driver {known.driver}"
    others = f"CuPy {known.cupy} was built with {known.cuda} and compiles with {known.compiler}"
    wrong = [f"{gpu.element} cannot be used: {gpu.problem}." for gpu in found if gpu.problem]
    versions = f"{driver} supports CUDA {known.driver_cuda}; {others}."
    return "\n".join([columns(heads, rows, left=2), "", *wrong, versions])


def _bytes(size: int | None) -> str:
    return "-" if size is None else memory.format_bytes(size)


def profile(
    context: typer.Context,
    *,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="ELEMENT",
            help="The GPU to run on; with --paper, the CPU and the GPU.",
            show_default="cuda:0; cpu,cuda:0 with --paper",
        ),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Measure r, the speed of the GPU over that of the CPU, instead.")
    ] = False,
    scales: Annotated[
        str | None,
        typer.Option(help="With --paper: scales of the R-MAT graphs.", show_default="20,21,22,23,24"),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="With --paper: random divisions.", show_default="5")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run each algorithm on generated graphs, so that the first plans use recorded runs.

    The command is optional and takes less than 30 seconds. Without it, the first plans use hardware facts.
    Each run of more than 10 ms also improves later plans.

    With --paper, the command measures r as Guo et al. (2016): PageRank on R-MAT graphs, with parts of 10% to
    50% of the edges on either element. Plans for C-PG, DP-… and PD-… then use the share 1 / (r + 1). This
    takes many minutes.
    """
    if paper:
        _profile_ratio(context, on, scales, seeds, as_json=as_json)
        return
    if scales is not None or seeds is not None:
        msg = "--scales and --seeds: expected --paper too; add --paper"
        raise ArgumentError(msg)
    from evener.cli.profile import profile_algorithms
    from evener.elements import parse_elements
    from evener.elements.cuda.discovery import missing
    from evener.planning.observations import file_of_observations

    if on is not None and [element.kind for element in parse_elements(on)] != ["cuda"]:
        msg = f"--on: expected one GPU such as cuda:0, found {on!r}"
        raise ArgumentError(msg)
    if on is None and missing():
        if as_json:
            say_json({"runs": []})
        else:
            say(f"No GPU can be used: {missing()}.")
            say("Plans only choose between CPU and GPU, so nothing was run.")
        return
    job = context.ensure_object(Command)
    with job.shown():
        runs = profile_algorithms(on or "cuda:0", say=lambda step: job.stage(f"running {step}"))
    if as_json:
        say_json({"runs": [run._asdict() for run in runs]})
        return
    say(columns(("algorithm", "elements", "edges", "seconds"), runs, left=2))
    say()
    say(f"Recorded in {printable(str(file_of_observations()))}.")


def _profile_ratio(
    context: typer.Context, on: str | None, scales: str | None, seeds: int | None, *, as_json: bool
) -> None:
    """Measure, print and store the computation ratio."""
    from evener.cli.profile import PAPER_SCALES, PAPER_SEEDS, measure_ratio
    from evener.planning.ratio import cpu_share, write_ratio

    words = [] if scales is None else [word.strip() for word in scales.split(",")]
    if not all(word.isdecimal() for word in words):
        msg = f"--scales: expected scales separated by commas, such as 20,21, found {scales!r}"
        raise ArgumentError(msg)
    of_graphs = [int(word) for word in words] or list(PAPER_SCALES)
    job = context.ensure_object(Command)
    with job.shown():
        points, fit = measure_ratio(
            on or "cpu,cuda:0",
            of_graphs,
            seeds or PAPER_SEEDS,
            say=lambda step: job.stage(f"running {step}"),
        )
    path = write_ratio(fit)
    if as_json:
        say_json({"points": [one._asdict() for one in points], "fit": asdict(fit)})
        return
    heads = ("scale", "edges", "first element", "second element", "r", "alpha")
    rows = [
        (one.scale, round(one.edges), *map(seconds_text, one[2:4]), one.ratio, cpu_share(one.ratio))
        for one in points
    ]
    say(columns(heads, rows))
    say()
    say("\n".join(_ratio_lines(fit)))
    say(
        f"Recorded in {printable(str(path))}."
        if path
        else "Not recorded: there is no cache folder that can be written."
    )


def _ratio_lines(fit: RatioFit) -> list[str]:
    """Return the fit of r as text, a line for each range of edges."""
    ends = [f"{end:,.0f}" for end in fit.breaks]
    first = f" up to {ends[0]} edges" if ends else ""
    slope = f"{'-' if fit.slope < 0 else '+'} {abs(fit.slope) * 1e6:.3g} for each million edges"
    lines = [f"r = {fit.intercept:.3g} {slope}{first}"]
    for level, begin, end in zip(fit.levels, ends, [*ends[1:], None], strict=True):
        lines.append(f"r = {level:.3g} from {begin} edges{'' if end is None else f' to {end}'}")
    return lines


def warmup(
    context: typer.Context,
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(metavar="ALGORITHM", help="Algorithms to compile for. Default: all."),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Compile the CPU kernels of algorithms and readers ahead, for the processor of this machine.

    The kernels stay in a cache on disk until Evener or Numba is updated. A wheel with compiled kernels needs
    no warmup, but kernels for this processor can be faster. Programs of users compile at their first run.
    """
    from time import perf_counter

    from evener.cli.kernel_runs import tasks_for
    from evener.cli.warmup import compile_natively, run_tasks
    from evener.elements import usable_cores
    from evener.kernels.cpu.jit import CACHE

    if not CACHE:
        msg = "compiled kernels cannot be stored; name a writable folder in NUMBA_CACHE_DIR"
        raise ArgumentError(msg)
    names = list(algorithms or registry.builtin_names())
    for name in names:
        registry.find(name)
    job = context.ensure_object(Command)
    begin = perf_counter()
    with job.shown():
        note("compiling kernels, which takes some seconds unless all are in the cache")
        job.stage("compiling kernels")
        tasks = tasks_for(names)
        for done, _ in enumerate(run_tasks(tasks, usable_cores(), compile_natively), 1):
            job.stage(f"compiling kernels: {done} of {len(tasks)} parts done")
    seconds = perf_counter() - begin
    if as_json:
        say_json({"algorithms": names, "seconds": seconds})
    else:
        say(f"The kernels for {', '.join(names)} are ready ({seconds_text(seconds)}).")


COMMANDS = (devices, profile, warmup)
