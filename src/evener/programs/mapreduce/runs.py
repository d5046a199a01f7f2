"""Runs: the sorted records of an element, in memory up to a limit, and in files beyond it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import FileError
from evener.programs.mapreduce.records import SortedRun
from evener.system.cache import cache_folder
from evener.system.files import temporary_folder
from evener.system.memory import require_for_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

    from numpy.typing import NDArray

    from evener.programs.mapreduce.worker import JobWorker

__all__ = ["Runs", "joined"]

# A merge needs this many times the memory of its records: the records, their sorted copy, and the rows.
_MERGE_COPIES = 4


class Runs:
    """The sorted runs of one element on the host, until all records are known.

    The worker merges runs. `chunk` records fit the memory of a GPU. Runs and their merges may use `memory`
    bytes; other runs are written to files. `stack` removes the folder of the files when it closes. `spilled`
    counts the bytes written to files.
    """

    def __init__(self, worker: JobWorker, chunk: int, memory: int, stack: ExitStack) -> None:
        self._worker, self._reducer = worker, worker.reducer
        self._capacity = sys.maxsize if worker.element.addressable else chunk
        self._limit, self._stack = memory // _MERGE_COPIES, stack
        self._held: list[SortedRun] = []
        self._files: list[SortedRun] = []
        self._folder: Path | None = None
        self.spilled = 0

    def add(self, run: SortedRun) -> None:
        """Keep a run, in a file if runs do not fit the memory."""
        self._held.append(run)
        if sum(run.nbytes for run in self._held) <= self._limit:
            return
        if self._reducer.shrinks and len(self._held) > 1:
            self._held = [self._union(self._held, self._capacity, last=False)]
            if self._held[0].nbytes <= self._limit // 2:
                return
        for run in self._held:
            self._files.append(self._write(run))
        self._held = []

    def rows(self) -> SortedRun:
        """Return one row for each key of all runs."""
        runs = [run for run in (*self._files, *self._held) if len(run.keys)] or self._held[:1]
        self._held = []
        if len(runs) == 1 and self._reducer.shrinks and not self._files:
            return runs[0]
        capacity = self._capacity
        if self._files:
            nbytes = sum(run.nbytes for run in runs)
            capacity = min(capacity, max(1, sum(len(run.keys) for run in runs) * self._limit // nbytes))
        return self._union(runs, capacity, last=True)

    def _union(self, runs: Sequence[SortedRun], capacity: int, *, last: bool) -> SortedRun:
        """Return the union of runs; with `last`, its rows. Each step merges about `capacity` records."""
        parts = [self._merged(part, last=last) for part in _ranges(runs, capacity)]
        return parts[0] if len(parts) == 1 else joined(parts)

    def _merged(self, runs: Sequence[SortedRun], *, last: bool) -> SortedRun:
        nbytes = _MERGE_COPIES * sum(run.nbytes for run in runs)
        require_for_run(nbytes, "merging the records of a MapReduce job")
        element, reducer, whole = self._worker.element, self._reducer, joined(runs)
        keys, *columns = (element.upload(array) for array in (whole.keys, *whole.columns))
        run = reducer.run_of(element, self._worker.sort(keys, columns))
        if last:
            run = reducer.rows_of(element, run)
        return SortedRun(element.download(run.keys), [element.download(column) for column in run.columns])

    def _write(self, run: SortedRun) -> SortedRun:
        """Write a run to files, and return it as mapped files."""
        home = cache_folder()
        parent = Path(tempfile.gettempdir()) if home is None else home / "evener"
        try:
            if self._folder is None:
                parent.mkdir(parents=True, exist_ok=True)
                self._folder = self._stack.enter_context(temporary_folder(parent, "mapreduce"))
            number, folder = len(self._files), self._folder
            keys, *columns = (
                _write_array(array, folder / f"{number}-{k}")
                for k, array in enumerate((run.keys, *run.columns))
            )
        except OSError as error:
            msg = (
                f"cannot write the runs of a MapReduce job to {parent}: "
                f"{(error.strerror or str(error)).lower()}; free some space, set XDG_CACHE_HOME to a larger "
                "disk, or raise memory="
            )
            raise FileError(msg) from error
        self.spilled += run.nbytes
        return SortedRun(keys, columns)


def _write_array(array: NDArray[Any], path: Path) -> NDArray[Any]:
    """Write an array to a file, and return it as a mapped file."""
    with path.open("wb") as file:
        file.write(np.ascontiguousarray(array).data)
    return np.memmap(path, array.dtype, "r", shape=array.shape) if len(array) else array


def joined(runs: Sequence[SortedRun]) -> SortedRun:
    """Return the records of several runs, one run after another."""
    columns = [np.concatenate(parts) for parts in zip(*(run.columns for run in runs), strict=True)]
    return SortedRun(np.concatenate([run.keys for run in runs]), columns)


def _ranges(runs: Sequence[SortedRun], capacity: int) -> Iterator[list[SortedRun]]:
    """Divide the keys of sorted runs into ranges, and yield the records of each range as parts of runs.

    A range has up to `capacity` records, or all records of one key. Without records, it is all runs, once.
    """
    if not any(len(run.keys) for run in runs):
        yield list(runs)
    begins, ends = [0] * len(runs), [len(run.keys) for run in runs]
    while any(begin < end for begin, end in zip(begins, ends, strict=True)):
        left = [(run, begin) for run, begin in zip(runs, begins, strict=True) if begin < len(run.keys)]
        lower = min(int(run.keys[begin]) for run, begin in left)
        upper = max(int(run.keys[-1]) for run, _ in left)
        while lower < upper:  # the largest key up to which the records fit
            middle = (lower + upper + 1) // 2
            if sum(_up_to(run, middle) - begin for run, begin in left) <= capacity:
                lower = middle
            else:
                upper = middle - 1
        stops = [_up_to(run, lower) for run in runs]
        yield [
            SortedRun(run.keys[begin:stop], [column[begin:stop] for column in run.columns])
            for run, begin, stop in zip(runs, begins, stops, strict=True)
            if stop > begin
        ]
        begins = stops


def _up_to(run: SortedRun, key: int) -> int:
    """Return the number of records with keys up to `key`."""
    return int(np.searchsorted(run.keys, run.keys.dtype.type(key), side="right"))
