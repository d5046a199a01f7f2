"""Energy: the joules that a machine's processors and GPUs use during a run, from their own counters.

RAPL measures the host, as Linux exposes it under ``/sys/class/powercap``. NVML measures GPUs. Both count
everything that runs on a device. A device without a readable counter is reported as not measured, with the
reason.
"""

from __future__ import annotations

import re
import statistics
import threading
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from evener.errors import ArgumentError, first_clause
from evener.results.energy.counters import BETWEEN_READINGS, NotMeasuredError, Rapl, gpu_counter
from evener.results.report.units import seconds_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from evener.elements.protocols import Element
    from evener.results.energy.counters import Counter

__all__ = ["Energy", "Meter"]

# Counter steps in a run, at least. A reading can be off by one step at each end of the run.
_MIN_STEPS = 10
# Updates watched to measure a counter's step, and the seconds after which a counter without updates is given
# up.
_UPDATES_WATCHED, _MAX_WATCH_SECONDS = 6, 1.0
# Seconds between polls while watching.
_POLL_SECONDS = 0.0005


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy of a run by device: "host" for the processors of the machine, "cuda:0" for a GPU.

    Attributes
    ----------
    joules : mapping of str to float or None
        None for a device that is not measured.
    reasons : mapping of str to str
        The reason, as a clause, for each device that is not measured.
    seconds : float
        The time of the measurement.

    Examples
    --------
    >>> energy = Energy({"host": 30.0, "cuda:0": None}, {"cuda:0": "it has no counter"}, seconds=0.5)
    >>> energy.total, energy.measured
    (30.0, ('host',))
    """

    joules: Mapping[str, float | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def measured(self) -> tuple[str, ...]:
        """The measured devices."""
        return tuple(device for device, joules in self.joules.items() if joules is not None)

    def of(self, elements: Iterable[Element | str]) -> Energy:
        """Return the energy of the host and of the GPUs among `elements`."""
        kept = ["host", *(f"cuda:{index}" for index in _gpus_among(elements))]
        joules = {device: self.joules[device] for device in kept if device in self.joules}
        reasons = {device: self.reasons[device] for device in kept if device in self.reasons}
        return Energy(joules, reasons, self.seconds)

    @property
    def total(self) -> float | None:
        """Joules of all measured devices, None if no device is measured."""
        known = [joules for joules in self.joules.values() if joules is not None]
        return sum(known) if known else None

    @property
    def watts(self) -> float | None:
        """The mean power of the measured devices, None if no device is measured."""
        joules = self.total
        return joules / self.seconds if joules and self.seconds else None


class Meter:
    """Measures the joules that the host and GPUs use while a block runs.

    Parameters
    ----------
    elements : iterable of Element or str, optional
        The elements that run: ``partitioned.elements``, or names such as "cuda:0". All CPU elements are the
        host. The host is always measured, because it also drives the GPUs.

    Attributes
    ----------
    energy : Energy
        The measurement, after the block.

    Raises
    ------
    ArgumentError
        If a name is not the name of an element.

    Notes
    -----
    Entering the block costs up to a second, in which the meter measures how often each counter updates. A
    block shorter than ten updates of a counter is not measured by this counter.

    Examples
    --------
    >>> import evener as ev
    >>> from evener.results.energy.meter import Meter
    >>> placed = ev.partition(ev.read("grid:20x20"))
    >>> with Meter(placed.elements) as meter:
    ...     r = ev.bfs(placed, source=0)
    >>> r.energy = meter.energy  # r.explain() and r.report(...) show it
    >>> meter.joules["host"] is None or meter.joules["host"] > 0
    True
    """

    def __init__(self, elements: Iterable[Element | str] = ()) -> None:
        makers: dict[str, Callable[[], Counter]] = {"host": Rapl}
        makers |= {f"cuda:{index}": partial(gpu_counter, index) for index in _gpus_among(elements)}
        self._makers = makers
        self._states: dict[str, _CounterState] = {}
        self._stopped = threading.Event()
        self._reader = threading.Thread()
        self._began = 0.0
        self.energy = Energy({})

    @property
    def joules(self) -> Mapping[str, float | None]:
        """Joules by device, None where a device is not measured."""
        return self.energy.joules

    @property
    def reasons(self) -> Mapping[str, str]:
        """The reason for each device that is not measured."""
        return self.energy.reasons

    def __enter__(self) -> Self:
        self._states = {device: _CounterState(make) for device, make in self._makers.items()}
        _watch([state for state in self._states.values() if state.counter is not None])
        self._stopped.clear()
        self._reader = threading.Thread(target=self._read_on, name="evener-energy", daemon=True)
        self._reader.start()
        self.begin()
        return self

    def begin(self) -> None:
        """Start the measurement now, without the energy that the block has used before."""
        for state in self._states.values():
            state.begin()
        self._began = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = perf_counter() - self._began
        joules = {device: state.end(seconds) for device, state in self._states.items()}
        self._stopped.set()
        self._reader.join()
        for state in self._states.values():
            state.close()
        reasons = {device: state.reason for device, state in self._states.items() if state.reason}
        self.energy = Energy(joules, reasons, seconds)

    def _read_on(self) -> None:
        while not self._stopped.wait(BETWEEN_READINGS):
            for state in self._states.values():
                state.read()


class _CounterState:
    """The state of one device: its counter and readings, or the reason why it has no counter."""

    def __init__(self, make: Callable[[], Counter]) -> None:
        self.counter: Counter | None = None
        self.reason = ""
        self.step = 0.0
        self._first = self._latest = 0.0
        # Held by the thread that reads periodically and by the thread that begins and ends.
        self._lock = threading.RLock()
        try:
            self.counter = make()
        except NotMeasuredError as error:
            self.reason = str(error)

    def begin(self) -> None:
        with self._lock:
            self.read()
            self._first = self._latest

    def read(self) -> None:
        with self._lock:
            if self.counter is None:
                return
            try:
                self._latest = self.counter.joules()
            except Exception as error:  # noqa: BLE001 - whatever a driver raises, the run goes on
                self.give_up(f"its counter failed during the run ({first_clause(error)})")

    def end(self, seconds: float) -> float | None:
        self.read()
        if self.reason:
            return None
        if seconds < _MIN_STEPS * self.step:
            step, least = seconds_text(self.step), seconds_text(_MIN_STEPS * self.step)
            self.reason = (
                f"the run took {seconds_text(seconds)}, too short for a counter that updates every {step}; "
                f"use a run of at least {least}"
            )
            return None
        return self._latest - self._first

    def give_up(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.close()

    def close(self) -> None:
        if self.counter is not None:
            self.counter.close()
        self.counter = None


def _watch(states: list[_CounterState]) -> None:
    """Measure each counter's step: the median time between its first updates."""
    watched = [(state, state.counter) for state in states if state.counter is not None]
    shown: dict[_CounterState, object] = {}
    updates: dict[_CounterState, list[float]] = {state: [] for state, _ in watched}
    began = perf_counter()
    while any(len(seen) < _UPDATES_WATCHED for seen in updates.values()):
        if perf_counter() - began > _MAX_WATCH_SECONDS:
            break
        for state, counter in watched:
            try:
                now = counter.raw()
            except Exception as error:  # noqa: BLE001 - whatever a driver raises
                state.give_up(f"its counter cannot be read ({first_clause(error)})")
                updates[state] = [0.0] * _UPDATES_WATCHED
                continue
            if shown.setdefault(state, now) != now:
                shown[state] = now
                updates[state].append(perf_counter())
        sleep(_POLL_SECONDS)
    for state, counter in watched:
        seen = updates[state]
        if len(seen) < 2:
            state.give_up(f"its counter did not change within {seconds_text(_MAX_WATCH_SECONDS)}")
            continue
        between = statistics.median(b - a for a, b in pairwise(seen))
        state.step = max(between, counter.min_step)


def _gpus_among(elements: Iterable[Element | str]) -> list[int]:
    """Return the numbers of the GPUs among elements, without repeats."""
    found = []
    for element in elements:
        name = element if isinstance(element, str) else element.name
        match = re.fullmatch(r"(?:cuda:(\d+)|cpu(?::\d+)?)(?:#\d+)?", name.strip())
        if match is None and isinstance(element, str):
            msg = f'elements: expected names such as "cpu", "cpu:8" or "cuda:0", found {name!r}'
            raise ArgumentError(msg)
        if match is not None and match[1] is not None:
            found.append(int(match[1]))
    return sorted(set(found))
