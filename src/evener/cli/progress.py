"""Progress of a run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from evener.errors import printable
from evener.results.report.units import rate_text, seconds_text
from evener.system.world import prints

if TYPE_CHECKING:
    from types import TracebackType

    from rich.live import Live

    from evener.engine.timeline import Progress

__all__ = ["Display", "LiveDisplay", "PlainDisplay", "display", "line"]

# Seconds between plain lines.
_PLAIN_EVERY = 5.0

# Seconds of compiling after which the live line mentions it.
_LONG = 1.0

# Redraws of the live line per second.
_REDRAWS = 8


class Display(Protocol):
    """Shows the progress of a run. Any thread may call both methods."""

    def stage(self, what: str) -> None:
        """Begin a stage that has no supersteps: reading, partitioning, writing."""

    def superstep(self, progress: Progress) -> None:
        """Show the progress of the algorithm."""

    def __enter__(self) -> Display:
        """Start the display."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the terminal."""


def display(stream: TextIO | None = None) -> Display:
    """Return the display for `stream`, by default standard error. Only rank 0 shows progress."""
    stream = stream or sys.stderr
    if stream is None or not prints():  # None if it was closed before the command began
        stream = io.StringIO()
    return LiveDisplay(stream) if stream.isatty() else PlainDisplay(stream)


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


class PlainDisplay:
    """A line every few seconds, for logs and pipes.

    Parameters
    ----------
    stream : text file
        Receives the lines.
    every : float
        Seconds between lines; a run shorter than this shows none.
    """

    def __init__(self, stream: TextIO, *, every: float = _PLAIN_EVERY) -> None:
        self._stream = stream
        self._every = every
        self._next = time.monotonic() + every

    def stage(self, what: str) -> None:
        """Begin a stage, without a line."""

    def superstep(self, progress: Progress) -> None:
        """Print a line if enough time has passed since the last line."""
        if time.monotonic() >= self._next:
            print(printable(line(progress)), file=self._stream, flush=True)
            self._next = time.monotonic() + self._every

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class LiveDisplay:
    """One line that changes in place, redrawn by a thread of its own.

    Parameters
    ----------
    stream : text file
        A terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream)
        self._live: Live | None = None
        self._text = ""
        self._spent = self._spent_before = _compile_seconds()

    def stage(self, what: str) -> None:
        """Show the stage."""
        self._text = printable(what)

    def superstep(self, progress: Progress) -> None:
        """Show the progress of the algorithm."""
        self._text = line(progress)

    def __enter__(self) -> LiveDisplay:
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        spinner = Spinner("dots")

        def draw() -> Spinner:
            more, room = self._compiling_text(), self._console.width - 2
            if 2 * len(more) > room:  # progress matters more
                more = ""
            # Text, because a string may hold markup such as [red].
            spinner.update(text=Text(_cropped(printable(self._text), room - len(more)) + more))
            return spinner

        self._live = Live(
            console=self._console, get_renderable=draw, refresh_per_second=_REDRAWS, transient=True
        )
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

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


def _cropped(text: str, room: int) -> str:
    """Return a line cut to the width of the terminal, because a second line would remain there."""
    return text if len(text) <= room else f"{text[: room - 1]}…"
