"""Errors of Evener. Each class derives from `EvenerError` and from the matching built-in exception."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = [
    "NO_USABLE_GPU",
    "ArgumentError",
    "ConvergenceWarning",
    "DeviceError",
    "DeviceOutOfMemory",
    "EvenerError",
    "FileError",
    "FormatError",
    "MpiError",
    "OutOfMemoryError",
    "UnknownVertexError",
    "VerificationError",
    "first_clause",
    "printable",
    "shorten",
]

# First words of the warning about an unusable GPU when the caller named no elements.
NO_USABLE_GPU = "running on the CPU because no GPU is usable"


# Longest message about an argument or the content of a file, and longest path in it, in characters.
_MAX_MESSAGE, _MAX_PATH = 600, 300


class EvenerError(Exception):
    """Base class of every error that Evener raises on purpose.

    The message has control characters as escapes, because names and files may hold any character.
    """

    # Control characters that messages of a class keep, and whether long messages are shortened.
    _kept = ""
    _shortened = False

    def __init__(self, message: str = "") -> None:
        text = printable(message, kept=self._kept)
        super().__init__(shorten(text) if self._shortened else text)


class ArgumentError(EvenerError, ValueError):
    """An argument, option or graph specification has a wrong type or value."""

    _shortened = True


class UnknownVertexError(ArgumentError, KeyError):
    """A vertex named in an argument is not in the graph."""

    def __str__(self) -> str:
        # KeyError prints the repr of its argument; users need the plain sentence.
        return str(self.args[0]) if self.args else ""


class FileError(EvenerError, OSError):
    """A file or folder is missing, or Evener cannot read or write it."""

    _shortened = True


class FormatError(EvenerError, ValueError):
    """The content of a file breaks a rule of its format.

    Parameters
    ----------
    message : str
        The expected content, the content found, and what to do.
    path : str or Path, optional
        Path of the file.
    line : int, optional
        Number of the line, from 1.

    Attributes
    ----------
    reason : str
        The message without path and line.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path = None if path is None else str(path)
        self.line = line
        self.reason = shorten(printable(message))
        name = shorten(printable(str(path)), _MAX_PATH)
        where = "" if path is None else f"{name}: " if line is None else f"{name}, line {line}: "
        super().__init__(where + self.reason)


class OutOfMemoryError(EvenerError, MemoryError):
    """A graph, partition or result needs more memory than is available.

    Parameters
    ----------
    message : str
        A sentence that says what needs the memory.
    needed, available : int
        Bytes required and bytes available.
    """

    _shortened = True

    def __init__(self, message: str, *, needed: int, available: int) -> None:
        self.needed = needed
        self.available = available
        super().__init__(message)

    def __reduce__(self) -> tuple[Callable[..., OutOfMemoryError], tuple[str]]:
        # By default, pickling an exception keeps its message only.
        return partial(type(self), needed=self.needed, available=self.available), (str(self),)


class DeviceError(EvenerError, RuntimeError):
    """A GPU, its driver or a CUDA library is missing, too old, or has failed."""

    _kept = "\n"  # lines of a compiler


class DeviceOutOfMemory(OutOfMemoryError):  # noqa: N818 - follows MemoryError
    """A partition needs more memory than a GPU has free, or more than the host can lock for the GPU."""


class MpiError(EvenerError, RuntimeError):
    """Ranks cannot work together: no MPI library, another launcher, or different arguments."""

    _kept = "\n"  # lines of several ranks


class VerificationError(EvenerError, AssertionError):
    """A result breaks a rule of its algorithm."""

    _shortened = True


class ConvergenceWarning(RuntimeWarning):
    """An iterative algorithm reached its largest number of iterations before its tolerance."""


def first_clause(error: BaseException) -> str:
    """Return the first sentence of an error of another library, without its full stop."""
    line = str(error).strip().partition("\n")[0].partition(". ")[0]
    return line.rstrip(".") or type(error).__name__


def printable(text: str, *, kept: str = "") -> str:
    r"""Return a text with characters that are not visible as escapes, except blanks and those in `kept`.

    These characters control a terminal, or change the order of others, or are lone surrogates.

    Examples
    --------
    >>> print(printable("é 漢字 \x1b[31m \u202e"))
    é 漢字 \x1b[31m \u202e
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def shorten(text: str, length: int = _MAX_MESSAGE) -> str:
    """Return a text of at most `length` characters: of a longer text, the begin and the end."""
    half = (length - 5) // 2
    return text if len(text) <= length else f"{text[:half]} ... {text[-half:]}"
