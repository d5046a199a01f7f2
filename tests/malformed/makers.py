"""Makers of bad files: each writes a file to a folder and returns its path. Some functions return a maker."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import struct
import zipfile
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def file(name: str, content: bytes | str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def noise(count: int) -> bytes:
    return np.random.default_rng(7).integers(0, 256, count, dtype=np.uint8).tobytes()


EDGES = "".join(f"{i} {i + 1}\n" for i in range(5000)).encode()


def matrix(content: str) -> Callable[[Path], Path]:
    """Return a maker of a Matrix Market file, given its text after the word "coordinate"."""
    return file("m.mtx", f"%%MatrixMarket matrix coordinate {content}")


def zst(path: Path, content: bytes) -> None:
    import pyarrow as pa

    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(content)


def half(name: str) -> Callable[[Path], Path]:
    """Return a maker of the first half of a compressed edge list."""

    def make(folder: Path) -> Path:
        path = folder / name
        zst(path, EDGES) if name.endswith("zst") else path.write_bytes(
            {"gz": gzip, "bz2": bz2}[name.rpartition(".")[2]].compress(EDGES)
        )
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        return path

    return make


def table(
    name: str, columns: dict[str, Any], *, cut: float = 1.0, metadata: str | None = None
) -> Callable[[Path], Path]:
    """Return a maker of a Parquet or Arrow file."""

    def make(folder: Path) -> Path:
        import pyarrow as pa
        from pyarrow import feather, parquet

        path = folder / name
        table = pa.table(columns)
        if metadata is not None:
            table = table.replace_schema_metadata({"evener": metadata})
        parquet.write_table(table, path) if name.endswith(".parquet") else feather.write_feather(
            table, str(path)
        )
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * cut)])
        return path

    return make


def twice(name: str) -> Callable[[Path], Path]:
    """Return a maker of a table with two columns named dst."""

    def make(folder: Path) -> Path:
        import pyarrow as pa
        from pyarrow import feather, parquet

        path = folder / name
        table = pa.Table.from_arrays([pa.array([1])] * 3, ["src", "dst", "dst"])
        parquet.write_table(table, path) if name.endswith(".parquet") else feather.write_feather(
            table, str(path)
        )
        return path

    return make


def no_utf8(name: str, *, of_column: bool = False) -> Callable[[Path], Path]:
    """Return a maker of a table with an id, or the name of a column, that is not UTF-8."""

    def make(folder: Path) -> Path:
        path = table(name, {"src": ["ann"], "dst": ["bob"], "since": [1]})(folder)
        whole = path.read_bytes()
        path.write_bytes(whole.replace(*((b"since", b"sin\xffe") if of_column else (b"ann", b"a\xffn"))))
        return path

    return make


def sg(n: int, m: int, rows: bytes, *, directed: int = 0) -> Callable[[Path], Path]:
    return file("s.sg", struct.pack("<Bqq", directed, m, n) + rows)


def i(*values: int) -> bytes:
    return np.array(values, "<i4").tobytes()


def q(*values: int) -> bytes:
    return np.array(values, "<i8").tobytes()


def huge_sg(folder: Path) -> Path:
    """Make a sparse file of 800 GB, the right length for its header."""
    path = folder / "huge.sg"
    n, m = 100, 200_000_000_000
    path.write_bytes(struct.pack("<Bqq", 0, m, n))
    os.truncate(path, 17 + 8 * (n + 1) + 4 * m)
    return path


def npz(**arrays: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / "n.npz"
        np.savez(path, **arrays)
        return path

    return make


def csr(
    indptr: list[int], indices: list[int], shape: tuple[int, ...], data: Any = None
) -> Callable[[Path], Path]:
    return npz(
        indptr=np.array(indptr, np.int32),
        indices=np.array(indices, np.int32),
        data=np.ones(len(indices)) if data is None else data,
        shape=np.array(shape),
        format=np.array(b"csr"),
    )


def npz_bomb(folder: Path) -> Path:
    """Make an archive whose array has 80 TB in its header, and no content."""
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (10**13,)})
    path = folder / "bomb.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("indptr.npy", header.getvalue())
    return path


def npz_lzma(folder: Path) -> Path:
    """Make an archive whose first array is compressed by LZMA and damaged."""
    path, array = folder / "lzma.npz", BytesIO()
    np.save(array, np.array(b"csr"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("format.npy", array.getvalue())
    content = bytearray(path.read_bytes())
    begin = zipfile.sizeFileHeader + len("format.npy") + 20
    content[begin : begin + 12] = b"\xff" * 12
    path.write_bytes(content)
    return path


def link_to(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def evg(
    change: Callable[[dict[str, Any]], Any] | None = None,
    *,
    touch: Callable[[Path], Any] | None = None,
    **arrays: Any,
) -> Callable[[Path], Path]:
    """Return a maker of a container of the path 0-1-2 with a changed manifest, files or arrays."""

    def make(folder: Path) -> Path:
        path = folder / "x.evg"
        path.mkdir()
        good = {"offsets": np.array([0, 1, 3, 4], "<u8"), "targets": np.array([1, 0, 2, 1], "<u4")}
        whole = {**good, **arrays}
        for name, array in whole.items():
            np.save(path / f"{name}.npy", array)
        entries = {
            name: {"dtype": a.dtype.str, "length": len(a), "crc32": [f"{zlib.crc32(a.tobytes()):08x}"]}
            for name, a in whole.items()
        }
        manifest = {"format": "evener graph", "version": 1, "directed": False, "arrays": entries}
        if change is not None:
            change(manifest)
        (path / "evener.json").write_text(json.dumps(manifest))
        if touch is not None:
            touch(path)
        return path

    return make


def flip(path: Path) -> None:
    """Change the last target to another vertex of the graph."""
    content = bytearray((path / "targets.npy").read_bytes())
    content[-4] ^= 2
    (path / "targets.npy").write_bytes(content)


def put_null(path: Path) -> None:
    """Put a null byte into the header of an array, for which Python 3.12 raises SystemError."""
    content = (path / "targets.npy").read_bytes()
    (path / "targets.npy").write_bytes(content.replace(b"'shape'", b"'sh\0pe'", 1))


def shorten(path: Path) -> None:
    os.truncate(path / "targets.npy", 136)


def link(path: Path) -> None:
    (path / "targets.npy").rename(path / "elsewhere")
    (path / "targets.npy").symlink_to(path / "elsewhere")


def pickled(path: Path) -> None:
    np.save(path / "targets.npy", np.array([{}, {}, {}, {}], dtype=object), allow_pickle=True)


def escape(manifest: dict[str, Any]) -> None:
    manifest["arrays"]["../../etc/passwd"] = manifest["arrays"].pop("targets")


def ldbc(properties: str, vertices: str, edges: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "g.v").write_text(vertices)
        (folder / "g.e").write_text(edges)
        (folder / "g.properties").write_text(properties)
        return folder / "g.properties"

    return make


PROPERTIES = "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.directed = true\n"


def folder(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).mkdir()
        return folder / name

    return make


def closed(folder: Path) -> Path:
    path = file("closed.txt", "0 1\n")(folder)
    path.chmod(0)
    return path


def closed_folder(folder: Path) -> Path:
    (folder / "closed").mkdir(mode=0o555)
    return folder / "closed" / "out.txt"


def dangling(folder: Path) -> Path:
    (folder / "link.txt").symlink_to(folder / "nowhere")
    return folder / "link.txt"


def others_folder(folder: Path) -> Path:
    (folder / "mine.evg").mkdir()
    (folder / "mine.evg" / "thesis.tex").write_text("years of work")
    return folder / "mine.evg"
