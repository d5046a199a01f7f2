"""Well-formed files with unusual content: tables of any type, arrays of any shape, lines of any fields."""

from __future__ import annotations

import io
import json
import struct
import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from folders import CHECKPOINTS, PLACED
from mutation import mutated
from pyarrow import feather, parquet

from evener.engine.checkpoints.folder import CheckpointFolder

if TYPE_CHECKING:
    import random

__all__ = ["SUMMED", "structured"]

_TABLES = (".arrow", ".feather", ".ipc", ".parquet", ".pq")
_LINES = (".txt", ".tsv", ".edges", ".edgelist", ".el", ".wel", ".csv")
_NUMBERS = (0, 1, 2, 3, 5, -1, 7, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 53, (1 << 63) - 1)


def structured(suffix: str, rng: random.Random) -> bytes | None:
    """Return the content of a file, or None for a format without a generator."""
    if suffix in _TABLES:
        try:
            return _table_file(suffix, rng)
        except pa.ArrowException:  # the format cannot store these types
            return None
    if suffix in _LINES:
        return _lines(rng)
    if suffix == ".npz":
        return _archive(rng)
    if suffix in (".sg", ".wsg"):
        return _gap(rng)
    return None


def _column(count: int, rng: random.Random) -> Any:
    kind = rng.choice(
        (pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64(), pa.float16(), pa.float32(),
         pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.binary(), pa.date32(),
         pa.timestamp("ns"), pa.decimal128(25, 2), pa.list_(pa.int64()),
         pa.dictionary(pa.int32(), pa.string()), pa.null(), pa.string_view())
    )  # fmt: skip
    values: list[Any] = [rng.randrange(5) for _ in range(count)]
    if kind == pa.null() or (values and rng.random() < 0.15):
        values[: 1 + count // 2] = [None] * min(count, 1 + count // 2)
    if kind == pa.null():
        return pa.nulls(count)
    if pa.types.is_list(kind):
        return pa.array([None if v is None else [v] for v in values], kind)
    if pa.types.is_dictionary(kind):
        return pa.array([None if v is None else f"n{v}" for v in values]).dictionary_encode()
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.array(
            [None if v is None else rng.choice(("ann", "", "7", "é", "x\ny"))[: v + 1] for v in values], kind
        )
    if kind == pa.binary():
        return pa.array([None if v is None else b"\xff\x00"[:v] for v in values], kind)
    if kind == pa.float16():
        return pa.array(np.array([v or 0 for v in values], np.float16))
    if pa.types.is_floating(kind):
        special = (float("nan"), float("inf"), -1.0, 0.5, 1e300)
        return pa.array([rng.choice(special) if v == 1 else v for v in values], pa.float64()).cast(kind)
    if kind == pa.int64():
        return pa.array([rng.choice(_NUMBERS) if v == 1 else v for v in values], kind)
    return pa.array(values, pa.int64()).cast(pa.int32() if kind == pa.date32() else kind).cast(kind)


def _table_file(suffix: str, rng: random.Random) -> bytes:
    count = rng.choice((0, 1, 3, 10))
    names = rng.choice(
        (
            ["src", "dst"],
            ["src", "dst", "weight"],
            ["a", "b", "c"],
            ["src", "src", "dst"],
            ["from", "to", "id"],
        )
    )
    plain = rng.random() < 0.3
    column = _column(count, rng)
    table = pa.table([column if plain else _column(count, rng) for _ in names], names=names)
    if rng.random() < 0.2:
        words = {
            "n": rng.choice((0, 2, 5, -1, 1 << 40, "x", None)),
            "directed": rng.choice((True, False, 1, "no")),
        }
        table = table.replace_schema_metadata({"evener": json.dumps(words)})
    sink = io.BytesIO()
    if suffix in (".parquet", ".pq"):
        parquet.write_table(table, sink, row_group_size=rng.choice((1, 5, 100)))
    elif rng.random() < 0.5:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        feather.write_feather(table, sink, compression=rng.choice(("zstd", "lz4", "uncompressed")))
    return sink.getvalue()


def _lines(rng: random.Random) -> bytes:
    separator = rng.choice((" ", "\t", ",", ", ", ";", "  "))
    words = rng.choice((
        ("0", "1", "2", "3"), ("ann", "bob", "c"), ("1", "2", "ann"), ('"a b"', "c", "'d'"),
        ("01", "1.0", "+1"), ("18446744073709551615", "0", "9223372036854775808"),
        ("1", "nan", "inf", "-0.5", "1e400"), ("1", "", "2"),
    ))  # fmt: skip
    width = rng.choice((1, 2, 2, 2, 3, 3, 4))
    heading = rng.choice(
        ("", "", "# Nodes: 4 Edges: 3\n", "# Ids: strings\n", "% a\n", "src,dst,weight\n", "\n\n")
    )
    end = rng.choice(("\n", "\n", "\r\n", "\r"))
    lines = [
        separator.join(rng.choice(words) for _ in range(width)) for _ in range(rng.choice((0, 1, 3, 20)))
    ]
    return (heading + end.join(lines) + rng.choice(("", end))).encode()


def _archive(rng: random.Random) -> bytes:
    def array() -> Any:
        dtype = rng.choice(("i4", "i8", "u4", "u8", "f4", "f8", "f2", "i1", "?", "S3", "U2", "c8"))
        shape = rng.choice(((0,), (1,), (3,), (4,), (2, 2), ()))
        return np.full(shape, rng.choice((0, 1, 2)), dtype)

    parts = {
        "format": np.array(rng.choice((b"csr", b"csc", b"coo", b"bsr", "csr", 7))),
        "shape": rng.choice((np.array([3, 3]), np.array([4, 4]), np.array([-1, 3]), np.array([3]), array())),
        "indptr": rng.choice(
            (np.array([0, 1, 2, 2]), np.array([0, 2, 1, 2]), np.array([0, 0, 0, 1 << 40]), array())
        ),
        "indices": rng.choice((np.array([1, 2]), np.array([1, 3]), np.array([-1, 0], "i4"), array())),
        "data": rng.choice((np.ones(2), np.array([1, -1]), np.array([np.nan, 1]), array())),
        "row": np.array([0, 1]), "col": np.array([1, 2]),
    }  # fmt: skip
    if rng.random() < 0.2:
        del parts[rng.choice(list(parts))]
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", rng.choice(methods)) as archive:
        for name, part in parts.items():
            content = io.BytesIO()
            np.save(content, part)
            archive.writestr(f"{name}.npy", content.getvalue())
    whole = sink.getvalue()
    return mutated(whole, whole, rng) if rng.random() < 0.7 else whole


def _gap(rng: random.Random) -> bytes:
    n, m = rng.choice((0, 1, 3, 1 << 40, -1)), rng.choice((0, 1, 3, 1 << 40, -1))
    offsets = [rng.choice((0, 1, 2, 3, -1, 1 << 62)) for _ in range(rng.choice((1, 4)))]
    ends = [rng.choice((0, 1, 2, 3, -1)) for _ in range(rng.choice((0, 3, 6)))]
    return struct.pack(f"<?qq{len(offsets)}q{len(ends)}i", rng.random() < 0.5, m, n, *offsets, *ends)


def _summed_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a folder of arrays with the right checksums, if the manifest can be changed."""
    try:
        manifest = json.loads(files["/evener.json"])
        for name, entry in manifest["arrays"].items():
            content = files[f"/{name}.npy"]
            body = content[10 + int.from_bytes(content[8:10], "little") :]
            entry["crc32"] = [f"{zlib.crc32(body):08x}"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return files
    return {**files, "/evener.json": json.dumps(manifest).encode()}


def _summed_checkpoint(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a checkpoint with the right checksums, if the manifest can be changed."""
    name = next(name for name in files if name.endswith(".json"))
    text = files[name].rpartition(b"\n")[0]
    with tempfile.TemporaryDirectory() as folder, suppress(ValueError, KeyError, TypeError, IndexError):
        manifest = json.loads(text)
        for shard in manifest["shards"]:
            for at in (0, 2):
                content = np.frombuffer(files[f"/{shard[at]}"], np.uint8)
                shard[at + 1] = CheckpointFolder(Path(folder)).write("one", [content])
        text = json.dumps(manifest).encode()
    return {**files, name: text + f"\n{zlib.crc32(text):08x}".encode()}


SUMMED = {".evg": _summed_folder, PLACED: _summed_folder, CHECKPOINTS: _summed_checkpoint}
