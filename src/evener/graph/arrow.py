"""Columns of Arrow tables that hold edges: their names and their decoded values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["WEIGHT_NAMES", "decode_column", "find_edge_columns", "is_usual_weight", "plain_name"]

# Pairs of column names for tail and head, compared without case, spaces and underscores.
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
WEIGHT_NAMES = ("weight", "weights", "wgt", "wt", "w", "cost")


def find_edge_columns(names: Sequence[str]) -> list[str]:
    """Return the columns with usual names for tail, head and, if present, weight; or an empty list."""
    by_name = {plain_name(name): name for name in reversed(names)}
    pair = next(([by_name[a], by_name[b]] for a, b in _ENDS if a in by_name and b in by_name), [])
    return pair + [by_name[name] for name in WEIGHT_NAMES if pair and name in by_name][:1]


def is_usual_weight(name: str) -> bool:
    """Return whether a column with this name usually holds weights."""
    return plain_name(name) in WEIGHT_NAMES


def plain_name(name: str) -> str:
    """Return the name of a column as lists of usual names have it."""
    return name.lower().replace("_", "").replace(" ", "").lstrip(":#")


def decode_column(column: Any) -> Any:
    """Return a column with dictionaries decoded and string views cast to strings."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        chunks = [_decode_chunk(chunk) for chunk in column.chunks]
        column = pa.chunked_array(chunks, None if chunks else column.type.value_type)
    return _views_as_strings(column)


def _decode_chunk(chunk: Any) -> Any:
    import pyarrow as pa

    strings = _views_as_strings(chunk.dictionary)
    return pa.DictionaryArray.from_arrays(chunk.indices, strings).dictionary_decode()


def _views_as_strings(column: Any) -> Any:
    """Return string views as strings, because few Arrow functions accept views."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if str(column.type) == "string_view" else column
