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
from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.graph.formats.edges import isolated_vertices

if TYPE_CHECKING:
    from collections.abc import Callable

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
        Functions that read a graph from a file, and write it to a file atomically.
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
        Function that reads the part of one rank, a collective operation. Without it, several ranks cannot
        read a file together.
    first_id : int, default 0
        The id of the first vertex in a file that stores no ids.
    read_heading : callable, optional
        Function that reads the sizes of a graph from the heading of a file, without the edges. It returns
        None if the heading does not state them.
    has_columns : bool
        True if `columns` chooses among the columns of a file.
    is_one_file : bool
        False if a graph may be a folder or several files, which the format checks itself.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, ReadOptions], Graph]
    write: Callable[[Graph, Path, str | None], None]
    stores_ids: bool = True
    compressed: bool = True
    sibling_files: Callable[[Path, str | None], tuple[Path, ...]] | None = None
    stores_direction: bool = True
    stores_isolated: bool = True
    read_share: Callable[[Source, ReadOptions, World], EdgeShare] | None = None
    first_id: int = 0
    read_heading: Callable[[Source], Heading | None] | None = None
    has_columns: bool = False
    is_one_file: bool = True

    def keeps_ids_of(self, graph: Graph) -> bool:
        """Return whether a file keeps the ids of a graph that has ids of its own."""
        if self.stores_ids:
            return not graph.has_object_ids
        first = self.first_id
        return bool(
            graph.has_integer_ids and graph.n and (graph.ids[[0, -1]] == [first, first + graph.n - 1]).all()
        )

    def count_omitted_vertices(self, graph: Graph) -> int:
        """Return the number of vertices that a file of this format omits."""
        return 0 if self.stores_isolated else len(isolated_vertices(graph))

    def omissions(self, graph: Graph) -> list[str]:
        """Return the facts that a file of this format omits, as ends of sentences. Ids are not checked."""
        facts = []
        if count := self.count_omitted_vertices(graph):
            facts.append(f"{count:,} {'vertex' if count == 1 else 'vertices'} without edges")
        if not graph.directed and not self.stores_direction:
            facts.append("the direction of edges; read it with directed=False")
        return facts


@cache
def all_formats() -> tuple[Format, ...]:
    """Return all formats, sorted by name."""
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = (importlib.import_module(f"{__package__}.{name}") for name in names)
    found = (getattr(module, "FORMAT", None) for module in modules)
    return tuple(sorted((f for f in found if isinstance(f, Format)), key=lambda f: f.name))


def format_of(path: Path, name: str | None = None, *, takes_name: bool = True) -> tuple[Format, str | None]:
    """Return the format of a path, and its compression: gzip, zstd, bz2 or None.

    `name` is the name or suffix of the format; by default, the suffix of the path decides. With `takes_name`,
    the message for an unknown suffix mentions ``format=``.

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
