"""A run as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.graph.edge_counts import edges_in_words
from evener.partition.distributed.graph import DistributedGraph
from evener.results.report import draw, explain
from evener.results.report.bars import superstep_bars, superstep_table
from evener.results.report.curves import degree_curve, frontier_curve
from evener.results.report.gantt import gantt
from evener.results.report.style import POLICY, SCRIPT, STYLE
from evener.results.report.units import amount_text, or_dash, rate_text, seconds_text, share_text
from evener.system.html import escape
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.prediction import Prediction
    from evener.results.energy.meter import Energy
    from evener.results.record import RunRecord

__all__ = ["page"]

# Longest text of a parameter, in characters.
_LONGEST_VALUE = 120

_ROW, _BAR = 46.0, 11.0


def page(result: RunRecord) -> str:
    """Return the page for `result`."""
    from evener.system.version import __version__

    title = f"{result.algorithm} on {result.graph.n:,} vertices, {edges_in_words(result.graph)}"
    tiles = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in _facts(result))
    time = f"{explain.shares_sentence(result.timeline)} {explain.bottleneck(result.timeline)}"
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f'<meta name="description" content="{escape(explain.headline(result))}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body><main>",
        f"<h1>{escape(title)}</h1>",
        f"<dl>{tiles}</dl>",
        f"<p>{escape(time)}</p>",
        *(f"<section><h2>{heading}</h2>{content}</section>" for heading, content in _sections(result)),
        f'</main><footer>Evener {__version__}</footer><div id="tip" aria-hidden="true" hidden></div>',
        f"<script>{SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _sections(result: RunRecord) -> Iterator[tuple[str, str]]:
    timeline = result.timeline
    yield "Supersteps by element", superstep_bars(timeline) + superstep_table(timeline)
    yield "Time axis", gantt(timeline)
    if result.prediction is not None:
        yield "Predicted and measured", _prediction(result.prediction, result)
    if result.energy is not None:
        yield "Energy", _energy_table(result.energy)
    if result.partitioned is not None:
        yield "Placement", _placement(result.partitioned)
    # A superstep may process several sources.
    each = draw.faint("A vertex counts once for each source.") if "sources" in result.parameters else ""
    yield "Active vertices by superstep", each + frontier_curve(timeline)
    if not isinstance(result.graph, DistributedGraph):
        yield "Out-degrees of the graph", degree_curve(result.graph)
    phases = explain.phase_rows(timeline)
    yield "Phases", draw.table(explain.PHASE_HEADS, phases, left=2, label="Phases in numbers")
    named = [(name, _shortened(value)) for name, value in (result.parameters | result.outcome).items()]
    table = draw.table(("parameter", "value"), named, left=2, label="Parameters", long=1)
    yield "Parameters and outcome", table


def _facts(result: RunRecord) -> list[tuple[str, str]]:
    """Return the most important numbers as pairs of name and text."""
    named = [
        ("time", seconds_text(result.seconds)),
        ("rate", rate_text(result.edges_per_second)),
        (explain.counted_edges(result.columns.values()), f"{result.edges:,}"),
        ("supersteps", f"{result.timeline.supersteps:,}"),
    ]
    if explain.compile_sentence(result):
        named.insert(
            1, ("of which loading or compiling kernels", seconds_text(result.timeline.compile_seconds))
        )
    if result.energy is not None and result.energy.total:
        of = f" (only {' and '.join(result.energy.measured)})" if result.energy.reasons else ""
        named.append((f"energy{of}", amount_text(result.energy.total, "J")))
    if result.edges_per_joule is not None:
        named.append(("per joule", rate_text(result.edges_per_joule).removesuffix("/s")))
    return named


def _placement(partitioned: PartitionedGraph) -> str:
    """Return the table of partitions, with α and β."""
    counted = partitioned.statistics
    rows = [
        (
            one.element,
            one.vertices,
            one.mirrors,
            one.edges,
            share_text(one.edge_share),
            one.boundary_edges,
            format_bytes(one.own_bytes),
            or_dash(one.host_bytes, format_bytes),
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
    note = draw.faint(
        f"{escape(explain.placement_sentence(partitioned))}{crossing if len(rows) > 1 else ''} "
        f"{format_bytes(counted.nbytes)} in total, without the arrays of the run."
    )
    return note + draw.table(columns, rows, label="Partitions in numbers")


def _prediction(expected: Prediction, result: RunRecord) -> str:
    """Return the predicted and measured times of the run and of each element."""
    took = explain.spent(result.timeline)
    rows, pairs = [], [("whole run", expected.seconds, result.seconds)]
    for one in expected.elements:
        computed, exchanged = map(seconds_text, took[one.name]) if one.name in took else ("-", "-")
        compute, exchange = seconds_text(one.compute_seconds), seconds_text(one.exchange_seconds)
        rows.append((one.name, compute, computed, exchange, exchanged))
        whole = one.compute_seconds + one.exchange_seconds
        pairs.append((one.name, whole, sum(took.get(one.name, ()))))
    columns = ("element", "computing predicted", "measured", "exchanging predicted", "measured")
    faster = [
        f"{ratio:.2g} times the speed of {what} alone"
        for ratio, what in ((expected.speedup_over_cpu, "the CPU"), (expected.speedup_over_gpu, "one GPU"))
        if ratio is not None
    ]
    speed = f" Predicted {' and '.join(faster)}." if faster else ""
    compared = explain.comparison(expected, result.seconds, result.timeline.compile_seconds)
    return (
        f"<p>{escape(compared)}{speed}</p>{_pairs(pairs)}"
        f"{draw.table(columns, rows, label='Predicted and measured times by element')}"
    )


def _energy_table(energy: Energy) -> str:
    """Return the joules and watts by device."""
    rows = [
        (device, f"not measured: {energy.reasons.get(device, 'it has no counter')}", "-", "-")
        if joules is None
        else (
            device,
            "measured",
            amount_text(joules, "J"),
            amount_text(joules / energy.seconds, "W") if energy.seconds else "-",
        )
        for device, joules in energy.joules.items()
    ]
    note = draw.faint(
        "The host is the processor packages of the machine, without memory modules. "
        "A counter measures a whole device, including other programs."
    )
    columns = ("device", "counter", "energy", "power")
    return note + draw.table(columns, rows, left=2, label="Energy by device", long=1)


def _pairs(pairs: list[tuple[str, float, float]]) -> str:
    """Return two bars per name, predicted (hollow) and measured (filled)."""
    longest = max(max(expected, achieved) for _, expected, achieved in pairs) or 1.0

    def pieces() -> Iterator[str]:
        for place, (name, expected, achieved) in enumerate(pairs):
            top = place * _ROW
            text = f"predicted {seconds_text(expected)}, measured {seconds_text(achieved)}"
            yield draw.words(name, 0, top + 12, kind="ink")
            yield draw.words(text, 1, top + 12, kind="end")
            yield draw.group(
                f"{name}: {text}",
                draw.bar("hollow", 0, expected / longest, top + 17, _BAR),
                draw.bar("compute", 0, achieved / longest, top + 17 + _BAR + 1, _BAR),
            )

    label = "Predicted (hollow) and measured (filled) seconds: " + "; ".join(
        f"{name} {seconds_text(expected)} and {seconds_text(achieved)}" for name, expected, achieved in pairs
    )
    return draw.picture(pieces(), height=len(pairs) * _ROW, label=label)


def _shortened(value: object) -> str:
    # The whole text of a mapping of a million vertices takes seconds to write.
    if isinstance(value, dict) and len(value) > _LONGEST_VALUE:
        return f"{len(value):,} entries"
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
