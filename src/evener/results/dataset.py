"""Results of all ranks in files: one table, or a data set.

A data set is a folder with one Parquet file for each rank, written by all ranks at once.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import FileError
from evener.graph.checks import check_path
from evener.results.table import check_suffix, table_with_record, write_result
from evener.system.agreement import on_all_ranks
from evener.system.files import NOT_UTF8, atomic_write_folder, has_utf8_path

if TYPE_CHECKING:
    import pyarrow as pa

    from evener.results.table import Tabular
    from evener.system.world import World

__all__ = ["check_target", "write_rows"]

_PART = re.compile(r"part-\d{5,}\.parquet")


def _is_dataset_name(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names a data set: it ends in a slash, or is a folder with files of a data set."""
    folder = Path(path)
    return os.fspath(path).endswith(("/", os.sep)) or (
        folder.is_dir() and any(_PART.fullmatch(file.name) for file in folder.iterdir())
    )


def check_target(name: str) -> None:
    """Raise ArgumentError or FileError, before a run, if no table and no data set can have this name."""
    path = Path(name)
    if not _is_dataset_name(name):
        check_suffix(path)
    elif path.exists() and not path.is_dir():
        msg = f"cannot write {path}/: {path} is a file; give a new name"
        raise FileError(msg)
    elif path.is_dir() and not _is_dataset(path):
        msg = f"cannot write {path}: the folder holds other files; give a new name"
        raise FileError(msg)
    if not has_utf8_path(path):
        msg = f"cannot write {path}: {NOT_UTF8}"
        raise FileError(msg)


def _is_dataset(folder: Path) -> bool:
    """Return whether a folder has files of a data set and no other files."""
    return all(_PART.fullmatch(file.name) for file in folder.iterdir())


def write_rows(result: Tabular, path: str | os.PathLike[str]) -> None:
    """Write the rows of all ranks to a data set or, gathered on rank 0, to one file; see `Result.write`.

    This is a collective operation; all ranks must call it.
    """
    target = check_path(path, "write")
    if result.world.allgather(_is_dataset_name(path))[0]:
        _write_dataset(result, target)
        return
    check_suffix(target)
    whole = result.gather()
    on_all_ranks(result.world, lambda: None if whole is None else write_result(whole, target))


def _write_dataset(result: Tabular, path: Path) -> None:
    """Write the rows of each rank to a file of a folder: all files or, after an error on any rank, none.

    This is a collective operation; all ranks must call it. Rank 0 renames the folder after all ranks
    have written their files.

    Raises
    ------
    FileError
        On all ranks, if one rank cannot write its file.
    """
    world = result.world
    table = table_with_record(result)  # may gather values, so all ranks call it
    with contextlib.ExitStack() as stack:

        def begin() -> str:
            writing = atomic_write_folder(path, may_replace=_is_dataset)
            return str(stack.enter_context(writing)) if world.rank == 0 else ""

        folder = Path(world.allgather(on_all_ranks(world, begin))[0])
        on_all_ranks(world, lambda: _write_part(table, world, folder, path))
        on_all_ranks(world, stack.close)


def _write_part(table: pa.Table, world: World, folder: Path, given: Path) -> None:
    from pyarrow import parquet

    if not folder.is_dir():
        msg = (
            f"cannot write {given}: rank {world.rank} does not see the folder that rank 0 made; name a "
            "folder on a file system that all ranks share"
        )
        raise FileError(msg)
    file = folder / f"part-{world.rank:05d}.parquet"
    try:
        with file.open("wb") as stream:
            parquet.write_table(table, stream)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        on = f" on rank {world.rank}" if world.size > 1 else ""
        msg = f"cannot write {given}{on}: {(error.strerror or str(error)).lower()}; nothing was left behind"
        raise FileError(msg) from error
