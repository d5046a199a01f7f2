"""Question: how fast is GIM-V as MapReduce, compared with PySpark on the same cores (S13, figure 13).

The paper compares 3 GPUs on each of 128 nodes with PEGASUS on Hadoop: 186.6 times, for SCALE 27.

Here: PageRank by the same three operators on `--cores` cores. PySpark replaces Hadoop. It keeps edges and
vector in memory (`benchmarks/pyspark_gimv.py`), but PEGASUS writes them to disk. The fused engine runs the
same operators.

    python benchmarks/figures/s13_fig13.py --scales 18 20 --spark path/to/environment/bin/python
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import search_path  # noqa: F401 - first: it makes the folder above importable
from pagerank_stages import million_edges, operators, timed
from pyarrow import parquet

import evener as ev
import harness

PAPER = 186.6
_PROGRAM = Path(__file__).resolve().parent.parent / "pyspark_gimv.py"


def main():
    options = _options()
    rows = []
    for scale in options.scales:
        graph = ev.read(f"rmat:{scale}")
        placed = ev.partition(graph, f"cpu:{options.cores}", directions="both")
        row = {"scale": scale, **timed(placed, rounds=options.rounds, iterations=options.iterations)}
        if options.spark:
            row |= _spark(placed, options)
            row["over_spark"] = row["spark_seconds"] / row["median_seconds"]
            row["fused_over_spark"] = row["spark_seconds"] / row["fused_seconds"]
        rows.append(row)
        del placed, graph
    heads = ["SCALE", "PySpark ME/s", "MapReduce ME/s", "times", "fused ME/s", "times", "the paper"]
    cells = [
        (
            row["scale"],
            f"{million_edges(row.get('spark_seconds', 0), row['edges']):,.2f}",
            f"{million_edges(row['median_seconds'], row['edges']):,.1f}",
            f"{row.get('over_spark', 0):.1f}",
            f"{million_edges(row['fused_seconds'], row['edges']):,.1f}",
            f"{row.get('fused_over_spark', 0):.1f}",
            PAPER,
        )
        for row in rows
    ]
    harness.show(f"One iteration of PageRank on {options.cores} cores", heads, cells)
    if not options.no_record:
        harness.record(
            "s13_fig13", question=__doc__.splitlines()[0], rows=rows, paper=PAPER, folder="figures"
        )


def _spark(placed, options):
    """Return the median seconds of an iteration in PySpark, after checking its last vector."""
    graph = placed.graph
    with tempfile.TemporaryDirectory(prefix="evener-bench-") as folder:
        edges, ranks = Path(folder, "edges.parquet"), Path(folder, "ranks.parquet")
        sources = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.offsets.astype(np.int64)))
        table = pa.table({"source": sources, "target": graph.targets.astype(np.int32)})
        parquet.write_table(table, edges)
        words = [edges, graph.n, options.spark_iterations, options.cores, ranks]
        done = subprocess.run(
            [options.spark, str(_PROGRAM), *map(str, words)], capture_output=True, check=True, text=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        vector = parquet.read_table(ranks).to_pandas().set_index("vertex").value.sort_index()
    expected = ev.gimv(placed, **operators(graph, options.spark_iterations))["value"]
    np.testing.assert_allclose(vector.to_numpy(), expected, rtol=1e-4)
    seconds = found["seconds"][1:]  # the first iteration warms the virtual machine up
    return {"spark_seconds": harness.median(seconds), "spark_runs": seconds, "spark": found["version"]}


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", type=int, nargs="+", default=[18, 20])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spark", help="the python of an environment with pyspark; without it, left out")
    parser.add_argument("--spark-iterations", type=int, default=6)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
