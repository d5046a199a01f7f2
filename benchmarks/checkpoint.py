"""Question: how much longer does PageRank take with a checkpoint after every iteration.

The rival is the same run without checkpoints. Both take turns, on one placement, and must give the same
ranks. Each run with checkpoints begins with a new folder. It ends when its last checkpoint is valid. The
benchmark fails unless each iteration but the last has a checkpoint.

Each row also has the processor time of all threads, which other programs change less than the elapsed time.

The folder is on the file system of `--folder`, which may be given several times. A memory file system such as
/dev/shm shows the work of the processor. A disk also shows the time of fsync.

    python benchmarks/checkpoint.py --on cpu --scale 20 --folder /dev/shm --folder /tmp
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import evener as ev
import harness

ITERATIONS = 20
# Largest relative difference of two runs, whose sums have another order.
APART = 1e-6


def main():
    options = _options()
    graph = f"rmat:{options.scale}"
    placed = ev.partition(graph, options.on)
    checked = harness.Checked(apart=APART)
    processor = {}
    contenders = {"no checkpoints": lambda _: _timed(placed)}
    for folder in options.folder:
        contenders[f"checkpoints in {folder}"] = lambda _, folder=folder: _checkpointed(placed, folder)
    contenders = {name: _metered(run, processor.setdefault(name, [])) for name, run in contenders.items()}

    def check(_name, _round, result):
        checked.check(result, "rank", ("pagerank",))

    times = harness.interleaved(contenders, rounds=options.rounds, check=check)
    busy = {name: harness.median(own[1:]) for name, own in processor.items()}  # without the warm-up
    plain, plain_busy = harness.median(times["no checkpoints"]), busy["no checkpoints"]
    rows = [
        {
            "what": name,
            "graph": graph,
            "on": options.on,
            "iterations": ITERATIONS,
            "bytes of a checkpoint": 0 if name == "no checkpoints" else 4 * placed.graph.n,
            "median_seconds": harness.median(own),
            "spread": harness.spread(own),
            "overhead": harness.median(own) / plain - 1,
            "median_processor_seconds": busy[name],
            "processor_overhead": busy[name] / plain_busy - 1,
            "seconds": own,
        }
        for name, own in times.items()
    ]
    cells = [
        (
            row["what"],
            harness.duration(row["median_seconds"]),
            f"{row['overhead']:.1%}",
            f"{row['spread']:.0%}",
            f"{row['processor_overhead']:.1%}",
        )
        for row in rows
    ]
    title = f"PageRank on {graph}, {ITERATIONS} iterations, a checkpoint after each"
    harness.show(title, ["", "median", "overhead", "spread", "of processor time"], cells)
    if not options.no_record:
        harness.record("checkpoint", question=__doc__.splitlines()[0], rows=rows)


def _metered(run, spent):
    """Return a contender that also appends its processor seconds to a list."""

    def metered(i):
        start = time.process_time()
        timed = run(i)
        spent.append(time.process_time() - start)
        return timed

    return metered


def _timed(placed, **more):
    result = ev.pagerank(placed, tol=0, max_iter=ITERATIONS, **more)
    return result.seconds, result


def _checkpointed(placed, parent):
    folder = Path(tempfile.mkdtemp(prefix="evener-bench-", dir=parent))
    try:
        timed = _timed(placed, checkpoint=ev.Checkpoint(folder, every="1step"))
        newest = max(file.name for file in folder.glob("*.json"))
        if newest != f"{ITERATIONS - 1:08d}.json":
            msg = f"expected a checkpoint after each of {ITERATIONS - 1} iterations, found {newest}"
            raise AssertionError(msg)
        return timed
    finally:
        shutil.rmtree(folder)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", default="cpu")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", action="append", help="where to write checkpoints; may be repeated")
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()
    options.folder = options.folder or [tempfile.gettempdir()]
    return options


if __name__ == "__main__":
    main()
