"""Commands for this machine: devices, plan, profile."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from evener.algorithms import registry
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
from evener.cli.output import say
from evener.cli.supervisor import Job
from evener.errors import ArgumentError
from evener.partition.policy import policy_names
from evener.system.world import current_world

if TYPE_CHECKING:
    from evener.system.world import World

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (devices, plan, profile):
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
        _show_ranks(world, as_json=as_json)
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


def _show_ranks(world: World, *, as_json: bool) -> None:
    """Print the elements of each rank, and the routes between ranks."""
    from evener.cli import render
    from evener.elements import usable_cores
    from evener.elements.cuda.discovery import all_gpus
    from evener.system import memory
    from evener.system.probe import measure_routes

    usable = [gpu for gpu in all_gpus() if not gpu.problem]
    own = [("cpu", usable_cores(), memory.available()), *((gpu.element, 1, gpu.free_bytes) for gpu in usable)]
    of_ranks = world.allgather((world.host, own))
    routes = measure_routes(world)
    rows = [(rank, host, *element) for rank, (host, found) in enumerate(of_ranks) for element in found]
    if as_json:
        heads = ("rank", "host", "name", "threads", "available_bytes")
        elements = [dict(zip(heads, row, strict=True)) for row in rows]
        say(render.as_json({"elements": elements, "routes": [route._asdict() for route in routes]}))
        return
    say(render.ranks(rows))
    say()
    say(render.routes(routes))


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
    as_json: Json = False,
    **given: object,
) -> None:
    """Print the edges, vertices, mirrors and bytes of each partition, and with --for the predicted time.

    The algorithm does not run. With --for, a plan chooses the elements, policy and alpha that are not given,
    for the least predicted time. Without --for, the output ends with alpha and beta. Beta
    is the share of the edges that cross partitions. After aggregation, each mirror is one message.
    """
    place = placement_options(given)
    if algorithm is not None:
        registry.find(algorithm)
        refuse_ranks("plan --for")
    elif place.get("policy") == "auto":
        known = ", ".join(policy_names())
        msg = f"--policy: expected one of {known} without --for, found auto; add --for ALGORITHM"
        raise ArgumentError(msg)
    from evener.algorithms.plan import plan as planned
    from evener.cli import render, runs
    from evener.elements.cuda.discovery import missing
    from evener.partition.build import partition

    job = context.ensure_object(Job)
    check_agreement(job.words, graph)
    place = runs.with_elements(place)
    with job.shown():
        in_parts = "both" if algorithm is None else None
        opened = runs.open_graph(job, graph, read_options(given), in_parts=in_parts)
        if algorithm is not None:
            job.stage("planning")
            chosen = planned(opened, algorithm, **place)
    if algorithm is not None:
        say(render.as_json(asdict(chosen)) if as_json else opened.summary)
        if not as_json:
            say()
            say(render.planned(chosen))
            if "on" not in place and missing():
                say(f"No GPU can be used: {missing()}.")
        return
    with job.shown():
        job.stage("partitioning")
        partitioned = partition(opened, **place)
        statistics = partitioned.statistics
    if as_json:
        say(render.as_json({"policy": partitioned.policy, **asdict(statistics), "bytes": statistics.nbytes}))
    else:
        say(f"{opened.summary}; policy {partitioned.policy}")
        say()
        say(render.partitions(statistics))


def profile(
    context: typer.Context,
    *,
    on: Annotated[
        str | None,
        typer.Option(metavar="ELEMENT", help="The GPU to run on.", show_default="cuda:0"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run each algorithm on generated graphs, so that the first plans use recorded runs.

    The command is optional and takes less than 30 seconds. Without it, the first plans use hardware facts.
    Each run of more than 10 ms also improves later plans.
    """
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
    job = context.ensure_object(Job)
    with job.shown():
        runs = profile_algorithms(on or "cuda:0", say=lambda step: job.stage(f"running {step}"))
    if as_json:
        say(render.as_json({"runs": [run._asdict() for run in runs]}))
        return
    say(render.columns(("algorithm", "elements", "edges", "seconds"), runs, left=2))
    say()
    say(f"Recorded in {file_of_observations()}.")
