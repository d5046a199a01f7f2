"""Registry of file formats.

Each module of this folder with a `Format` named ``FORMAT`` adds a format; no other list exists.
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

if TYPE_CHECKING:
    from evener.graph.formats.file import Source
    from evener.graph.formats.heading import Heading
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph
    from evener.graph.share import EdgeShare
    from evener.system.world import World

__all__ = ["COMPRESSIONS", "Format", "all_formats", "format_of"]

# Libraries for formats that Evener does not have.
_OTHER_LIBRARIES = dict.fromkeys(
    (".adjlist", ".dot", ".gexf", ".gml", ".graphml", ".net"), "NetworkX"
) | dict.fromkeys((".json", ".jsonl", ".ndjson", ".ods", ".orc", ".pkl", ".xls", ".xlsx", ".xml"), "pandas")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


class Reader(Protocol):
    """Function that reads a graph from a file."""

    def __call__(self, source: Source, options: ReadOptions, /) -> Graph: ...


class HeadingReader(Protocol):
    """Function that reads the sizes of a graph from the heading of a file; None if it does not state them."""

    def __call__(self, source: Source, /) -> Heading | None: ...


class ShareReader(Protocol):
    """Function that reads the edges of one of several ranks; a collective operation."""

    def __call__(self, source: Source, options: ReadOptions, world: World, /) -> EdgeShare: ...


class SiblingFiles(Protocol):
    """Function that returns all files of a graph if its format writes several."""

    def __call__(self, target: Path, compression: str | None, /) -> tuple[Path, ...]: ...


class Writer(Protocol):
    """Function that writes a graph to `target` atomically."""

    def __call__(self, graph: Graph, target: Path, compression: str | None, /) -> None: ...


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
        Name for ``format=`` and for messages.
    suffixes : tuple of str
        File name suffixes of the format; the first is the usual suffix.
    read, write : callable
        Functions that read and write a file.
    stores_ids : bool
        True if a file can store any ids. If not, the ids are consecutive from `first_id`.
    compressed : bool
        True if ``.gz``, ``.zst`` or ``.bz2`` may follow the suffix.
    sibling_files : callable, optional
        Function that returns all files of a graph, for formats with one file per suffix.
    stores_direction : bool
        True if a file states that its edges are undirected.
    stores_isolated : bool
        True if a file lists or counts vertices without edges.
    read_share : callable, optional
        Function that reads the part of one rank. Without it, several ranks cannot read a file together.
    first_id : int, default 0
        The id of the first vertex in a file that stores no ids.
    read_heading : callable, optional
        Function that reads the sizes of a graph from the heading of a file, without the edges.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Reader
    write: Writer
    stores_ids: bool = True
    compressed: bool = True
    sibling_files: SiblingFiles | None = None
    stores_direction: bool = True
    stores_isolated: bool = True
    read_share: ShareReader | None = None
    first_id: int = 0
    read_heading: HeadingReader | None = None

    def keeps_ids_of(self, graph: Graph) -> bool:
        """Return whether a file keeps the ids of a graph that has ids of its own."""
        if self.stores_ids:
            return not graph.has_object_ids
        first = self.first_id
        return bool(
            graph.has_integer_ids and graph.n and (graph.ids[[0, -1]] == [first, first + graph.n - 1]).all()
        )


@cache
def all_formats() -> tuple[Format, ...]:
    """Return all formats, sorted by name."""
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = (importlib.import_module(f"{__package__}.{name}") for name in names)
    found = (getattr(module, "FORMAT", None) for module in modules)
    return tuple(sorted((f for f in found if isinstance(f, Format)), key=lambda f: f.name))


def format_of(path: Path, name: str | None = None, *, takes_name: bool = True) -> tuple[Format, str | None]:
    """Return the format and the compression of a path.

    Parameters
    ----------
    path : Path
    name : str, optional
        Name or suffix of the format. The default is the suffix of the path.
    takes_name : bool, default True
        True if the caller accepts ``format=``; the error message then mentions it.

    Returns
    -------
    format : Format
    compression : {"gzip", "zstd", "bz2"} or None

    Raises
    ------
    ArgumentError
        If the suffix or the name is unknown. The message lists the known formats.
    """
    if not isinstance(name, str | None):
        raise ArgumentError(f"format=: expected a name or suffix such as 'csv', found {name!r}")
    compression = COMPRESSIONS.get(path.suffix.lower())
    suffix = (Path(path.stem) if compression else path).suffix.lower()
    by_suffix = {s: f for f in all_formats() for s in f.suffixes}
    if name is None:
        if suffix not in by_suffix:
            alternative = ", or give format=" if takes_name else ""
            raise ArgumentError(_unknown(path, suffix, sorted(by_suffix)) + alternative)
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
        msg = f"{path}: {chosen.name} files cannot be compressed; remove {path.suffix!r} from the name"
        raise ArgumentError(msg)
    return chosen, compression


def _unknown(path: Path, suffix: str, known: list[str]) -> str:
    if path.is_dir():
        return f"{path} is a folder; give a file, or a container folder with the suffix .evg"
    if (library := _OTHER_LIBRARIES.get(suffix)) is not None:
        method = library.lower()
        return f"{path}: no reader for {suffix!r}; use {library} with Graph.from_{method} or to_{method}"
    near = difflib.get_close_matches(suffix, known, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    found = f"unknown suffix {suffix!r}" if suffix else "no suffix"
    return (
        f"{path}: {found}{hint}; expected one of {', '.join(known)}, plain or with {', '.join(COMPRESSIONS)}"
    )
