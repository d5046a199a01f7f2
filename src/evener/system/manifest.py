"""Text of a manifest: one JSON object, which may come from anyone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evener.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["parse_manifest"]

# Lists and objects within each other. Code that walks through a deeper manifest would exceed Python's stack.
_MAX_DEPTH = 32


def parse_manifest(text: bytes | str, path: Path) -> dict[str, Any]:
    """Return the fields of a manifest.

    Raises
    ------
    FormatError
        If the text is not one JSON object, gives a field twice, or nests too deeply.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise FormatError(f"expected each field once in the manifest, found {twice!r} twice", path=path)
        return fields

    try:
        fields = json.loads(text, object_pairs_hook=unique)
    except FormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormatError(f"expected a manifest in JSON: {error}", path=path) from None
    if not isinstance(fields, dict):
        raise FormatError("expected a manifest with fields, found another JSON value", path=path)
    if _is_deeper(fields, _MAX_DEPTH):
        raise FormatError(f"expected a manifest of at most {_MAX_DEPTH} levels, found more", path=path)
    return fields


def _is_deeper(value: Any, levels: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deeper(part, levels - 1) for part in parts)
