"""Output of commands: aligned tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.spec import AlgorithmSpec, resolve
from evener.cli.options import flag
from evener.cli.output import printable, say
from evener.results.report.explain import (
    compile_sentence,
    counted_edges,
    energy_sentence,
    headline,
    predicted,
    shares_sentence,
)
from evener.results.report.units import rate_text, seconds_text, share_text
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evener.algorithms.comparison import PolicyComparison
    from evener.algorithms.verify import Answer
    from evener.elements.cuda.discovery import Gpu, Versions
    from evener.engine.timeline import Superstep, Timeline
    from evener.partition.statistics import Statistics
    from evener.planning.plan import Plan
    from evener.planning.ratio import RatioFit
    from evener.results.result import Result

__all__ = [
    "as_json",
    "columns",
    "compared",
    "gpus",
    "partitions",
    "partitions_json",
    "planned",
    "ratio_lines",
    "result_json",
    "say",
    "seconds_text",
    "show_result",
    "show_timings",
    "verified_scope",
]

# First columns of a table of partitions, placed or planned.
_PARTITION_HEADS = ("element", "edges", "share", "vertices", "mirrors", "memory")

# Elements whose sizes are printed one by one.
_SIZES_SHOWN = 4
# Supersteps at each end of a long timeline that are printed.
_SHOWN = 20


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 0) -> str:
    """Return an aligned table: the first `left` columns to the left, the others to the right."""
    cells = [list(heads), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(heads))]
    return "\n".join(
        "  ".join(
            f"{text:<{width}}" if place < left else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def as_json(content: dict[str, Any]) -> str:
    """Return standard JSON; infinity and NaN become null."""
    return json.dumps(_plain(content), indent=2, allow_nan=False)


def gpus(found: Sequence[Gpu], known: Versions) -> str:
    """Return a table of the GPUs, the problems of unusable GPUs, and the versions of driver and CuPy."""
    heads = ("element", "name", "free", "memory", "capability", "multiprocessors", "power limit")
    rows = [
        (
            gpu.element,
            gpu.name or "-",
            *("-" if size is None else format_bytes(size) for size in (gpu.free_bytes, gpu.total_bytes)),
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


def show_result(
    spec: AlgorithmSpec, result: Result, given: Mapping[str, Any], *, top: int, timeline: bool
) -> None:
    """Print the source, the outcome, the top vertices, the timeline and the rate.

    Parameters
    ----------
    spec : AlgorithmSpec
    result : Result
    given : mapping
        The arguments that the user gave; another source is shown as the default.
    top : int
        Number of top vertices.
    timeline : bool
    """
    say(f"Graph: {result.graph.summary}")
    if (source := _source(spec, result, given)) is not None:
        say(f"{str(spec.source_option).capitalize()}: {source}")
    if outcome := _outcome(spec, result):
        say(f"Outcome: {outcome}")
    if top:
        heads = spec.column(next(iter(result))).top_heads
        rows = [(str(vertex), value) for vertex, value in result.top(top)]
        say()
        say(columns(heads, rows, left=1))
    if timeline:
        say()
        say(_supersteps(result.timeline))
        say()
        say(shares_sentence(result.timeline))
    say(headline(result))
    if ready := compile_sentence(result):
        say(ready)
    if result.prediction is not None:
        say("\n".join(predicted(result.prediction, result)))
    if result.energy is not None:
        say(energy_sentence(result.energy, result.edges_per_joule))


def _source(spec: AlgorithmSpec, result: Result, given: Mapping[str, Any]) -> str | None:
    """Return the source of a search, or the number of its sources; None for other algorithms."""
    name = spec.source_option
    if name not in result.parameters:
        return None
    source = result.parameters[name]
    if source is None:
        return "all vertices"
    if isinstance(source, list):
        return str(source[0]) if len(source) == 1 else f"{len(source):,} vertices"
    return str(source) if name in given else f"{source} (default; name another with {flag(str(name))})"


def _outcome(spec: AlgorithmSpec, result: Result) -> str:
    """Return the facts about the answer in words; empty if the result has none."""
    facts = [
        f"{'' if value else 'not '}{name}" if isinstance(value, bool) else f"{name} {_cell(value)}"
        for name, value in result.outcome.items()
        if value is not None
    ]
    name = next(iter(result))
    kind = spec.column(name).kind
    best = result.top(1)
    if kind == "group" and best:
        facts.append(f"largest {name} {best[0][1]:,} vertices")
    if kind == "distance":
        own = np.count_nonzero((result[name] >= 0) & (result[name] != np.inf))
        reached = result.world.allreduce(int(own), "sum")
        facts.append(f"{reached:,} of {result.graph.n:,} vertices reached")
        facts += [f"largest {name} {_cell(best[0][1])}"] if best else []
    return ", ".join(facts)


def verified_scope(spec: AlgorithmSpec, answer: Answer) -> str:
    """Return the scope of a verification as the end of a sentence; empty for an exact answer."""
    return "" if spec.verified_scope is None else str(resolve(spec.verified_scope)(answer))


def result_json(spec: AlgorithmSpec, result: Result, *, top: int, timeline: bool) -> dict[str, Any]:
    """Return the output of `show_result` for programs."""
    graph = result.graph
    column = spec.column(next(iter(result)))
    heads = column.top_heads if column.kind == "group" else ("vertex", "value")
    content: dict[str, Any] = {
        "algorithm": result.algorithm,
        "graph": {"vertices": graph.n, "edges": graph.m, "directed": graph.directed},
        "parameters": result.parameters,
        "outcome": result.outcome,
        "seconds": result.seconds,
        "compile_seconds": result.timeline.compile_seconds,
        "edges": result.edges,
        "edges_per_second": result.edges_per_second,
        "supersteps": result.timeline.supersteps,
        "top": [dict(zip(heads, one, strict=True)) for one in result.top(top)],
    }
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


def partitions(statistics: Statistics) -> str:
    """Return a table of the partitions with alpha, both betas and the bytes."""
    rows = [
        (
            one.element,
            one.edges,
            share_text(one.edge_share),
            one.vertices,
            one.mirrors,
            format_bytes(one.own_bytes),
            format_bytes(one.host_bytes) if one.host_bytes else "-",
            one.boundary_edges,
        )
        for one in statistics.partitions
    ]
    return "\n".join(
        [
            columns((*_PARTITION_HEADS, "host memory", "crossing edges"), rows, left=1),
            "",
            f"alpha {statistics.alpha:.3f}: the share of the edges {_side(rows)}",
            f"beta  {statistics.beta:.3f} before aggregation, {statistics.beta_aggregated:.3f} after it",
            f"imbalance {statistics.edge_imbalance:.1%} edges, {statistics.vertex_imbalance:.1%} vertices",
            f"{format_bytes(statistics.nbytes)} in total, without the state of a run",
        ]
    )


def partitions_json(policy: str, statistics: Statistics, **more: object) -> str:
    """Return the facts of `partitions` for programs."""
    facts = {"policy": policy, **more, **asdict(statistics), "bytes": statistics.nbytes}
    unequal = {"edge_imbalance": statistics.edge_imbalance, "vertex_imbalance": statistics.vertex_imbalance}
    return as_json({**facts, **unequal})


def compared(policies: Sequence[PolicyComparison]) -> str:
    """Return a table with a row for each policy, and the policy with the least predicted time."""
    heads = (
        "policy", "partitioning", "edges of an element", "imbalance", "vertices of an element", "imbalance",
        "beta", "aggregated", "predicted",
    )  # fmt: skip
    rows = [
        (
            one.policy,
            seconds_text(one.partitioning_seconds),
            _range(one.edges),
            f"{one.edge_imbalance:.1%}",
            _range(one.vertices),
            f"{one.vertex_imbalance:.1%}",
            f"{one.beta:.3f}",
            f"{one.beta_aggregated:.3f}",
            seconds_text(one.predicted_seconds),
        )
        for one in policies
    ]
    table = columns(heads, rows, left=1)
    if len(rows) == 1:
        return table
    if len({row[-1] for row in rows}) == 1:
        return f"{table}\n\nAll policies have the same predicted time."
    best = min(policies, key=lambda one: one.predicted_seconds)
    return f"{table}\n\nThe least predicted time: {best.policy}."


def ratio_lines(fit: RatioFit) -> list[str]:
    """Return the fit of r as text, a line for each range of edges."""
    ends = [f"{end:,.0f}" for end in fit.breaks]
    first = f" up to {ends[0]} edges" if ends else ""
    lines = [f"r = {fit.intercept:.3g} + {fit.slope * 1e6:.3g} for each million edges{first}"]
    for level, begin, end in zip(fit.levels, ends, [*ends[1:], None], strict=True):
        lines.append(f"r = {level:.3g} from {begin} edges{'' if end is None else f' to {end}'}")
    return lines


def _range(sizes: Sequence[int]) -> str:
    """Return the sizes of a few elements, or the range of those of many."""
    if len(sizes) <= _SIZES_SHOWN:
        return " ".join(f"{size:,}" for size in sizes)
    return f"{min(sizes):,} to {max(sizes):,}"


def planned(plan: Plan) -> str:
    """Return a plan as text: the share and memory of each element, the prediction, and the alternatives."""
    total = sum(share.sizes.edges for share in plan.shares)
    rows = [
        (
            share.element,
            share.sizes.edges,
            share_text(share.sizes.edges / total if total else 0.0),
            share.sizes.vertices,
            share.sizes.mirrors,
            format_bytes(nbytes),
            share.host_edges if share.kind != "cpu" else "-",
            seconds_text(element.compute_seconds),
            seconds_text(element.exchange_seconds) if element.exchange_seconds else "-",
        )
        for share, nbytes, element in zip(plan.shares, plan.nbytes, plan.prediction.elements, strict=True)
    ]
    placed = f"{plan.algorithm} on {', '.join(plan.on)}"
    if len(plan.shares) > 1:
        placed += f"; policy {plan.policy}"
    if plan.alpha is not None:
        placed += f", alpha {plan.alpha:.2f} (share of the edges {_side(rows)})"
    predicted = plan.prediction
    least, most = seconds_text(predicted.least_seconds), seconds_text(predicted.most_seconds)
    heads = (*_PARTITION_HEADS, "host edges", "compute", "exchange")
    lines = [placed, "", columns(heads, rows, left=1), ""]
    lines += [f"Memory: {format_bytes(sum(plan.nbytes))}"]
    each = plan.unit if plan.passes == 1 else f"{plan.passes:g} times {plan.unit}"
    lines += [
        f"Predicted: {seconds_text(predicted.seconds)} for {each} ({least} to {most}), {predicted.origin}"
    ]
    over = [
        f"{ratio:.2f} over the {name} alone"
        for name, ratio in (("CPU", predicted.speedup_over_cpu), ("GPU", predicted.speedup_over_gpu))
        if ratio is not None and len(plan.alternatives) > 1
    ]
    lines += [f"Speed-up: {', '.join(over)}"] if over else []
    lines.append("")
    for kind, seconds in plan.alternatives.items():
        split = kind == "CPU alone" and len(plan.on) > 1 and all(name.startswith("cpu") for name in plan.on)
        lines.append(f"{', '.join(plan.on) if split else kind}: {seconds_text(seconds)}")
    if plan.faster_but_unsafe is not None:
        lines.append(
            f"{plan.faster_but_unsafe} is not chosen: the gain is below the error of the prediction."
        )
    lines += [f"{kind}: does not fit; {why.partition(';')[0]}" for kind, why in plan.infeasible.items()]
    return "\n".join(lines)


def _side(rows: Sequence[Sequence[object]]) -> str:
    """Return the place of the edges that alpha counts, from the rows of a table of elements."""
    all_cpus = all(str(row[0]).startswith("cpu") for row in rows)
    return "on the first element" if all_cpus else "on the CPU side"


def show_timings(spec: AlgorithmSpec, graph: str, timed: dict[str, Any]) -> None:
    """Print the times that `bench` measured."""
    median, least, most = (seconds_text(timed[f"{one}_seconds"]) for one in ("median", "least", "most"))
    each = " from one source each" if timed["sources"] else ""
    runs = f"{timed['repeats']} verified runs{each}"
    say(f"{spec.name} on {graph}: median {median} of {runs} ({least} to {most})")
    say(f"median rate {rate_text(timed['median_edges_per_second'], of=counted_edges(spec.columns))}")


def _supersteps(timeline: Timeline) -> str:
    steps = timeline.by_superstep()
    hidden = len(steps) - 2 * _SHOWN
    heads = ("superstep", "active", "compute", "exchange", "wait", "sent", "phases")
    if hidden <= 1:
        return columns(heads, map(_row, steps))
    text = columns(heads, map(_row, [*steps[:_SHOWN], *steps[-_SHOWN:]])).splitlines()
    return "\n".join([*text[: _SHOWN + 1], f"… {hidden:,} more …", *text[_SHOWN + 1 :]])


def _row(step: Superstep) -> tuple[object, ...]:
    times = (seconds_text(part) if part else "-" for part in (step.compute, step.exchange, step.wait))
    sent = format_bytes(step.bytes_sent) if step.bytes_sent else "-"
    return (step.superstep, f"{step.active:,}", *times, sent, ", ".join(step.phases))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)
