"""Values that operators may use from outside, and the key of each value.

Compiled code depends on these values, so a key represents a value completely. A kind of value that no key
represents is not allowed.
"""

from __future__ import annotations

import cmath
import enum
import math
import operator
import random
from collections import namedtuple
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["constant_key", "is_library", "is_number", "is_random", "plain_value"]

_MODULES = (math, cmath, operator, np, np.linalg)
# Built-in functions and types without effects on anything outside an operator.
_BUILTINS = (
    abs, all, any, bool, chr, complex, dict, divmod, enumerate, filter, float, frozenset, getattr,
    hasattr, int, isinstance, iter, len, list, map, max, min, next, ord, pow, range, reversed, round, set,
    slice, sorted, str, sum, tuple, zip,
)  # fmt: skip
_NUMBERS = (
    bool, int, float, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
    np.uint64, np.float32, np.float64,
)  # fmt: skip
_INT64 = np.iinfo(np.int64)
# The attributes of a class of `namedtuple` or of `typing.NamedTuple`, apart from its fields.
_OF_NAMED_TUPLES = {
    *vars(namedtuple("_Empty", ())),
    *("__annotations__", "__orig_bases__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
    *("__static_attributes__", "__firstlineno__", "__replace__"),
}
# Methods of int that an enumeration may replace without another meaning of its numbers.
_NOT_ARITHMETIC = {
    "__new__", "__repr__", "__str__", "__format__", "__doc__", "__hash__", "__getattribute__", "__sizeof__",
    "__getnewargs__",
}  # fmt: skip


def is_library(value: Any) -> bool:
    """Return whether a value is a module whose functions operators may use."""
    return any(value is module for module in _MODULES)


def is_random(value: Any) -> bool:
    """Return whether a value draws random numbers."""
    generators = (random.Random, np.random.RandomState, np.random.Generator)
    owner = getattr(value, "__self__", None)
    is_module = value is random or value is np.random
    return is_module or isinstance(value, generators) or isinstance(owner, generators)


def is_number(value: Any) -> bool:
    """Return whether a value is a number that 64 bits hold."""
    if type(value) is int:
        return bool(_INT64.min <= value <= _INT64.max)
    return type(value) in _NUMBERS


def plain_value(value: Any) -> Any:
    """Return a member of an `IntEnum` as an int, and another value as it is."""
    if not isinstance(value, enum.IntEnum):
        return value
    arithmetic = (name for name in vars(int) if name.startswith("__") and name not in _NOT_ARITHMETIC)
    is_int = all(getattr(type(value), name) is getattr(int, name) for name in arithmetic)
    return int(value) if is_int else value


def constant_key(value: Any) -> str | None:
    """Return the key of a value that code can contain as a constant; None for other kinds of values."""
    if is_number(value):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, tuple):
        keys = [constant_key(one) for one in value]
        kind = "tuple" if type(value) is tuple else _class_key(type(value))
        return None if kind is None or None in keys else f"{kind}({', '.join(map(str, keys))})"
    if isinstance(value, np.dtype):
        return f"dtype:{value.str}" if value.kind in "biuf" else None
    if isinstance(value, type) and value is not tuple and issubclass(value, tuple):
        return _class_key(value)
    return _library().get(id(value))


def _class_key(found: type) -> str | None:
    """Return the key of a class of named tuples without methods of its own; None for other classes."""
    names = getattr(found, "_fields", None)
    if found.__mro__ != (found, tuple, object) or names is None:
        return None
    defaults = found._field_defaults  # type: ignore[attr-defined]
    keys = {name: constant_key(one) for name, one in defaults.items()}
    if set(vars(found)) - _OF_NAMED_TUPLES - set(names) or None in keys.values():
        return None
    return f"{found.__name__}{names}{keys}"


@lru_cache(maxsize=1)
def _library() -> dict[int, str]:
    """Return the name of each function and type of the libraries, by its identity."""
    found = {id(value): value.__name__ for value in _BUILTINS}
    for module in _MODULES:
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("_"):
                found[id(value)] = f"{module.__name__}.{name}"
    return found


_library()  # before a program can change the modules
