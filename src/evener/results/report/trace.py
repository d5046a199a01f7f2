"""A run as a trace of events for Perfetto and chrome://tracing.

The format is Google's Trace Event Format: complete events ("X") in microseconds, one row (thread) per
element.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evener.results.report.explain import headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.results.record import RunRecord

__all__ = ["trace"]

_PROCESS = 1


def trace(result: RunRecord) -> str:
    """Return the trace of `result` as JSON: an object with its ``traceEvents``."""
    content = {
        "traceEvents": list(_events(result)),
        "displayTimeUnit": "ms",
        "otherData": {
            "headline": headline(result),
            "vertices": result.graph.n,
            "edges": result.graph.m,
            "slices_left_out": result.timeline.more_slices,
            "parameters": {name: str(value) for name, value in result.parameters.items()},
        },
    }
    return json.dumps(content, allow_nan=False)


def _events(result: RunRecord) -> Iterator[dict[str, Any]]:
    slices = result.timeline.slices
    rows = {name: row for row, name in enumerate(dict.fromkeys(one.element for one in slices), start=1)}
    yield _about("process_name", name=f"evener {result.algorithm}")
    for name, row in rows.items():
        yield _about("thread_name", row, name=name)
        yield _about("thread_sort_index", row, sort_index=row)
    spans = result.timeline.by_superstep_and_element()
    for one in slices:
        span = spans.get((one.superstep, one.element))
        yield {
            "name": f"{one.phase} {one.activity}",
            "cat": one.activity,
            "ph": "X",
            "ts": one.begin * 1e6,
            "dur": max(0.0, one.end - one.begin) * 1e6,
            "pid": _PROCESS,
            "tid": rows[one.element],
            "args": {
                "superstep": one.superstep,
                "phase": one.phase,
                "bytes": 0 if span is None else int(span.bytes_sent),
                "active": 0 if span is None else int(span.active),
            },
        }


def _about(what: str, row: int = 0, **args: object) -> dict[str, Any]:
    """Return an event that names a process or a row."""
    return {"name": what, "ph": "M", "pid": _PROCESS, "tid": row, "args": args}
