"""Where the time of a run went, in words and a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.results.report.units import amount_text, rate_text, seconds_text, share_text
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from evener.engine.timeline import Timeline
    from evener.planning.prediction import Prediction
    from evener.results.energy.meter import Energy
    from evener.results.result import Result

__all__ = [
    "achieved_for_predicted",
    "bottleneck",
    "energy_sentence",
    "explain",
    "headline",
    "predicted",
    "ready_sentence",
    "shares_sentence",
    "spent_for",
]


# An element that waits this part of what another waits is not the one that is waited for.
_ALIKE = 0.8
# The part of a run's time above which making kernels ready is told: then the rate is not the machine's.
_WORTH_TELLING = 0.05


def headline(result: Result) -> str:
    """One line: what ran, how long, how fast."""
    steps = result.timeline.supersteps
    counted = "1 superstep" if steps == 1 else f"{steps} supersteps"
    return (
        f"{result.algorithm} in {seconds_text(result.seconds)}: {counted}, "
        f"{result.edges:,} edges, {rate_text(result.edges_per_second)}"
    )


def ready_sentence(result: Result) -> str:
    """One sentence where much of a run was making kernels ready; empty elsewhere."""
    ready = result.timeline.making_ready
    rest = result.seconds - ready
    if ready <= _WORTH_TELLING * result.seconds or rest <= 0:
        return ""
    return (
        f"Of this, {seconds_text(ready)} went into compiling and loading kernels, which a process does once: "
        f"without it, {rate_text(result.edges / rest)}."
    )


def shares_sentence(timeline: Timeline) -> str:
    """One sentence: what the elements' time went to."""
    shares = timeline.shares()
    return (
        f"Time: {share_text(shares.compute)} computing, {share_text(shares.send)} sending, "
        f"{share_text(shares.receive)} receiving, {share_text(shares.wait)} waiting, "
        f"{share_text(shares.between)} between them."
    )


def bottleneck(timeline: Timeline) -> str:
    """One sentence: what to look at first to make the run faster."""
    shares = timeline.shares()
    if not any(shares):
        return "Nothing was timed."
    sums = timeline.by_phase()
    lasted = sum(span.seconds for span in sums.values()) / len(timeline.elements)
    if timeline.making_ready > lasted / 2:
        return (
            "Bottleneck: most of this was kernels being made ready, once for this process; look at its next "
            "run."
        )
    exchange = shares.send + shares.receive
    if shares.between > max(shares.compute, exchange, shares.wait):
        fewer = "; fewer elements take less of it" if len(timeline.elements) > 1 else ""
        return (
            f"Bottleneck: what Python does between kernels, {share_text(shares.between)} of all time, for "
            f"{timeline.supersteps} supersteps have little to do each{fewer}."
        )
    if shares.wait > max(shares.compute, exchange):
        busy, waits = spent(timeline), dict.fromkeys(timeline.elements, 0.0)
        for (_, element), span in sums.items():
            waits[element] += span.wait
        slow = max(busy, key=lambda element: busy[element][0])
        if waits[slow] > _ALIKE * max(waits.values()):
            return (
                f"Bottleneck: the elements wait for each other by turns ({share_text(shares.wait)} of all "
                "time is waiting): what they do in a superstep is little, and fewer elements wait less."
            )
        return (
            f"Bottleneck: the elements wait for {slow} ({share_text(shares.wait)} of all time is waiting): "
            f"give it a smaller share of the edges."
        )
    if exchange > shares.compute:
        (phase, element), span = max(sums.items(), key=lambda item: item[1].send + item[1].receive)
        return (
            f"Bottleneck: exchanging {phase!r} on {element} ({format_bytes(span.bytes_sent)} sent; "
            f"{share_text(exchange)} of all time is exchange): fewer or differently cut partitions send less."
        )
    (phase, element), span = max(sums.items(), key=lambda item: item[1].compute)
    of_all = shares.compute * span.compute / sum(one.compute for one in sums.values())
    return f"Bottleneck: computing {phase!r} on {element}, {share_text(of_all)} of all time."


def energy_sentence(energy: Energy, edges_per_joule: float | None) -> str:
    """One sentence: joules, edges a second for each watt, and what is not in them."""
    missing = "; ".join(f"{device} is not measured: {why}" for device, why in energy.reasons.items())
    joules = energy.total
    if not joules:
        return f"Energy: {missing or 'not measured'}."
    of = f" ({' and '.join(energy.measured)} alone; {missing})" if missing else ""
    rate = f", {rate_text(edges_per_joule)} for each watt" if edges_per_joule else ""
    return f"Energy: {amount_text(joules, 'J')}{rate}{of}."


def explain(result: Result) -> str:
    """Time by phase and element, the shares of all time, and the bottleneck."""
    timeline = result.timeline
    lines = [f"{headline(result)}.", f"Graph: {result.graph!r}", ""]
    sums = timeline.by_phase()
    width = max([len("phase"), *(len(phase) for phase, _ in sums)])
    across = max([len("element"), *(len(element) for _, element in sums)])
    lines.append(
        f"{'phase':<{width}}  {'element':<{across}}  {'times':>6}  {'compute':>9}  {'send':>9}  "
        f"{'receive':>9}  {'wait':>9}  {'sent':>11}"
    )
    for (phase, element), span in sorted(sums.items(), key=lambda item: -item[1].seconds):
        parts = (span.compute, span.send, span.receive, span.wait)
        times = "  ".join(f"{seconds_text(part) if part else '-':>9}" for part in parts)
        sent = format_bytes(span.bytes_sent) if span.bytes_sent else "-"
        lines.append(f"{phase:<{width}}  {element:<{across}}  {span.superstep:>6}  {times}  {sent:>11}")
    if ready := ready_sentence(result):
        lines.insert(1, ready)
    lines += ["", shares_sentence(timeline)]
    if result.prediction is not None:
        lines += predicted(result.prediction, result)
    if result.energy is not None:
        lines.append(energy_sentence(result.energy, result.edges_per_joule))
    lines.append(bottleneck(timeline))
    return "\n".join(lines)


def predicted(expected: Prediction, result: Result) -> list[str]:
    """What a plan said, and what came: of the whole run, and of each element."""
    whole = achieved_for_predicted(result.seconds, expected.seconds)
    lines = [f"Predicted: the run took {whole}."]
    took = spent_for(expected, result)
    besides = "beside that" if expected.beside_computing else "exchanging"
    for one in expected.elements:
        if one.name in took:
            computed, exchanged = took[one.name]
            lines.append(
                f"  {one.name}: computing {seconds_text(computed)} for {seconds_text(one.compute_seconds)}, "
                f"{besides} {seconds_text(exchanged)} for {seconds_text(one.exchange_seconds)}"
            )
    return lines


def spent_for(expected: Prediction, result: Result) -> dict[str, tuple[float, float]]:
    """Seconds that each element computed, and those that are to be held against its exchange's."""
    took = spent(result.timeline)
    if not expected.beside_computing or not took:
        return took
    beside = result.seconds - max(computed for computed, _ in took.values())
    return {name: (computed, beside) for name, (computed, _) in took.items()}


def achieved_for_predicted(achieved: float, expected: float) -> str:
    """How much longer than predicted, and both."""
    if not (achieved and expected):
        return f"{seconds_text(achieved)}, and {seconds_text(expected)} was predicted"
    off = achieved / expected
    length = "as long as" if 0.95 < off < 1.05 else f"{off:.2g} times as long as"
    return f"{length} predicted: {seconds_text(achieved)} for {seconds_text(expected)}"


def spent(timeline: Timeline) -> dict[str, tuple[float, float]]:
    """Seconds that each element computed and exchanged."""
    sums = dict.fromkeys(timeline.elements, (0.0, 0.0))
    for (_, name), span in timeline.by_phase().items():
        compute, exchange = sums[name]
        sums[name] = compute + span.compute, exchange + span.send + span.receive
    return sums
