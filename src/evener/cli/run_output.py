"""Output of runs: outcome, top vertices, timeline and rate, for people and as JSON, and notes about a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.cli.options import flag
from evener.cli.output import note, say
from evener.errors import printable
from evener.kernels.cpu.bundle import current_bundle
from evener.kernels.cpu.jit import CACHE
from evener.partition.policy import find_policy
from evener.results.report import explain
from evener.results.report.units import cell, columns, counted, rate_text, seconds_text
from evener.results.rows import ResultRows
from evener.results.table_result import TableResult
from evener.spec.algorithm import AlgorithmSpec, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evener.engine.timeline import Superstep, Timeline
    from evener.results.result import Result
    from evener.spec.verify import Answer

__all__ = [
    "note_isolated_source",
    "note_no_kernel_cache",
    "note_unused",
    "result_json",
    "show_result",
    "show_timings",
    "timed_json",
    "verified_scope",
]

# Supersteps at each end of a long timeline that are printed.
_SHOWN = 20


def show_result(
    spec: AlgorithmSpec, result: Result, given: Mapping[str, Any], *, top: int, timeline: bool
) -> None:
    """Print the source, the outcome, `top` vertices, the timeline and the rate.

    A source that is not in `given`, the arguments that the user gave, is shown as the default.
    """
    say(f"Graph: {result.graph.summary}")
    if (source := _source(spec, result, given)) is not None:
        say(f"{str(spec.source_option).capitalize()}: {printable(str(source))}")
    searches = _searches(result)
    for label, one in searches:
        if outcome := _outcome(spec, one):
            say(f"Outcome{''.join(f' from {printable(str(each))}' for each in label)}: {outcome}")
    if top and spec.row != "graph":
        heads = _top_heads(result, _heads(spec, result))
        rows = [(*map(str, (*label, *row[:-1])), row[-1]) for label, one in searches for row in one.top(top)]
        say()
        say(columns(heads, rows, left=len(heads) - 1))
    if timeline:
        say()
        say(_supersteps(result.timeline))
        say()
        say(explain.shares_sentence(result.timeline))
    say(explain.headline(result))
    if ready := explain.compile_sentence(result):
        say(ready)
    if result.prediction is not None:
        say("\n".join(explain.predicted(result.prediction, result)))
    if result.energy is not None:
        say(explain.energy_sentence(result.energy, result.edges_per_joule))


def _searches(result: Result) -> list[tuple[tuple[Any, ...], Result]]:
    """Return the source and the result of each row; one result without a source if it has no rows."""
    if isinstance(result, ResultRows):
        return [((source,), row) for source, row in zip(result.sources, result.rows, strict=True)]
    return [((), result)]


def _heads(spec: AlgorithmSpec, result: Result) -> tuple[str, ...]:
    """Return the names of the columns of `Result.top`."""
    return spec.column(next(iter(result))).top_heads if spec.row == "vertex" else tuple(result)


def _top_heads(result: Result, heads: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns of top vertices, with the source of each row."""
    return ("source", *heads) if isinstance(result, ResultRows) else heads


def _source(spec: AlgorithmSpec, result: Result, given: Mapping[str, Any]) -> str | None:
    """Return the source of a search, or the number of its sources; None for other algorithms."""
    name = spec.source_option
    if name not in result.parameters:
        return None
    source = result.parameters[name]
    if source is None:
        return "all vertices"
    if isinstance(source, list):
        return str(source[0]) if len(source) == 1 else counted(len(source), "vertex")
    return str(source) if name in given else f"{source} (default; name another with {flag(str(name))})"


def _outcome(spec: AlgorithmSpec, result: Result) -> str:
    """Return the facts about the answer in words; empty if the result has none."""
    facts = [
        f"{'' if value else 'not '}{name}" if isinstance(value, bool) else f"{name} {cell(value)}"
        for name, value in result.outcome.items()
        if value is not None
    ]
    name = next(iter(result))
    if spec.row == "graph":
        return ", ".join([*(f"{name} {cell(result[name][0])}" for name in result), *facts])
    if isinstance(result, TableResult):
        rows = result.world.allreduce(result.rows, "sum")
        return ", ".join([counted(rows, spec.row), *facts])
    kind = spec.column(name).kind
    best = result.top(1)
    if kind == "group" and best:
        facts.append(f"largest {name} {best[0][1]:,} vertices")
    if kind == "distance":
        own = np.count_nonzero((result[name] >= 0) & (result[name] != np.inf))
        reached = result.world.allreduce(int(own), "sum")
        facts.append(f"{reached:,} of {result.graph.n:,} vertices reached")
        facts += [f"largest {name} {cell(best[0][1])}"] if best else []
    return ", ".join(facts)


def verified_scope(spec: AlgorithmSpec, answer: Answer) -> str:
    """Return the scope of a verification as the end of a sentence; empty for an exact answer."""
    return "" if spec.verified_scope is None else str(resolve(spec.verified_scope)(answer))


def timed_json(name: str, result: Result, *, verified: bool) -> dict[str, Any]:
    """Return what `run` and `bench` print for programs, of a run on the graph `name`."""
    graph = result.graph
    timed = {
        "parameters": result.parameters,
        "seconds": result.seconds,
        "compile_seconds": result.timeline.compile_seconds,
        "edges": result.edges,
        "edges_per_second": result.edges_per_second,
        "supersteps": result.timeline.supersteps,
    }
    facts = {"name": name, "vertices": graph.n, "edges": graph.m, "directed": graph.directed}
    return {
        "algorithm": result.algorithm,
        "graph": facts,
        "outcome": result.outcome,
        "verified": verified,
        **timed,
        "runs": [timed],
    }


def result_json(
    spec: AlgorithmSpec, name: str, result: Result, *, verified: bool, top: int, timeline: bool
) -> dict[str, Any]:
    """Return the output of `show_result` for programs, of a run on the graph `name`."""
    column = spec.column(next(iter(result)))
    heads = _heads(spec, result)
    if spec.row == "vertex" and column.kind != "group":
        heads = ("vertex", "value")
    content = timed_json(name, result, verified=verified)
    content["top"] = [
        dict(zip(_top_heads(result, heads), (*label, *pair), strict=True))
        for label, one in _searches(result)
        for pair in one.top(top)
    ]
    if result.energy is not None:
        content["energy"] = {
            "joules": result.energy.joules,
            "reasons": result.energy.reasons,
            "seconds": result.energy.seconds,
            "edges_per_joule": result.edges_per_joule,
        }
    if result.prediction is not None:
        content["prediction"] = asdict(result.prediction)
    if timeline:
        content["timeline"] = result.timeline.to_arrow().to_pylist()
    return content


def show_timings(spec: AlgorithmSpec, graph: str, content: dict[str, Any], *, drawn: bool) -> None:
    """Print the times that `bench` measured; each run has another source if sources are drawn."""
    seconds = [run["seconds"] for run in content["runs"]]
    median, least, most = map(seconds_text, (content["seconds"], min(seconds), max(seconds)))
    each = " from one source each" if drawn else ""
    spread = f"median {median} of {len(seconds)} verified runs{each} ({least} to {most})"
    say(f"{spec.name} on {printable(graph)}: {spread}")
    say(f"median rate {rate_text(content['edges_per_second'], of=explain.counted_edges(spec.columns))}")


def _supersteps(timeline: Timeline) -> str:
    steps = timeline.by_superstep()
    hidden = len(steps) - 2 * _SHOWN
    heads = ("superstep", "active", "compute", "exchange", "wait", "sent", "phases")
    if hidden <= 1:
        return columns(heads, map(_row, steps))
    text = columns(heads, map(_row, [*steps[:_SHOWN], *steps[-_SHOWN:]])).splitlines()
    return "\n".join([*text[: _SHOWN + 1], f"… {hidden:,} more …", *text[_SHOWN + 1 :]])


def _row(step: Superstep) -> tuple[object, ...]:
    number, phases, *others = explain.superstep_row(step)
    return number, *others, phases


def note_unused(spec: AlgorithmSpec, result: Result, arguments: Mapping[str, Any]) -> None:
    """Print a note for each argument that had no effect on the run."""
    elements = result.timeline.elements
    if "gpu_memory" in arguments and not any("cuda:" in name for name in elements):
        note("--gpu-memory is ignored: no GPU is used")
    if arguments.get("policy") not in (None, "auto") and len(elements) == 1:
        note(f"--policy is ignored: {elements[0]} is the only element")
    policy = arguments.get("policy")
    if arguments.get("alpha") not in (None, "auto") and policy not in (None, "auto"):
        rule = find_policy(policy)
        if rule.even:
            note(f"--alpha is ignored: {policy} gives equal parts to all elements")
        elif rule.balances != "stored edges" and len(elements) > 1:
            note(f"--alpha is a share of the {rule.balances}, not of the stored edges, with {policy}")
    if spec.notes is not None:
        for sentence in resolve(spec.notes)(result, arguments):
            note(sentence)


def note_no_kernel_cache() -> None:
    """Print a note if compiled kernels cannot be kept, because compiling takes longer than most runs."""
    if not CACHE and not current_bundle().exists:
        note(
            "compiled kernels cannot be stored, so each run compiles them again; name a writable folder in "
            "NUMBA_CACHE_DIR"
        )


def note_isolated_source(spec: AlgorithmSpec, result: Result, arguments: Mapping[str, Any]) -> None:
    """Print a note if a search from the default source has no edge to follow."""
    name = spec.source_option
    if name in result.parameters and name not in arguments and result.edges == 0:
        (source,) = result.parameters[name] if result.parameters.get("each") else [result.parameters[name]]
        if source is not None:
            note(f"vertex {source}, the default source, has no out-edges; name another with {flag(name)}")
