"""Checks, before the work, that the output files of a command can be written and overwrite no input."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import FileError
from evener.graph.formats.array_folder import MANIFEST
from evener.graph.formats.registry import COMPRESSIONS, format_of
from evener.system.files import require_writable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_folder_output", "check_graph_output", "check_outputs", "graph_files"]


def check_outputs(graph: str, outputs: Mapping[str, str | None]) -> None:
    """Check, before the run, that the outputs by option can be written and overwrite no file of the command.

    Raises
    ------
    ArgumentError
        If the suffix of an output is not one of its formats.
    FileError
        If an output is the graph, lies in the folder of the graph, or is another output. If it has no name,
        or if its folder does not exist or is not writable.
    """
    from evener.results.result import check_name

    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        _check_name(option, path)
    taken = {"the graph": graph}
    for option, path in given.items():
        if option == "-o":
            from evener.results.dataset import check_target

            check_target(path)
        else:
            check_name(option.removeprefix("--"), path, said=option)
        _check_place(option, path, taken)
        taken[option] = path


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


def _refuse_the_same(option: str, path: str, taken: Mapping[str, str]) -> None:
    """Raise FileError if an output is, or is a folder with, one of the files in `taken`: paths by name."""
    for what, other in taken.items():
        output, file = (Path(os.path.realpath(name)) for name in (path, other))
        there = os.path.exists(file)  # noqa: PTH110 - Path.exists raises for a name that is too long
        if output == file or (
            there and (file.is_relative_to(output) or (output.exists() and output.samefile(file)))
        ):
            msg = f"{option} {path} would overwrite {what}; name another file"
            raise FileError(msg)


def _check_place(option: str, path: str, taken: Mapping[str, str]) -> None:
    """Raise FileError unless the output can be written to its folder, and is no part of `taken`."""
    _refuse_the_same(option, path, taken)
    for what, other in taken.items():
        folder = Path(other).parent if Path(other).name == MANIFEST else Path(other)
        inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
        if other and inside and folder.is_dir():
            msg = f"{option} {path} is in {folder}, the folder of {what}; name a file in another folder"
            raise FileError(msg)
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
    _check_name("the output", path)
    kind, _ = format_of(Path(path), takes_name=False)
    read, written = (
        Path(name).with_suffix("") if Path(name).suffix in COMPRESSIONS else Path(name)
        for name in (graph, path)
    )
    if kind.sibling_files and read.suffix in kind.suffixes:
        # A graph of several files is read and written as a whole, by the name of any of them.
        taken = {"the graph": str(read.with_suffix(""))}
        _refuse_the_same("the output", str(written.with_suffix("")), taken)
    _check_place("the output", path, {"the graph": graph})


def check_folder_output(graph: str, path: str) -> None:
    """Check, before reading, that a folder can be written to `path` and overwrites no file of `graph`."""
    _check_name("-o", path)
    _check_place("-o", path, {"the graph": graph})


def graph_files(path: str) -> list[str]:
    """Return the files of a graph that is written to this path, the named one first."""
    kind, compression = format_of(Path(path), takes_name=False)
    others = kind.sibling_files(Path(path), compression) if kind.sibling_files else ()
    return [path, *(str(other) for other in others if other != Path(path))]
