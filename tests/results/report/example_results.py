"""Hand-made results."""

from __future__ import annotations

import numpy as np

import evener as ev
from evener.engine.timeline import Slice


def made(*, spans=(), slices=(), graph=None, seconds=0.5, edges=1000, parameters=None, partitioned=None):
    graph = ev.Graph.from_edges([0, 1], [1, 2], directed=True) if graph is None else graph
    timeline = ev.Timeline(spans)
    timeline.slices.extend(slices)
    return ev.Result(
        "test",
        graph,
        {"rank": lambda: np.zeros(graph.n)},
        parameters={"source": 0} if parameters is None else parameters,
        timeline=timeline,
        seconds=seconds,
        edges=edges,
        partitioned=partitioned,
    )


def steady(count, *, element="cpu", compute=0.25, length=1.0):
    """Return one slice of computing at the beginning of each superstep."""
    return [
        Slice(step, "iterate", element, "compute", step * length, step * length + compute)
        for step in range(count)
    ]
