"""Checks of arguments: numbers, seeds, flags and paths."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from evener.errors import ArgumentError

__all__ = [
    "check_bool",
    "check_file_name",
    "check_path",
    "check_seed",
    "graph_remedy",
    "is_integral",
    "is_number",
    "type_name",
]


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; NaN and infinities are, booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_integral(value: Any) -> bool:
    """Return whether a value is a finite number without a fractional part, of any numeric type."""
    return is_number(value) and math.isfinite(value) and int(value) == value


def check_seed(seed: Any) -> int:
    """Return a seed as an int; raise `ArgumentError` unless it is an integer of at least 0."""
    if not is_integral(seed) or seed < 0:
        msg = f"seed=: expected an integer of at least 0, found {seed!r}"
        raise ArgumentError(msg)
    return int(seed)


def check_bool(value: Any, name: str) -> bool:
    """Return an argument as a bool; raise `ArgumentError` with its name if it is neither true nor false."""
    if not isinstance(value, bool | np.bool_ | int) or value not in (False, True):
        msg = f"{name}=: expected True or False, found {value!r}"
        raise ArgumentError(msg)
    return bool(value)


def type_name(value: Any) -> str:
    """Return the name of a value's type with its library, such as ``networkx.DiGraph``."""
    found = type(value)
    library = found.__module__.partition(".")[0]
    return found.__qualname__ if library == "builtins" else f"{library}.{found.__qualname__}"


def graph_remedy(value: Any) -> str:
    """Return how to get a graph instead of a value that is none, such as "use evener.Graph.from_networkx"."""
    library = type(value).__module__.partition(".")[0]
    if library in ("networkx", "pandas", "scipy"):
        return f"use evener.Graph.from_{library}"
    table = hasattr(value, "__arrow_c_stream__")
    return f"use {'evener.Graph.from_arrow' if table else 'evener.read or evener.Graph.from_edges'}"


def check_path(path: Any, caller: str) -> Path:
    """Return an argument as a path, as `check_file_name`; `caller` is the function for the error message."""
    return Path(check_file_name(path, f"{caller}: expected the path of a file"))


def check_file_name(path: Any, expected: str) -> str:
    """Return an argument as a file name.

    `expected` begins the message of the `ArgumentError` if the argument is not a path, is empty, or holds a
    NUL character: "read: expected a path or a spec".
    """
    name = None
    if isinstance(path, str | os.PathLike):
        with suppress(TypeError):  # __fspath__ returned neither str nor bytes
            name = os.fsdecode(path)
    if name is None:
        raise ArgumentError(f"{expected}, found {type_name(path)}")
    if not name:
        raise ArgumentError(f"{expected}, found an empty name")
    if "\0" in name:
        msg = f"{expected}, found {name!r} with a NUL character; remove it"
        raise ArgumentError(msg)
    return name
