"""Checkpoint: where and how often a run writes checkpoints, and whether it continues from one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError
from evener.graph.checks import check_bool, check_path

if TYPE_CHECKING:
    import os

__all__ = ["Checkpoint"]

_EVERY = re.compile(r"(?:(?P<seconds>\d+(?:\.\d+)?)s|(?P<steps>[1-9]\d*)steps?)")


class Checkpoint:
    """Where and how often a run writes checkpoints, and whether it continues from one.

    Pass it to an algorithm as ``checkpoint=``. With several ranks, all ranks give equal values.

    Parameters
    ----------
    folder : path-like
        The folder of the checkpoints, created if it is missing. All ranks must see it. It keeps the last two
        checkpoints, also after the run.
    every : str, default "60s"
        The time between checkpoints, such as "60s", or the number of steps, such as "10steps". A step is one
        superstep or several; a step of betweenness is one source.
    resume : bool, default False
        Continue from the newest valid checkpoint in the folder. The ranks and elements may differ from those
        of the run that wrote it. If False, a folder with checkpoints is refused.
    command : str, optional
        The command that continues the run, for messages. Default: the text of a `Checkpoint`
        with ``resume=True``.

    Raises
    ------
    ArgumentError
        If `folder` is not a path, or `every` is neither a time nor a number of steps.

    Notes
    -----
    A checkpoint that cannot be written, for example to a full disk, is a warning: the run goes on, and the
    previous checkpoint stays valid. A folder that cannot be written to at the beginning is an error.

    Examples
    --------
    >>> import evener as ev
    >>> ck = ev.Checkpoint("ranks.checkpoints", every="10steps")
    >>> ev.pagerank("rmat:20", checkpoint=ck)  # doctest: +SKIP
    >>> ck = ev.Checkpoint("ranks.checkpoints", resume=True)  # after a failure
    >>> ev.pagerank("rmat:20", checkpoint=ck)  # doctest: +SKIP
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        every: str = "60s",
        resume: bool = False,
        command: str | None = None,
    ) -> None:
        self.folder = check_path(folder, "checkpoint")
        found = _EVERY.fullmatch(every) if isinstance(every, str) else None
        if found is None:
            msg = f'every=: expected a time such as "60s", or steps such as "10steps", found {every!r}'
            raise ArgumentError(msg)
        self.every = every
        self.resume = check_bool(resume, "resume")
        self.command = command or f'the program with checkpoint=evener.Checkpoint("{folder}", resume=True)'
        self._seconds = None if found["seconds"] is None else float(found["seconds"])
        self._steps = int(found["steps"] or 0)

    def agreed(self) -> dict[str, Any]:
        """Return the values by name that are equal on all ranks."""
        return {"folder": str(self.folder), "every": self.every, "resume": self.resume}

    def is_due(self, steps: int, seconds: float) -> bool:
        """Return whether the next checkpoint is due, this many steps and seconds after the last."""
        return steps >= self._steps if self._seconds is None else seconds >= self._seconds

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.folder)!r}, every={self.every!r}, resume={self.resume})"
