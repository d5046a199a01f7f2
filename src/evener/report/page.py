"""A run as one HTML page that needs nothing else: the summary, the superstep timeline, the phases."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from evener.memory import readable
from evener.report.explain import bottleneck, headline, shares_sentence
from evener.report.units import seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evener.result import Result
    from evener.timeline import Superstep

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #6a737d; --rule: #d8dee4;
  --compute: #2f6f9f; --exchange: #d9822b; --wait: #b8bec5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #15181c; --faint: #98a2ad;
  --rule: #343a41; --compute: #5ba3d6; --exchange: #e8a25c; --wait: #565e67; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } p.faint { color: var(--faint); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--rule); }
th { color: var(--faint); font-weight: 600; } .left { text-align: left; } .wide { width: 30%; }
.bar { display: flex; height: .8rem; } .bar i { display: block; }
.compute { background: var(--compute); } .exchange { background: var(--exchange); }
.wait { background: var(--wait); }
.key i { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem; }
"""

_KEY = (
    '<p class="faint key">Times of the element that was busy longest:'
    '<i class="compute"></i>computing<i class="exchange"></i>exchanging<i class="wait"></i>waiting</p>'
)

# Rows of the superstep table: a page with more is slow to open and nobody reads it.
_MOST_ROWS = 1000


def page(result: Result) -> str:
    """Return the page for `result`."""
    timeline = result.timeline
    steps = timeline.by_superstep()
    title = f"{result.algorithm} on {result.graph.n:,} vertices, {result.graph.m:,} edges"
    left_out = len(steps) - _MOST_ROWS
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(headline(result))}.</p>",
        f"<p>{escape(shares_sentence(timeline))} {escape(bottleneck(timeline))}</p>",
        "<h2>Parameters</h2>",
        _table(("parameter", "value"), [(str(k), str(v)) for k, v in result.parameters.items()], left=2),
        "<h2>Supersteps</h2>",
        _KEY,
        _supersteps(steps[:_MOST_ROWS]),
        f'<p class="faint">{left_out:,} more supersteps are not shown.</p>' if left_out > 0 else "",
        "<h2>Phases</h2>",
        _phases(result),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _supersteps(steps: list[Superstep]) -> str:
    longest = max((step.seconds for step in steps), default=0.0) or 1.0
    rows = []
    for step in steps:
        bar = "".join(
            f'<i class="{kind}" style="width:{100 * part / longest:.2f}%"></i>'
            for kind, part in (("compute", step.compute), ("exchange", step.exchange), ("wait", step.wait))
        )
        rows.append(
            f"<tr><td>{step.superstep}</td><td class='left'>{escape(', '.join(step.phases))}</td>"
            f"<td>{step.active:,}</td><td>{seconds_text(step.seconds)}</td>"
            f"<td>{readable(step.bytes_sent)}</td><td class='wide'><div class='bar'>{bar}</div></td></tr>"
        )
    head = (
        "<tr><th>superstep</th><th class='left'>phases</th><th>active vertices</th><th>time</th>"
        "<th>sent</th><th class='wide'></th></tr>"
    )
    return f"<table>{head}{''.join(rows)}</table>"


def _phases(result: Result) -> str:
    rows = [
        (
            phase,
            element,
            f"{span.superstep:,}",
            *(seconds_text(part) for part in (span.compute, span.send, span.receive, span.wait)),
            readable(span.bytes_sent),
        )
        for (phase, element), span in result.timeline.by_phase().items()
    ]
    columns = ("phase", "element", "times", "compute", "send", "receive", "wait", "sent")
    return _table(columns, rows, left=2)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, left: int) -> str:
    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f"<{tag}{' class=left' if place < left else ''}>{escape(text)}</{tag}>"
            for place, text in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', columns)}</tr>{body}</table>"
