"""Crafted JSON: every field of a value, and other values for it."""

from __future__ import annotations

__all__ = ["VALUES", "fields_of", "replace"]

# Values that a field of a manifest may have instead of its own.
VALUES = (
    None, True, False, -1, 0, 7, 10**6, 1 << 31, 1 << 64, 10**400, 1.5, -0.5, 1e300, float("nan"),
    float("inf"), "", "O", "<U4", "V8", ">f4", "<f4,<i4", "../x", "/etc/passwd", [], [[]], [1, 2], {},
    {"x": 1}, [[[[[]]]]],
)  # fmt: skip


def fields_of(value, path=()):
    """Yield the path of each field and element of a JSON value."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from fields_of(part, (*path, name))


def replace(fields, path, value=()):
    """Replace the part of a JSON value at a path by the element of `value`; if empty, remove the part."""
    for name in path[:-1]:
        fields = fields[name]
    if value:
        (fields[path[-1]],) = value
    else:
        del fields[path[-1]]
