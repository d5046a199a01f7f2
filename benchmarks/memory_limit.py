"""Question: do ranks read a graph that is several times as large as the memory of one rank.

Each rank joins a cgroup of its own with a memory limit. The limit is the size of the graph in one process,
divided by `--times`. The ranks read the file in parts, place the graph and run PageRank. Each rank compares
its ranks with those of one process without a limit. The system kills a rank that exceeds its limit.

    python benchmarks/memory_limit.py --edges 280_000_000 --ranks 24 --times 4

This needs root, because only root may create cgroups. Without cgroups, `EVENER_MEMORY` is the limit of a
rank, and the benchmark fails if the resident memory of a rank exceeds the limit.
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
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import harness

# Edges per vertex, as in SNAP's large graphs.
_EDGES_PER_VERTEX = 20
# Edges that are written at a time; a Parquet file has one row group for each piece.
_PIECE = 1 << 21
_ITERATIONS = 10
_APART = 1e-6
_CGROUPS = Path("/sys/fs/cgroup")
# Puts a process into the cgroup of its rank, and then runs the program of the rank.
_JOIN = 'echo $$ > "$0/${PMI_RANK:-$OMPI_COMM_WORLD_RANK}/cgroup.procs" && exec "$@"'
_FORMATS = {"text": "edges.txt", "Parquet": "edges.parquet"}


def main():
    options = _options()
    if options.child:
        _run(Path(options.child))
        return
    launcher = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if launcher is None:
        print('no times: there is no MPI launcher; pip install "evener[mpi]"')
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="evener-bench-", dir=options.scratch) as scratch:
        folder = Path(scratch)
        _write(folder, options.edges)
        [one] = _on_ranks([], folder / _FORMATS["text"], {})
        limit = options.limit or one["graph_bytes"] // options.times
        print(f"one process: graph {_mib(one['graph_bytes'])}, peak {_mib(one['peak_bytes'])}")
        for name, file in _FORMATS.items():
            with _limited(options.ranks, limit) as (cgroup, environment):
                command = [launcher, "-n", str(options.ranks)]
                ranks = _on_ranks(command, folder / file, environment, cgroup)
                usage = [_usage(Path(cgroup, str(rank))) for rank in range(options.ranks)] if cgroup else []
            rows.append(_row(name, ranks, usage, one, limit))
    cells = [
        (
            row["format"],
            _mib(row["graph_bytes"]),
            _mib(limit),
            _mib(max(row["peak_bytes"])),
            f"{max(row['over_share']):.1f}",
            f"{row['seconds']:.0f} s",
        )
        for row in rows
    ]
    columns = [
        "",
        "graph in one process",
        "limit of a rank",
        "peak, with shared libraries",
        "over its share",
        "read, place",
    ]
    harness.show(f"PageRank on {options.ranks} ranks with limited memory: times and bytes", columns, cells)
    if not cgroup and max(max(row["peak_bytes"]) for row in rows) > limit:
        msg = f"expected at most {_mib(limit)} of resident memory of a rank, found more"
        raise AssertionError(msg)
    if not options.no_record:
        harness.record(
            "memory_limit", question=__doc__.splitlines()[0], rows=rows, edges=options.edges,
            one_process=one, limited_by="cgroup" if cgroup else "EVENER_MEMORY",
        )  # fmt: skip


def _row(name, ranks, usage, one, limit):
    return {
        "format": name,
        "graph_bytes": one["graph_bytes"],
        "limit_bytes": limit,
        "seconds": max(rank["seconds"] for rank in ranks),
        "peak_bytes": [rank["peak_bytes"] for rank in ranks],
        "bytes_before_reading": [rank["before_bytes"] for rank in ranks],
        "share_bytes": [rank["share_bytes"] for rank in ranks],
        "over_share": [
            (rank["placing_peak_bytes"] - rank["before_bytes"]) / rank["share_bytes"] for rank in ranks
        ],
        "cgroup_peak_bytes": usage,
        "largest_relative_difference": max(rank["apart"] for rank in ranks),
    }


def _mib(nbytes):
    return f"{nbytes / 2**20:,.0f} MiB"


def _write(folder, edges):
    """Write a text file and a Parquet file with the same edges."""
    rng = np.random.default_rng(9)
    vertices = max(2, edges // _EDGES_PER_VERTEX)
    schema = pa.schema([("src", pa.uint32()), ("dst", pa.uint32())])
    lines = csv.WriteOptions(include_header=False, delimiter="\t")
    with (
        (folder / _FORMATS["text"]).open("wb") as text,
        parquet.ParquetWriter(str(folder / _FORMATS["Parquet"]), schema) as rows,
    ):
        for start in range(0, edges, _PIECE):
            # Powers make hubs of the low numbers.
            ends = (rng.random((2, min(_PIECE, edges - start))) ** 3 * vertices).astype(np.uint32)
            table = pa.table(list(ends), schema=schema)
            csv.write_csv(table, text, lines)
            rows.write_table(table)


@contextmanager
def _limited(ranks, limit):
    """Yield the folder of a cgroup for each rank, None without cgroups, and the environment of the ranks."""
    second = (_CGROUPS / "cgroup.controllers").exists()
    parent = _CGROUPS / ("" if second else "memory") / f"evener-{os.getpid()}"
    try:
        parent.mkdir()
        if second:
            (parent / "cgroup.subtree_control").write_text("+memory")
        for rank in range(ranks):
            (parent / str(rank)).mkdir()
            name = "memory.max" if second else "memory.limit_in_bytes"
            (parent / str(rank) / name).write_text(str(limit))
    except OSError as error:
        _remove(parent)
        print(f"EVENER_MEMORY limits the ranks, because cgroups cannot: {error}")
        yield None, {"EVENER_MEMORY": str(limit)}
        return
    try:
        yield str(parent), {}
    finally:
        _remove(parent)


def _remove(parent):
    for group in [*parent.glob("[0-9]*"), parent]:
        with suppress(OSError):
            group.rmdir()


def _usage(group):
    """Return the largest use of a cgroup, which includes cached pages of the file."""
    for name in ("memory.peak", "memory.max_usage_in_bytes"):
        if (group / name).exists():
            return int((group / name).read_text())
    return None


def _on_ranks(launcher, path, environment, cgroup=None):
    """Return what each rank reports."""
    join = [] if cgroup is None else ["sh", "-c", _JOIN, cgroup]
    done = subprocess.run(
        [*launcher, *join, sys.executable, __file__, "--child", str(path)],
        env={**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def _run(path):
    """Read and place a graph on this rank, run PageRank, and let rank 0 print the report as JSON."""
    import evener as ev
    from evener.system.world import current_world

    world = current_world()
    with tempfile.TemporaryDirectory() as own:
        small = Path(world.allgather(own)[0], path.name)
        if world.rank == 0:
            ev.write(ev.read("rmat:8"), small)
        world.barrier()
        ev.pagerank(ev.partition(small, "cpu:1", directed=False))
        world.barrier()
    world.barrier()
    before = harness.process_bytes("VmRSS")
    start = time.perf_counter()
    pg = ev.partition(path, "cpu:1", directed=False)
    world.barrier()
    seconds, placed = time.perf_counter() - start, harness.process_bytes("VmHWM")
    ranks = ev.pagerank(pg, tol=0, max_iter=_ITERATIONS)["rank"]
    file = path.with_name("ranks.npy")
    if world.size == 1:
        np.save(file, ranks)
    block = pg.block
    expected = np.load(file, mmap_mode="r")[block.start : block.stop]
    apart = float(np.max(np.abs(ranks - expected) / expected, initial=0))
    if len(ranks) != len(expected) or apart > _APART:
        msg = f"expected the ranks of one process, found a relative difference of {apart:.1e}"
        raise AssertionError(msg)
    report = {
        "seconds": seconds,
        "before_bytes": before,
        "placing_peak_bytes": placed,
        "peak_bytes": harness.process_bytes("VmHWM"),
        "share_bytes": sum(p.nbytes for p in pg.partitions),
        "graph_bytes": pg.graph.nbytes,
        "apart": apart,
    }
    reports = world.allgather(report)
    if world.rank == 0:
        print(json.dumps(reports))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=280_000_000)
    parser.add_argument("--ranks", type=int, default=24)
    parser.add_argument("--times", type=int, default=4, help="the graph over the limit of a rank")
    parser.add_argument("--limit", type=int, default=None, help="bytes of a rank, instead of --times")
    parser.add_argument("--scratch", default=None, help="folder for the files")
    parser.add_argument("--child", default=None, help="run as a rank on this file")
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
