"""Python functions with all that they use, and loops in them, which may run without end once compiled."""

from __future__ import annotations

import dis
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["has_loop", "parts_of"]


def parts_of(function: Any) -> Iterator[Any]:
    """Yield the codes of a Python function and of functions that it names, and other values that they name.

    The functions are not recursive. Functions that are not written in Python yield themselves.
    """
    function = getattr(function, "py_func", function)  # a function that Numba compiles
    if not isinstance(function, FunctionType):
        yield function
        return
    codes = list(_codes(function.__code__))
    yield from codes
    named = [function.__globals__.get(name) for code in codes for name in code.co_names]
    for value in (*named, *(cell.cell_contents for cell in function.__closure__ or ())):
        yield from parts_of(value)


def has_loop(function: Any) -> bool:
    """Return whether a Python function, or a function that it calls by name, has a loop."""
    codes = (part for part in parts_of(function) if isinstance(part, CodeType))
    return any("BACKWARD" in step.opname for code in codes for step in dis.get_instructions(code))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
