"""The commands about this machine: devices, plan, profile."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from evener.algorithms import registry
from evener.cli.job import Job
from evener.cli.options import (
    PLACEMENT,
    READING,
    GraphName,
    Json,
    placement,
    reading,
    takes,
)
from evener.cli.output import say
from evener.errors import ArgumentError

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (devices, plan, profile):
        app.command()(command)


def devices(*, as_json: Json = False) -> None:
    """Say which elements this machine has to run on: its cores, and its GPUs or why none can be used."""
    import numba

    from evener.cli import text
    from evener.elements import usable_cores  # importing it chooses the threading layer
    from evener.elements.cuda.discovery import all_gpus, missing, versions
    from evener.system import memory

    cores, at_hand = usable_cores(), memory.available()
    layer = str(vars(numba.config)["THREADING_LAYER"])
    gpus, known = all_gpus(), versions()
    usable = [gpu for gpu in gpus if not gpu.problem]
    if as_json:
        cpu = {"name": "cpu", "threads": cores, "available_bytes": at_hand, "threading_layer": layer}
        others = [{"name": gpu.element, "available_bytes": gpu.free_bytes} for gpu in usable]
        content = {
            "elements": [cpu, *others],
            "gpus": [asdict(gpu) for gpu in gpus],
            "no_gpu": missing(),
            "versions": known and known._asdict(),
        }
        say(text.as_json(content))
        return
    heads = ("element", "threads", "memory at hand", "threading layer")
    say(text.columns(heads, [("cpu", cores, memory.format_bytes(at_hand), layer)], left=1))
    say()
    if known:
        say(text.gpus(gpus, known))
        say()
    several = f"cpu,{usable[0].element}" if usable else "cpu:1,cpu:1"
    say(f"cpu:N is N threads; several elements are written with commas, as in {several}.")
    if not known:
        say(f"No GPU can be used: {missing()}.")


@takes(PLACEMENT, READING)
def plan(
    context: typer.Context,
    graph: GraphName,
    *,
    algorithm: Annotated[
        str | None,
        typer.Option("--for", metavar="ALGORITHM", help="Predict a run of it, and choose where it goes."),
    ] = None,
    as_json: Json = False,
    **given: object,
) -> None:
    """Say how a graph would be split, before a run: edges, vertices, mirrors, bytes of each partition.

    Beta is the share of the edges that cross partitions: before aggregation, and after it, when what is sent
    to one vertex travels once. With --for, the elements, the policy and alpha are chosen for the least
    predicted time, unless they are given, and the times are printed with their range and origin.
    """
    place = placement(given)
    if algorithm is not None:
        registry.find(algorithm)
    elif place.get("policy") == "auto":
        msg = "--policy auto is the best for an algorithm: give it with --for, or choose high, low or random"
        raise ArgumentError(msg)
    from evener.algorithms.plan import plan as planned
    from evener.cli import text, work
    from evener.elements.cuda.discovery import missing
    from evener.partition.place import partition

    work.check_elements(place)
    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        if algorithm is not None:
            job.stage("planning")
            made = planned(opened, algorithm, **place)
    if algorithm is not None:
        say(text.as_json(asdict(made)) if as_json else f"{opened!r}"[len("<Graph: ") : -1])
        if not as_json:
            say()
            say(text.planned(made))
            if "on" not in place and missing():
                say(f"No GPU can be used: {missing()}.")
        return
    with job.shown():
        job.stage("partitioning")
        partitioned = partition(opened, **place)
        statistics = partitioned.statistics
    if as_json:
        say(text.as_json({"policy": partitioned.policy, **asdict(statistics), "bytes": statistics.nbytes}))
    else:
        say(f"{opened!r}"[len("<Graph: ") : -1] + f"; policy {partitioned.policy}")
        say()
        say(text.partitions(statistics))


def profile(
    context: typer.Context,
    *,
    on: Annotated[
        str | None,
        typer.Option(metavar="ELEMENT", help="The GPU to run on.", show_default="cuda:0"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run each algorithm on a generated graph, so that the first plans follow from runs on this machine.

    It takes less than 30 seconds. Plans need no profile: they begin with hardware facts, and every later run
    of more than 10 ms refines them.
    """
    from evener.cli import text
    from evener.cli.calibration import seed
    from evener.elements import parse_elements
    from evener.elements.cuda.discovery import missing
    from evener.planning.observations import file_of_observations

    if on is not None and [element.kind for element in parse_elements(on)] != ["cuda"]:
        msg = f"--on names one GPU to run on, as in cuda:0, not {on!r}"
        raise ArgumentError(msg)
    if on is None and missing():
        say(text.as_json({"runs": []}) if as_json else f"No GPU can be used: {missing()}.")
        if not as_json:
            say("Without a GPU a plan has nothing to choose, so nothing was run.")
        return
    job = context.ensure_object(Job)
    with job.shown():
        runs = seed(on or "cuda:0", say=lambda step: job.stage(f"running {step}"))
    if as_json:
        say(text.as_json({"runs": [run._asdict() for run in runs]}))
        return
    say(text.columns(("algorithm", "elements", "edges", "seconds"), runs, left=2))
    say()
    say(f"Recorded in {file_of_observations()}.")
