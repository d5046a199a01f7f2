"""The two streams a command prints to."""

from __future__ import annotations

import contextlib
import os
import re
import sys

from evener.errors import FileError

__all__ = ["note", "point_output_at_nothing", "say"]

# Arguments that the library's sentences name, and that are options of commands as well: with a value, as in
# on="cpu", or without, or as what a sentence is about. Names of files and specs may hold such words with
# others, and a spec's seed "must be" what it is to be.
_ARGUMENT = re.compile(
    r"""(?<![\w/.-])(?:
        (?P<valued>(?:dtype|duplicates|gpu_memory|ids|on|policy|self_loops)(?==["'])|alpha(?==\d))=
        | directed=(?P<direction>True|False)\b
        | (?P<bare>alpha|columns|directed|format|gpu_memory|k|max_iter|on|policy|sources?|tol)=(?=[\s,;)]|$)
    )
    | \A(?:
        (?P<subject>damping|delta|dtype|gpu_memory|k|max_iter|seed|semantics|stop|tol|weights)
            (?=\ is\ |\ must\ be\ (?:an\ integer\ of|a\ number)\ )
        | (?P<choice>duplicates|ids|self_loops)(?=\ must\ be\ ["'])
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
    if argument["direction"]:
        return "--directed" if argument["direction"] == "True" else "--undirected"
    if argument["bare"] == "directed":
        return "--directed or --undirected"
    name = argument[argument.lastgroup or 0]
    return f"--{name.replace('_', '-')}{' ' if argument['valued'] else ''}"


def point_output_at_nothing() -> None:
    """Let what standard output still holds go nowhere: the flush at the process's end would fail again."""
    with contextlib.suppress(OSError, ValueError):  # a standard output that is no file
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
