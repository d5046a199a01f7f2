"""Question: how much faster are the five algorithms on several GPUs than on one.

R-MAT graphs, undirected, 16 edges a vertex. Both placements exist before the clocks start. Searches start at
16 vertices drawn with a fixed seed; betweenness uses four of them. Times are medians; PageRank's is one of 50
iterations. Every search is verified. The first ranks and components are verified, and the others are compared
with them.

The record has the seconds of placing, the ratio of both medians, and the timeline of one run on several GPUs:
the seconds that each element computes, sends, receives and waits.

    python benchmarks/several_gpus.py --scales 24 26
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import evener as ev
import harness
from cpu_rivals import GROUP, WEIGHTS, draw_sources
from gpu_rivals import ITERATIONS, TASKS, seconds_of

PHASES = ("compute", "send", "receive", "wait")


def main():
    options = _options()
    rows = []
    for scale in options.scales:
        for weighted in (False, True):
            tasks = [task for task in options.tasks if (task == "sssp") == weighted]
            if tasks:
                rows += _one_graph(f"rmat:{scale}" + f",weights={WEIGHTS}" * weighted, tasks, options)
        if not options.no_record:  # after each graph, because a large one may not finish
            question = __doc__.splitlines()[0]
            harness.record(
                "several_gpus", question=question, rows=rows, one=options.one, several=options.several
            )


def _one_graph(spec, tasks, options):
    graph = ev.read(spec)
    placed, placing = {}, {}
    for on in (options.one, options.several):
        start = time.perf_counter()
        placed[on] = ev.partition(graph, on=on, policy=options.policy)
        placing[on] = time.perf_counter() - start
    sources = draw_sources(graph, options.sources)
    rows = []
    for task in tasks:
        seconds = {on: seconds_of(task, pg, sources, options) for on, pg in placed.items()}
        medians = {on: harness.median(taken) for on, taken in seconds.items()}
        rows.append(
            {
                "graph": spec,
                "task": task,
                "policy": options.policy,
                "median_seconds": medians,
                "one_over_several": medians[options.one] / medians[options.several],
                "seconds": seconds,
                "placing_seconds": placing,
                "timeline": _timeline(task, placed[options.several], sources),
            }
        )
        one, several = (harness.duration(medians[on]) for on in (options.one, options.several))
        print(
            f"{spec} {TASKS[task]:26} {one:>8} {several:>8}  {rows[-1]['one_over_several']:.2f} times",
            flush=True,
        )
    return rows


def _timeline(task, placed, sources):
    """Return the supersteps of one run, and the seconds of each element by phase and activity."""
    first = int(sources[0])
    run = {
        "pagerank": lambda: ev.pagerank(placed, tol=0, max_iter=ITERATIONS, weights=False),
        "bfs": lambda: ev.bfs(placed, source=first),
        "wcc": lambda: ev.wcc(placed),
        "sssp": lambda: ev.sssp(placed, source=first),
        "betweenness": lambda: ev.betweenness(placed, sources=sources[:GROUP]),
    }[task]
    result = run()
    sums = defaultdict(lambda: {"supersteps": 0, **dict.fromkeys(PHASES, 0.0)})
    for span in result.timeline:
        own = sums[f"{span.phase} {span.element}"]
        own["supersteps"] += 1
        for phase in PHASES:
            own[phase] += getattr(span, phase)
    return {"seconds": result.seconds, **sums}


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", type=int, nargs="+", default=[24, 26])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--one", default="cuda:0")
    parser.add_argument("--several", default="cuda:0,cuda:1")
    parser.add_argument("--policy", default="random")
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    return harness.recording(parser)


if __name__ == "__main__":
    main()
