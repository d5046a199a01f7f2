"""Question: how much faster are four algorithms on two ranks with a GPU each than on one GPU, by transport.

The graphs are undirected R-MAT graphs with 16 edges per vertex and weights 1..255. The contenders are one
process with one or two GPUs, and two ranks with one GPU each. Each transport between ranks is a separate
contender. The graph is placed before the clock starts. Times are medians; PageRank's is one of 50 iterations.
Searches start at vertices drawn with a fixed seed. The first answer of each contender to each task is
verified.

The record has the seconds that the first element computes, sends, receives and waits in one run.

    python benchmarks/ranks_on_gpus.py --scales 22 24
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import evener as ev
import harness
from cpu_rivals import WEIGHTS, draw_sources
from evener.engine.exchange.network import VARIABLE
from evener.system.launch import mpiexec
from evener.system.world import current_world

TASKS = {"pagerank": "PageRank, an iteration", "bfs": "BFS", "wcc": "Components", "sssp": "SSSP"}
ITERATIONS = 50
PHASES = ("compute", "send", "receive", "wait")


def main():
    options = _options()
    if options.part:
        _time_part(options)
        return
    rows = []
    for scale in options.scales:
        found = _start([], scale, "processes") + _start([mpiexec(), "-n", "2"], scale, "ranks")
        rows += _with_ratios(found)
        if not options.no_record:  # after each graph, because a large one may not finish
            harness.record("ranks_on_gpus", question=__doc__.splitlines()[0], rows=rows)


def _start(launcher, scale, part):
    """Time contenders in separate processes, and return their rows."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        own = ["--part", part, "--scales", str(scale), "--rows", str(file)]
        subprocess.run([*launcher, sys.executable, __file__, *sys.argv[1:], *own], check=True)
        return json.loads(file.read_text())


def _time_part(options):
    """Time the contenders of this process, or of these ranks."""
    (scale,) = options.scales
    spec = f"rmat:{scale},weights={WEIGHTS}"
    graph, world, rows = ev.read(spec), current_world(), []
    sources = [int(source) for source in draw_sources(graph, options.sources)]
    if options.part == "ranks":
        contenders = {f"two ranks, {transport}": options.on_ranks for transport in options.transports}
    else:
        contenders = {"one GPU": options.one, "two GPUs": options.two}
    placed = {on: ev.partition(graph, on=on, policy="random") for on in dict.fromkeys(contenders.values())}
    for name, on in contenders.items():
        if options.part == "ranks":
            os.environ[VARIABLE] = name.rpartition(" ")[2]
        for task in options.tasks:
            row = {
                "graph": spec,
                "task": task,
                "contender": name,
                **_time(task, placed[on], sources, options),
            }
            rows.append(row)
            if world.rank == 0:
                median = harness.duration(row["median_seconds"])
                print(f"{spec} {TASKS[task]:24} {name:20} {median:>8}", flush=True)
    if world.rank == 0:
        Path(options.rows).write_text(json.dumps(rows))


def _time(task, placed, sources, options):
    run, rounds, parts = {
        "pagerank": (
            lambda _: ev.pagerank(placed, tol=0, max_iter=ITERATIONS, weights=False),
            options.rounds,
            ITERATIONS,
        ),
        "bfs": (lambda i: ev.bfs(placed, source=sources[i]), len(sources), 1),
        "wcc": (lambda _: ev.wcc(placed), options.rounds, 1),
        "sssp": (lambda i: ev.sssp(placed, source=sources[i]), len(sources), 1),
    }[task]
    first = run(0)
    if not options.no_verify:
        ev.verify(first)
    del first
    run(1)
    seconds, result = [], None
    for i in range(rounds):
        result = run(i)
        seconds.append(result.seconds / parts)
    spans = [span for span in result.timeline if span.element == result.timeline.elements[0]]
    return {
        "median_seconds": harness.median(seconds),
        "seconds": seconds,
        "run_seconds": result.seconds,
        "supersteps": len(spans),
        **{phase: sum(getattr(span, phase) for span in spans) for phase in PHASES},
    }


def _with_ratios(rows):
    """Add to each row how many times faster it is than one GPU and than two GPUs of one process."""
    times = {(row["task"], row["contender"]): row["median_seconds"] for row in rows}
    for row in rows:
        for other in ("one GPU", "two GPUs"):
            row[f"times faster than {other}"] = times[row["task"], other] / row["median_seconds"]
    names = dict.fromkeys(row["contender"] for row in rows)
    harness.show(
        f"{rows[0]['graph']}: times faster than one GPU",
        ["task", *names],
        [
            [TASKS[task], *(f"{times[task, 'one GPU'] / times[task, name]:.2f}" for name in names)]
            for task in dict.fromkeys(row["task"] for row in rows)
        ],
    )
    return rows


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", type=int, nargs="+", default=[22, 24])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--transports", nargs="+", default=["ipc", "nccl", "mpi"])
    parser.add_argument("--one", default="cuda:0")
    parser.add_argument("--two", default="cuda:0,cuda:1")
    parser.add_argument("--on-ranks", default="cuda:local")
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", choices=["processes", "ranks"], help=argparse.SUPPRESS)
    parser.add_argument("--rows", help=argparse.SUPPRESS)
    return harness.recording(parser)


if __name__ == "__main__":
    main()
