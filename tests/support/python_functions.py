"""Functions of users as Python functions, for Python versions of GPU kernels."""

from __future__ import annotations

from types import CellType, FunctionType

from numba.core.dispatcher import Dispatcher


def uncompiled(function):
    """Return a function that Python runs. It calls no compiled functions, which only kernels can call."""

    def plain(value):
        return uncompiled(value.py_func) if isinstance(value, Dispatcher) else value

    names = {name: plain(value) for name, value in function.__globals__.items()}
    cells = tuple(CellType(plain(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(function.__code__, names, function.__name__, None, cells)
