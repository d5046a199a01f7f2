"""Question: how fast are edges between names read from text, CSV and Parquet, and built.

The names are "u" and seven digits, and the degrees are skewed: the ends of an edge are the vertices
``n * x**3`` in a random order, for a uniform x. Each run is a process of its own, for its peak memory. The
files are in the page cache. Rivals: Polars and DuckDB, which stop at two columns of strings; Polars with
codes as categories; and NetworKit, which gets the numbers of the vertices and only builds the graph.

    python benchmarks/names_input.py --edges 50_000_000
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import harness

_EDGES_A_VERTEX = 12
_PIECE = 1 << 20
_FILES = {
    "text": "edges.tsv",
    "CSV": "edges.csv",
    "Parquet, plain": "plain.parquet",
    "Parquet, dictionaries": "dictionaries.parquet",
}
_READERS = ("evener", "polars", "duckdb")
_CONTENDERS = (*_READERS, "polars codes", "networkit")  # the last two only for the first file
_SCHEMA = pa.schema([("src", pa.string()), ("dst", pa.string())])


def main():
    options = _options()
    if options.child:
        print(json.dumps(_child(options.child, Path(options.scratch), options.files[0], options.threads)))
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="evener-bench-", dir=options.scratch) as folder:
        folder = options.folder or folder
        if not (Path(folder) / "ends.npy").exists():
            _write(Path(folder), options.edges, options.files)
        for file in options.files:
            rows += _race(folder, file, options)
            _show(rows)
            if not options.no_record:
                packages = ("polars", "duckdb", "networkit", "pyarrow")
                versions = {name: version(name) for name in packages if find_spec(name)}
                more = {"edges": options.edges, "threads": options.threads, "rivals": versions}
                harness.record("names_input", question=__doc__.splitlines()[0], rows=rows, **more)


def _race(folder, file, options):
    """Return the rows of the contenders for a file; they run in turns."""
    of_file = options.contenders if file == options.files[0] else _READERS
    runs = {name: [] for name in options.contenders if name in of_file}
    for _ in range(options.rounds):
        for name, taken in runs.items():
            if sum(one["seconds"] for one in taken) > options.budget:
                continue
            command = [sys.executable, __file__, "--child", name, "--scratch", folder, "--files", file]
            environment = os.environ | dict.fromkeys(
                ("POLARS_MAX_THREADS", "OMP_NUM_THREADS"), str(options.threads)
            )
            command += ["--threads", str(options.threads)]
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            taken.append(json.loads(done.stdout.splitlines()[-1]))
            print(file, name, taken[-1], flush=True)
    return [
        {
            "file": file,
            "file_bytes": (Path(folder) / _FILES[file]).stat().st_size,
            "contender": name,
            **{f"median_{key}": harness.median([one[key] for one in taken]) for key in taken[0]},
            "runs": taken,
        }
        for name, taken in runs.items()
    ]


def _show(rows):
    cells = [
        (
            row["file"],
            row["contender"],
            harness.duration(row["median_seconds"]),
            harness.duration(row["median_cpu_seconds"]),
            f"{row['median_peak_bytes'] / 1e9:.2f} GB",
        )
        for row in rows
    ]
    harness.show("Edges between names", ["file", "", "median", "CPU time", "peak memory"], cells)


def _child(name, folder, file, threads):
    """Return seconds, CPU seconds and peak memory of one run."""
    path = folder / _FILES[file]
    read = {
        "evener": _evener, "polars": _polars, "duckdb": _duckdb, "polars codes": _codes,
        "networkit": _networkit,
    }[name](folder, path, threads)  # fmt: skip
    begin, cpu = time.perf_counter(), time.process_time()
    answer = read()
    taken = {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": harness.process_bytes("VmHWM"),
    }
    expected = np.load(folder / "degrees.npy")
    if name == "evener":
        if not np.array_equal(answer.ids, np.load(folder / "names.npy")):
            raise AssertionError("the names differ from the written names")
        found = np.stack([answer.out_degree(), np.bincount(answer.targets, minlength=answer.n)])
        if not np.array_equal(found, expected):
            raise AssertionError("the degrees differ from the written degrees")
    elif (rows := _rows(name, answer)) != expected[0].sum():
        raise AssertionError(f"expected {expected[0].sum()} edges, found {rows}")
    return taken


def _rows(name, answer):
    if name == "networkit":
        return answer.numberOfEdges()
    return answer.execute("select count(*) from edges").fetchone()[0] if name == "duckdb" else answer.height


def _evener(folder, path, _threads):
    import evener as ev

    ev.read(folder / f"small{path.suffix}")  # loads the kernels
    return lambda: ev.read(path)


def _polars(_folder, path, _threads):
    import polars as pl

    if path.suffix == ".parquet":
        return lambda: pl.read_parquet(path)
    layout = {"separator": "\t", "has_header": False} if path.suffix == ".tsv" else {}
    return lambda: pl.read_csv(path, new_columns=["src", "dst"], **layout)


def _codes(folder, path, threads):
    import polars as pl

    read = _polars(folder, path, threads)
    return lambda: read().select(pl.all().cast(pl.Categorical).to_physical())


def _duckdb(_folder, path, threads):
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    layout = "delim='\t', header=false" if path.suffix == ".tsv" else "delim=',', header=true"
    columns = "columns={'src': 'VARCHAR', 'dst': 'VARCHAR'}"
    parsed = f"read_csv('{path}', {layout}, {columns})"
    table = f"read_parquet('{path}')" if path.suffix == ".parquet" else parsed
    return lambda: connection.execute(f"create table edges as select * from {table}")


def _networkit(folder, _path, threads):
    import networkit

    networkit.setNumberOfThreads(threads)
    src, dst = np.load(folder / "ends.npy").astype(np.uint64)
    ones, n = np.ones(len(src)), len(np.load(folder / "names.npy"))
    return lambda: networkit.GraphFromCoo((ones, (src, dst)), n=n, directed=True)


def _write(folder, edges, files):
    """Write the files, and the names, degrees and ends of all edges in the order of names."""
    rng = np.random.default_rng(9)
    vertices = max(2, edges // _EDGES_A_VERTEX)
    vertices = min(vertices, 9_000_000)
    names = pa.array(
        np.char.add("u", (rng.permutation(9_000_000)[:vertices] + 1_000_000).astype(str)).tolist()
    )
    ends = np.empty((2, edges), np.uint32)
    for start in range(0, edges, _PIECE):
        piece = ends[:, start : start + _PIECE]
        piece[:] = vertices * rng.random(piece.shape) ** 3
    sinks = _sinks(folder, files)
    for start in range(0, edges, _PIECE):
        table = pa.table([names.take(pa.array(end[start : start + _PIECE])) for end in ends], _SCHEMA)
        for sink in sinks:
            sink.write(table)
    for sink in sinks:
        sink.close()
    for sink in _sinks(folder, files, "small"):
        sink.write(table.slice(0, 1000))
        sink.close()
    used = np.bincount(ends.ravel(), minlength=vertices) > 0
    listed = np.array(names.to_pylist())
    order = np.argsort(listed)
    order = order[used[order]]
    number = np.empty(vertices, np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    np.save(folder / "names.npy", listed[order])
    np.save(folder / "degrees.npy", np.stack([np.bincount(end, minlength=vertices)[order] for end in ends]))
    np.save(folder / "ends.npy", number[ends])


def _sinks(folder, files, name=None):
    """Return open writers of the files; with a name, one for each suffix."""
    paths = [Path(_FILES[file]) for file in files]
    if name is not None:
        paths = [Path(name).with_suffix(suffix) for suffix in sorted({path.suffix for path in paths})]
    return [_sink(folder / path) for path in paths]


def _sink(path):
    if path.suffix == ".parquet":
        coded = path.stem == "dictionaries"
        limit = {"dictionary_pagesize_limit": 1 << 28} if coded else {}
        return parquet.ParquetWriter(path, _SCHEMA, use_dictionary=coded, **limit)
    layout = {"include_header": False, "delimiter": "\t"} if path.suffix == ".tsv" else {}
    return csv.CSVWriter(path, _SCHEMA, write_options=csv.WriteOptions(quoting_style="none", **layout))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=50_000_000)
    parser.add_argument("--files", nargs="*", default=list(_FILES), choices=list(_FILES))
    parser.add_argument("--contenders", nargs="*", default=list(_CONTENDERS), choices=list(_CONTENDERS))
    parser.add_argument("--scratch", default=None, help="folder for the files")
    parser.add_argument("--folder", default=None, help="folder with the files, or for them; it is kept")
    parser.add_argument("--child", default=None, help=argparse.SUPPRESS)
    return harness.racing(parser, rounds=3, budget=20.0)


if __name__ == "__main__":
    main()
