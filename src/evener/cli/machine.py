"""The commands about this machine: devices, plan."""

from __future__ import annotations

from dataclasses import asdict

import typer  # noqa: TC002 - typer reads annotations as it starts

from evener.cli.job import Job
from evener.cli.options import PLACEMENT, READING, GraphName, Json, placement, reading, takes
from evener.cli.output import say

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (devices, plan):
        app.command()(command)


def devices(*, as_json: Json = False) -> None:
    """Say which elements this machine has to run on."""
    import numba

    from evener import memory
    from evener.cli import text
    from evener.elements import usable_cores  # importing it chooses the threading layer

    cores, at_hand = usable_cores(), memory.available()
    layer = str(vars(numba.config)["THREADING_LAYER"])
    if as_json:
        element = {"name": "cpu", "threads": cores, "available_bytes": at_hand, "threading_layer": layer}
        say(text.as_json({"elements": [element], "gpus": []}))
        return
    heads = ("element", "threads", "memory at hand", "threading layer")
    say(text.columns(heads, [("cpu", cores, memory.readable(at_hand), layer)], left=1))
    say()
    say("cpu:N is N threads; several elements are written with commas, as in cpu:1,cpu:1.")
    say("No GPU is used: this version runs on CPU cores.")


@takes(PLACEMENT, READING)
def plan(
    context: typer.Context,
    graph: GraphName,
    *,
    as_json: Json = False,
    **given: object,
) -> None:
    """Say how a graph would be split, before a run: edges, vertices, mirrors, bytes of each partition.

    Beta is the share of the edges that cross partitions: before aggregation, and after it, when what is sent
    to one vertex travels once.
    """
    place = placement(given)
    import evener as ev
    from evener.cli import text, work

    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        job.stage("partitioning")
        partitioned = ev.partition(opened, **place)
        statistics = partitioned.statistics
    if as_json:
        say(text.as_json({"policy": partitioned.policy, **asdict(statistics), "bytes": statistics.nbytes}))
    else:
        say(f"{opened!r}"[len("<Graph: ") : -1] + f"; policy {partitioned.policy}")
        say()
        say(text.partitions(statistics))
