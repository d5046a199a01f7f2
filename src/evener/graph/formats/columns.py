"""Edges in named columns of an Arrow table: which columns, what they may hold, and what metadata keeps."""

from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError, FormatError, first_clause
from evener.graph.checks import nan_at
from evener.graph.formats.edges import Edges, isolated, pieces
from evener.graph.formats.ids import isolated_ids, positions_of, with_isolated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.edges import Wishes
    from evener.graph.graph import Graph

__all__ = ["choose", "decoded", "edges_of_table", "known_by_name", "schema_of", "tables"]

_log = logging.getLogger("evener")

# Pairs of names for the two ends that tools write; compared without case, blanks and underscores.
_ENDS = (
    ("src", "dst"),
    ("source", "target"),
    ("source", "destination"),
    ("from", "to"),
    ("tail", "head"),
    ("u", "v"),
    ("start", "end"),
    ("srcid", "dstid"),
    ("sourceid", "targetid"),
    ("fromid", "toid"),
    ("fromnodeid", "tonodeid"),
    ("fromnode", "tonode"),
    ("startid", "endid"),
    ("node1", "node2"),
)
_WEIGHTS = ("weight", "weights", "wgt", "wt", "w", "cost")
_KEY = b"evener"


def choose(names: list[str], wishes: Wishes, path: Path) -> list[str]:
    """Choose the columns of the two ends and, if there is one and it is wanted, of the weight.

    Raises
    ------
    FormatError
        If no pair of names is known; the sentence lists the columns there are.
    ArgumentError
        If the caller names another number of columns, or one twice.
    """
    there = ", ".join(repr(name) for name in names) or "none"
    if wishes.columns is not None:
        if len(wishes.columns) not in (2, 3):
            msg = f"columns= takes two names, or three with the weight, not {len(wishes.columns)}"
            raise ArgumentError(msg)
        chosen = [_named(column, names, path, there) for column in wishes.columns]
        if (twice := next((name for name in chosen if chosen.count(name) > 1), None)) is not None:
            msg = f"columns= names {twice!r} twice, but tail, head and weight are a column each, of {there}"
            raise ArgumentError(msg)
    else:
        chosen = known_by_name(names)
        if not chosen:
            msg = (
                f"no columns for the ends of an edge (src and dst, source and target, from and to): the file "
                f"has {there}; name them with columns=, or give their numbers, from 0, if that is no heading"
            )
            raise FormatError(msg, path=path)
        if wishes.weighted is None and len(chosen) == 2 and len(names) > 2:
            others = ", ".join(repr(name) for name in names if name not in chosen)
            _log.warning(
                "%s: edges have no weight, for no column is named so, only %s; name one with columns=",
                *(path, others),
            )
    if wishes.weighted and len(chosen) < 3:
        msg = f"weights were asked for, but no column is named weight, only {there}; name it in columns="
        raise FormatError(msg, path=path)
    return chosen[:2] if wishes.weighted is False else chosen


def known_by_name(names: Sequence[str]) -> list[str]:
    """The columns that go by names for two ends and, if there is one, for the weight; empty if none do."""
    plain = {name.lower().replace("_", "").replace(" ", "").lstrip(":"): name for name in reversed(names)}
    pair = next(([plain[a], plain[b]] for a, b in _ENDS if a in plain and b in plain), [])
    return pair + [plain[name] for name in _WEIGHTS if pair and name in plain][:1]


def _named(column: str | int, names: list[str], path: Path, there: str) -> str:
    if isinstance(column, int) and 0 <= column < len(names):
        return names[column]
    if column not in names:
        raise FormatError(f"there is no column {column!r}: the file has {there}", path=path)
    return str(column)


def edges_of_table(table: Any, path: Path, *, first_line: int | None = None) -> Edges:
    """Take edges from a table of two or three columns.

    Parameters
    ----------
    table : pyarrow.Table
        The ends and, if there are three columns, the weight.
    path : Path
        Of the file, for messages.
    first_line : int, optional
        The line of the first row, where rows are lines.
    """
    import pyarrow as pa

    columns = [decoded(column) for column in table.columns]
    for name, column in zip(table.column_names, columns, strict=True):
        if column.null_count:
            row = next(i for i, missing in enumerate(column.is_null()) if missing.as_py())
            raise _at(f"column {name!r} has no value", row, path, first_line)
    ends = [_whole(column) for column in columns[:2]]
    strings = [pa.types.is_string(end.type) or pa.types.is_large_string(end.type) for end in ends]
    whole = [pa.types.is_integer(end.type) for end in ends]
    if not (all(strings) or all(whole)):
        types = " and ".join(f"{table.column_names[i]!r} holds {ends[i].type}" for i in (0, 1))
        raise FormatError(f"vertex ids are all integers or all strings, but {types}", path=path)
    weights = None
    if table.num_columns > 2:
        weights = _weights(columns[2], table.column_names[2], path, first_line)
    made = _made(table)
    if all(strings):
        extra = pa.chunked_array([_names(made.get("isolated", []), path)], pa.string())
        (src, dst, _), names = positions_of([*ends, extra], path)
        return Edges(src, dst, weights, made.get("directed"), names=names)
    src, dst = (end.to_numpy() for end in ends)
    for name, end in zip(table.column_names, (src, dst), strict=False):
        if end.dtype.kind == "i" and len(end) and end.min() < 0:
            row = int((end < 0).argmax())
            raise _at(
                f"vertex ids are integers from 0 up, but column {name!r} has {end[row]}",
                row,
                path,
                first_line,
            )
    edges = Edges(src, dst, weights, made.get("directed"), made.get("n"))
    if made.get("isolated"):
        with_isolated(edges, isolated_ids(made["isolated"], path))
    return edges


def _names(given: list[Any], path: Path) -> Any:
    """Give the names of vertices without edges that a file lists."""
    import pyarrow as pa

    try:
        return pa.array(given, pa.string())
    except (pa.ArrowException, UnicodeEncodeError) as error:
        msg = "vertices without edges are named by strings, as the ends of its edges are, but its metadata"
        raise FormatError(f"{msg} lists others: {first_clause(error)}", path=path) from error


def decoded(column: Any) -> Any:
    """Give a dictionary-encoded column decoded, string views as strings, any other column as it is."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, _no_views(chunk.dictionary)).dictionary_decode()
            for chunk in column.chunks
        ]
        column = pa.chunked_array(chunks, None if chunks else column.type.value_type)
    return _no_views(column)


def _no_views(column: Any) -> Any:
    """Give string views, which few of Arrow's functions take, as strings."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if str(column.type) == "string_view" else column


def _whole(column: Any) -> Any:
    """Give whole numbers as integers, any other column as it is."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        with contextlib.suppress(pa.ArrowInvalid):  # one of them is not whole
            return column.cast(pa.int64())
    return column


def _weights(column: Any, name: str, path: Path, first_line: int | None) -> NDArray[Any]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise FormatError(f"weights are numbers, but column {name!r} holds {kind}", path=path)
    weights: NDArray[Any] = column.to_numpy()
    if (row := nan_at(weights)) is not None:
        raise _at(f"column {name!r} has NaN for a weight", row, path, first_line)
    return weights


def _at(msg: str, row: int, path: Path, first_line: int | None) -> FormatError:
    if first_line is None:
        return FormatError(f"{msg} in row {row + 1}", path=path)
    return FormatError(msg, path=path, line=first_line + row)


def _made(table: Any) -> dict[str, Any]:
    """Return what `schema_of` has kept of the graph; nothing if another tool wrote the table."""
    try:
        made = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(made, dict):
        return {}
    directed, n, alone = (made.get(key) for key in ("directed", "n", "isolated"))
    sound: dict[str, Any] = {"directed": directed} if isinstance(directed, bool) else {}
    if type(n) is int and n >= 0:
        sound["n"] = n
    if isinstance(alone, list) and {type(i) for i in alone} in ({int}, {str}):
        sound["isolated"] = alone
    return sound


def schema_of(graph: Graph) -> Any:
    """Give the columns src, dst and weight, with what they alone would lose as metadata."""
    import pyarrow as pa

    made: dict[str, Any] = {"directed": graph.directed}
    kind = pa.uint32()
    if graph.has_own_ids:
        kind = pa.large_string() if graph.named_by_strings else pa.int64()
        if len(alone := isolated(graph)):
            made["isolated"] = graph.ids[alone].tolist()
    else:
        made["n"] = graph.n
    fields = [("src", kind), ("dst", kind)]
    if graph.weights is not None:
        fields.append(("weight", pa.from_numpy_dtype(graph.weights.dtype)))
    return pa.schema(fields, metadata={_KEY: json.dumps(made).encode()})


def tables(graph: Graph, *, untyped: bool = False) -> Iterator[Any]:
    """Give the edges of a graph as tables of `schema_of`, a piece at a time; `untyped` as for `pieces`."""
    import pyarrow as pa

    schema = schema_of(graph)
    for piece in pieces(graph, untyped=untyped):
        if piece.weights is not None:
            schema = schema.set(2, pa.field("weight", pa.from_numpy_dtype(piece.weights.dtype)))
        ends = [graph.ids[end] if graph.has_own_ids else end for end in (piece.src, piece.dst)]
        columns = ends if piece.weights is None else [*ends, piece.weights]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        yield pa.table(arrays, schema=schema)
