"""Question: how fast is a text edge list read and built.

The file has one edge a line: two integers with a tab between them, uncompressed, in the page cache. Rivals:
pyarrow's CSV reader, which stops at two columns; NetworKit's edge list reader; and GAP's `.el` reader (with
--gap), by the times that its converter reports.

    python benchmarks/text_input.py --edges 50_000_000
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

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
            gap = Gap(options.gap, None, None, options.threads)
            runs["GAP"] = lambda _: (sum(gap.converter_seconds("-f", path).values()), None)
        degrees = np.bincount(src, minlength=int(max(src.max(), dst.max())) + 1)

        def check(name, _round, built):
            if name == "evener":
                _verify(built, degrees, options.edges)

        times = harness.interleaved(runs, rounds=options.rounds, check=check, budget=options.budget)
    rows = harness.rates(times, edges=options.edges, bytes=size)
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


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--rivals", nargs="*", default=[], choices=["networkit"], help="slow: takes minutes")
    parser.add_argument("--scratch", default=None, help="folder for the text file")
    return harness.racing(parser, rounds=3, budget=60.0)


if __name__ == "__main__":
    main()
