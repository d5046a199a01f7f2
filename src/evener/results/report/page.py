"""A run as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.partition.distributed.graph import DistributedGraph
from evener.results.report.bars import superstep_bars, superstep_table
from evener.results.report.curves import degree_curve, frontier_curve
from evener.results.report.explain import bottleneck, headline, shares_sentence
from evener.results.report.gantt import gantt
from evener.results.report.sections import energy_table, facts, parameters, phases, placement, prediction
from evener.results.report.style import POLICY, SCRIPT, STYLE
from evener.system.html import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.results.record import RunRecord

__all__ = ["page"]


def page(result: RunRecord) -> str:
    """Return the page for `result`."""
    from evener.system.version import __version__

    title = f"{result.algorithm} on {result.graph.n:,} vertices, {result.graph.m:,} edges"
    tiles = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts(result))
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f'<meta name="description" content="{escape(headline(result))}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body><main>",
        f"<h1>{escape(title)}</h1>",
        f"<dl>{tiles}</dl>",
        f"<p>{escape(shares_sentence(result.timeline))} {escape(bottleneck(result.timeline))}</p>",
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
        yield "Predicted and measured", prediction(result.prediction, result)
    if result.energy is not None:
        yield "Energy", energy_table(result.energy)
    if result.partitioned is not None:
        yield "Placement", placement(result.partitioned)
    # A superstep may process several sources.
    each = '<p class="faint">A vertex counts once for each source.</p>'
    several = "sources" in result.parameters
    yield "Active vertices by superstep", (each if several else "") + frontier_curve(timeline)
    if not isinstance(result.graph, DistributedGraph):
        yield "Out-degrees of the graph", degree_curve(result.graph)
    yield "Phases", phases(timeline)
    yield "Parameters and outcome", parameters(result)
