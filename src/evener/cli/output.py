"""The two streams a command prints to."""

from __future__ import annotations

import contextlib
import os
import re
import sys

from evener.errors import FileError

__all__ = ["note", "point_output_at_nothing", "say"]

# Arguments that the library's sentences name, and that are options of commands as well: with a value, as in
# on="cpu", or without. Names of files and specs may hold such words with others.
_ARGUMENT = re.compile(
    r"""(?<![\w/.-])(?:
        (on|policy|gpu_memory)=(?=") | (alpha)=(?=\d)
        | (alpha|columns|directed|format|gpu_memory|k|on|policy|sources?)=(?=[\s,;)]|$)
    )""",
    re.VERBOSE,
)


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
    name = argument[1] or argument[2] or argument[3]
    option = "--directed or --undirected" if name == "directed" else f"--{name.replace('_', '-')}"
    return option if argument[3] else f"{option} "


def point_output_at_nothing() -> None:
    """Let what standard output still holds go nowhere: the flush at the process's end would fail again."""
    with contextlib.suppress(OSError, ValueError):  # a standard output that is no file
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
