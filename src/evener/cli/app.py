"""Commands that run algorithms: run, verify and bench."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from evener.cli import graph_commands, machine_commands, plan_command
from evener.cli.agreement import check_agreement, refuse_ranks
from evener.cli.options import (
    PLACEMENT_OPTIONS,
    READ_OPTIONS,
    GraphName,
    Json,
    accept_typed_values,
    given_options,
    own_options,
    placement_options,
    read_options,
    takes,
    with_default_source,
    with_vertices,
)
from evener.cli.output import say, say_json
from evener.cli.supervisor import Command
from evener.errors import ArgumentError, printable
from evener.spec import registry
from evener.spec.algorithm import AlgorithmSpec  # noqa: TC001 - typer evaluates annotations
from evener.system.agreement import on_all_ranks
from evener.system.gpu_start import start_gpus
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evener.spec.answer import Answer

__all__ = ["app"]

# Commands that all ranks of an MPI job run together.
_ON_RANKS = ("run", "verify", "bench", "plan", "devices")
_CONTINUE = "Continue after a failure"
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class _Commands(TyperGroup):
    """The commands of the program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options of the program."""
        accept_typed_values(self)
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command. The name of an algorithm without a command is an error that names `run`."""
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in registry.names():
            msg = f"expected a command, found the algorithm {cmd_name!r}; write evener run {cmd_name} GRAPH"
            raise ArgumentError(msg)
        return command if command is None else accept_typed_values(command)


app = typer.Typer(
    cls=_Commands,
    help="Graph algorithms on every processor you have, in one run.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings=_SETTINGS,
)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    from evener.system.version import __version__

    if version:
        say(f"evener {__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())
    elif context.invoked_subcommand not in _ON_RANKS:
        refuse_ranks(context.invoked_subcommand)


class _PerAlgorithm(TyperGroup):
    """A command with a subcommand for each registered algorithm. A spec is imported when it is named."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is typer's
        """Return the names of the algorithms."""
        return registry.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is typer's
        """Return the subcommand of an algorithm."""
        try:
            spec = registry.find(cmd_name)
        except ArgumentError as error:
            if cmd_name not in registry.names():
                raise
            return _broken_form(cmd_name, error)
        return _form(str(self.name), spec)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept options before the name of the algorithm too."""
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
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Table: .parquet, .csv, .tsv, .arrow; or a folder, with / at its end.",
        ),
    ] = None,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Report of the run: .html.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Trace of the run for Perfetto: .json."),
    ] = None,
    energy: Annotated[
        bool, typer.Option("--energy", help="Measure the energy of CPU and GPUs in joules.")
    ] = False,
    top: Annotated[int, typer.Option(min=0, help="Number of top vertices to print.")] = 10,
    timeline: Annotated[bool, typer.Option(help="Print the time of each superstep.")] = True,
    verify: Annotated[bool, typer.Option("--verify", help="Verify the answer before writing it.")] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder to write checkpoints to.", rich_help_panel=_CONTINUE),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            help="Time or steps between checkpoints: 60s (default), or 10steps.",
            rich_help_panel=_CONTINUE,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from the newest valid checkpoint.",
            rich_help_panel=_CONTINUE,
        ),
    ] = False,
    as_json: Json = False,
    **given: object,
) -> None:
    """Run an algorithm on a graph, and print the outcome, the top vertices, the timeline and the rate."""
    place, arguments = placement_options(given), given_options(spec, given)
    _start_gpus(spec, place)
    from evener.cli import output_files, run_output, runs

    job = context.ensure_object(Command)
    check_agreement(job.words, graph)
    if energy:
        refuse_ranks("run --energy")
    checkpoints = runs.checkpoint_arguments(job, spec, checkpoint, every=every, resume=resume)
    world, outputs = current_world(), {"-o": output, "--report": report, "--trace": trace}
    on_all_ranks(world, lambda: None if world.rank else output_files.check_outputs(graph, outputs))
    place = runs.with_elements(place)
    with job.shown():
        in_parts = runs.directions_in_parts(spec, verify=verify)
        opened, placed, place = runs.open_placed(
            job, graph, read_options(given), place, in_parts=in_parts, on_gpu="cuda" in spec.kinds
        )
        arguments = {**with_vertices(spec, opened, arguments), **place}
        measured = runs.compute_metered if energy else runs.compute
        chosen = with_default_source(spec, opened, arguments)
        result = measured(job, spec, placed, {**chosen, **checkpoints})
        run_output.note_isolated_source(spec, result, arguments)
        if verify:
            runs.check_answer(job, result)
        for path, write in ((output, result.write), (report, result.report), (trace, result.trace)):
            if path is not None:
                job.stage(f"writing {path}")
                write(path)
                job.written.append(path)
    run_output.note_no_kernel_cache()
    run_output.note_unused(spec, result, arguments)
    if as_json:
        content = run_output.result_json(spec, graph, result, verified=verify, top=top, timeline=timeline)
        say_json({**content, "written": job.written})
        return
    run_output.show_result(spec, result, arguments, top=top, timeline=timeline)
    if verify:
        say(f"The answer is verified{run_output.verified_scope(spec, result)}.")
    for path in job.written:
        say(f"Wrote {printable(path)}.")


def verify(
    spec: AlgorithmSpec,
    context: typer.Context,
    graph: GraphName,
    results: Annotated[
        str | None,
        typer.Argument(metavar="RESULTS", help="A table from `run -o`. Default: run, then verify."),
    ] = None,
    *,
    as_json: Json = False,
    **given: object,
) -> None:
    """Verify an answer by the rules that define it. The exit status is 3 if it is wrong."""
    place, arguments = placement_options(given), given_options(spec, given)
    if results is None:
        _start_gpus(spec, place)
    from evener.cli import run_output, runs

    job = context.ensure_object(Command)
    check_agreement(job.words, graph)
    if results is not None:
        refuse_ranks("verify with a table of results")
    place = runs.with_elements(place)
    with job.shown():
        in_parts = runs.directions_in_parts(spec, verify=True)
        opened, placed, place = runs.open_placed(job, graph, read_options(given), place, in_parts=in_parts)
        answer: Answer
        if results is None:
            chosen = with_default_source(spec, opened, with_vertices(spec, opened, arguments))
            answer = runs.compute(job, spec, placed, {**chosen, **place})
        else:
            from evener.spec.saved_answer import load_claim

            job.stage(f"reading {results}")
            parameters = with_vertices(spec, opened, arguments)
            answer = load_claim(Path(results), opened, spec=spec, parameters=parameters)
        runs.check_answer(job, answer)
    if results is None:
        run_output.note_no_kernel_cache()
    if as_json:
        say_json({"algorithm": spec.name, "graph": graph, "verified": True})
    else:
        scope = run_output.verified_scope(spec, answer)
        say(f"{spec.name} on {printable(graph)}: the answer is correct{scope}.")


def bench(
    spec: AlgorithmSpec,
    context: typer.Context,
    graph: GraphName,
    *,
    repeats: Annotated[int, typer.Option(min=1, help="Number of timed runs, after one untimed run.")] = 16,
    as_json: Json = False,
    **given: object,
) -> None:
    """Time verified runs of an algorithm, without reading and partitioning, and print the median.

    If no source is given, each run starts from another source, drawn with a fixed seed, instead of the
    default in the table below.
    """
    place, arguments = placement_options(given), given_options(spec, given)
    _start_gpus(spec, place)
    from evener.cli import run_output, runs

    job = context.ensure_object(Command)
    check_agreement(job.words, graph)
    place = runs.with_elements(place)
    with job.shown():
        _, placed, place = runs.open_placed(job, graph, read_options(given), place)
        content, drawn = runs.repeat(job, spec, placed, arguments, place, name=graph, repeats=repeats)
    run_output.note_no_kernel_cache()
    if as_json:
        say_json(content)
    else:
        run_output.show_timings(spec, graph, content, drawn=drawn)


def _start_gpus(spec: AlgorithmSpec, place: Mapping[str, Any]) -> None:
    """Start the GPUs that a run may use, while the rest of the program is imported."""
    if "cuda" not in spec.kinds or current_world().size > 1:
        return
    names = place.get("on")
    indices = [int(name[5:]) for name in names or () if re.fullmatch(r"cuda:[0-9]+", name)]
    if names is None or indices:
        start_gpus(None if names is None else indices)


_COMMANDS: dict[str, Callable[..., None]] = {"run": run, "verify": verify, "bench": bench}


@functools.cache
def _form(command: str, spec: AlgorithmSpec) -> Any:
    """Return the command for one algorithm, with the options of its spec and of all runs."""
    function = _COMMANDS[command]

    @functools.wraps(function)
    def form(*args: Any, **given: Any) -> None:
        function(spec, *args, **given)

    vars(form).pop("__wrapped__")
    form.__annotations__ = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())
    vars(form)["__signature__"] = inspect.Signature(parameters[1:])
    single = typer.Typer(rich_markup_mode="markdown", context_settings=_SETTINGS, add_completion=False)
    text = f"{spec.summary}\n\n{inspect.cleandoc(function.__doc__ or '')}"
    register = single.command(spec.name, help=text, short_help=spec.summary)
    register(takes(own_options(spec), PLACEMENT_OPTIONS, READ_OPTIONS)(form))
    return accept_typed_values(typer.main.get_command(single))


def _broken_form(name: str, error: ArgumentError) -> TyperCommand:
    """Return the command for an algorithm that cannot be loaded: a run of it raises the error."""

    def form() -> None:
        raise error

    any_words = {"ignore_unknown_options": True, "allow_extra_args": True}
    return TyperCommand(
        name, callback=form, short_help=str(error), add_help_option=False, context_settings=any_words
    )


for _name, _function in _COMMANDS.items():
    _group = typer.Typer(cls=_PerAlgorithm, context_settings=_SETTINGS, help=_function.__doc__)
    app.add_typer(_group, name=_name)

for _commands in (graph_commands, plan_command, machine_commands):
    for _function in _commands.COMMANDS:
        app.command()(_function)
