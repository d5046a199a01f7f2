"""Question: how fast does Evener generate R-MAT edges.

Measured are edges alone, and edges built into Graph500's undirected graph without self-loops and duplicates.
Rivals: NetworKit's R-MAT generator, which always builds. With --gap also GAP's, by the times of its
converter. All draw 16 edges for each of 2^scale vertices. The rate counts drawn edges.

    python benchmarks/generation.py --scale 20 --gap path/to/gapbs
"""

from __future__ import annotations

import argparse

import numpy as np

import evener as ev
import harness
from evener.graph.generators import models
from evener.graph.generators import sources as made
from gap import Gap


def main():
    options = _options()
    drawn = models.EDGE_FACTOR << options.scale
    runs = {
        "evener, edges": harness.clocked(_edges(options.scale, drawn)),
        "evener, graph": harness.clocked(lambda _: ev.read(f"rmat:{options.scale}")),
    }
    if "networkit" in options.rivals:
        runs["NetworKit, graph"] = harness.clocked(_networkit(options))
    if options.gap:
        gap = Gap(options.gap, None, None, options.threads)

        def reported(*steps):
            seconds = gap.converter_seconds("-g", options.scale)
            return sum(seconds[step] for step in steps), None

        runs["GAP, edges"] = lambda _: reported("Generate")
        runs["GAP, graph"] = lambda _: reported("Generate", "Build")
    times = harness.interleaved(runs, rounds=options.rounds, budget=options.budget)
    rows = harness.rates(times, edges=drawn)
    cells = [
        (
            row["contender"],
            harness.duration(row["median_seconds"]),
            f"{row['edges_per_second'] / 1e6:.1f} M",
        )
        for row in rows
    ]
    harness.show(f"R-MAT {options.scale}: {drawn:,} edges", ["", "median", "edges drawn/s"], cells)
    if not options.no_record:
        harness.record("generation", question=__doc__.splitlines()[0], rows=rows, edges=drawn)


def _edges(scale, drawn):
    source = made.KroneckerSampler(
        np.array(models.GRAPH500), scale, drawn, models.DEFAULT_SEED, None, permute=True
    )
    src, dst = np.empty((2, drawn), dtype=np.uint32)
    return lambda _: source.fill(0, drawn, src, dst)


def _networkit(options):
    import networkit

    networkit.setNumberOfThreads(options.threads)
    chances = [chance for row in models.GRAPH500 for chance in row]
    return lambda _: networkit.generators.RmatGenerator(
        options.scale, models.EDGE_FACTOR, *chances
    ).generate()


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rivals", nargs="*", default=["networkit"], choices=["networkit"])
    return harness.racing(parser, rounds=5, budget=60.0)


if __name__ == "__main__":
    main()
