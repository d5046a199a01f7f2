"""The properties of a Graphalytics graph, and the weight among the properties of its edges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evener.errors import FormatError
from evener.graph.arrow import WEIGHT_NAMES, ArrowColumn, note_unread_columns, plain_name
from evener.graph.formats.file import Source

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.read_options import ReadOptions

__all__ = ["read_properties", "weight_place", "words_of"]

# Largest properties file.
_MAX_PROPERTIES_BYTES = 1 << 20
# The properties that the reader needs.
_KEYS = (
    r"directed|vertex-file|edge-file|meta\.vertices|meta\.edges|vertex-properties\.names|sssp\.weight-property"
    r"|edge-properties\.(?:names|types)"
)


def read_properties(path: Path) -> dict[str, str]:
    """Return the properties of the graph, without the prefix ``graph.NAME.``."""
    source = Source(path)
    source.check()
    if source.size > _MAX_PROPERTIES_BYTES:
        msg = f"expected at most {_MAX_PROPERTIES_BYTES:,} bytes of properties, found {source.size:,}"
        raise FormatError(msg, path=path)
    try:
        text = source.read_bytes().decode()
    except UnicodeDecodeError:
        raise FormatError("expected properties as text, found binary data", path=path) from None
    of_graphs: dict[str, dict[str, str]] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = re.fullmatch(r"([^=:]+)[=:](.*)", line.strip())
        if match is None:
            msg = f"expected 'graph.NAME.PROPERTY = VALUE', found {line[:60]!r}"
            raise FormatError(msg, path=path, line=number)
        key, value = match[1].strip(), match[2].strip()
        # The name of a graph may hold points; other properties concern the benchmark.
        known = re.fullmatch(rf"graph\.(.+?)\.({_KEYS})", key, re.IGNORECASE)
        if known is None:
            continue
        found, name = of_graphs.setdefault(known[1], {}), known[2].lower()
        if found.setdefault(name, value) != value:
            msg = f"expected one value of {name}, found {found[name]!r} and {value!r}"
            raise FormatError(msg, path=path, line=number)
    if path.stem not in of_graphs and len(of_graphs) > 1:
        names = ", ".join(of_graphs)
        msg = f"expected the properties of one graph, or of {path.stem!r}, found {names}"
        raise FormatError(msg, path=path)
    return of_graphs.get(path.stem) or next(iter(of_graphs.values()), {})


def weight_place(properties: dict[str, str], options: ReadOptions, path: Path) -> int | None:
    """Return the place of the weight among the properties of an edge; None if no weight is to be read."""
    if options.weighted is False:
        return None
    names, types = (words_of(properties, f"edge-properties.{key}") for key in ("names", "types"))
    if types and len(types) != len(names):
        msg = f"expected a type for each of {len(names)} edge-properties.names, found {len(types)}"
        raise FormatError(msg, path=path)
    stated = properties.get("sssp.weight-property")
    if stated and stated not in names:
        found = ", ".join(map(repr, names)) or "none"
        msg = f"expected {stated!r}, the sssp.weight-property, in edge-properties.names, found {found}"
        raise FormatError(msg, path=path)
    usual = [name for weight in WEIGHT_NAMES for name in names if plain_name(name) == weight]
    weight = stated or next(iter(usual), None)
    if weight is not None and names.count(weight) > 1:
        raise FormatError(
            f"expected one property {weight!r} in edge-properties.names, found several", path=path
        )
    if options.weighted and weight is None:
        found = ", ".join(map(repr, names)) or "none"
        msg = f"expected a property named weight in edge-properties.names, found {found}"
        raise FormatError(f"{msg}; name it in sssp.weight-property", path=path)
    if not stated:
        unread = [ArrowColumn(name, numbers=True) for name in names if name != weight]
        note_unread_columns(path, unread, weight, remedy="sssp.weight-property", noun="edge property")
    return None if weight is None else names.index(weight)


def words_of(properties: dict[str, str], key: str) -> list[str]:
    """Return the words of a list in the properties."""
    words = [word.strip() for word in properties.get(key, "").split(",")]
    return words if any(words) else []
