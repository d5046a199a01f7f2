"""Explain a run: where the time went, in words and a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.partition.statistics import side_of_alpha
from evener.results.report.units import (
    amount_text,
    columns,
    counted,
    or_dash,
    rate_text,
    seconds_text,
    share_text,
)
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evener.engine.timeline import Superstep, Timeline
    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.prediction import Prediction
    from evener.results.columns import Column
    from evener.results.energy.meter import Energy
    from evener.results.record import RunRecord

__all__ = [
    "PHASE_HEADS",
    "SUPERSTEP_HEADS",
    "bottleneck",
    "comparison",
    "compile_sentence",
    "counted_edges",
    "energy_sentence",
    "explain",
    "headline",
    "phase_rows",
    "placement_sentence",
    "predicted",
    "shares_sentence",
    "spent",
    "superstep_row",
]

# The columns of `phase_rows` and `superstep_row`.
PHASE_HEADS = ("phase", "element", "times", "compute", "send", "receive", "wait", "sent")
SUPERSTEP_HEADS = ("superstep", "phases", "active vertices", "compute", "exchange", "wait", "sent")
# If the slowest element waits at least this share of the longest wait, all elements wait for each other in
# turn.
_SIMILAR_WAITS = 0.8
# Share of the run's time above which the time of loading or compiling kernels is reported.
_MIN_COMPILE_SHARE = 0.05


def headline(result: RunRecord) -> str:
    """Return one line: the algorithm, the time, and the rate."""
    steps = counted(result.timeline.supersteps, "superstep")
    weighted = ""
    if "weights" in result.parameters and result.graph.weight_dtype is not None:
        weighted = "weighted " if result.parameters["weights"] else "unweighted "
    earlier = result.timeline.earlier_seconds
    if earlier:
        steps = f"{steps} after {seconds_text(earlier)} before the checkpoint"
    edges = counted_edges(result.columns.values())
    return (
        f"{weighted}{result.algorithm} in {seconds_text(result.seconds)}: {steps}, "
        f"{result.edges:,} {edges}, {rate_text(result.edges_per_second, of=edges)}"
    )


def counted_edges(columns: Iterable[Column]) -> str:
    """Return the name of the edges that `Result.edges` counts: edges for groups, else traversed edges."""
    return "edges" if any(column.kind == "group" for column in columns) else "traversed edges"


def compile_sentence(result: RunRecord) -> str:
    """Return a sentence about the time for kernels if it was a large part of the run, else nothing."""
    ready = result.timeline.compile_seconds
    rest = result.seconds - ready
    if ready <= _MIN_COMPILE_SHARE * result.seconds or rest <= 0:
        return ""
    return (
        f"This includes {seconds_text(ready)} for loading or compiling kernels (first run of a process); "
        f"without it: {rate_text(result.edges / rest, of=counted_edges(result.columns.values()))}."
    )


def shares_sentence(timeline: Timeline) -> str:
    """Return a sentence with the shares of the elements' time."""
    shares = timeline.shares()
    return (
        f"Time: {share_text(shares.compute)} computing, {share_text(shares.send)} sending, "
        f"{share_text(shares.receive)} receiving, {share_text(shares.wait)} waiting, "
        f"{share_text(shares.overhead)} overhead."
    )


def bottleneck(timeline: Timeline) -> str:
    """Return a sentence that names the bottleneck of the run."""
    shares = timeline.shares()
    if not any(shares):
        return "No time was recorded."
    sums = timeline.by_phase()
    lasted = sum(span.seconds for span in sums.values()) / len(timeline.elements)
    if timeline.compile_seconds > lasted / 2:
        return (
            "Bottleneck: loading or compiling kernels (first run of a process). "
            "Measure the next run of this process."
        )
    exchange = shares.send + shares.receive
    if shares.overhead > max(shares.compute, exchange, shares.wait):
        fewer = " Use fewer elements." if len(timeline.elements) > 1 else ""
        return (
            f"Bottleneck: overhead between kernels, {share_text(shares.overhead)} of all time: "
            f"{counted(timeline.supersteps, 'superstep')} with little work.{fewer}"
        )
    if shares.wait > max(shares.compute, exchange):
        busy, waits = spent(timeline), dict.fromkeys(timeline.elements, 0.0)
        for (_, element), span in sums.items():
            waits[element] += span.wait
        slow = max(busy, key=lambda element: busy[element][0])
        if waits[slow] > _SIMILAR_WAITS * max(waits.values()):
            return (
                f"Bottleneck: waiting, {share_text(shares.wait)} of all time: the elements wait for each "
                "other in turn, with little work per superstep. Use fewer elements."
            )
        return (
            f"Bottleneck: waiting for {slow}, {share_text(shares.wait)} of all time. "
            f"Give {slow} a smaller share of the edges."
        )
    if exchange > shares.compute:
        (phase, element), span = max(sums.items(), key=lambda item: item[1].send + item[1].receive)
        return (
            f"Bottleneck: exchange, {share_text(exchange)} of all time, most in phase {phase!r} on {element} "
            f"({format_bytes(span.bytes_sent)} sent). Use fewer partitions or another policy."
        )
    (phase, element), span = max(sums.items(), key=lambda item: item[1].compute)
    of_all = shares.compute * span.compute / sum(one.compute for one in sums.values())
    return f"Bottleneck: computing phase {phase!r} on {element}, {share_text(of_all)} of all time."


def energy_sentence(energy: Energy, edges_per_joule: float | None) -> str:
    """Return a sentence with the joules, the rate per watt, and the devices without a counter."""
    missing = "; ".join(f"{device} is not measured: {why}" for device, why in energy.reasons.items())
    joules = energy.total
    if not joules:
        return f"Energy: {missing or 'not measured'}."
    of = f" (only {' and '.join(energy.measured)}; {missing})" if missing else ""
    rate = f", {rate_text(edges_per_joule)} per watt" if edges_per_joule else ""
    return f"Energy: {amount_text(joules, 'J')}{rate}{of}."


def placement_sentence(partitioned: PartitionedGraph) -> str:
    """Return a sentence with the policy, and the share of the edges on the CPUs or on the first element."""
    statistics = partitioned.statistics
    names = [one.element for one in statistics.partitions]
    if not any(one.edges for one in statistics.partitions):
        return f"Policy {partitioned.policy}; the graph has no edges."
    if len(names) == 1:
        return f"All edges are on {names[0]}."
    side = side_of_alpha(names)
    on = "on the CPUs" if side == "on the CPU side" else f"{side}, {names[0]}"
    share = share_text(statistics.alpha)
    return f"Policy {partitioned.policy}; α = {share} of the edges are {on}."


def explain(result: RunRecord) -> str:
    """Return the time by phase and element, the shares of all time, and the bottleneck."""
    timeline = result.timeline
    lines = [f"{headline(result)}.", f"Graph: {result.graph.summary}", ""]
    lines.append(columns(PHASE_HEADS, phase_rows(timeline), left=2))
    if ready := compile_sentence(result):
        lines.insert(1, ready)
    lines += ["", shares_sentence(timeline)]
    if result.partitioned is not None and len(result.partitioned.ranks) > 1:
        lines.append(f"Placement: {placement_sentence(result.partitioned)}")
    if result.prediction is not None:
        lines += predicted(result.prediction, result)
    if result.energy is not None:
        lines.append(energy_sentence(result.energy, result.edges_per_joule))
    lines.append(bottleneck(timeline))
    return "\n".join(lines)


def phase_rows(timeline: Timeline) -> Iterator[tuple[object, ...]]:
    """Yield the sums over supersteps by phase and element, the longest first."""
    for (phase, element), span in sorted(timeline.by_phase().items(), key=lambda item: -item[1].seconds):
        times = (span.compute, span.send, span.receive, span.wait)
        yield phase, element, span.superstep, *_costs(times, span.bytes_sent)


def superstep_row(step: Superstep) -> tuple[object, ...]:
    """Return the row of a superstep."""
    times = (step.compute, step.exchange, step.wait)
    return step.superstep, ", ".join(step.phases), step.active, *_costs(times, step.bytes_sent)


def _costs(times: Iterable[float], bytes_sent: int) -> Iterator[str]:
    yield from (or_dash(seconds, seconds_text) for seconds in times)
    yield or_dash(bytes_sent, format_bytes)


def predicted(expected: Prediction, result: RunRecord) -> list[str]:
    """Return the predicted and measured times of the run and of each element."""
    lines = [comparison(expected, result.seconds, result.timeline.compile_seconds)]
    took = spent(result.timeline)
    for one in expected.elements:
        if one.name in took:
            computed, exchanged = took[one.name]
            compute, exchange = seconds_text(one.compute_seconds), seconds_text(one.exchange_seconds)
            lines.append(
                f"  {one.name}: computing {compute}, took {seconds_text(computed)}; "
                f"exchanging {exchange}, took {seconds_text(exchanged)}"
            )
    return lines


def comparison(expected: Prediction, seconds: float, compile_seconds: float = 0.0) -> str:
    """Return the predicted and measured seconds without compiling, and their ratio unless it is about 1."""
    compiled = _MIN_COMPILE_SHARE * seconds < compile_seconds < seconds
    achieved = seconds - compile_seconds if compiled else seconds
    without = " without loading or compiling kernels" if compiled else ""
    ratio = achieved / expected.seconds if expected.seconds else 1.0
    times = "" if 0.95 < ratio < 1.05 else f" ({ratio:.2g}×)"
    predicted = f"Predicted {seconds_text(expected.seconds)} ({expected.origin})"
    return f"{predicted}, took {seconds_text(achieved)}{without}{times}."


def spent(timeline: Timeline) -> dict[str, tuple[float, float]]:
    """Return the seconds that each element computed and exchanged."""
    sums = dict.fromkeys(timeline.elements, (0.0, 0.0))
    for (_, name), span in timeline.by_phase().items():
        compute, exchange = sums[name]
        sums[name] = compute + span.compute, exchange + span.send + span.receive
    return sums
