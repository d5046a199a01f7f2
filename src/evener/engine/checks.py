"""Checks of the arguments of the engine's verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError
from evener.kernels.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["args_of_elements", "check_compute", "check_parts"]


def check_compute(kernel: object, reduce: object, *, both_counts: bool) -> None:
    """Raise an error for arguments of `Engine.compute` that do not fit together."""
    if both_counts:
        msg = (
            "compute: expected count_active=True (this superstep) or count_next_active=True (the next one), "
            "found both; remove one of them"
        )
        raise ArgumentError(msg)
    if not isinstance(kernel, (str, Kernel)):
        found = type(kernel).__name__
        msg = f"compute: expected a Kernel, found {found}; wrap a function in evener.Kernel(cpu=function)"
        raise ArgumentError(msg)
    if not callable(reduce):
        msg = f"compute: expected a function as reduce=, such as min, found {reduce!r}"
        raise ArgumentError(msg)


def check_parts(parts: Sequence[Any], elements: int) -> None:
    """Raise an error unless there is one part for each element."""
    if len(parts) != elements:
        msg = f"expected one part for each of {elements} partitions, found {len(parts)}"
        raise ArgumentError(msg)


def args_of_elements(args: Sequence[Any], elements: int) -> list[list[Any]]:
    """Return a kernel's arguments for each element: its own parts of arrays, and all other values.

    Raises
    ------
    ArgumentError
        If an array has another number of parts.
    """
    for arg in args:
        if isinstance(arg, PartitionedArray):
            check_parts(arg.parts, elements)
    return [
        [arg.parts[p] if isinstance(arg, PartitionedArray) else arg for arg in args] for p in range(elements)
    ]
