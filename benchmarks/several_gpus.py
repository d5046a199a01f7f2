"""Question: how much faster are the five algorithms on several GPUs than on one.

The graphs are undirected R-MAT graphs with 16 edges per vertex. Both placements exist before the clocks
start. Searches start at 16 vertices drawn with a fixed seed; betweenness uses four of them. Times are
medians; PageRank's is one of 50 iterations. The first answer to each question is verified, and the last
parents. Other answers are compared with verified answers, to 1e-6. Centralities are compared with the CPU.

The record has the seconds of placing, the ratio of both medians, and the timeline of one run on several GPUs:
the seconds that each element computes, sends, receives and waits.

    python benchmarks/several_gpus.py --scales 24 26
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from functools import partial

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
            for row in _one_graph(f"rmat:{scale}" + f",weights={WEIGHTS}" * weighted, tasks, options):
                rows.append(row)
                if not options.no_record:  # after each task, because a large graph may not finish
                    facts = {"one": options.one, "several": options.several}
                    harness.record("several_gpus", question=__doc__.splitlines()[0], rows=rows, **facts)


def _one_graph(spec, tasks, options):
    """Yield the row of each task."""
    if not tasks:
        return
    graph = ev.read(spec)
    placed, placing = {}, {}
    for on in (options.one, options.several):
        start = time.perf_counter()
        placed[on] = ev.partition(graph, on=on, policy=options.policy)
        placing[on] = time.perf_counter() - start
    sources = draw_sources(graph, options.sources)
    for task in tasks:
        verify = None if task == "betweenness" else partial(_check, harness.Checked(apart=1e-6))
        seconds = {on: seconds_of(task, pg, sources, options, verify) for on, pg in placed.items()}
        medians = {on: harness.median(taken) for on, taken in seconds.items()}
        ratio = medians[options.one] / medians[options.several]
        one, several = (harness.duration(medians[on]) for on in (options.one, options.several))
        print(f"{spec} {TASKS[task]:26} {one:>8} {several:>8}  {ratio:.2f} times", flush=True)
        yield {
            "graph": spec,
            "task": task,
            "policy": options.policy,
            "median_seconds": medians,
            "one_over_several": ratio,
            "seconds": seconds,
            "placing_seconds": placing,
            "timeline": _timeline(task, placed[options.several], sources),
        }


def _check(checked, task, results):
    for result in results:
        question = str(result.parameters.get("source"))
        verify = task in ("bfs", "sssp") and result is results[-1]
        checked.check(result, next(iter(result)), question, verify=verify)


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
