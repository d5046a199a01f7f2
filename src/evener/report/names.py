"""Names that a report or a trace may have: those of other files are most likely given by mistake."""

from __future__ import annotations

import os
from pathlib import Path

from evener.checks import type_name
from evener.errors import ArgumentError

__all__ = ["check_name"]

_SUFFIXES = {"report": (".html", ".htm"), "trace": (".json",)}


def check_name(what: str, path: str | os.PathLike[str], *, said: str | None = None) -> None:
    """Refuse to write a report or a trace over a file of another kind.

    Parameters
    ----------
    what : {"report", "trace"}
    path : str or path-like
    said : str, optional
        How the caller was told of it, as ``--report``. Default: `what`.

    Raises
    ------
    ArgumentError
        If it is no path, or has another suffix than such files.
    """
    said = said or what
    if not isinstance(path, str | os.PathLike):
        msg = f"{said} takes the path of a file, not {type_name(path)}"
        raise ArgumentError(msg)
    name = os.fsdecode(path)
    if "\0" in name:
        msg = f"{said} takes the path of a file, and {name!r} holds a NUL character, which no path does"
        raise ArgumentError(msg)
    suffixes = _SUFFIXES[what]
    if Path(name).suffix.lower() not in suffixes:
        msg = f"{said} {name} would be a {suffixes[0]} file; give it that suffix"
        raise ArgumentError(msg)
