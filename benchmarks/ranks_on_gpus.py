"""Question: how much faster are four algorithms on two ranks with a GPU each than on one GPU, by transport.

The graphs are undirected R-MAT graphs with 16 edges per vertex, and weights 1..255 if SSSP is timed. The
contenders are one process with one or two GPUs, and two ranks with one GPU each. Each transport between ranks
is a separate contender. The graph is generated once, and all processes map its file. It is placed before the
clock starts. Times are medians; PageRank's is the time of an iteration. Searches start at vertices drawn with
a fixed seed. The first answer of one GPU to each task is compared with plain sweeps over all rows
(`plain_answers.py`), and those of the other contenders are compared with it.

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
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

import evener as ev
import harness
from cpu_rivals import WEIGHTS, draw_sources
from evener.engine.exchange.network import VARIABLE
from evener.system.launch import mpiexec
from evener.system.world import current_world
from plain_answers import answers_of

TASKS = {"pagerank": "PageRank, an iteration", "bfs": "BFS", "wcc": "Components", "sssp": "SSSP"}
# Relative difference of two answers to the same question.
APART = 1e-6
PHASES = ("compute", "send", "receive", "wait")


def main():
    options = _options()
    if options.part:
        _time_part(options)
        return
    rows = []
    for scale in options.scales:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            _write_graph(scale, Path(folder), options)
            found = [
                row
                for part, launcher in (("processes", []), ("ranks", [mpiexec(), "-n", "2"]))
                for row in _start(launcher, folder, part)
            ]
        rows += _with_ratios(found)
        if not options.no_record:  # after each graph, because a large one may not finish
            harness.record("ranks_on_gpus", question=__doc__.splitlines()[0], rows=rows)


def _write_graph(scale, folder, options):
    """Write the graph, its generator spec and the sources to a folder."""
    spec = f"rmat:{scale},weights={WEIGHTS}" if "sssp" in options.tasks else f"rmat:{scale}"
    graph = ev.read(spec)
    _log(f"generated {spec}")
    ev.write(graph, folder / "graph.evg")
    sources = [int(source) for source in draw_sources(graph, options.sources)]
    (folder / "question.json").write_text(json.dumps({"graph": spec, "sources": sources}))
    _log("wrote the graph")


def _start(launcher, folder, part):
    """Time contenders in separate processes, and return their rows."""
    own = ["--part", part, "--folder", folder]
    subprocess.run([*launcher, sys.executable, __file__, *sys.argv[1:], *own], check=True)
    return json.loads((Path(folder) / f"{part}.json").read_text())


def _time_part(options):
    """Time the contenders of this process, or of these ranks."""
    folder, world, rows = Path(options.folder), current_world(), []
    question = json.loads((folder / "question.json").read_text())
    graph = ev.read(folder / "graph.evg")
    _log(f"{options.part}: mapped the graph")
    if options.part == "ranks":
        contenders = {f"two ranks, {transport}": options.on_ranks for transport in options.transports}
    else:
        contenders = {"one GPU": options.one, "two GPUs": options.two}
    answers = answers_of(graph, options.one) if options.part == "processes" else None
    placed = {}
    for name, on in contenders.items():
        if on not in placed:
            placed[on] = ev.partition(graph, on=on, policy="random")
            _log(f"{name}: placed on {on}")
        if options.part == "ranks":
            os.environ[VARIABLE] = name.rpartition(" ")[2]
        for task in options.tasks:
            check = partial(_check, answers=answers, file=folder / f"{task}.npy")
            times = _time(task, placed[on], question["sources"], check, options)
            rows.append({"graph": question["graph"], "task": task, "contender": name, **times})
            if world.rank == 0:
                median = harness.duration(times["median_seconds"])
                print(f"{question['graph']} {TASKS[task]:24} {name:20} {median:>8}", flush=True)
    if world.rank == 0:
        (folder / f"{options.part}.json").write_text(json.dumps(rows))


def _time(task, placed, sources, check, options):
    run, rounds, parts = {
        "pagerank": (
            lambda _: ev.pagerank(placed, tol=0, max_iter=options.iterations, weights=False),
            options.rounds,
            options.iterations,
        ),
        "bfs": (lambda i: ev.bfs(placed, source=sources[i]), len(sources), 1),
        "wcc": (lambda _: ev.wcc(placed), options.rounds, 1),
        "sssp": (lambda i: ev.sssp(placed, source=sources[i]), len(sources), 1),
    }[task]
    first = run(0)
    _log(f"{task}: first run")
    if not options.no_verify:
        check(first)
        _log(f"{task}: checked")
    del first
    run(1)
    seconds, result = [], None
    for i in range(rounds):
        result = run(i)
        seconds.append(result.seconds / parts)
    _log(f"{task}: timed")
    spans = [span for span in result.timeline if span.element == result.timeline.elements[0]]
    return {
        "median_seconds": harness.median(seconds),
        "seconds": seconds,
        "run_seconds": result.seconds,
        "supersteps": len(spans),
        **{phase: sum(getattr(span, phase) for span in spans) for phase in PHASES},
    }


def _check(result, *, answers, file):
    """Check the first answer to a question and write its file, or compare this rank's part with the file."""
    name = next(iter(result))
    if file.exists():
        begin, end = result.block.start, result.block.stop
        harness.agree(result, name, np.load(file, mmap_mode="r")[begin:end], apart=APART)
    else:
        answers.check(result)
        np.save(file, result[name])


def _log(message):
    """Write a message of rank 0 to stderr, with the time of day."""
    if current_world().rank == 0:
        print(f"{datetime.now(UTC):%H:%M:%S} {message}", file=sys.stderr, flush=True)


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
    parser.add_argument("--iterations", type=int, default=50, help="iterations of PageRank in a run")
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="folder for temporary files; /dev/shm is the fastest")
    parser.add_argument("--part", choices=["processes", "ranks"], help=argparse.SUPPRESS)
    return harness.recording(parser)


if __name__ == "__main__":
    main()
