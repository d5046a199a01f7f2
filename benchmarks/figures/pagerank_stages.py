"""PageRank by GIM-V, as MapReduce and fused, with the seconds of each stage of an iteration."""

from __future__ import annotations

import numpy as np
import search_path  # noqa: F401 - first: it makes the folder above importable

import evener as ev
import harness

STAGES = ("map", "hash", "communication", "transfer", "sort", "reduce", "merge", "assign")


def operators(graph, iterations):
    """Return PageRank's operators in float32, for a fixed number of iterations."""
    return {
        "combine2": lambda m, v, degree: v / degree,
        "combine_all": lambda x, y: x + y,
        "assign": lambda old, new, n: 0.15 / n + 0.85 * new,
        "v0": np.float32(1 / max(graph.n, 1)),
        "until": iterations,
    }


def timed(placed, *, rounds, iterations):
    """Return the median seconds of an iteration by both engines, and of each stage; check that they agree."""
    given = operators(placed.graph, iterations)
    expected = ev.gimv(placed, **given)["value"]
    fused, staged, stages = [], [], []
    for i in range(-1, rounds):
        one = ev.gimv(placed, **given)
        two = ev.gimv(placed, **given, engine="mapreduce")
        harness.agree(two, "value", expected, apart=1e-4)
        if i >= 0:
            fused.append(one.seconds / iterations)
            staged.append(two.seconds / iterations)
            stages.append(_seconds(two.timeline, iterations))
    return {
        "edges": placed.graph.m,
        "seconds": staged,
        "median_seconds": harness.median(staged),
        "edges_per_second": placed.graph.m / harness.median(staged),
        "fused_seconds": harness.median(fused),
        "stages": {name: harness.median([one[name] for one in stages]) for name in stages[0]},
    }


def _seconds(timeline, iterations):
    """Return the seconds of each stage in an iteration, on the element that was busy longest in it."""
    found = dict.fromkeys(STAGES, 0.0)
    for (phase, _), span in timeline.by_phase().items():
        busy = (span.compute + span.send + span.receive) / iterations
        found[phase] = max(found[phase], busy)
    return found


def million_edges(seconds, edges):
    """Return the rate in ME/s, as the paper gives rates."""
    return edges / seconds / 1e6 if seconds else 0.0


def cells_of(row):
    """Return the cells of a table: the rate, that of the fused engine, and the milliseconds of each stage."""
    stages = [f"{row['stages'][name] * 1e3:.1f}" if row["stages"][name] else "-" for name in STAGES]
    return (
        f"{million_edges(row['median_seconds'], row['edges']):,.1f}",
        f"{million_edges(row['fused_seconds'], row['edges']):,.1f}",
        *stages,
    )


HEADS = ("MapReduce ME/s", "fused ME/s", *(f"{name} ms" for name in STAGES))
