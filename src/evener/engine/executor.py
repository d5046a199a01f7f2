"""The crew: threads of this process that drive its elements beside the calling one.

The calls of a superstep lie in one list, and every thread takes the next one that no other has taken. So the
calling thread, which would only wait otherwise, works as well; a helper that wakes late finds its call done;
and elements that share fewer cores than they have threads, together, take turns instead of each other's time.
A GPU is only handed its work, so the calling thread does that for all of them before it takes a turn.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from evener.elements.cpu import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.elements.base import Element

__all__ = ["call_all", "helpers_for"]


def helpers_for(elements: Sequence[Element]) -> int:
    """How many elements find cores of their own beside the one that the calling thread drives."""
    busy = [element.threads for element in elements if not element.deferred]
    return min(len(busy), max(1, usable_cores() * len(busy) // max(1, sum(busy)))) - 1 if busy else 0


def call_all(calls: Sequence[tuple[Element, Callable[..., Any], Sequence[Any]]], helpers: int) -> list[Any]:
    """Make each call on its element, with up to `helpers` threads beside this one, and wait for all.

    Gives what they return, in order. Where one fails, or the user interrupts, no further one begins, and that
    is raised when those under way have ended.
    """
    answers: list[Any] = [None] * len(calls)
    for turn, (element, function, args) in enumerate(calls):
        if element.deferred:
            answers[turn] = element.call(function, *args)
    # Each step of it is one thread's.
    turns = iter([turn for turn, (element, _, _) in enumerate(calls) if not element.deferred])

    errors: list[BaseException] = []
    at_work = [Lock() for _ in range(helpers)]  # each held by a helper from before its first turn to its last

    def take_turns() -> None:
        for turn in turns:
            element, function, args = calls[turn]
            answers[turn] = element.call(function, *args)

    def help_out(working: Lock) -> None:
        with working:
            try:
                take_turns()
            except BaseException as error:  # noqa: BLE001 - the calling thread raises it
                errors.append(error)
                list(turns)  # none that has not begun shall begin

    try:
        for working in at_work:
            _threads().submit(help_out, working)
        take_turns()
    finally:
        # Helpers write to what the caller will use again, so they are waited for, whatever signals arrive.
        # One that wakes later finds no turn left.
        interrupts: list[BaseException] = []
        while True:
            try:
                list(turns)
                for working in at_work:
                    with working:
                        pass
                break
            except BaseException as interrupt:  # noqa: BLE001 - it is raised when all have ended
                interrupts.append(interrupt)
        if interrupts:
            raise interrupts.pop()
    if errors:
        raise errors.pop()
    return answers


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=usable_cores(), thread_name_prefix="evener")
