"""Damaged archives and compressed files: a read gives the graph, or a FormatError that names the file."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import evener as ev
from evener.results.table import read_table
from fuzz.mutation import mutated

METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}
TAILS, HEADS = [0, 1, 2, 2, 3], [1, 2, 0, 3, 1]
TEXT = b"".join(b"%d %d\n" % edge for edge in zip(TAILS, HEADS, strict=True))


def array(values):
    file = io.BytesIO()
    np.save(file, np.array(values))
    return file.getvalue()


ARRAYS = {
    "format": array(b"coo"), "shape": array([4, 4]), "row": array(TAILS), "col": array(HEADS),
    "data": array([True] * 5),
}  # fmt: skip


def npz(method=zipfile.ZIP_STORED, arrays=ARRAYS):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def table(write, **options):
    file = io.BytesIO()
    write(pa.table({"src": TAILS, "dst": HEADS}), file, **options)
    return file.getvalue()


ARCHIVES = {
    **{f"{name}.npz": npz(method) for name, method in METHODS.items()},
    "g.txt.gz": gzip.compress(TEXT),
    "g.txt.bz2": bz2.compress(TEXT),
    "g.txt.zst": bytes(pa.compress(TEXT, codec="zstd", asbytes=True)),
    **{
        f"{name}.parquet": table(parquet.write_table, compression=name)
        for name in ("snappy", "gzip", "brotli", "zstd", "lz4", "none")
    },
    **{f"{name}.arrow": table(feather.write_feather, compression=name) for name in ("zstd", "lz4")},
}
# Files with a checksum of their content.
CHECKED = (".npz", ".gz", ".bz2")
MUTATIONS = 100


def edges(graph):
    return list(zip(*(ends.tolist() for ends in graph.edges()[:2]), strict=True))


def read(path, content):
    """Return the graph of a file, or its FormatError."""
    path.write_bytes(content)
    try:
        return ev.read(path)
    except ev.FormatError as error:
        return error


@pytest.mark.parametrize("name", ARCHIVES)
def test_mutations(tmp_path, name):
    path, content = tmp_path / name, ARCHIVES[name]
    assert edges(read(path, content)) == sorted(zip(TAILS, HEADS, strict=True))
    rng = random.Random(name)
    for _ in range(MUTATIONS // 4 if name.startswith("g.txt") else MUTATIONS):  # text is slower to read
        found = read(path, mutated(content, content, rng))
        if isinstance(found, ev.FormatError):
            assert found.path == str(path)
        elif path.suffix in CHECKED:
            assert edges(found) == sorted(zip(TAILS, HEADS, strict=True))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_tables_of_results(tmp_path, suffix):
    """A damaged table of results is a FormatError too."""
    path = tmp_path / f"r{suffix}"
    ev.bfs("grid:3x3", source=0, on="cpu:1").write(path)
    content, rng = path.read_bytes(), random.Random(suffix)
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(content, content, rng))
        try:
            read_table(path)
        except ev.FormatError as error:
            found = error
        else:
            continue
        assert found.path == str(path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_truncations(tmp_path, name):
    """No file is complete without its end."""
    path, content = tmp_path / name, ARCHIVES[name]
    for length in [*range(0, len(content), max(1, len(content) // 10)), len(content) - 1]:
        assert isinstance(read(path, content[:length]), ev.FormatError), length


def put(content, at, form, value):
    """Return the content with a number at a place."""
    changed = bytearray(content)
    struct.pack_into(form, changed, at, value)
    return bytes(changed)


def end_record(content, field, form, value):
    return put(content, content.rindex(b"PK\5\6") + field, form, value)


def entry(content, field, form, value):
    """Return an archive with another number in the first entry of its directory."""
    return put(content, content.index(b"PK\1\2") + field, form, value)


def both(content, field, form, value):
    """Return an archive with another number in the first local header and in the directory."""
    return put(entry(content, field + 2, form, value), field, form, value)


DATA = 30 + len("format.npy")  # the first byte of the first array
FIELDS = {
    "directory after its place": lambda c: end_record(c, 16, "<I", c.index(b"PK\1\2") + 500),
    "directory before the file": lambda c: end_record(c, 16, "<I", 0xFFFFFFF0),
    "directory too long": lambda c: end_record(c, 12, "<I", 1 << 20),
    "directory of no bytes": lambda c: end_record(c, 12, "<I", 0),
    "other number of entries": lambda c: end_record(c, 10, "<H", 500)[:-1],
    "checksum": lambda c: both(c, 14, "<I", 12345),
    "size": lambda c: both(c, 22, "<I", 5),
    "size of 4 GiB": lambda c: both(c, 22, "<I", 0xFFFFFFF0),
    "compressed size": lambda c: both(c, 18, "<I", 3),
    "compressed size of 4 GiB": lambda c: both(c, 18, "<I", 0xFFFFFFF0),
    "encrypted": lambda c: both(c, 6, "<H", 1),
    "strongly encrypted": lambda c: both(c, 6, "<H", 0x41),
    "patched": lambda c: both(c, 6, "<H", 0x20),
    "method": lambda c: both(c, 8, "<H", 97),
    "version": lambda c: both(c, 4, "<H", 9999),
    "place of the array": lambda c: entry(c, 42, "<I", 1 << 30),
    "place of another array": lambda c: entry(c, 42, "<I", 40),
    "name": lambda c: put(c, 30, "B", 0xFF),
    "both names": lambda c: put(entry(c, 46, "B", 0xFF), 30, "B", 0xFF),
    "length of the name": lambda c: both(c, 26, "<H", 60000),
    "extra field": lambda c: entry(c, 30, "<H", 9),
    "data": lambda c: c[:DATA] + b"\0" * 8 + c[DATA + 8 :],
    "data of ones": lambda c: c[:DATA] + b"\xff" * 8 + c[DATA + 8 :],
    "no data": lambda c: c[: c.index(b"PK\1\2") // 2] + c[c.index(b"PK\1\2") :],
    "two halves": lambda c: c[len(c) // 2 :] + c[: len(c) // 2],
    "no archive": lambda _: b"PK\5\6" + bytes(18),
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("method", METHODS)
def test_fields_of_archives(tmp_path, method, field):
    found = read(tmp_path / "m.npz", FIELDS[field](npz(METHODS[method])))
    if field in ("patched", "version", "extra field", "compressed size of 4 GiB") and isinstance(
        found, ev.Graph
    ):
        assert edges(found) == sorted(zip(TAILS, HEADS, strict=True))
        return
    assert isinstance(found, ev.FormatError)
    assert "sav" in str(found) or "download it again" in str(found) or "expected" in str(found)


def without(name):
    return {key: content for key, content in ARRAYS.items() if key != name}


CONTENTS = {
    "an archive in an archive": {**ARRAYS, "data": npz()},
    "no text in format": {**ARRAYS, "format": array(7)},
    "a date in format": {**ARRAYS, "format": array(np.datetime64("2026-01-01"))},
    "bytes in format": {**ARRAYS, "format": array(b"\xff\xfe\xfd")},
    "no character in format": {**ARRAYS, "format": array("coo").replace(b"c\0\0\0", b"\xff\xff\xff\x7f")},
    "empty format": {**ARRAYS, "format": array(b"coo").replace(b"|S3", b"|S0")},
    "a structure": {**ARRAYS, "row": array(np.zeros(5, "i4,i4"))},
    "a number of vertices of 2^63": {**ARRAYS, "shape": array(np.array([1 << 63, 1 << 63], np.uint64))},
    "a number of vertices of 2^40": {**ARRAYS, "shape": array([1 << 40, 1 << 40])},
    "real shape": {**ARRAYS, "shape": array([4.0, 4.0])},
    "negative tails": {**ARRAYS, "row": array([-1, 0, 0, 0, 0])},
    "tails of 2^64 - 1": {**ARRAYS, "row": array(np.array([2**64 - 1] * 5, np.uint64))},
    "NaN": {**ARRAYS, "data": array([np.nan] * 5)},
    "another member": {**ARRAYS, "../../x": b"x"},
    "a folder": {**ARRAYS, "d/": b""},
    **{f"no {name}": without(name) for name in ARRAYS},
}


@pytest.mark.parametrize("name", CONTENTS)
def test_contents_of_archives(tmp_path, name):
    assert isinstance(read(tmp_path / "m.npz", npz(arrays=CONTENTS[name])), ev.FormatError)


def test_an_array_twice(tmp_path):
    """Libraries do not agree which of two members of one name counts."""
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        for name, content in ARRAYS.items():
            archive.writestr(f"{name}.npy", content)
        archive.writestr("data", ARRAYS["data"])
    assert isinstance(read(tmp_path / "m.npz", (tmp_path / "m.npz").read_bytes()), ev.FormatError)


@pytest.mark.parametrize("method", METHODS)
def test_a_bomb_is_refused_by_its_size(tmp_path, method):
    """The sizes of arrays are compared with the memory before an array is read."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|b1", "fortran_order": False, "shape": (1 << 40,)}
    )
    content = npz(METHODS[method], {**ARRAYS, "data": header.getvalue() + bytes(1 << 16)})
    assert isinstance(read(tmp_path / "m.npz", content), ev.FormatError)


REST = {"zeros": bytes(64), "text": b"# more\n", "half a file": None}


@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize("name", ["g.txt.gz", "g.txt.bz2", "g.txt.zst"])
def test_rest_after_compressed_data(tmp_path, name, rest):
    """A read gives the edges of the compressed data, or says that the rest is not compressed data."""
    content = ARCHIVES[name]
    found = read(tmp_path / name, content + (REST[rest] or content[: len(content) // 2]))
    if isinstance(found, ev.Graph):
        assert edges(found) == sorted(zip(TAILS, HEADS, strict=True))


@pytest.mark.parametrize("name", ["g.txt.gz", "g.txt.bz2", "g.txt.zst"])
def test_two_compressed_files_one_after_another(tmp_path, name):
    """The compressors themselves concatenate files like this."""
    found = read(tmp_path / name, ARCHIVES[name] * 2)
    assert edges(found) == sorted(2 * [*zip(TAILS, HEADS, strict=True)])
