"""What commands print: aligned tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms import registry
from evener.algorithms.spec import AlgorithmSpec, resolve
from evener.cli.output import say
from evener.results.report.explain import (
    energy_sentence,
    headline,
    predicted,
    ready_sentence,
    shares_sentence,
)
from evener.results.report.units import rate_text, seconds_text, share_text
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evener.algorithms.verify import Answer
    from evener.elements.cuda.discovery import Gpu, Versions
    from evener.engine.timeline import Superstep, Timeline
    from evener.partition.statistics import Statistics
    from evener.planning.plan import Plan
    from evener.planning.rates import Rates
    from evener.results.result import Result

__all__ = [
    "as_json",
    "columns",
    "gpus",
    "partitions",
    "planned",
    "rates",
    "result_json",
    "say",
    "show_result",
    "show_timings",
    "verified_scope",
]

# Supersteps shown at each end of a long timeline: the whole still fits a screen.
_SHOWN = 20


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 0) -> str:
    """Align a table in columns: the first `left` of them to the left, numbers to the right."""
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
    """Write JSON that any reader takes: infinity and NaN, which JSON lacks, become null."""
    return json.dumps(_plain(content), indent=2, allow_nan=False)


def gpus(found: Sequence[Gpu], known: Versions) -> str:
    """Write the GPUs as a table; below it what is wrong with one, and the versions of what drives them."""
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
    others = f"CuPy {known.cupy} is built with {known.cuda}, and compiles with {known.compiler}"
    wrong = [f"{gpu.element} cannot be used: {gpu.problem}." for gpu in found if gpu.problem]
    versions = f"{driver} knows CUDA {known.driver_cuda}; {others}."
    return "\n".join([columns(heads, rows, left=2), "", *wrong, versions])


def show_result(spec: AlgorithmSpec, result: Result, *, top: int, timeline: bool) -> None:
    """Print the vertices that came out on top, the timeline and the rate."""
    say(f"{result.graph!r}"[1:-1])
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
    if ready := ready_sentence(result):
        say(ready)
    if result.prediction is not None:
        say("\n".join(predicted(result.prediction, result)))
    if result.energy is not None:
        say(energy_sentence(result.energy, result.edges_per_joule))


def verified_scope(spec: AlgorithmSpec, answer: Answer) -> str:
    """Return what a verification covers, as the end of a sentence; empty for an exact answer."""
    return "" if spec.verified_scope is None else str(resolve(spec.verified_scope)(answer))


def result_json(spec: AlgorithmSpec, result: Result, *, top: int, timeline: bool) -> dict[str, Any]:
    """Return what `show_result` prints, for programs."""
    graph = result.graph
    column = spec.column(next(iter(result)))
    heads = column.top_heads if column.kind == "group" else ("vertex", "value")
    content: dict[str, Any] = {
        "algorithm": result.algorithm,
        "graph": {"vertices": graph.n, "edges": graph.m, "directed": graph.directed},
        "parameters": result.parameters,
        "outcome": result.outcome,
        "seconds": result.seconds,
        "seconds_making_ready": result.timeline.making_ready,
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
    """Write the partitions as a table, with the sums and both betas below it."""
    heads = (
        *("element", "edges", "share", "crossing", "vertices", "mirrors", "in its memory", "in the host's"),
    )
    rows = [
        (
            one.element,
            one.edges,
            share_text(one.edge_share),
            one.boundary_edges,
            one.vertices,
            one.mirrors,
            format_bytes(one.own_bytes),
            format_bytes(one.host_bytes) if one.host_bytes else "-",
        )
        for one in statistics.partitions
    ]
    return "\n".join(
        [
            columns(heads, rows, left=1),
            "",
            f"alpha {statistics.alpha:.3f}: the share of the edges on the CPU side",
            f"beta  {statistics.beta:.3f} before aggregation, {statistics.beta_aggregated:.3f} after it",
            f"{format_bytes(statistics.nbytes)} in all, beside what a run keeps for each vertex",
        ]
    )


def planned(plan: Plan) -> str:
    """Write a plan: what goes where, what it takes there, and what was not chosen."""
    besides = "beside that" if plan.prediction.beside_computing else "exchanging"
    heads = ("element", "edges", "in host memory", "vertices", "mirrors", "memory", "computing", besides)
    rows = [
        (
            share.element,
            share.part.edges,
            share.mapped if share.kind != "cpu" else "-",
            share.part.vertices,
            share.part.mirrors,
            format_bytes(nbytes),
            seconds_text(element.compute_seconds),
            seconds_text(element.exchange_seconds) if element.exchange_seconds else "-",
        )
        for share, nbytes, element in zip(plan.shares, plan.nbytes, plan.prediction.elements, strict=True)
    ]
    placed = f"{plan.algorithm} on {', '.join(plan.on)}"
    if len(plan.shares) > 1:
        placed += f"; policy {plan.policy}"
    if plan.alpha is not None:
        placed += f", alpha {plan.alpha:.2f}, the share of the edges on the CPU side"
    each, took = registry.find(plan.algorithm).unit, seconds_text(plan.prediction.seconds)
    lines = [placed, "", columns(heads, rows, left=1), ""]
    lines += [f"In all: {format_bytes(sum(plan.nbytes))}, and {took} {each}", ""]
    for kind, seconds in plan.alternatives.items():
        split = kind == "CPU alone" and len(plan.on) > 1 and all(name.startswith("cpu") for name in plan.on)
        lines.append(f"{', '.join(plan.on) if split else kind}: {seconds_text(seconds)}")
    if plan.passed_over is not None:
        lines.append(
            f"{plan.passed_over} is no safe gain: a CPU's times vary, and more elements have to pay."
        )
    lines += [f"{kind}: does not fit; {why.partition(';')[0]}" for kind, why in plan.refused.items()]
    over = [
        f"{ratio:.2f} times as fast as the {name} alone"
        for name, ratio in (
            ("CPU", plan.prediction.speedup_over_cpu),
            ("GPU", plan.prediction.speedup_over_gpu),
        )
        if ratio is not None and len(plan.alternatives) > 1
    ]
    return "\n".join([*lines, f"Predicted: {' and '.join(over)}." if over else ""]).rstrip()


def rates(found: Rates) -> str:
    """Write what this machine's elements take for an edge and a vertex, and what travels between them."""
    tiers = {
        f"cpu:{found.threads}": found.cpu,
        f"cpu:{found.threads}, beside a GPU that reads its memory": found.beside,
        f"cpu:{found.threads}, its kernels beside a GPU": found.shares,
        "cuda": found.gpu,
        "cuda, without room for blocks of columns": found.pulled,
    }
    rows = [
        (element, name, _nanoseconds(rate.edge_seconds[-1]), _nanoseconds(rate.vertex_seconds[-1]))
        for element, tier in tiers.items()
        for name, rate in tier.items()
    ]
    rows += [
        (
            "cuda, more for what lies in host memory",
            name,
            _nanoseconds(more.edge_seconds),
            _nanoseconds(more.row_seconds),
        )
        for name, more in found.mapped.items()
    ]
    lines = [columns(("element", "algorithm", "an edge, ns", "a vertex, ns"), rows, left=2)]
    if any(rate.edge_seconds[-1] == 0 for tier in tiers.values() for rate in tier.values()):
        lines += [
            "",
            "Where an edge takes 0, vertices tell all of the time, or mirrors too where they are told.",
        ]
    thin = ", ".join(
        f"{name} on {element} {_nanoseconds(rate.thin_seconds[-1])} ns"
        for element, tier in tiers.items()
        for name, rate in tier.items()
        if rate.thin_seconds and rate.thin_seconds[-1] > 0
    )
    if thin:
        lines += [f"A vertex takes more in a sparse graph; divide by the mean number of edges: {thin}."]
    if found.bytes_per_second:
        speeds = ", ".join(f"from {kind} {c / 1e9:.1f} GB/s" for kind, c in found.bytes_per_second.items())
        copied, delay = found.copied_bytes_per_second / 1e9, seconds_text(found.exchange_seconds)
        said = f"Values that are picked out travel at {speeds}; those that lie in a row at {copied:.1f} GB/s"
        lines += ["", f"{said}; an exchange takes {delay} more."]
    if found.carried:
        took = ", ".join(
            f"{name} {seconds_text(more.fixed_seconds[-1])}, {_nanoseconds(more.mirror_seconds)} ns a mirror "
            f"and {_nanoseconds(more.vertex_seconds)} ns a vertex of the CPU"
            for name, more in found.carried.items()
        )
        lines += [f"Beside computing, CPU and GPU together take, in a pass over a large graph: {took}."]
    told = {name: rate.mirror_seconds[-1] for name, rate in found.shares.items() if rate.mirror_seconds}
    if told:
        each = ", ".join(f"{name} {_nanoseconds(seconds)} ns" for name, seconds in told.items())
        lines += [f"For a mirror, the CPU's kernels take beside a GPU: {each}."]
    return "\n".join(lines)


def _nanoseconds(seconds: float) -> str:
    return f"{seconds * 1e9:.3g}"


def show_timings(spec: AlgorithmSpec, graph: str, timed: dict[str, Any]) -> None:
    """Print what `bench` measured."""
    median, least, most = (seconds_text(timed[f"{one}_seconds"]) for one in ("median", "least", "most"))
    each = " from one source each" if timed["sources"] else ""
    runs = f"{timed['repeats']} verified runs{each}"
    say(f"{spec.name} on {graph}: median {median} of {runs} ({least} to {most})")
    say(f"{rate_text(timed['median_edges_per_second'])} in the median")


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
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


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
