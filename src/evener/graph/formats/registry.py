"""The formats: which exist, and which one a path is in.

A format is one file of this folder that holds a `Format` named ``FORMAT``; nothing else lists it.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evener.errors import ArgumentError
from evener.graph import formats

if TYPE_CHECKING:
    from evener.graph.formats.edges import Wishes
    from evener.graph.formats.file import Source
    from evener.graph.graph import Graph

__all__ = ["COMPRESSIONS", "Format", "all_formats", "format_of"]

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


class Reader(Protocol):
    """Reads a graph from a source."""

    def __call__(self, source: Source, wishes: Wishes, /) -> Graph: ...


class Places(Protocol):
    """The files that a graph is written to if one of them is named."""

    def __call__(self, target: Path, compression: str | None, /) -> tuple[Path, ...]: ...


class Writer(Protocol):
    """Writes a graph whole to `target`, or leaves nothing behind."""

    def __call__(self, graph: Graph, target: Path, compression: str | None, /) -> None: ...


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
        What ``format=`` and messages call it.
    suffixes : tuple of str
        The file name endings that mean it; the first is the usual one.
    read, write : callable
        How to read it and how to write it.
    keeps_ids : bool
        Whether a file can hold ids other than ``0..n-1``.
    compressed : bool
        Whether ``.gz``, ``.zst`` or ``.bz2`` may follow the suffix.
    together : callable, optional
        Where a graph is a file of each suffix, of which any may be named: which files they are.
    tells_direction : bool
        Whether a file says that its edges are undirected.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Reader
    write: Writer
    keeps_ids: bool = True
    compressed: bool = True
    together: Places | None = None
    tells_direction: bool = True


@cache
def all_formats() -> tuple[Format, ...]:
    """Every format of this folder, by name."""
    names = (module.name for module in pkgutil.iter_modules(formats.__path__))
    modules = (importlib.import_module(f"{formats.__name__}.{name}") for name in names)
    found = (getattr(module, "FORMAT", None) for module in modules)
    return tuple(sorted((f for f in found if isinstance(f, Format)), key=lambda f: f.name))


def format_of(path: Path, name: str | None = None, *, takes_name: bool = True) -> tuple[Format, str | None]:
    """Find the format of a path, by its suffix or by `name`, and its compression.

    `takes_name` is whether whoever asks could give a name, for the sentence of the error.

    Raises
    ------
    ArgumentError
        For an unknown suffix or name, where the sentence lists the known ones, or what is no name.
    """
    if not isinstance(name, str | None):
        raise ArgumentError(f"format is the name or the suffix of one, such as 'csv', not {name!r}")
    compression = COMPRESSIONS.get(path.suffix.lower())
    suffix = (Path(path.stem) if compression else path).suffix.lower()
    by_suffix = {s: f for f in all_formats() for s in f.suffixes}
    if name is None:
        if suffix not in by_suffix:
            or_so = ", or name it with format=" if takes_name else ""
            raise ArgumentError(_unknown(path, suffix, sorted(by_suffix)) + or_so)
        chosen = by_suffix[suffix]
    else:
        by_name = {s.lstrip("."): f for s, f in by_suffix.items()} | {
            f.name.lower(): f for f in all_formats()
        }
        if name.lower().lstrip(".") not in by_name:
            known = ", ".join(f.name for f in all_formats())
            msg = f"unknown format {name!r}: expected one of {known}"
            raise ArgumentError(msg)
        chosen = by_name[name.lower().lstrip(".")]
    if compression and not chosen.compressed:
        msg = f"{path}: {chosen.name} files are not compressed as a whole; drop {path.suffix!r} from the name"
        raise ArgumentError(msg)
    return chosen, compression


def _unknown(path: Path, suffix: str, known: list[str]) -> str:
    if path.is_dir():
        return f"{path} is a folder: name a file in it, or a container, whose folder's name ends in .evg"
    near = difflib.get_close_matches(suffix, known, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    came = (
        f"suffix {suffix!r} does not say the format" if suffix else "its name has no suffix to say the format"
    )
    return (
        f"{path}: {came}{hint}; expected one of {', '.join(known)}, plain or with {', '.join(COMPRESSIONS)}"
    )
