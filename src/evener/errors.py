"""The errors Evener raises: each is an `EvenerError` and also the built-in a caller would expect."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = [
    "ON_THE_CPU",
    "ArgumentError",
    "ConvergenceWarning",
    "DeviceError",
    "DeviceOutOfMemory",
    "EvenerError",
    "FileError",
    "FormatError",
    "OutOfMemoryError",
    "UnknownVertexError",
    "VerificationError",
    "first_clause",
]

# The beginning of the warning that no element was named and an existing GPU could not be used.
ON_THE_CPU = "this runs on the CPU, for no GPU can be used"


class EvenerError(Exception):
    """Base of every error that Evener raises on purpose."""


class ArgumentError(EvenerError, ValueError):
    """An argument, option or graph specification is not of the kind the call takes."""


class UnknownVertexError(ArgumentError, KeyError):
    """A vertex named in an argument is not in the graph."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument; a sentence is meant to be read.
        return str(self.args[0]) if self.args else ""


class FileError(EvenerError, OSError):
    """A file or folder is missing, unreadable, or cannot be written."""


class FormatError(EvenerError, ValueError):
    """A file's content is not what its format says.

    Parameters
    ----------
    message : str
        What was expected, what came, and what to do.
    path : str or Path, optional
        The file at fault.
    line : int, optional
        The line at fault, counted from 1.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path = None if path is None else str(path)
        self.line = line
        where = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(where + message)


class OutOfMemoryError(EvenerError, MemoryError):
    """A graph, partition or result needs more memory than the machine has at hand.

    Parameters
    ----------
    message : str
        What was asked for.
    needed, available : int
        Bytes.
    """

    def __init__(self, message: str, *, needed: int, available: int) -> None:
        self.needed = needed
        self.available = available
        super().__init__(message)

    def __reduce__(self) -> tuple[Callable[..., OutOfMemoryError], tuple[str]]:
        # Out of a worker process it comes pickled, which by itself passes the message alone.
        return partial(type(self), needed=self.needed, available=self.available), (str(self),)


class DeviceError(EvenerError, RuntimeError):
    """A GPU, its driver or CUDA's libraries are missing, too old, or have failed."""


class DeviceOutOfMemory(OutOfMemoryError):  # noqa: N818 - as Python's own MemoryError, it names what happened
    """A partition or its state needs more memory than a GPU has free, or than can be locked for it."""


class VerificationError(EvenerError, AssertionError):
    """A result breaks one of the rules that define it."""


class ConvergenceWarning(RuntimeWarning):
    """An iterative algorithm reached its largest number of iterations before its tolerance."""


def first_clause(error: BaseException) -> str:
    """What an error of a library says, in its first sentence, as a clause for a sentence of ours."""
    line = str(error).strip().partition("\n")[0].partition(". ")[0]
    return line.rstrip(".") or type(error).__name__
