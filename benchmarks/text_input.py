"""Question: how fast is a text edge list read and built.

The file has one edge a line: two integers with a tab between them, uncompressed, in the page cache. Rivals:
pyarrow's CSV reader, which stops at two columns; NetworKit's edge list reader; and GAP's `.el` reader (with
--gap), by the times that its converter reports.

    python benchmarks/text_input.py --edges 50_000_000
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
from pyarrow import csv

import evener as ev
import harness
from gap import Gap

# Edges a vertex, as in SNAP's large graphs.
_EDGES_A_VERTEX = 25


def main():
    options = _options()
    with tempfile.TemporaryDirectory(prefix="evener-bench-", dir=options.scratch) as folder:
        path = Path(folder) / "edges.el"
        src, dst = _write(path, options.edges)
        size = path.stat().st_size
        print(f"{options.edges:,} edges, {size / 1e6:.0f} MB of text")
        runs = {
            "evener": harness.clocked(lambda _: ev.read(path)),
            "pyarrow, columns only": harness.clocked(lambda _: _columns(path)),
        }
        if "networkit" in options.rivals:
            runs["NetworKit"] = harness.clocked(_networkit(path, options.threads))
        if options.gap:
            runs["GAP"] = _gap(path, options)
        degrees = np.bincount(src, minlength=int(max(src.max(), dst.max())) + 1)

        def check(name, _round, built):
            if name == "evener":
                _verify(built, degrees, options.edges)

        times = harness.interleaved(runs, rounds=options.rounds, check=check, budget=options.budget)
    rows = [
        {
            "contender": name,
            "median_seconds": harness.median(taken),
            "edges_per_second": options.edges / harness.median(taken),
            "bytes_per_second": size / harness.median(taken),
            "seconds": taken,
        }
        for name, taken in times.items()
    ]
    cells = [
        (
            row["contender"],
            harness.duration(row["median_seconds"]),
            f"{row['edges_per_second'] / 1e6:.1f} M",
            f"{row['bytes_per_second'] / 1e6:.0f} MB",
        )
        for row in rows
    ]
    harness.show("Text edge list, read and built", ["", "median", "edges/s", "bytes/s"], cells)
    if not options.no_record:
        harness.record("text_input", question=__doc__.splitlines()[0], rows=rows, edges=options.edges)


def _write(path, edges):
    rng = np.random.default_rng(9)
    src, dst = rng.integers(0, max(2, edges // _EDGES_A_VERTEX), (2, edges))
    options = csv.WriteOptions(include_header=False, delimiter="\t")
    csv.write_csv(pa.table({"src": src, "dst": dst}), path, options)
    return src, dst


def _verify(graph, degrees, edges):
    """Compare the out-degrees of all vertices with the written edges."""
    found = np.zeros(len(degrees), dtype=np.int64)
    found[graph.ids] = graph.out_degree()
    if graph.m != edges or not np.array_equal(found, degrees):
        msg = "the graph read from the file differs from the written graph"
        raise AssertionError(msg)


def _columns(path):
    layout = csv.ReadOptions(column_names=["src", "dst"])
    return csv.read_csv(path, layout, csv.ParseOptions(delimiter="\t"))


def _networkit(path, threads):
    import networkit

    networkit.setNumberOfThreads(threads)
    return lambda _: networkit.graphio.EdgeListReader("\t", 0, directed=True).read(str(path))


def _gap(path, options):
    gap = Gap(options.gap, None, None, options.threads)

    def run(_):
        said = gap.run("converter", "-f", path, "-b", os.devnull)
        return sum(
            float(t) for t in re.findall(r"^(?:Read|Build) Time:\s+([\d.]+)", said, re.MULTILINE)
        ), None

    return run


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--rivals", nargs="*", default=[], choices=["networkit"], help="slow: takes minutes")
    parser.add_argument("--gap", default=os.environ.get("GAP_DIR"), help="folder of GAP's binaries")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=60.0, help="most seconds for one contender")
    parser.add_argument("--threads", type=int, default=numba.get_num_threads())
    parser.add_argument("--scratch", default=None, help="folder for the text file")
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
