"""Question: how fast do two ranks read and place a text graph, compared with one, and in how much memory.

Each rank has one thread. The file has one edge a line and is in the page cache. The peak is the largest
resident memory while the graph is read and placed, less the memory before. A rank's share is its partition.

    python benchmarks/ingestion.py --edges 20_000_000 --ranks 1 2
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import harness

# Edges a vertex, as in SNAP's large graphs.
_EDGES_A_VERTEX = 20
_WARM_UP = 100


def main():
    options = _options()
    if options.child:
        _run(options.child)
        return
    launcher = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if launcher is None:
        print('no times: there is no MPI launcher; pip install "evener[mpi]"')
        return
    with tempfile.TemporaryDirectory(prefix="evener-bench-", dir=options.scratch) as folder:
        path = Path(folder) / "edges.txt"
        _write(path, options.edges)
        print(f"{options.edges:,} edges, {path.stat().st_size / 1e6:.0f} MB of text")
        found = {ranks: [] for ranks in options.ranks}
        for _ in range(options.rounds):
            for ranks, runs in found.items():
                runs.append(_on_ranks(launcher, ranks, path))
    levels = {json.dumps(rank["levels"]) for runs in found.values() for run in runs for rank in run}
    if len(levels) != 1:
        msg = "runs with different numbers of ranks found different distances"
        raise AssertionError(msg)
    rows = [_row(ranks, runs) for ranks, runs in found.items()]
    cells = [
        (
            f"{row['ranks']} ranks",
            harness.duration(row["median_seconds"]),
            f"{rows[0]['median_seconds'] / row['median_seconds']:.2f} times",
            f"{row['peak_bytes'] / 2**20:.0f} MiB",
            f"{row['peak_bytes'] / row['share_bytes']:.1f}",
        )
        for row in rows
    ]
    columns = ["", "median", "as fast as the first", "peak of a rank", "over its share"]
    harness.show("Text graph, read and placed by ranks of one thread", columns, cells)
    if not options.no_record:
        harness.record("ingestion", question=__doc__.splitlines()[0], rows=rows, edges=options.edges)


def _row(ranks, runs):
    """Return the row of a number of ranks, given what each rank reports in each run."""
    seconds = [max(rank["seconds"] for rank in run) for run in runs]
    return {
        "ranks": ranks,
        "median_seconds": harness.median(seconds),
        "peak_bytes": max(rank["peak_bytes"] for run in runs for rank in run),
        "share_bytes": max(rank["share_bytes"] for rank in runs[0]),
        "seconds": seconds,
        "processor_seconds": [[rank["processor_seconds"] for rank in run] for run in runs],
    }


def _write(path, edges):
    rng = np.random.default_rng(9)
    # Powers make hubs of the low numbers.
    ends = (rng.random((2, edges)) ** 3 * max(2, edges // _EDGES_A_VERTEX)).astype(np.uint32)
    options = csv.WriteOptions(include_header=False, delimiter="\t")
    csv.write_csv(pa.table({"src": ends[0], "dst": ends[1]}), path, options)


def _on_ranks(launcher, ranks, path):
    """Return what each rank reports."""
    done = subprocess.run(
        [launcher, "-n", str(ranks), sys.executable, __file__, "--child", str(path)],
        env={**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.JSONDecoder().raw_decode(done.stdout)[0]  # Open MPI may append an escape sequence


def _run(path):
    """Read and place a graph on this rank, and let rank 0 print seconds and bytes as JSON."""
    import evener as ev
    from evener.system.world import current_world

    world = current_world()
    with tempfile.TemporaryDirectory() as folder:
        small = Path(world.allgather(folder)[0]) / "small.txt"
        if world.rank == 0:
            _write(small, _WARM_UP)
        world.barrier()
        ev.bfs(ev.partition(small, "cpu:1", directed=False), source=1)
        world.barrier()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = harness.process_bytes("VmRSS")
    world.barrier()
    start, spent = time.perf_counter(), time.process_time()
    pg = ev.partition(path, "cpu:1", directed=False)
    world.barrier()
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    peak = harness.process_bytes("VmHWM") - before
    levels = np.bincount(ev.bfs(pg, source=1)["distance"] + 1, minlength=64)
    report = {
        "seconds": seconds,
        "processor_seconds": spent,
        "peak_bytes": peak,
        "share_bytes": sum(p.nbytes for p in pg.partitions),
        "levels": np.sum(world.allgather(levels), axis=0).tolist(),
    }
    reports = world.allgather(report)
    if world.rank == 0:
        print(json.dumps(reports))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scratch", default=None, help="folder for the text file")
    parser.add_argument("--child", default=None, help="run as a rank on this file")
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
