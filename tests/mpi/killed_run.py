"""Run PageRank and kill one rank: ``python -m mpi.killed_run FOLDER RESULT RANK MOMENT COUNT``.

MOMENT is "superstep", or a call of the threads that write checkpoints: "half" (of a shard), "fsync",
"replace" (of a manifest) or "unlink". The rank dies at call number COUNT, or soon after superstep COUNT
begins.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from pathlib import Path

import numpy as np

import evener as ev
from evener.engine.checkpoints.folder import CheckpointFolder
from evener.system.world import current_world

ITERATIONS = 12
# The rank dies at most this many seconds after the superstep begins.
DELAY = 0.02


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_call(owner, name, count, before=lambda *_, **__: None):
    calls, function, lock = [], getattr(owner, name), threading.Lock()

    def call(*args, **kwargs):
        with lock:
            calls.append(args)
            if len(calls) == count:
                before(*args, **kwargs)
                die()
        return function(*args, **kwargs)

    setattr(owner, name, call)


def write_half(folder, name, arrays, *, over=None):
    if over is not None:
        (folder.path / over).rename(folder.path / name)
    content = b"".join(array.tobytes() for array in arrays)
    with (folder.path / name).open("ab" if over is None else "r+b") as stream:
        stream.write(content[: len(content) // 2])


CALLS = {
    "half": (CheckpointFolder, "write"), "fsync": (os, "fsync"), "replace": (Path, "replace"),
    "unlink": (Path, "unlink"),
}  # fmt: skip


def run(folder, *, progress=None):
    """Resume the run if there is a checkpoint, else start it. Return the gathered result on rank 0."""
    found = any(Path(folder).glob("*.json"))
    placed = ev.partition("rmat:8", "cpu:1", policy="random")
    checkpoint = ev.Checkpoint(folder, every="1step", resume=found)
    result = ev.pagerank(placed, tol=0, max_iter=ITERATIONS, checkpoint=checkpoint, progress=progress)
    return result.gather()


def main(folder, saved, rank, moment, count):
    here = current_world().rank == int(rank)

    def progress(report):
        if here and moment == "superstep" and report.superstep == int(count):
            threading.Timer(random.uniform(0, DELAY), die).start()

    if here and moment in CALLS:
        die_at_call(*CALLS[moment], int(count), write_half if moment == "half" else lambda *_, **__: None)
    gathered = run(folder, progress=progress)
    if gathered is not None:
        np.save(saved, gathered["rank"])


if __name__ == "__main__":
    main(*sys.argv[1:])
