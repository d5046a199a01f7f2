"""Run tasks that compile CPU kernels, in a process for each core."""

from __future__ import annotations

import logging
import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

from evener.cli.kernel_runs import Task, run
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    T = TypeVar("T")

__all__ = ["compile_natively", "map_tasks", "run_tasks"]


def run_tasks(tasks: Sequence[Task], workers: int, prepare: Callable[[], None]) -> Iterator[Task]:
    """Run tasks in new processes, and yield each task when it is done. Each process calls `prepare` first."""
    for task, _ in map_tasks(run, tasks, workers, prepare):
        yield task


def map_tasks(
    function: Callable[[Task], T], tasks: Sequence[Task], workers: int, prepare: Callable[[], None]
) -> Iterator[tuple[Task, T]]:
    """Call a function for each task in new processes, and yield the task and the result when it is done."""
    # Numba holds Python's lock while it compiles, so threads would take turns.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), spawn, _start, (prepare,)) as pool:
        futures = {pool.submit(function, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _start(prepare: Callable[[], None]) -> None:
    log.setLevel(logging.ERROR)
    warnings.simplefilter("ignore")  # runs of few iterations do not converge
    prepare()


def compile_natively() -> None:
    """Use no bundle in this process, so that all kernels are compiled for its processor."""
    from evener.kernels.cpu.bundle import use_bundle

    use_bundle(None)
