"""The standard output and standard error of commands."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from typing import Any

import numpy as np

from evener.errors import FileError, printable
from evener.system.world import prints

__all__ = ["PROGRAM", "in_options", "note", "point_output_at_nothing", "say", "say_json", "warn"]

# The first word of a message.
PROGRAM = "evener: "
# Arguments in messages of the library that are also options of commands: on="cpu" or "tol=: expected".
_ARGUMENT = re.compile(
    r"""(?<![\w/.-])(?:
        (?P<valued>(?:directions|dtype|duplicates|format|gpu_memory|ids|on|policy|self_loops)(?==["'])
            |alpha(?==\d))=
        | directed=(?P<direction>True|False)\b
        | (?P<switch>each|resume)=True\b
        | (?P<bare>alpha|attenuation|checkpoint|columns|communities|cutoff|damping|delta|directed|directions
            |dtype|duplicates|every|format|gpu_memory|ids|k|length|max_iter|max_levels|max_searches|n|on|p
            |pairs|personalization|policy|q|resolution|restart|seed|self_loops|semantics|sources?|stop|target|tol
            |walks_per_vertex|weighted|weights)=(?=[\s,;:)]|$)
    )
    | \A(?P<subject>gpu_memory)(?=\ is\ |\ must\ be\ a\ number\ )""",
    re.VERBOSE,
)


def say(text: str = "") -> None:
    """Print lines to standard output and flush it. Only rank 0 prints.

    Control characters become escapes, except newlines. A caller makes names printable, which may hold them.

    Raises
    ------
    FileError
        If the output cannot be written, for example to a full disk.
    """
    if not prints():
        return
    if sys.stdout is None:
        msg = "standard output cannot be written: it is closed"
        raise FileError(msg)
    try:
        print(printable(text, kept="\n"), flush=True)  # noqa: T201 - the command line
    except BrokenPipeError:
        raise
    except OSError as error:
        point_output_at_nothing()
        msg = f"standard output cannot be written: {(error.strerror or str(error)).lower()}"
        raise FileError(msg) from error


def say_json(content: dict[str, Any]) -> None:
    """Print standard JSON; infinity and NaN become null."""
    say(json.dumps(_plain(content), indent=2, allow_nan=False))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def note(text: str) -> None:
    """Print a message of the library to standard error, with options in place of arguments."""
    warn(in_options(text))


def warn(text: str) -> None:
    """Print to standard error, so that programs that read the output do not see it. Only rank 0 prints.

    Control characters become escapes. A standard error that is closed or full stops no command.
    """
    if sys.stderr is None or not prints():  # None if it was closed before the command began
        return
    with contextlib.suppress(OSError):
        print(f"{PROGRAM}{printable(text)}", file=sys.stderr, flush=True)  # noqa: T201 - the command line


def in_options(text: str) -> str:
    """Return a message of the library with options of the command in place of arguments."""
    return _ARGUMENT.sub(_as_option, text)


def _as_option(argument: re.Match[str]) -> str:
    """Return the command-line option of an argument of the library."""
    if argument["switch"]:
        return f"--{argument['switch']}"
    if argument["direction"]:
        return "--directed" if argument["direction"] == "True" else "--undirected"
    if argument["bare"] == "directed":
        return "--directed or --undirected"
    name = argument[argument.lastgroup or 0]
    return f"--{name.replace('_', '-')}{' ' if argument['valued'] else ''}"


def point_output_at_nothing() -> None:
    """Redirect standard output to nothing, because the flush at exit would fail again."""
    with contextlib.suppress(OSError, ValueError):  # standard output may not be a file
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
