"""Names that a report or a trace may have: those of other files are most likely given by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.errors import ArgumentError
from evener.graph.checks import check_path

if TYPE_CHECKING:
    import os

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
    name, suffixes = check_path(path, said), _SUFFIXES[what]
    if name.suffix.lower() not in suffixes:
        msg = f"{said} {name} would be a {suffixes[0]} file; give it that suffix"
        raise ArgumentError(msg)
