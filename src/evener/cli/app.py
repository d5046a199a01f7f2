"""The commands that run algorithms: run, verify, bench. The others are in `files` and `machine`."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from evener.algorithms import registry
from evener.algorithms.spec import AlgorithmSpec  # noqa: TC001 - typer evaluates annotations
from evener.cli import files, machine
from evener.cli.job import Job
from evener.cli.options import (
    PLACEMENT,
    READING,
    GraphName,
    Json,
    chosen,
    own_options,
    placement,
    reading,
    takes,
    with_vertices,
)
from evener.cli.output import say
from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.algorithms.verification import Answer

__all__ = ["app"]

_SETTINGS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help="Graph algorithms on every processor you have, in one run.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings=_SETTINGS,
)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    from evener.system.version import __version__

    if version:
        say(f"evener {__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())


class _PerAlgorithm(TyperGroup):
    """A command with one form for each registered algorithm, whose spec is imported when it is named."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is typer's
        """Return the names of the algorithms."""
        return registry.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is typer's
        """Return the form of the command for an algorithm."""
        try:
            spec = registry.find(cmd_name)
        except ArgumentError as error:
            if cmd_name not in registry.names():
                raise
            return _broken_form(cmd_name, error)
        return _form(str(self.name), spec)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept options in front of the algorithm's name as well."""
        known = registry.names()
        at = next((place for place, word in enumerate(args) if word in known), 0)
        return super().parse_args(ctx, [*args[at : at + 1], *args[:at], *args[at + 1 :]])


def run(
    spec: AlgorithmSpec,
    context: typer.Context,
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
    place, arguments = placement(given), chosen(spec, given)
    from evener.cli import text, work

    work.check_outputs(graph, table=output, report=report, trace=trace)
    work.check_elements(place)
    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        arguments = {**with_vertices(spec, opened, arguments), **place}
        measured = work.compute_metered if energy else work.compute
        result = measured(job, spec, opened, arguments)
        work.note_isolated_source(spec, result, arguments)
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
    work.note_no_kernel_cache()
    work.note_unused(spec, result, arguments)
    if as_json:
        content = text.result_json(spec, result, top=top, timeline=timeline)
        say(text.as_json({**content, "verified": verify, "written": job.written}))
        return
    text.show_result(spec, result, top=top, timeline=timeline)
    if verify:
        say(f"The answer is verified{text.verified_scope(spec, result)}.")
    for path in job.written:
        say(f"Wrote {path}.")


def verify(
    spec: AlgorithmSpec,
    context: typer.Context,
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
    place, arguments = placement(given), chosen(spec, given)
    from evener.cli import text, work

    work.check_elements(place)
    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        answer: Answer
        if results is None:
            answer = work.compute(job, spec, opened, {**with_vertices(spec, opened, arguments), **place})
        else:
            from evener.algorithms.saved_answer import load_claim

            job.stage(f"reading {results}")
            parameters = with_vertices(spec, opened, arguments)
            answer = load_claim(Path(results), opened, spec=spec, parameters=parameters)
        work.check_answer(job, answer)
    if results is None:
        work.note_no_kernel_cache()
    if as_json:
        say(text.as_json({"algorithm": spec.name, "graph": graph, "verified": True}))
    else:
        say(f"{spec.name} on {graph}: the answer is right{text.verified_scope(spec, answer)}.")


def bench(
    spec: AlgorithmSpec,
    context: typer.Context,
    graph: GraphName,
    *,
    repeats: Annotated[int, typer.Option(min=1, help="Runs that are timed, after one that is not.")] = 16,
    as_json: Json = False,
    **given: object,
) -> None:
    """Time an algorithm here: medians of verified runs, reading and partitioning not counted.

    An algorithm that starts from sources gets one source in each run, drawn with a fixed seed, unless sources
    are given.
    """
    place, arguments = placement(given), chosen(spec, given)
    from evener.cli import text, work

    work.check_elements(place)
    job = context.ensure_object(Job)
    with job.shown():
        opened = work.open_graph(job, graph, reading(given))
        timed = work.repeat(job, spec, opened, arguments, place, repeats=repeats)
    work.note_no_kernel_cache()
    if as_json:
        say(text.as_json({"algorithm": spec.name, "graph": graph, **timed}))
    else:
        text.show_timings(spec, graph, timed)


_COMMANDS: dict[str, Callable[..., None]] = {"run": run, "verify": verify, "bench": bench}


@functools.cache
def _form(command: str, spec: AlgorithmSpec) -> Any:
    """The command for one algorithm: its options are those of the algorithm's spec and of all runs."""
    function = _COMMANDS[command]

    @functools.wraps(function)
    def form(*args: Any, **given: Any) -> None:
        function(spec, *args, **given)

    vars(form).pop("__wrapped__")
    form.__annotations__ = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())
    vars(form)["__signature__"] = inspect.Signature(parameters[1:])
    single = typer.Typer(rich_markup_mode="markdown", context_settings=_SETTINGS, add_completion=False)
    single.command(spec.name, short_help=spec.summary)(takes(own_options(spec), PLACEMENT, READING)(form))
    return typer.main.get_command(single)


def _broken_form(name: str, error: ArgumentError) -> TyperCommand:
    """The command for an algorithm that cannot be loaded: ``--help`` lists it, and a run raises the error."""

    def form() -> None:
        raise error

    any_words = {"ignore_unknown_options": True, "allow_extra_args": True}
    return TyperCommand(
        name, callback=form, short_help=str(error), add_help_option=False, context_settings=any_words
    )


for _name, _function in _COMMANDS.items():
    _group = typer.Typer(cls=_PerAlgorithm, context_settings=_SETTINGS, help=_function.__doc__)
    app.add_typer(_group, name=_name)

files.add_to(app)
machine.add_to(app)
