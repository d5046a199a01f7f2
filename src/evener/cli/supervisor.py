"""Supervisor: run a command in a thread of its own, so that Ctrl-C works while a kernel runs."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import warnings
from time import sleep
from typing import TYPE_CHECKING, Any

from evener.cli.output import note
from evener.cli.progress import Display
from evener.errors import NO_USABLE_GPU, ConvergenceWarning
from evener.results.report.units import seconds_text
from evener.system.log import log
from evener.system.world import prints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from evener.engine.timeline import Progress
    from evener.system.world import World

__all__ = ["Command", "Interrupted", "supervise"]

# Seconds that an interrupted command has to stop at the end of a superstep.
_GRACE = 0.3

# Seconds between checks for signals, which may arrive in a thread that is not waiting.
_LOOK = 0.2


class Interrupted(BaseException):
    """The command was interrupted and stopped at the end of a superstep."""


class Command:
    """A command: its words, its stage, its display, and the files that it has written."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.words: list[str] = []
        self.written: list[str] = []
        # The ranks of a run that writes checkpoints.
        self.world: World | None = None
        self._noted_recovery = False
        self._stage = ""
        self._latest: Progress | None = None
        self._display: Display | None = None

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Show progress on standard error while the block runs."""
        self._display = Display()
        with self._display, _library_messages(self):
            yield
        self._display = None

    def stage(self, what: str) -> None:
        """Begin a stage: reading, partitioning, writing."""
        self._stop_if_interrupted()
        self._stage, self._latest = what, None
        if self._display is not None:
            self._display.stage(what)

    def progress(self, progress: Progress) -> None:
        """Show the progress of an algorithm; the command passes this method as ``progress=``."""
        self._stop_if_interrupted()
        if not self._noted_recovery and (recovery := self._recovery()):
            note(recovery)
            self._noted_recovery = True
        self._latest = progress
        if self._display is not None:
            self._display.superstep(progress)

    def close(self) -> None:
        """Restore the terminal, even while the command runs."""
        if self._display is not None:
            self._display.__exit__(None, None, None)
            self._display = None

    def so_far(self) -> str:
        """Return a clause about the finished work of the command."""
        latest = self._latest
        if latest is not None:
            steps = "1 superstep" if latest.superstep == 1 else f"{latest.superstep} supersteps"
            done = f"after {steps} of {latest.algorithm} ({seconds_text(latest.seconds)})"
        else:
            done = f"while {self._stage}" if self._stage else "before anything was done"
        recovery = self._recovery()
        written = f"{', '.join(self.written)} had been" if self.written else "nothing was"
        return f"{done}; {written} written{'; ' if recovery else ''}{recovery}"

    def _recovery(self) -> str:
        """Return how a user continues, once the run has a valid checkpoint."""
        recovery = "" if self.world is None else self.world.recovery
        return f"to continue after a failure, run {recovery}" if recovery else ""

    def _stop_if_interrupted(self) -> None:
        if self.stopping.is_set():
            raise Interrupted


class _Steps(logging.Handler):
    """Show log records of the library: a warning as a note, printed once, others as stages of the job."""

    def __init__(self, job: Command) -> None:
        super().__init__(logging.INFO)
        self._job = job
        self._noted: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.levelno < logging.WARNING:
            self._job.stage(message)
        else:
            self.note_once(message)

    def note_once(self, message: str) -> None:
        """Print a note, unless the same note was printed before."""
        if message not in self._noted:
            self._noted.add(message)
            note(message)


@contextlib.contextmanager
def _library_messages(job: Command) -> Iterator[None]:
    """Show log records and warnings of the library as notes and stages of the command."""
    steps = _Steps(job)
    level = log.level
    log.addHandler(steps)
    log.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            others = warnings.showwarning
            warnings.filterwarnings("always", message=NO_USABLE_GPU)
            warnings.simplefilter("always", ConvergenceWarning)

            def show(message: Warning | str, *where: Any) -> None:
                if isinstance(message, ConvergenceWarning) or str(message).startswith(NO_USABLE_GPU):
                    steps.note_once(str(message))
                else:
                    others(message, *where)

            warnings.showwarning = show  # type: ignore[assignment] # called with positional arguments
            yield
    finally:
        log.setLevel(level)
        log.removeHandler(steps)


def supervise(work: Callable[[], int], job: Command, *, own_process: bool) -> int:
    """Run `work` in a thread and return its status; after Ctrl-C, clean up and end within a second.

    Python cannot stop a running kernel. If a kernel still runs after the grace time, or if the process
    belongs to the command, the function ends the process.
    """
    outcome: list[int | BaseException] = []
    done = threading.Event()

    def body() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            outcome.append(error)
        finally:
            done.set()

    with _terminate_as_interrupt():
        try:
            threading.Thread(target=body, name="evener-work", daemon=True).start()
            while not done.wait(_LOOK):
                pass
        except KeyboardInterrupt as interrupt:
            status = 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
            _stop(job, done)
            if not prints():
                sleep(_GRACE)  # the launcher ends rank 0 when another rank ends, before it has printed
            if own_process or not done.is_set():
                # A normal exit would wait for the kernels of other threads.
                os._exit(status)
            return status
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _stop(job: Command, done: threading.Event) -> None:
    job.stopping.set()
    with contextlib.suppress(KeyboardInterrupt):
        done.wait(_GRACE)
    job.close()
    _remove_unfinished_files()
    with contextlib.suppress(OSError):  # the terminal may be closed
        note(f"interrupted {job.so_far()}")


def _remove_unfinished_files() -> None:
    """Remove the temporary files of unfinished writes."""
    files = sys.modules.get("evener.system.files")
    if files is not None:
        files.remove_temporary_files()


@contextlib.contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM, and SIGHUP unless it is ignored (`nohup`), like Ctrl-C while the block runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    numbers = [signal.SIGTERM, signal.SIGHUP] if hasattr(signal, "SIGHUP") else [signal.SIGTERM]
    before = {number: signal.getsignal(number) for number in numbers}
    handled = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]
    for number in handled:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
