"""Progress bars in the output of a notebook cell, for work that takes more than a second."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib import import_module
from threading import Event, Thread, current_thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evener.errors import printable
from evener.system.html import escape
from evener.system.world import prints

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Bar", "new_bar", "stage"]

# Seconds of work before a bar appears, and seconds between its updates.
_DELAY, _EVERY = 1.0, 0.25


class Bar:
    """A progress bar with a text below the running cell, drawn by a thread of its own.

    The bar appears after a second of work. The thread ends with `stop`, or at the end of the cell.
    """

    def __init__(self, shell: Any, text: str) -> None:
        self._shell = shell
        self._display = import_module("IPython.display").display
        self._handle: Any = None
        self._began = perf_counter()
        self._latest: tuple[str, float | None] = text, None
        self._done = Event()
        self._thread = Thread(target=self._draw_until_done, name="evener-notebook", daemon=True)
        shell.events.register("post_run_cell", self.stop)
        self._thread.start()

    def show(self, text: str, fraction: float | None = None) -> None:
        """Show the text and the finished part of the work with the next update."""
        self._latest = text, fraction

    def stop(self, *_: object) -> None:
        """End the updates; IPython gives the result of the cell."""
        if not self._done.is_set():
            self._done.set()
            if current_thread() is not self._thread:  # a garbage collection in the thread may call this
                self._thread.join()
            self._shell.events.unregister("post_run_cell", self.stop)

    def close(self, text: str) -> None:
        """Show the end of the work, if the bar has appeared."""
        if self._done.is_set():
            return
        self.stop()
        if self._handle is not None:
            self._draw(text, 1.0)

    def _draw_until_done(self) -> None:
        if self._done.wait(_DELAY):
            return
        self._draw(*self._latest)
        while not self._done.wait(_EVERY):
            self._draw(*self._latest)

    def _draw(self, text: str, fraction: float | None) -> None:
        line = f"{printable(text)}, {perf_counter() - self._began:.0f} s"
        value = "" if fraction is None else f' value="{fraction:.3f}"'  # without a value, the bar moves
        content = {"text/plain": line, "text/html": f"<progress{value}></progress> {escape(line)}"}
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def new_bar(text: str) -> Bar | None:
    """Return a progress bar; None if no notebook runs this process, or if EVENER_QUIET is set."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None or os.environ.get("EVENER_QUIET") or not prints():
        return None
    return Bar(shell, text)


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Show a progress bar while the block works."""
    bar = new_bar(text)
    if bar is None:
        yield
        return
    try:
        yield
    except BaseException:
        bar.stop()
        raise
    bar.close(text)
