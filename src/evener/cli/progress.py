"""Progress of a run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from typing import TYPE_CHECKING, TextIO

from evener.errors import printable
from evener.results.report.units import rate_text, seconds_text
from evener.system.world import prints

if TYPE_CHECKING:
    from typing import Self

    from rich.live import Live

    from evener.engine.timeline import Progress

__all__ = ["Display", "line"]

# Seconds between plain lines.
_PLAIN_EVERY = 5.0

# Seconds of compiling after which the live line mentions it.
_LONG = 1.0

# Redraws of the live line per second.
_REDRAWS = 8


def line(progress: Progress) -> str:
    """Return one line about the progress of a run.

    Examples
    --------
    >>> from evener.engine.timeline import Progress
    >>> line(Progress("pagerank", 12, "pull", 1000, 3.0, edges_per_second=2e9, fraction=0.5))
    'pagerank: superstep 12, pull, 1,000 vertices active, 2 G edges/s, 3 s, about 3 s left'
    """
    parts = [f"superstep {progress.superstep}", progress.phase, f"{progress.active:,} vertices active"]
    if progress.edges_per_second is not None:
        parts.append(rate_text(progress.edges_per_second))
    parts.append(seconds_text(progress.seconds))
    if progress.fraction:
        left = progress.seconds * (1 - progress.fraction) / progress.fraction
        parts.append(f"about {seconds_text(left)} left")
    return f"{progress.algorithm}: {', '.join(part for part in parts if part)}"


class Display:
    """Shows the progress of a run. Any thread may call its methods. Only rank 0 shows progress.

    A terminal has one line that changes in place, redrawn by a thread of its own. Logs and pipes get a line
    every few seconds, so that a short run prints none.

    Parameters
    ----------
    stream : text file, optional
        Receives the lines. Default: standard error.
    every : float
        Seconds between plain lines.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = _PLAIN_EVERY) -> None:
        stream = stream or sys.stderr
        if stream is None or not prints():  # None if it was closed before the command began
            stream = io.StringIO()
        self._stream = stream
        self._every = every
        self._next = time.monotonic() + every
        self._text = ""
        self._spent = self._spent_before = _compile_seconds()
        self._live = self._new_live() if stream.isatty() else None

    def stage(self, what: str) -> None:
        """Begin a stage that has no supersteps, such as reading. Only a terminal shows it."""
        self._text = printable(what)

    def superstep(self, progress: Progress) -> None:
        """Show the progress of the algorithm, unless the last plain line is recent."""
        if self._live is not None:
            self._text = line(progress)
        elif time.monotonic() >= self._next:
            with contextlib.suppress(OSError):  # a full or closed standard error stops no command
                print(printable(line(progress)), file=self._stream, flush=True)
            self._next = time.monotonic() + self._every

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal."""
        if self._live is not None:
            self._live.stop()

    def _new_live(self) -> Live:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        console, spinner = Console(file=self._stream), Spinner("dots")

        def draw() -> Spinner:
            more, width = self._compiling_text(), console.width - 2
            if 2 * len(more) > width:  # progress matters more
                more = ""
            # Text, because a string may hold markup such as [red]. Cut, because a second line would remain.
            text = Text(printable(self._text))
            text.truncate(width - len(more), overflow="ellipsis")
            spinner.update(text=text + more)
            return spinner

        return Live(console=console, get_renderable=draw, refresh_per_second=_REDRAWS, transient=True)

    def _compiling_text(self) -> str:
        """Return the end of the line while kernels are compiled or loaded for long, else nothing."""
        last, self._spent = self._spent, _compile_seconds()
        so_far = self._spent - self._spent_before
        if self._spent == last or so_far < _LONG:
            return ""
        return f"; preparing kernels, {so_far:.0f} s so far"


def _compile_seconds() -> float:
    """Return the seconds that this process has spent on loading or compiling kernels."""
    # Do not import the module: another thread may be importing it.
    spent = getattr(sys.modules.get("evener.kernels.compile_clock"), "compile_seconds", None)
    return 0.0 if spent is None else float(spent())
