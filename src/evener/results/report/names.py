"""Check the file names of reports and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.graph.checks import check_path

if TYPE_CHECKING:
    import os

__all__ = ["check_name"]

_SUFFIXES = {"report": (".html", ".htm"), "trace": (".json",)}


def check_name(what: str, path: str | os.PathLike[str], *, said: str | None = None) -> None:
    """Raise ArgumentError if a report or a trace has the suffix of another kind of file.

    Parameters
    ----------
    what : {"report", "trace"}
    path : str or path-like
    said : str, optional
        The user's name of the option, such as ``--report``. Default: `what`.

    Raises
    ------
    ArgumentError
        If `path` is not a path or has another suffix.
    """
    said = said or what
    name, suffixes = check_path(path, said), _SUFFIXES[what]
    if name.suffix.lower() not in suffixes:
        msg = f"{said}: expected a name with the suffix {suffixes[0]}, found {name}"
        raise ArgumentError(msg)
