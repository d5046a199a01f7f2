"""Commands for graph files: generate, convert, info, partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evener.cli.options import (
    PLACEMENT_OPTIONS,
    READ_OPTIONS,
    GraphName,
    Json,
    placement_options,
    read_options,
    refuse_auto,
    takes,
)
from evener.cli.output import say, say_json
from evener.cli.plan_command import show_statistics
from evener.cli.supervisor import Command
from evener.errors import ArgumentError, printable
from evener.graph.edge_counts import count_edges, edges_in_words
from evener.results.report.units import counted
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from evener.graph.graph import Graph

__all__ = ["COMMANDS", "describe"]


def generate(
    context: typer.Context,
    specification: Annotated[
        str, typer.Argument(metavar="SPEC", help="rmat:20, uniform:16,seed=3, grid:100x100, ...")
    ],
    *,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")],
    as_json: Json = False,
) -> None:
    """Generate a graph and write it in the format of the file's suffix."""
    if ":" not in specification:
        msg = (
            f"expected a specification such as rmat:20, found {specification!r}; use evener convert for files"
        )
        raise ArgumentError(msg)
    _copy(context.ensure_object(Command), specification, output, how={}, as_json=as_json)


@takes(READ_OPTIONS)
def convert(
    context: typer.Context,
    graph: GraphName,
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="The file to write.")],
    *,
    ids: Annotated[
        str, typer.Option(help="keep or drop the ids of vertices; drop is for formats that store no ids.")
    ] = "keep",
    as_json: Json = False,
    **given: object,
) -> None:
    """Read a graph and write it in another format. The suffixes of the files name the formats."""
    _copy(context.ensure_object(Command), graph, output, how=read_options(given), as_json=as_json, ids=ids)


@takes(PLACEMENT_OPTIONS, READ_OPTIONS)
def partition(
    context: typer.Context,
    graph: GraphName,
    *,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write.")],
    directions: Annotated[str, typer.Option(help="The edges to store: both, out or in.")] = "both",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the policies that are random.")] = 0,
    as_json: Json = False,
    **given: object,
) -> None:
    """Place a graph on elements and write it to a folder, which run, verify and bench accept as GRAPH.

    The folder names the graph if it is an .evg container, and stores any other graph.
    """
    place, how = placement_options(given), read_options(given)
    refuse_auto(place, "see evener plan --for ALGORITHM")
    from evener.cli import output_files, runs
    from evener.partition.build import partition as place_graph
    from evener.partition.folder import write_partitioned

    output_files.check_folder_output(graph, output)
    place = runs.with_elements(place)
    job = context.ensure_object(Command)
    with job.shown():
        opened = runs.open_graph(job, graph, how)
        job.stage("partitioning")
        placed = place_graph(opened, directions=directions, seed=seed, **place)
        job.stage(f"writing {output}")
        named = Path(graph).suffix == ".evg" and not how
        write_partitioned(placed, output, graph=graph if named else None)
        job.written.append(output)
        statistics = placed.statistics
    more = {"directions": placed.directions, "written": job.written}
    show_statistics(opened.summary, placed.policy, statistics, as_json=as_json, **more)
    if not as_json:
        source = f", which names the graph {printable(graph)}" if named else ", with the graph"
        say(f"Wrote {printable(output)}{source}.")


@takes(READ_OPTIONS)
def info(context: typer.Context, graph: GraphName, *, as_json: Json = False, **given: object) -> None:
    """Print the size, direction, weights and degrees of a graph."""
    from evener.cli import runs

    job = context.ensure_object(Command)
    with job.shown():
        opened = runs.open_graph(job, graph, read_options(given))
        facts = describe(opened)
        if not as_json:
            facts["edges"] = edges_in_words(opened)
    if as_json:
        say_json(facts)
        return
    rows = [(name.replace("_", " "), _in_words(name, value)) for name, value in facts.items()]
    say("\n".join(f"{name:<15} {value}" for name, value in rows))


def describe(graph: Graph) -> dict[str, Any]:
    """Return the facts that `info` prints."""
    import numpy as np

    degree = graph.out_degree()
    weights = None
    if graph.weights is not None:
        weights = {"type": str(graph.weights.dtype)}
        if graph.m:
            weights |= {"least": graph.weights.min().item(), "largest": graph.weights.max().item()}
    degrees = None
    if graph.n:
        shares = np.percentile(degree, [50, 90, 99], method="lower").tolist()
        degrees = {
            "least": int(degree.min()),
            "median": int(shares[0]),
            "mean": graph.m / graph.n,
            "90%": int(shares[1]),
            "99%": int(shares[2]),
            "largest": int(degree.max()),
            "zero": int(np.count_nonzero(degree == 0)),
        }
    own = graph.has_custom_ids
    return {
        "vertices": graph.n,
        "edges": graph.m,
        "directed": graph.directed,
        "weights": weights,
        "ids": ("strings" if graph.has_string_ids else "integers") if own else "0 to n-1",
        "out_degree": degrees,
        "bytes": graph.nbytes,
    }


def _copy(
    job: Command, name: str, output: str, *, how: dict[str, Any], as_json: bool, ids: str = "keep"
) -> None:
    from evener.cli import output_files, runs
    from evener.graph.formats import write

    output_files.check_graph_output(name, output)
    with job.shown():
        graph = runs.open_graph(job, name, how)
        job.stage(f"writing {output}")
        write(graph, output, ids=ids)
        job.written += output_files.graph_files(output)
    facts = _describe_file(graph, output)
    if as_json:
        say_json({**facts, "written": job.written})
        return
    edges = counted(facts["edges"], f"{'directed' if graph.directed else 'undirected'} edge")
    weighted = f", {facts['weights']} weights" if facts["weights"] else ""
    numbered = ", numbered from 0 without their ids" if facts["omitted_ids"] else ""
    vertices = counted(facts["vertices"], "vertex")
    say(f"Wrote {printable(', '.join(job.written))}: {vertices}{numbered}, {edges}{weighted}.")


def _describe_file(graph: Graph, path: str) -> dict[str, Any]:
    """Return the facts about a graph that the file written to `path` holds."""
    from evener.graph.formats.registry import format_of

    kind, _ = format_of(Path(path))
    omitted_vertices = kind.count_omitted_vertices(graph)
    return {
        "vertices": graph.n - omitted_vertices,
        "edges": count_edges(graph),
        "directed": graph.directed,
        "weights": None if graph.weight_dtype is None else str(graph.weight_dtype),
        "omitted_vertices": omitted_vertices,
        "omitted_ids": graph.has_custom_ids and not kind.keeps_ids_of(graph),
        "omitted_direction": not graph.directed and not kind.stores_direction,
    }


def _in_words(name: str, value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_in_words(key, one)}" for key, one in value.items())
    if name == "bytes" and isinstance(value, int):
        return format_bytes(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value if value is not None else "none")


COMMANDS = (generate, convert, info, partition)
