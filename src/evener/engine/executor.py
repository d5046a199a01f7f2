"""The executor: threads of this process that run the steps of its elements at the same time.

The calling thread first queues the work of all deferred elements. Then each thread takes the next call from
one list. The calling thread also takes calls, so that no call waits for a slow worker. Elements that share
cores run one after another.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.elements.cpu import usable_cores
from evener.system.interruption import interrupt_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.elements.protocols import Element

    # The phase of the timeline to which a step's time counts, and a function with its arguments.
    Step = tuple[str, Callable[..., Any], Sequence[Any]]

__all__ = ["StepsDone", "no_steps", "run_all", "run_steps", "worker_count"]


class StepsDone(NamedTuple):
    """The steps that an element has taken, and their values.

    `marks` are those of the element's clock before the first step and after each step.
    """

    element: Element
    steps: list[Step]
    values: list[Any]
    marks: list[Any]

    @property
    def result(self) -> Any:
        """The number, or the tuple of numbers, that the compute step returned, after waiting for it."""
        computed = [
            value for step, value in zip(self.steps, self.values, strict=True) if step[0] == "compute"
        ]
        return self.element.result(computed[-1]) if computed else None


def no_steps(elements: Sequence[Element]) -> list[list[Step]]:
    """Return an empty list of steps for each element."""
    return [[] for _ in elements]


def run_steps(elements: Sequence[Element], steps: list[list[Step]], workers: int) -> list[StepsDone]:
    """Run the steps of each element in order, all elements at the same time.

    The call waits for elements that are not deferred. Steps of deferred elements may still run.
    """
    calls = [(element, _take_steps, (element, own)) for element, own in zip(elements, steps, strict=True)]
    return [
        StepsDone(element, own, *taken)
        for element, own, taken in zip(elements, steps, run_all(calls, workers), strict=True)
    ]


def _take_steps(element: Element, steps: list[Step]) -> tuple[list[Any], list[Any]]:
    """Return the value of each step, and marks before the first step and after each step."""
    values: list[Any] = []
    marks = [element.mark()]
    for _, function, args in steps:
        values.append(function(*args))
        marks.append(element.mark())
    return values, marks


def worker_count(elements: Sequence[Element]) -> int:
    """Return how many threads to use in addition to the calling one."""
    busy = [element.threads for element in elements if not element.deferred]
    return min(len(busy), max(1, usable_cores() * len(busy) // max(1, sum(busy)))) - 1 if busy else 0


def run_all(calls: Sequence[tuple[Element, Callable[..., Any], Sequence[Any]]], workers: int) -> list[Any]:
    """Run each call on its element, with up to `workers` threads and the calling one, and return the values.

    After an error no further call begins, and the function waits for the calls in progress. It raises the
    first interrupt or, without one, the first error, with notes about other errors.
    """
    if len(calls) == 1:
        element, function, args = calls[0]
        return [element.run(function, *args)]
    answers: list[Any] = [None] * len(calls)
    for turn, (element, function, args) in enumerate(calls):
        if element.deferred:
            answers[turn] = element.run(function, *args)
    # Each `next` of this iterator is atomic.
    turns = iter([turn for turn, (element, _, _) in enumerate(calls) if not element.deferred])

    errors: list[BaseException] = []  # in the order of time
    # A worker holds its lock during all of its calls.
    at_work = [Lock() for _ in range(workers)]

    def take_turns() -> None:
        for turn in turns:
            element, function, args = calls[turn]
            answers[turn] = element.run(function, *args)

    def work(working: Lock) -> None:
        with working:
            try:
                take_turns()
            except BaseException as error:  # noqa: BLE001 - the calling thread raises it
                errors.append(error)
                list(turns)  # no further call begins

    try:
        for working in at_work:
            _threads().submit(work, working)
        take_turns()
    except BaseException as error:  # noqa: BLE001 - raised when all have ended
        errors.append(error)
    # Wait for the workers, also during interrupts: they write to arrays that the caller uses again. A worker
    # that starts later finds no call left.
    while True:
        try:
            list(turns)
            for working in at_work:
                with working:
                    pass
            break
        except BaseException as interrupt:  # noqa: BLE001 - raised when all have ended
            errors.append(interrupt)
            interrupt_calls()
    if errors:
        raise _first(errors)
    return answers


def _first(errors: list[BaseException]) -> BaseException:
    """Return the first interrupt or, without one, the first error, with notes about the others.

    The list is empty afterwards: the traceback of an error would keep it, and the arrays of the calls, alive.
    """
    errors.sort(key=lambda error: isinstance(error, Exception))
    first, *others = errors
    errors.clear()
    for other in others:
        if isinstance(other, Exception):
            first.add_note(f"another element also failed: {other!r}")
    return first


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=usable_cores(), thread_name_prefix="evener")
