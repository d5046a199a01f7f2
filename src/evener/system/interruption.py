"""Interruption: let Ctrl-C end the wait for a call that may never return.

Python cannot stop compiled code. An `interruptible` function runs on a thread of its own, which does not keep
the process alive, while the calling thread waits and answers signals.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import wraps
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")
    Call = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]

__all__ = ["interrupt_calls", "interruptible"]

# Seconds between checks for interrupts, and seconds that an interrupted call has to return.
_CHECK_EVERY, _GRACE = 0.2, 0.5

# The queues of threads that wait for a call. A child of a fork has none of its parent's threads.
_idle: list[SimpleQueue[Call]] = []
os.register_at_fork(after_in_child=_idle.clear)
# The number of interrupts so far.
_interrupts = 0


def interruptible(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function that calls `function`, and that an interrupt ends while the call runs on.

    An interrupt is a KeyboardInterrupt of the calling thread, or `interrupt_calls` of another thread. Then
    the function waits half a second for the call and raises KeyboardInterrupt. A call that still runs keeps
    its arguments alive.
    """

    @wraps(function)
    def call(*args: Any) -> T:
        before = _interrupts
        result: Future[T] = Future()
        _queue_of_idle_thread().put((result, function, args))
        try:
            while _interrupts == before and not wait([result], _CHECK_EVERY).done:
                pass
        except KeyboardInterrupt:
            interrupt_calls()
        if _interrupts == before:
            return result.result()
        with suppress(KeyboardInterrupt):
            wait([result], _GRACE)
        raise KeyboardInterrupt

    return call


def interrupt_calls() -> None:
    """End the waits of all threads for interruptible calls."""
    global _interrupts
    _interrupts += 1


def _queue_of_idle_thread() -> SimpleQueue[Call]:
    """Return the queue of an idle thread, or of a new one."""
    with suppress(IndexError):  # another thread may take the last one
        return _idle.pop()
    calls: SimpleQueue[Call] = SimpleQueue()
    threading.Thread(target=_serve, args=(calls,), name="evener-call", daemon=True).start()
    return calls


def _serve(calls: SimpleQueue[Call]) -> None:
    while True:
        result, function, args = calls.get()
        try:
            result.set_result(function(*args))
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            result.set_exception(error)
        del result, function, args  # so that an idle thread keeps no arrays alive
        _idle.append(calls)
