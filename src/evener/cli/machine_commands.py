"""Commands for this machine: devices, plan, profile, warmup."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from evener.cli.agreement import check_agreement, refuse_ranks
from evener.cli.options import (
    PLACEMENT_OPTIONS,
    READ_OPTIONS,
    GraphName,
    Json,
    placement_options,
    read_options,
    takes,
)
from evener.cli.output import note, say
from evener.cli.rank_tables import show_ranks
from evener.cli.supervisor import Command
from evener.errors import ArgumentError, printable
from evener.partition.policy import policy_names
from evener.spec import registry
from evener.system.world import current_world

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (devices, plan, profile, warmup):
        app.command()(command)


def devices(*, as_json: Json = False) -> None:
    """Print the elements of this machine: CPU cores and GPUs. Without a usable GPU, print the reason.

    On several ranks, print the elements of each rank, and the measured routes between ranks.
    """
    import numba

    from evener.cli import render
    from evener.elements import usable_cores  # importing it chooses the threading layer
    from evener.elements.cuda.discovery import all_gpus, missing, versions
    from evener.system import memory

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
        content = {
            "elements": [cpu, *others],
            "gpus": [asdict(gpu) for gpu in gpus],
            "no_gpu": missing(),
            "versions": known and known._asdict(),
        }
        say(render.as_json(content))
        return
    heads = ("element", "threads", "free memory", "threading layer")
    say(render.columns(heads, [("cpu", cores, memory.format_bytes(available), layer)], left=1))
    say()
    if known:
        say(render.gpus(gpus, known))
        say()
    several = f"cpu,{usable[0].element}" if usable else "cpu:1,cpu:1"
    say(f"cpu:N is N threads; separate several elements with commas, as in {several}.")
    if not known:
        say(f"No GPU can be used: {missing()}.")


@takes(PLACEMENT_OPTIONS, READ_OPTIONS)
def plan(
    context: typer.Context,
    graph: GraphName,
    *,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="ALGORITHM", help="Choose the placement for this algorithm and predict its time."
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Compare all policies for the algorithm of --for; name GPUs as cuda:N."
        ),
    ] = False,
    machines: Annotated[
        int, typer.Option(min=1, help="With --compare: the number of machines with the elements of --on.")
    ] = 1,
    as_json: Json = False,
    **given: object,
) -> None:
    """Print the edges, vertices, mirrors and bytes of each partition, and with --for the predicted time.

    The algorithm does not run. With --for, a plan chooses the elements, policy and alpha that are not given,
    for the least predicted time. Without --for, the output ends with alpha and beta. Beta
    is the share of the edges that cross partitions. After aggregation, each mirror is one message.

    For one CPU element, the command does not generate or read edges if a specification or the heading of a
    file states the sizes. Parquet files of Evener and the comments of SNAP state them.

    With --compare, the command prints a line for each policy. The elements of --on need not exist.
    """
    place = placement_options(given)
    if compare:
        refuse_ranks("plan --compare")
        _compare(context, graph, algorithm, machines, read_options(given), place, as_json=as_json)
        return
    if machines > 1:
        msg = f"--machines: expected 1 without --compare, found {machines}; add --compare"
        raise ArgumentError(msg)
    if algorithm is not None:
        registry.find(algorithm)
        refuse_ranks("plan --for")
    elif place.get("policy") == "auto":
        known = ", ".join(policy_names())
        msg = f"--policy: expected one of {known} without --for, found auto; add --for ALGORITHM"
        raise ArgumentError(msg)
    from evener.cli import runs
    from evener.cli.plan_output import show_plan, show_plan_of_heading, show_statistics

    job = context.ensure_object(Command)
    check_agreement(job.words, graph)
    place = runs.with_elements(place)
    if show_plan_of_heading(graph, algorithm, read_options(given), place, as_json=as_json):
        return
    from evener.partition.build import partition
    from evener.spec.plan import plan as planned

    with job.shown():
        in_parts = "both" if algorithm is None else None
        opened = runs.open_graph(job, graph, read_options(given), in_parts=in_parts)
        if algorithm is not None:
            job.stage("planning")
            chosen = planned(opened, algorithm, **place)
    if algorithm is not None:
        show_plan(opened.summary, chosen, exact=True, named="on" in place, as_json=as_json)
        return
    with job.shown():
        job.stage("partitioning")
        partitioned = partition(opened, **place)
        statistics = partitioned.statistics
    show_statistics(opened.summary, partitioned.policy, statistics, exact=True, as_json=as_json)


def _compare(
    context: typer.Context,
    graph: str,
    algorithm: str | None,
    machines: int,
    how: dict[str, Any],
    place: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Print the sizes and the predicted time of each policy."""
    if algorithm is None or "on" not in place:
        msg = "--compare: expected --for ALGORITHM and --on ELEMENTS too; give both"
        raise ArgumentError(msg)
    from evener.cli import render, runs
    from evener.spec.comparison import compare_policies

    policies = [place.pop("policy")] if "policy" in place else None
    registry.find(algorithm)
    job = context.ensure_object(Command)
    with job.shown():
        opened = runs.open_graph(job, graph, how)
        job.stage("comparing policies")
        found = compare_policies(opened, algorithm, machines=machines, policies=policies, **place)
    if as_json:
        say(render.as_json({"algorithm": algorithm, "policies": [asdict(one) for one in found]}))
        return
    say(opened.summary)
    say()
    say(render.compared(found))


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
    from evener.cli import render
    from evener.cli.profile import profile_algorithms
    from evener.elements import parse_elements
    from evener.elements.cuda.discovery import missing
    from evener.planning.observations import file_of_observations

    if on is not None and [element.kind for element in parse_elements(on)] != ["cuda"]:
        msg = f"--on: expected one GPU such as cuda:0, found {on!r}"
        raise ArgumentError(msg)
    if on is None and missing():
        say(render.as_json({"runs": []}) if as_json else f"No GPU can be used: {missing()}.")
        if not as_json:
            say("Plans only choose between CPU and GPU, so nothing was run.")
        return
    job = context.ensure_object(Command)
    with job.shown():
        runs = profile_algorithms(on or "cuda:0", say=lambda step: job.stage(f"running {step}"))
    if as_json:
        say(render.as_json({"runs": [run._asdict() for run in runs]}))
        return
    say(render.columns(("algorithm", "elements", "edges", "seconds"), runs, left=2))
    say()
    say(f"Recorded in {printable(str(file_of_observations()))}.")


def _profile_ratio(
    context: typer.Context, on: str | None, scales: str | None, seeds: int | None, *, as_json: bool
) -> None:
    """Measure, print and store the computation ratio."""
    from evener.cli import render
    from evener.cli.ratio import PAPER_SCALES, PAPER_SEEDS, measure_ratio
    from evener.planning.ratio import cpu_share, write_ratio

    words = [] if scales is None else [word.strip() for word in scales.split(",")]
    if not all(word.isdigit() for word in words):
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
        say(render.as_json({"points": [one._asdict() for one in points], "fit": asdict(fit)}))
        return
    heads = ("scale", "edges", "first element", "second element", "r", "alpha")
    rows = [
        (one.scale, round(one.edges), *map(render.seconds_text, one[2:4]), one.ratio, cpu_share(one.ratio))
        for one in points
    ]
    say(render.columns(heads, rows))
    say()
    say("\n".join(render.ratio_lines(fit)))
    say(
        f"Recorded in {printable(str(path))}."
        if path
        else "Not recorded: there is no cache folder that can be written."
    )


def warmup(
    context: typer.Context,
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ALGORITHM", help="Algorithms to compile for. Default: all except vertex programs."
        ),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Compile the CPU kernels of algorithms and readers ahead, so that no run has to wait for them.

    The kernels stay in a cache on disk until Evener or Numba is updated. Programs of users compile at their
    first run.
    """
    from time import perf_counter

    from evener.cli import render
    from evener.cli.warmup import warm_up
    from evener.elements import usable_cores
    from evener.kernels.cpu.jit import CACHE

    if not CACHE:
        msg = "compiled kernels cannot be stored; name a writable folder in NUMBA_CACHE_DIR"
        raise ArgumentError(msg)
    names = list(algorithms or registry.names_with_kernels())
    for name in names:
        registry.find(name)
    job = context.ensure_object(Command)
    begin = perf_counter()
    with job.shown():
        note("compiling kernels, which takes some seconds unless all are in the cache")
        job.stage("compiling kernels")
        warm_up(names, usable_cores())
    seconds = perf_counter() - begin
    if as_json:
        say(render.as_json({"algorithms": names, "seconds": seconds}))
    else:
        say(f"The kernels for {', '.join(names)} are ready ({render.seconds_text(seconds)}).")
