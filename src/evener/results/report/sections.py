"""The sections of a page that are mostly words and tables: facts, placement, prediction, energy, phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.results.report.draw import bar, group, picture, table, words
from evener.results.report.explain import (
    comparison,
    compile_sentence,
    counted_edges,
    placement_sentence,
    spent,
)
from evener.results.report.units import amount_text, rate_text, seconds_text, share_text
from evener.system.html import escape
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.engine.timeline import Timeline
    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.prediction import Prediction
    from evener.results.energy.meter import Energy
    from evener.results.record import RunRecord

__all__ = ["energy_table", "facts", "parameters", "phases", "placement", "prediction"]

# Longest text of a parameter, in characters.
_LONGEST_VALUE = 120

_ROW, _BAR = 46.0, 11.0


def facts(result: RunRecord) -> list[tuple[str, str]]:
    """Return the most important numbers as pairs of name and text."""
    named = [
        ("time", seconds_text(result.seconds)),
        ("rate", rate_text(result.edges_per_second)),
        (counted_edges(result.columns.values()), f"{result.edges:,}"),
        ("supersteps", f"{result.timeline.supersteps:,}"),
    ]
    if compile_sentence(result):
        named.insert(
            1, ("of which loading or compiling kernels", seconds_text(result.timeline.compile_seconds))
        )
    if result.energy is not None and result.energy.total:
        of = f" (only {' and '.join(result.energy.measured)})" if result.energy.reasons else ""
        named.append((f"energy{of}", amount_text(result.energy.total, "J")))
    if result.edges_per_joule is not None:
        named.append(("per joule", rate_text(result.edges_per_joule).removesuffix("/s")))
    return named


def placement(partitioned: PartitionedGraph) -> str:
    """Return the table of partitions, with α and β."""
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
        *("element", "vertices", "mirrors", "edges", "share of edges", "boundary edges"),
        *("element memory", "host memory"),
    )
    crossing = (
        f" β = {share_text(counted.beta)} of the edges cross partitions; after aggregation, with one "
        f"message per mirror, β = {share_text(counted.beta_aggregated)}."
    )
    return (
        f'<p class="faint">{escape(placement_sentence(partitioned))}{crossing if len(rows) > 1 else ""} '
        f"{format_bytes(counted.nbytes)} in total, without the arrays of the run.</p>"
        f"{table(columns, rows, label='Partitions in numbers')}"
    )


def prediction(expected: Prediction, result: RunRecord) -> str:
    """Return the predicted and measured times of the run and of each element."""
    took = spent(result.timeline)
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
    columns = ("element", "computing predicted", "measured", "exchanging predicted", "measured")
    faster = [
        f"{ratio:.2g} times the speed of {what} alone"
        for ratio, what in ((expected.speedup_over_cpu, "the CPU"), (expected.speedup_over_gpu, "one GPU"))
        if ratio is not None
    ]
    speed = f" Predicted {' and '.join(faster)}." if faster else ""
    return (
        f"<p>{escape(comparison(expected, result.seconds, result.timeline.compile_seconds))}{speed}</p>"
        f"{_pairs(pairs)}{table(columns, rows, label='Predicted and measured times by element')}"
    )


def energy_table(energy: Energy) -> str:
    """Return the joules and watts by device."""
    rows = [
        (device, f"not measured: {energy.reasons.get(device, 'it has no counter')}", "-", "-")
        if joules is None
        else (device, "measured", amount_text(joules, "J"), _power(joules, energy.seconds))
        for device, joules in energy.joules.items()
    ]
    note = (
        '<p class="faint">The host is the processor packages of the machine, without memory modules. '
        "A counter measures a whole device, including other programs.</p>"
    )
    columns = ("device", "counter", "energy", "power")
    return note + table(columns, rows, left=2, label="Energy by device", long=1)


def phases(timeline: Timeline) -> str:
    """Return the table of sums over supersteps by phase and element."""
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


def parameters(result: RunRecord) -> str:
    """Return the table of the run's parameters and outcome."""
    rows = [(name, _shortened(value)) for name, value in (result.parameters | result.outcome).items()]
    return table(("parameter", "value"), rows, left=2, label="Parameters", long=1)


def _power(joules: float, seconds: float) -> str:
    return amount_text(joules / seconds, "W") if seconds else "-"


def _pairs(pairs: list[tuple[str, float, float]]) -> str:
    """Return two bars per name, predicted (hollow) and measured (filled)."""
    longest = max(max(expected, achieved) for _, expected, achieved in pairs) or 1.0

    def pieces() -> Iterator[str]:
        for place, (name, expected, achieved) in enumerate(pairs):
            top = place * _ROW
            text = f"predicted {seconds_text(expected)}, measured {seconds_text(achieved)}"
            yield words(name, 0, top + 12, kind="ink")
            yield words(text, 1, top + 12, kind="end")
            yield group(
                f"{name}: {text}",
                [
                    bar("hollow", 0, expected / longest, top + 17, _BAR),
                    bar("compute", 0, achieved / longest, top + 17 + _BAR + 1, _BAR),
                ],
            )

    label = "Predicted (hollow) and measured (filled) seconds: " + "; ".join(
        f"{name} {seconds_text(expected)} and {seconds_text(achieved)}" for name, expected, achieved in pairs
    )
    return picture(pieces(), height=len(pairs) * _ROW, label=label)


def _shortened(value: object) -> str:
    # The whole text of a mapping of a million vertices takes seconds to write.
    if isinstance(value, dict) and len(value) > _LONGEST_VALUE:
        return f"{len(value):,} entries"
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
