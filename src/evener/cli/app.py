"""The commands that run algorithms: run, verify, bench. The others are in `files` and `machine`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli import files, machine
from evener.cli.job import Job
from evener.cli.options import (
    CHOICES,
    PLACEMENT,
    READING,
    AlgorithmName,
    GraphName,
    Json,
    check_algorithm,
    choices,
    placement,
    reading,
    takes,
)
from evener.cli.output import say

if TYPE_CHECKING:
    from evener.algorithms.verification import Answer

__all__ = ["app"]


app = typer.Typer(
    help="Graph algorithms on every processor you have, in one run.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    from evener import __version__

    if version:
        say(f"evener {__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())


@app.command()
@takes(CHOICES, PLACEMENT, READING)
def run(
    context: typer.Context,
    algorithm: AlgorithmName,
    graph: GraphName,
    *,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Table: .parquet, .csv, .tsv, .arrow."),
    ] = None,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="A page about the run: .html.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="When each element did what, for Perfetto: .json."),
    ] = None,
    energy: Annotated[bool, typer.Option("--energy", help="Measure the joules of host and GPUs.")] = False,
    top: Annotated[int, typer.Option(min=0, help="Print this many top vertices.")] = 10,
    timeline: Annotated[bool, typer.Option(help="Print what each superstep took.")] = True,
    verify: Annotated[bool, typer.Option("--verify", help="Check the answer before it is used.")] = False,
    as_json: Json = False,
    **given: object,
) -> None:
    """Run an algorithm on a graph; print the top vertices, the timeline and the rate."""
    check_algorithm(algorithm)
    place, arguments = placement(given), choices(algorithm, given)
    from evener.cli import text, work

    work.check_outputs(graph, table=output, report=report, trace=trace)
    work.check_elements(place)
    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        arguments = {**work.in_ids(opened, arguments), **place}
        measured = work.compute_metered if energy else work.compute
        result = measured(job, algorithm, opened, arguments)
        work.tell_lonely_source(result, arguments)
        if verify:
            work.check_answer(job, result)
        if output is not None:
            job.stage(f"writing {output}")
            result.write(output)
            job.written.append(output)
        if report is not None:
            job.stage(f"writing {report}")
            result.report(report)
            job.written.append(report)
        if trace is not None:
            job.stage(f"writing {trace}")
            result.trace(trace)
            job.written.append(trace)
    work.tell_kernels_lost()
    work.tell_unused(result, arguments)
    if as_json:
        content = text.result_json(result, top=top, timeline=timeline)
        say(text.as_json({**content, "verified": verify, "written": job.written}))
        return
    text.show_result(result, top=top, timeline=timeline)
    if verify:
        say(f"The answer is verified{text.held_to(result)}.")
    for path in job.written:
        say(f"Wrote {path}.")


@app.command()
@takes(CHOICES, PLACEMENT, READING)
def verify(
    context: typer.Context,
    algorithm: AlgorithmName,
    graph: GraphName,
    results: Annotated[
        str | None,
        typer.Argument(metavar="[RESULTS]", help="A table that `run -o` wrote; without it, run and check."),
    ] = None,
    *,
    as_json: Json = False,
    **given: object,
) -> None:
    """Check an answer against the rules that define it; exit status 3 if it breaks one."""
    check_algorithm(algorithm)
    place, arguments = placement(given), choices(algorithm, given)
    from evener.cli import text, work

    work.check_elements(place)
    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        answer: Answer
        if results is None:
            answer = work.compute(job, algorithm, opened, {**work.in_ids(opened, arguments), **place})
        else:
            from evener.results.table import load_claim

            job.stage(f"reading {results}")
            parameters = work.in_ids(opened, arguments)
            answer = load_claim(Path(results), opened, algorithm=algorithm, parameters=parameters)
        work.check_answer(job, answer)
    if results is None:
        work.tell_kernels_lost()
    if as_json:
        say(text.as_json({"algorithm": algorithm, "graph": graph, "verified": True}))
    else:
        say(f"{algorithm} on {graph}: the answer is right{text.held_to(answer)}.")


@app.command()
@takes(CHOICES, PLACEMENT, READING)
def bench(
    context: typer.Context,
    algorithm: AlgorithmName,
    graph: GraphName,
    *,
    repeats: Annotated[int, typer.Option(min=1, help="Runs that are timed, after one that is not.")] = 16,
    as_json: Json = False,
    **given: object,
) -> None:
    """Time an algorithm here: medians of verified runs, reading and partitioning not counted.

    Searches start from a different vertex each time, drawn with a fixed seed, unless --source is given;
    betweenness is that of one such source each time, unless sources are given.
    """
    check_algorithm(algorithm)
    place, arguments = placement(given), choices(algorithm, given)
    from evener.cli import text, work

    work.check_elements(place)
    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        timed = work.repeat(job, algorithm, opened, arguments, place, repeats=repeats)
    work.tell_kernels_lost()
    if as_json:
        say(text.as_json({"algorithm": algorithm, "graph": graph, **timed}))
    else:
        text.show_timings(algorithm, graph, timed)


files.add_to(app)
machine.add_to(app)
