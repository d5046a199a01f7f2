"""Checks of the arguments of the engine's verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError
from evener.graph.checks import type_name
from evener.kernels.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_compute", "check_exchanged", "check_progress", "check_push"]

_PUSH_OPERATIONS = ("add", "min", "or", "set")


def check_compute(kernel: object, reduce: object) -> None:
    """Raise an error for wrong arguments of `Engine.compute`."""
    if not isinstance(kernel, (str, Kernel)):
        found = type(kernel).__name__
        msg = f"compute: expected a Kernel, found {found}; wrap a function in evener.Kernel(cpu=function)"
        raise ArgumentError(msg)
    if not callable(reduce):
        msg = f"compute: expected a function as reduce=, such as min, found {reduce!r}"
        raise ArgumentError(msg)


def check_progress(progress: object) -> None:
    """Raise an error unless progress can be called, or is None."""
    if progress is not None and not callable(progress):
        msg = f"progress=: expected a function of a Progress, found {type_name(progress)}"
        raise ArgumentError(msg)


def check_exchanged(
    array: PartitionedArray, changed: PartitionedArray | None, values: Sequence[int], words: Sequence[int]
) -> None:
    """Raise an error for arrays that are too short: kernels would access memory beyond their ends.

    `values` and `words` are the lengths of arrays and of bitmaps on each partition.
    """
    if not isinstance(array, PartitionedArray):
        msg = (
            f"expected a PartitionedArray to exchange, found {type_name(array)}; make one with array() "
            "or bits()"
        )
        raise ArgumentError(msg)
    if changed is not None:
        if not getattr(changed, "bits", True):
            msg = f"changed=: expected a bitmap, found {changed.noun}; make one with bits()"
            raise ArgumentError(msg)
        check_exchanged(changed, None, values, words)
    lengths = [len(part) if hasattr(part, "__len__") else 0 for part in array.parts]
    expected = words if array.bits else values
    if lengths != expected:
        msg = (
            f"expected {array.noun} with a value for each owned vertex and each mirror, of lengths "
            f"{expected}, found lengths {lengths}; make one with {'bits()' if array.bits else 'array()'}"
        )
        raise ArgumentError(msg)


def check_push(array: PartitionedArray, op: str, changed: PartitionedArray | None) -> None:
    """Raise an error for arguments of `Engine.push` that do not fit together."""
    if op not in _PUSH_OPERATIONS or (op == "set" and changed is None):
        found = '"set" without changed=' if op == "set" else repr(op)
        msg = f'push: expected the operation "add", "min", "or", or "set" with changed=, found {found}'
        raise ArgumentError(msg)
    if array.bits != (op == "or"):
        msg = f'push: expected "or" for a bitmap, else another operation, found {op!r} for {array.noun}'
        raise ArgumentError(msg)
