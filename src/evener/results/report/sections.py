"""The parts of a page that are mostly words and tables: facts, placement, prediction, energy, phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.results.report.draw import bar, group, picture, table, words
from evener.results.report.explain import achieved_for_predicted, ready_sentence, spent_for
from evener.results.report.units import amount_text, rate_text, seconds_text, share_text
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.engine.timeline import Timeline
    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.prediction import Prediction
    from evener.results.energy.meter import Energy
    from evener.results.result import Result

__all__ = ["energy_table", "facts", "parameters", "phases", "placement", "prediction"]

# Characters of a parameter that are shown: a personalization may name every vertex.
_LONGEST_VALUE = 120

_ROW, _BAR = 46.0, 11.0


def facts(result: Result) -> list[tuple[str, str]]:
    """The few numbers a reader looks for first."""
    named = [
        ("time", seconds_text(result.seconds)),
        ("rate", rate_text(result.edges_per_second)),
        ("edges gone through", f"{result.edges:,}"),
        ("supersteps", f"{result.timeline.supersteps:,}"),
    ]
    if ready_sentence(result):
        named.insert(1, ("of it making kernels ready", seconds_text(result.timeline.making_ready)))
    if result.energy is not None and result.energy.total:
        of = f" of {' and '.join(result.energy.measured)} alone" if result.energy.reasons else ""
        named.append((f"energy{of}", amount_text(result.energy.total, "J")))
    if result.edges_per_joule is not None:
        named.append(("for each joule", rate_text(result.edges_per_joule).removesuffix("/s")))
    return named


def placement(partitioned: PartitionedGraph) -> str:
    """Each partition in numbers, α and β."""
    counted = partitioned.statistics
    rows = [
        (
            one.element,
            f"{one.vertices:,}",
            f"{one.mirrors:,}",
            f"{one.edges:,}",
            share_text(one.edge_share),
            f"{one.boundary_edges:,}",
            format_bytes(one.own_bytes),
            format_bytes(one.host_bytes) if one.host_bytes else "-",
        )
        for one in counted.partitions
    ]
    columns = (
        *("element", "vertices", "mirrors", "edges", "share of edges", "crossing edges"),
        *("in its memory", "in the host's"),
    )
    crossing = (
        f" β = {share_text(counted.beta)} of the edges cross partitions, "
        f"{share_text(counted.beta_aggregated)} after aggregation, when what one vertex is sent travels once."
    )
    return (
        f'<p class="faint">Policy {partitioned.policy}; α = {share_text(counted.alpha)} of the edges are on '
        f"the CPU side.{crossing if len(rows) > 1 else ''} {format_bytes(counted.nbytes)} in all, "
        "beside what the run keeps for each vertex.</p>"
        f"{table(columns, rows, label='Partitions in numbers')}"
    )


def prediction(expected: Prediction, result: Result) -> str:
    """What the plan said, and what came."""
    took = spent_for(expected, result)
    rows, pairs = [], [("whole run", expected.seconds, result.seconds)]
    for one in expected.elements:
        got = took.get(one.name)
        rows.append(
            (
                one.name,
                seconds_text(one.compute_seconds),
                "-" if got is None else seconds_text(got[0]),
                seconds_text(one.exchange_seconds),
                "-" if got is None else seconds_text(got[1]),
            )
        )
        whole = one.compute_seconds + one.exchange_seconds
        pairs.append((one.name, whole, 0.0 if got is None else sum(got)))
    besides = "beside that" if expected.beside_computing else "exchanging"
    columns = ("element", "computing predicted", "achieved", f"{besides} predicted", "achieved")
    faster = [
        f"{ratio:.2g} times as fast as on {what} alone"
        for ratio, what in ((expected.speedup_over_cpu, "the CPU"), (expected.speedup_over_gpu, "one GPU"))
        if ratio is not None
    ]
    promised = f" It was to be {' and '.join(faster)}." if faster else ""
    return (
        f"<p>The run took {achieved_for_predicted(result.seconds, expected.seconds)}.{promised}</p>"
        f"{_pairs(pairs)}{table(columns, rows, label='Predicted and achieved times by element')}"
    )


def energy_table(energy: Energy) -> str:
    """Joules and watts by device, or why there are none."""
    rows = [
        (device, f"not measured: {energy.reasons.get(device, 'it has no counter')}", "-", "-")
        if joules is None
        else (device, "measured", amount_text(joules, "J"), _power(joules, energy.seconds))
        for device, joules in energy.joules.items()
    ]
    note = (
        '<p class="faint">The host is the packages of the machine\'s processors, memory modules not counted. '
        "Counters tell what a whole device took, also for other programs.</p>"
    )
    columns = ("device", "counter", "energy", "power")
    return note + table(columns, rows, left=2, label="Energy by device", long=1)


def phases(timeline: Timeline) -> str:
    """Sums over supersteps by phase and element."""
    rows = [
        (
            phase,
            element,
            f"{span.superstep:,}",
            *(
                seconds_text(part) if part else "-"
                for part in (span.compute, span.send, span.receive, span.wait)
            ),
            format_bytes(span.bytes_sent) if span.bytes_sent else "-",
        )
        for (phase, element), span in timeline.by_phase().items()
    ]
    columns = ("phase", "element", "times", "compute", "send", "receive", "wait", "sent")
    return table(columns, rows, left=2, label="Phases in numbers")


def parameters(result: Result) -> str:
    """The arguments of the run, and what else it found out."""
    rows = [(name, _shortened(value)) for name, value in (result.parameters | result.outcome).items()]
    return table(("parameter", "value"), rows, left=2, label="Parameters", long=1)


def _power(joules: float, seconds: float) -> str:
    return amount_text(joules / seconds, "W") if seconds else "-"


def _pairs(pairs: list[tuple[str, float, float]]) -> str:
    """Two bars for each name, the predicted one hollow."""
    longest = max(max(expected, achieved) for _, expected, achieved in pairs) or 1.0

    def pieces() -> Iterator[str]:
        for place, (name, expected, achieved) in enumerate(pairs):
            top = place * _ROW
            told = f"predicted {seconds_text(expected)}, achieved {seconds_text(achieved)}"
            yield words(name, 0, top + 12, kind="ink")
            yield words(told, 1, top + 12, kind="end")
            yield group(
                f"{name}: {told}",
                [
                    bar("hollow", 0, expected / longest, top + 17, _BAR),
                    bar("compute", 0, achieved / longest, top + 17 + _BAR + 1, _BAR),
                ],
            )

    label = "Predicted (hollow) and achieved (filled) seconds: " + "; ".join(
        f"{name} {seconds_text(expected)} and {seconds_text(achieved)}" for name, expected, achieved in pairs
    )
    return picture(pieces(), height=len(pairs) * _ROW, label=label)


def _shortened(value: object) -> str:
    # The whole text of a mapping of a million vertices takes seconds to write.
    if isinstance(value, dict) and len(value) > _LONGEST_VALUE:
        return f"{len(value):,} entries"
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
