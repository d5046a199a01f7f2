"""The two streams a command prints to."""

from __future__ import annotations

import contextlib
import os
import re
import sys

from evener.errors import FileError

__all__ = ["note", "point_output_at_nothing", "say"]

# Arguments that the library's sentences name, as in on="cpu", and that are options of commands as well.
_ARGUMENT = re.compile(r"(?<![\w/-])(alpha|columns|format|gpu_memory|k|on|policy|sources?)=(?=([\"\w\[]?))")


def say(text: str = "") -> None:
    """Print to standard output, at once.

    Raises
    ------
    FileError
        If it cannot be written: a full disk.
    """
    try:
        print(text, flush=True)  # noqa: T201 - the command line
    except BrokenPipeError:
        raise
    except OSError as error:
        point_output_at_nothing()
        msg = f"the output cannot be written: {(error.strerror or str(error)).lower()}"
        raise FileError(msg) from error


def note(text: str) -> None:
    """Print to standard error, which programs that read our output do not see."""
    if sys.stderr is None:  # closed before we began
        return
    print(f"evener: {_ARGUMENT.sub(_as_option, text)}", file=sys.stderr, flush=True)  # noqa: T201 - the command line


def _as_option(argument: re.Match[str]) -> str:
    """An argument of the library as the option of that name, with a space before its value."""
    return f"--{argument[1].replace('_', '-')}{' ' if argument[2] else ''}"


def point_output_at_nothing() -> None:
    """Let what standard output still holds go nowhere: the flush at the process's end would fail again."""
    with contextlib.suppress(OSError, ValueError):  # a standard output that is no file
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
