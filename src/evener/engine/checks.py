"""Checks of the arguments of the engine's verbs."""

from __future__ import annotations

from evener.errors import ArgumentError
from evener.kernels.kernel import Kernel

__all__ = ["check_compute"]


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
