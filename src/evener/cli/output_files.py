"""Checks, before the work, that the output files of a command can be written and overwrite no input."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import FileError
from evener.results.report.names import check_name
from evener.system.files import NOT_UTF8, has_utf8_path, require_writable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_folder_output", "check_graph_output", "check_outputs", "graph_files"]


def check_outputs(
    graph: str, *, table: str | None = None, report: str | None = None, trace: str | None = None
) -> None:
    """Check, before the run, that outputs can be written and overwrite no file of the command.

    Raises
    ------
    ArgumentError
        If the suffix of an output is not one of its formats.
    FileError
        If an output is the graph, lies in the folder of the graph, or is another output. If it has no name,
        or if its folder does not exist or is not writable.
    """
    for option, path in (("-o", table), ("--report", report), ("--trace", trace)):
        if path is not None:
            _check_name(option, path)
    if table is not None:
        from evener.results.dataset import check_dataset, is_dataset_name
        from evener.results.table import check_suffix

        if is_dataset_name(table):
            check_dataset(Path(table))
        else:
            check_suffix(Path(table))
        if not has_utf8_path(table):
            msg = f"cannot write {table}: {NOT_UTF8}"
            raise FileError(msg)
    taken = {"the graph": graph}
    for option, path in (("-o", table), ("--report", report), ("--trace", trace)):
        if path is None:
            continue
        if option != "-o":
            check_name(option.removeprefix("--"), path, said=option)
        _refuse_the_same(option, path, taken)
        _refuse_within(option, path, graph)
        taken[option] = path
        _check_place(path)


def _check_name(option: str, path: str) -> None:
    """Raise FileError for an empty path, which would mean the current folder, or a name that is too long."""
    if not path:
        msg = f"{option}: expected the path of a file, but the name is empty"
        raise FileError(msg)
    try:
        Path(path).exists()
    except OSError as error:
        msg = f"cannot write {path}: {(error.strerror or str(error)).lower()}"
        raise FileError(msg) from error


def _refuse_within(option: str, path: str, graph: str) -> None:
    """Raise FileError if an output lies in the folder of the container that the command reads."""
    from evener.graph.formats.array_folder import MANIFEST

    named = Path(graph)
    folder = named.parent if named.name == MANIFEST else named
    if graph and folder.is_dir() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        msg = f"{option} {path} is in {folder}, the folder of the graph; name a file in another folder"
        raise FileError(msg)


def _refuse_the_same(option: str, path: str, taken: Mapping[str, str]) -> None:
    """Raise FileError if an output is one of the files in `taken`, a mapping of names to paths."""
    for what, other in taken.items():
        if os.path.realpath(path) == os.path.realpath(other) or (
            Path(path).exists() and Path(other).exists() and Path(path).samefile(other)
        ):
            msg = f"{option} {path} would overwrite {what}; name another file"
            raise FileError(msg)


def _check_place(path: str) -> None:
    """Raise FileError unless the output can be written to its folder."""
    folder = Path(path).parent
    if not folder.is_dir():
        msg = f"cannot write {path}: there is no folder {folder}; create it"
        raise FileError(msg)
    require_writable(Path(path), path)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = f"cannot write {path}: {(error.strerror or str(error)).lower()}"
        raise FileError(msg) from error


def check_graph_output(graph: str, path: str) -> None:
    """Check, before reading, that a graph can be written to `path` and overwrites no file of `graph`."""
    from evener.graph.formats.registry import COMPRESSIONS, format_of

    _check_name("the output", path)
    kind, _ = format_of(Path(path), takes_name=False)
    read, written = (
        Path(name).with_suffix("") if Path(name).suffix in COMPRESSIONS else Path(name)
        for name in (graph, path)
    )
    if kind.sibling_files and read.suffix in kind.suffixes:
        # A graph of several files is read and written as a whole, by the name of any of them.
        taken = {"the graph itself": str(read.with_suffix(""))}
        _refuse_the_same("the output", str(written.with_suffix("")), taken)
    _refuse_the_same("the output", path, {"the graph itself": graph})
    _refuse_within("the output", path, graph)
    _check_place(path)


def check_folder_output(graph: str, path: str) -> None:
    """Check, before reading, that a folder can be written to `path` and overwrites no file of `graph`."""
    _check_name("-o", path)
    _refuse_the_same("-o", path, {"the graph itself": graph})
    _refuse_within("-o", path, graph)
    _check_place(path)


def graph_files(path: str) -> list[str]:
    """Return the files of a graph that is written to this path, the named one first."""
    from evener.graph.formats.registry import format_of

    kind, compression = format_of(Path(path), takes_name=False)
    others = kind.sibling_files(Path(path), compression) if kind.sibling_files else ()
    return [path, *(str(other) for other in others if other != Path(path))]
