"""Read and write graphs in files: `read` and `write`.

Examples
--------
>>> import evener as ev
>>> g = ev.Graph.from_edges([0, 0, 1], [1, 2, 2])
>>> ev.write(g, "triangle.mtx")  # doctest: +SKIP
>>> ev.read("triangle.mtx").m  # doctest: +SKIP
3
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FileError
from evener.graph.arrays import MAX_VERTICES
from evener.graph.checks import check_file_name, check_path, graph_remedy, type_name
from evener.system.log import log
from evener.system.memory import require, translate_errors
from evener.system.notebook import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.elements.cuda.element import CudaElement
    from evener.graph.formats.file import Source
    from evener.graph.formats.heading import Heading
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.formats.registry import Format
    from evener.graph.generators.models import Recipe
    from evener.graph.graph import Graph
    from evener.graph.share import EdgeShare
    from evener.system.world import World

__all__ = ["generated_on_gpus", "read", "read_heading", "read_share", "write"]


# A Kronecker spec may hold slashes; any other name with a slash is a path.
_SPEC = re.compile(r"kronecker:.*|[A-Za-z][A-Za-z0-9_-]*:[^/\\]*")


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - public name
    directed: bool | None = None,
    weighted: bool | None = None,
    n: int | None = None,
    self_loops: str = "keep",
    duplicates: str = "keep",
    columns: Sequence[str | int] | None = None,
) -> Graph:
    """Return the graph of a file, or of a generator spec such as ``rmat:20``.

    Parameters
    ----------
    path : path-like or str
        A file or folder whose suffix gives the format, plain or compressed (``.gz``, ``.zst``, ``.bz2``). Or
        a spec of `evener.graph.generators.models`: ``"rmat:20"``, ``"uniform:20"``, ``"grid:1000x1000"``.
    format : str, optional
        Name or suffix of the format. The default is the suffix of the path.
    directed : bool, optional
        True if an edge has one direction. The default is the direction in the file, or true. False stores
        each edge in both directions. Files of some formats may list both directions of an edge: `.evg`,
        `.sg`, `.npz`, `.mtx` and `.gr`. A file that does so for all edges is read unchanged. From any other
        file of these formats, the lightest edge of each pair is stored, as by `Graph.from_scipy`.
    weighted : bool, optional
        True requires weights, and false ignores them. The default reads weights if the file has them.
    n : int, optional
        The number of vertices, for files that do not state it; ids are then ``0..n-1``.
    self_loops, duplicates : {"keep", "drop"}, default "keep"
        Keep or drop edges from a vertex to itself, and repeated edges. The lightest repeated edge stays.
    columns : sequence of str or int, optional
        The columns of tail, head and, as a third entry, weight, for text, Parquet and Arrow. The default is
        columns with usual names, such as src, dst and weight. With numbers, the first row of a CSV file is a
        heading if it has usual names, or no numbers and a column of numbers below it.

    Returns
    -------
    Graph

    Raises
    ------
    FileError
        If the file is missing or cannot be read.
    FormatError
        If the content breaks a rule of the format. The error has the line number, if known.
    ArgumentError
        If the suffix, format or spec is unknown, or an argument has a wrong type. If `n` is given for a file
        with string ids.
    OutOfMemoryError
        If the graph needs more memory than is available, before it allocates.

    Examples
    --------
    >>> import evener as ev
    >>> ev.read("grid:2x3")
    <Graph: undirected, 6 vertices, 7 edges (14 stored)>
    >>> ev.read("friends.csv", directed=False)  # doctest: +SKIP
    """
    options = _read_options(
        path,
        directed=directed,
        weighted=weighted,
        n=n,
        self_loops=self_loops,
        duplicates=duplicates,
        columns=columns,
    )
    if _is_spec(path, format):
        from evener.graph.generators.models import recipe_of

        _refuse_options(path, options)
        with stage(f"generating {path}"), translate_errors(f"generating {path}"):
            return recipe_of(str(path)).build()
    kind, source = _source_of(path, format)
    with stage(f"reading {path}"), source.translate_errors(f"{kind.name} data"):
        _check_source(kind, source, options)
        return _with_ids_of_file(kind.read(source, options), kind)


def generated_on_gpus(
    path: str | os.PathLike[str],
    find_gpus: Callable[[], Sequence[CudaElement]],
    directions: str,
    **options: Any,
) -> Graph | None:
    """Return the graph of a generator spec, generated by GPUs in their memory.

    Return None for a file, and for a graph that the host should generate.
    `find_gpus` returns the GPUs of the partitions. Several partitions need the rows in some directions. The
    graph equals the graph that `read` returns.
    """
    if options or not _is_spec(path, None):
        return None
    from evener.graph.generators.gpu_models import generate, suits_gpu
    from evener.graph.generators.models import recipe_of

    recipe = recipe_of(str(path))
    if not suits_gpu(recipe) or not (gpus := find_gpus()):
        return None
    with stage(f"generating {path}"), translate_errors(f"generating {path}"):
        return generate(recipe, gpus, directions)


def _with_ids_of_file(graph: Graph, kind: Format) -> Graph:
    """Return the graph of a file with the ids of the file, if these do not begin with 0."""
    from evener.graph.graph import Graph

    if not kind.first_id:
        return graph
    require(8 * graph.n, f"the ids of {graph.n:,} vertices")
    ids = np.arange(kind.first_id, kind.first_id + graph.n, dtype=np.int64)
    return Graph(
        graph.offsets, graph.targets, weights=graph.weights, ids=ids, directed=graph.directed, validate=False
    )


def read_heading(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - name of `read`
) -> Heading | None:
    """Return the sizes of the graph that `read` returns, without reading or generating its edges.

    Return None if the heading of the file does not state the sizes. Errors are as for `read`.
    """
    check_file_name(path, "read: expected a path or a spec such as 'rmat:20'")
    if _is_spec(path, format):
        from evener.graph.generators.models import recipe_of

        heading: Heading | None = _heading_of(recipe_of(str(path)))
    else:
        kind, source = _source_of(path, format)
        if kind.read_heading is None:
            return None
        with source.translate_errors(f"{kind.name} data"):
            _check_source(kind, source, None)
            heading = kind.read_heading(source)
    return heading if heading is not None and 0 < heading.n <= MAX_VERTICES else None


def _heading_of(recipe: Recipe) -> Heading:
    from evener.graph.formats.heading import Heading
    from evener.graph.generators.sources import GridEdges

    source, twice = recipe.source, recipe.symmetrise
    weight_bytes = 0 if source.weight_dtype is None else source.weight_dtype.itemsize
    exact = not twice or isinstance(source, GridEdges)  # drawn edges may repeat
    m = source.m * (2 if twice else 1)
    return Heading(source.n, m, recipe.directed, weight_bytes, exact, generated=True)


def read_share(
    path: str | os.PathLike[str],
    world: World,
    *,
    format: str | None = None,  # noqa: A002 - name of `read`
    **given: Any,
) -> EdgeShare:
    """Return the edges that this rank reads of a file or computes of a spec; the arguments are as for `read`.

    This is a collective operation; all ranks must call it. If one fails, all raise its error.
    """
    from evener.graph.formats.registry import all_formats
    from evener.graph.share import share_of_recipe
    from evener.system.agreement import on_all_ranks

    def opened() -> Any:
        options = _read_options(path, **given)
        if _is_spec(path, format):
            from evener.graph.generators.models import recipe_of

            _refuse_options(path, options)
            return None, recipe_of(str(path)), options
        kind, source = _source_of(path, format)
        if kind.read_share is None:
            able = ", ".join(f.name for f in all_formats() if f.read_share is not None)
            msg = (
                f"{path}: {kind.name} files cannot be read in parts by several ranks; convert the file to "
                f".evg with evener convert, or to another of {able}"
            )
            raise ArgumentError(msg)
        _check_source(kind, source, options)
        return kind.read_share, source, options

    read_part, source, options = on_all_ranks(world, opened)
    if read_part is None:
        return share_of_recipe(source, world.rank, world.size)
    share: EdgeShare = read_part(source, options, world)
    return share


def write(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - public name
    ids: str = "keep",
) -> None:
    """Write a graph to a file atomically.

    Parameters
    ----------
    graph : Graph
    path : path-like
        A path whose suffix gives the format; `.gz`, `.zst` or `.bz2` may follow. A format with several files
        writes them with the same stem.
    format : str, optional
        Name or suffix of the format. The default is the suffix of the path.
    ids : {"keep", "drop"}, default "keep"
        GAP, SciPy and Matrix Market files have the ids ``0..n-1``, and METIS and DIMACS files ``1..n``. For
        other ids, "keep" raises an error; "drop" numbers the vertices. A graph without ids of its own is
        numbered in any case.

    Raises
    ------
    FileError
        If the file cannot be written. An existing file stays unchanged.
    ArgumentError
        If the suffix or format is unknown, the format cannot store the graph, or `graph` is not a Graph.

    Examples
    --------
    >>> import evener as ev
    >>> ev.write(ev.read("grid:2x3"), "grid.evg")  # doctest: +SKIP
    """
    from evener.graph.formats.registry import format_of
    from evener.graph.graph import Graph

    if not isinstance(graph, Graph):
        partitioned = isinstance(getattr(graph, "graph", None), Graph)
        remedy = "use evener.write_partitioned, or give its .graph" if partitioned else graph_remedy(graph)
        raise ArgumentError(f"write: expected a Graph, found {type_name(graph)}; {remedy}")
    target = check_path(path, "write")
    if ids not in ("keep", "drop"):
        raise ArgumentError(f"ids=: expected 'keep' or 'drop', found {ids!r}")
    kind, compression = format_of(target, format)
    if graph.has_custom_ids and ids == "keep" and not kind.stores_ids and not kind.keeps_ids_of(graph):
        msg = (
            f"{target}: {kind.name} files cannot store vertex ids ({graph.ids[0]} to {graph.ids[-1]}); "
            "write .evg, .parquet or .txt, or give ids='drop'"
        )
        raise ArgumentError(msg)
    if graph.has_object_ids and ids == "keep":
        msg = (
            f"{target}: files store ids that are integers or strings, found {type_name(graph.ids[0])}; "
            "rename the nodes with networkx.relabel_nodes, or give ids='drop'"
        )
        raise ArgumentError(msg)
    if graph.has_custom_ids and ids == "drop":
        graph = Graph(
            graph.offsets, graph.targets, weights=graph.weights, directed=graph.directed, validate=False
        )
    with translate_errors(f"writing {target}"):
        omitted = kind.omissions(graph)
        kind.write(graph, target, compression)
    if omitted:
        log.warning("%s: %s files omit %s", target, kind.name, " and ".join(omitted))


def _read_options(
    path: str | os.PathLike[str], *, n: Any = None, columns: Any = None, **given: Any
) -> ReadOptions:
    """Return the checked options of `read`."""
    from evener.graph.formats.read_options import ReadOptions

    expected = "read: expected a path or a spec such as 'rmat:20'"
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"{expected}, found {type_name(path)}; {graph_remedy(path)}")
    check_file_name(path, expected)
    for name in ("directed", "weighted"):
        if not isinstance(truth := given.get(name), bool | None):
            raise ArgumentError(f"{name}=: expected True, False or None, found {truth!r}")
    if n is not None and not (_is_integer(n) and 0 <= n <= MAX_VERTICES):
        raise ArgumentError(f"n=: expected an integer from 0 to {MAX_VERTICES:,}, found {n!r}")
    for name in ("self_loops", "duplicates"):
        if (choice := given.get(name, "keep")) not in ("keep", "drop"):
            raise ArgumentError(f"{name}=: expected 'keep' or 'drop', found {choice!r}")
    return ReadOptions(n=None if n is None else int(n), columns=_columns_of(columns), **given)


def _is_spec(path: str | os.PathLike[str], kind: str | None) -> bool:
    """Return whether `read` generates a graph."""
    return kind is None and isinstance(path, str) and bool(_SPEC.fullmatch(path)) and not _exists(path)


def _refuse_options(path: str | os.PathLike[str], options: ReadOptions) -> None:
    """Raise if options are given for a spec."""
    from evener.graph.formats.read_options import ReadOptions

    if options != ReadOptions():
        msg = f"{path} is a spec; put the options into the spec, as in 'rmat:20,directed'"
        raise ArgumentError(msg)


def _source_of(path: str | os.PathLike[str], name: str | None) -> tuple[Format, Source]:
    """Return the format and the source of a path."""
    from evener.graph.formats.file import Source
    from evener.graph.formats.registry import format_of

    if re.match(r"\w+://", os.fspath(path)):
        msg = f"expected the path of a file, found the address {path}; download the file first"
        raise FileError(msg)
    file = Path(path)
    if name is None and not file.suffix and not _exists(file):
        raise FileError(_missing(str(path)))
    kind, compression = format_of(file, name)
    return kind, Source(file, compression)


def _check_source(kind: Format, source: Source, options: ReadOptions | None) -> None:
    """Raise if the file of a graph is missing, or an option does not apply to it."""
    if options is not None and options.columns is not None and not kind.has_columns:
        msg = (
            f"columns= applies to text, CSV, Parquet and Arrow files, but {kind.name} files have no named "
            "columns; remove it"
        )
        raise ArgumentError(msg)
    if kind.is_one_file:
        source.check()


def _columns_of(columns: Any) -> tuple[str | int, ...] | None:
    """Return the option `columns` as a tuple, with its types checked."""
    if columns is None:
        return None
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ArgumentError(f"columns=: expected a list such as ['src', 'dst'], found {columns!r}")
    chosen = tuple(columns)
    for column in chosen:
        if not isinstance(column, str) and not _is_integer(column):
            raise ArgumentError(f"columns=: expected column names or numbers, found {column!r}")
    return tuple(column if isinstance(column, str) else int(column) for column in chosen)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _exists(path: str | Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises if a parent folder is not accessible


def _missing(name: str) -> str:
    near = re.fullmatch(r"(rmat|uniform|grid)[-_ =.]?(\d\w*.*)", name, re.IGNORECASE)
    hint = (
        f"did you mean the spec {near[1].lower()}:{near[2]}?"
        if near
        else "check the name, or give a spec such as rmat:20"
    )
    return f"there is no file {name}; {hint}"
