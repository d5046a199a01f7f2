"""Loops in Python functions, which may run without end once they are compiled."""

from __future__ import annotations

import dis
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["has_loop"]


def has_loop(function: Any) -> bool:
    """Return whether a Python function, or a function that it calls by name, has a loop.

    The functions are not recursive. Functions that are not written in Python have no loop.
    """
    function = getattr(function, "py_func", function)  # a function that Numba compiles
    if not isinstance(function, FunctionType):
        return False
    codes = list(_codes(function.__code__))
    if any("BACKWARD" in step.opname for code in codes for step in dis.get_instructions(code)):
        return True
    called = [function.__globals__.get(name) for code in codes for name in code.co_names]
    called += [cell.cell_contents for cell in function.__closure__ or ()]
    return any(map(has_loop, called))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
