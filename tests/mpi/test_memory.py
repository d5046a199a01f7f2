"""Ranks that read a graph in parts need memory in proportion to their parts."""

from __future__ import annotations

import tracemalloc
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import evener as ev
from evener.testing.ranks import run_ranks

SMALL = [
    ("partition.block_exchange", "_PER_ROUND", 1 << 16),
    ("partition.upload", "_LEAST_WRITTEN_TO_CPU", 1 << 14),
    ("graph.formats.text_stream", "MIN_CHUNK_BYTES", 1 << 17),
    ("graph.formats.text_stream", "MAX_LINE_BYTES", 1 << 8),
    ("partition.distributed.rows", "_MIN_CHUNK", 1 << 12),
    ("partition.distributed.rows", "_ROUND_BYTES", 1 << 18),
]
EDGES, RANKS = 1_000_000, 4


# With 50,000 vertices, most of the memory is for edges; with 400,000, for owned vertices and mirrors.
@pytest.mark.parametrize(
    ("suffix", "vertices", "directed"),
    [
        (".txt", 50_000, False),
        pytest.param(".parquet", 50_000, False, marks=pytest.mark.slow),
        pytest.param(".parquet", 400_000, False, marks=pytest.mark.slow),
        pytest.param(".parquet", 400_000, True, marks=pytest.mark.slow),
    ],
)
def test_the_peak_is_at_most_three_shares(tmp_path, monkeypatch, suffix, vertices, directed):
    """The arrays of all ranks together never exceed three times their partitions."""
    # Buffers of fixed size are small for a graph of real size.
    for module, name, value in SMALL:
        monkeypatch.setattr(import_module(f"evener.{module}"), name, value)
    rng = np.random.default_rng(9)
    columns = list((rng.random((2, EDGES)) ** 3 * vertices).astype(np.uint32))
    if directed:  # and weighted
        columns.append(rng.random(EDGES, dtype=np.float32) + 1)
    table = pa.table(columns, ["src", "dst", "weight"][: len(columns)])
    file = tmp_path / f"g{suffix}"
    if suffix == ".txt":
        lines = csv.WriteOptions(include_header=False, delimiter="\t")
        csv.write_csv(table, file, lines)
    else:
        parquet.write_table(table, file)  # one row group, which all ranks read a part of
    del table, columns

    def place(_):
        pg = ev.partition(file, "cpu:1", directed=directed)
        return sum(partition.nbytes for partition in pg.partitions)

    run_ranks(RANKS, place)  # imports and compiles
    tracemalloc.start()
    try:
        shares = run_ranks(RANKS, place)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 3 * sum(shares)
