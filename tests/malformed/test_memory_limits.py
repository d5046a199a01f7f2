"""Readers refuse content that needs more memory than is available, before they allocate."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

import evener as ev
from evener.graph.formats import edgelist_heading, file
from evener.system import memory

# Bytes available in these tests, and rows of files that need more.
AVAILABLE, ROWS = 1 << 19, 100_000
MATRIX = b"%%MatrixMarket matrix coordinate pattern general\n9 9 100000\n"


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: AVAILABLE)
    monkeypatch.setattr(file, "PART_BYTES", 1 << 17)
    monkeypatch.setattr(edgelist_heading, "_CHECK_BYTES", 1 << 15)


def _refused(path, what):
    with pytest.raises(
        ev.OutOfMemoryError, match=rf"^the {what} .*{re.escape(str(path))}.* needs .* available"
    ):
        ev.read(path)


@pytest.mark.parametrize(
    ("name", "heading", "row"),
    [
        ("numbers.txt", b"", b"1 2\n"),
        ("names.txt", b"", b"a b\n"),
        ("quotes.txt", b"", b'"a" "b"\n'),
        ("listed.txt", b"", b"# Without edges: 1 2 3 4 5 6 7 8 9\n"),
        ("names.csv", b"src,dst\n", b"a,b\n"),
        ("breaks.csv", b"src,dst\n", b'"a\nb",c\n'),
        ("blanks.csv", b"src,dst\n", b'1, "2"\n'),
        ("field.csv", b'src,dst\n"', b"xxxx"),
        ("m.mtx", MATRIX, b"1 2\n"),
        ("m.gr", b"p sp 9 100000\n", b"a 1 2 3\n"),
        ("m.graph", b"9 9\n", b"\n\n\n\n"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_small_compressed_text(name, heading, row, tmp_path):
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(heading + row * ROWS, 1))
    _refused(path, "(next part|edges|content|ids)")


def test_vertex_file(tmp_path):
    (tmp_path / "g.properties").write_text("graph.g.directed = true\n")
    (tmp_path / "g.e").write_text("1 1\n")
    (tmp_path / "g.v.gz").write_bytes(gzip.compress(b"1\n" * ROWS * 2))
    with pytest.raises(ev.OutOfMemoryError, match=r"^the next part of .*g\.v\.gz needs"):
        ev.read(tmp_path / "g.properties")


@pytest.mark.parametrize("kind", ["integers", "one long string"])
def test_tables(kind, tmp_path):
    """Parquet and compressed Arrow store a column of equal values in a few bytes."""
    values = np.zeros(ROWS, np.int32)
    strings = pa.DictionaryArray.from_arrays(values, pa.array(["x" * 1000]))
    column = pa.array(values.astype(np.int64)) if kind == "integers" else strings
    table = pa.table({"src": column, "dst": column})
    parquet.write_table(table, tmp_path / "g.parquet")
    _refused(tmp_path / "g.parquet", "edges")
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(tmp_path / "g.arrow"), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=ROWS // 2)
    _refused(tmp_path / "g.arrow", "(edges|ids)")


def test_a_repeated_long_name_is_stored_once(tmp_path, monkeypatch):
    """The names of all rows would need 10 GB."""
    codes = np.zeros(50_000, np.int32)
    names = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 100_000, "not used"]))
    parquet.write_table(pa.table({"src": names, "dst": names}), tmp_path / "g.parquet")
    monkeypatch.setattr(memory, "available", lambda: 1 << 26)
    graph = ev.read(tmp_path / "g.parquet")
    assert graph.ids.tolist() == ["x" * 100_000]
    assert graph.m == len(codes)


def test_matrix_archive(tmp_path):
    sparse.save_npz(tmp_path / "g.npz", sparse.csr_array((ROWS, ROWS)))
    _refused(tmp_path / "g.npz", "matrix")


def test_a_memory_error_of_arrow_is_not_a_format_error(tmp_path):
    source = file.Source(tmp_path)
    with pytest.raises(ev.OutOfMemoryError, match="needs more memory than"), source.translate_errors():
        raise pa.ArrowMemoryError("malloc of size 1024 failed")
