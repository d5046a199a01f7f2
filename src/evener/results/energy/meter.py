"""Energy: the joules that a machine's processors and GPUs took while something ran, from their own counters.

The host is read from RAPL, as Linux shows it under ``/sys/class/powercap``; GPUs from NVML. Both count
everything that runs there, whoever started it. What no counter tells is said to be not measured, and why.
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
from evener.results.energy.counters import BETWEEN_READINGS, NotMeasuredError, Rapl, of_gpu
from evener.results.report.units import seconds_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from evener.elements.protocols import Element
    from evener.results.energy.counters import Counter

__all__ = ["Energy", "Meter"]

# A counter shows the last of its own updates, so either end of a run is off by up to one of its steps. With
# this many steps in a run, the joules are off by a tenth at most.
_LEAST_STEPS = 10
# Updates watched to learn a counter's step, and the seconds after which one that stands still is given up:
# RAPL's come each millisecond, NVML's each 20 to 100.
_UPDATES_WATCHED, _MOST_WATCHING = 6, 1.0
# Seconds between looks while watching.
_LOOK = 0.0005


@dataclass(frozen=True, slots=True)
class Energy:
    """What a run took, by device: "host" for the processors of the machine, "cuda:0" for a GPU.

    Attributes
    ----------
    joules : mapping of str to float or None
        None where it is not measured.
    reasons : mapping of str to str
        For each device that is not measured, a clause that says why.
    seconds : float
        How long it was measured.

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
        """The devices that are measured."""
        return tuple(device for device, joules in self.joules.items() if joules is not None)

    def of(self, elements: Iterable[Element | str]) -> Energy:
        """The same for the host and those GPUs alone that are among `elements`."""
        kept = ["host", *(f"cuda:{index}" for index in _gpus_among(elements))]
        joules = {device: self.joules[device] for device in kept if device in self.joules}
        reasons = {device: self.reasons[device] for device in kept if device in self.reasons}
        return Energy(joules, reasons, self.seconds)

    @property
    def total(self) -> float | None:
        """Joules of all devices that are measured, None if there is none."""
        known = [joules for joules in self.joules.values() if joules is not None]
        return sum(known) if known else None

    @property
    def watts(self) -> float | None:
        """The mean power of these devices, None where nothing is measured."""
        joules = self.total
        return joules / self.seconds if joules and self.seconds else None


class Meter:
    """Measures the joules that the host and GPUs take while a block runs.

    Parameters
    ----------
    elements : iterable of Element or str, optional
        What runs: ``partitioned.elements``, or names like "cuda:0". All CPU elements are the host, which is
        always measured, as it drives the GPUs too.

    Attributes
    ----------
    energy : Energy
        What was measured, when the block is done.

    Raises
    ------
    ArgumentError
        For a name that is not an element's.

    Notes
    -----
    Entering the block takes up to a second: each counter is watched, to learn how often it moves. A block
    shorter than ten of its steps is not measured by it.

    Examples
    --------
    >>> import evener as ev
    >>> from evener.results.energy.meter import Meter
    >>> placed = ev.partition(ev.read("grid:20x20"))
    >>> with Meter(placed.elements) as meter:
    ...     r = ev.bfs(placed, source=0)
    >>> r.energy = meter.energy  # so that r.explain() and r.report(...) tell it
    >>> meter.joules["host"] is None or meter.joules["host"] > 0
    True
    """

    def __init__(self, elements: Iterable[Element | str] = ()) -> None:
        makers: dict[str, Callable[[], Counter]] = {"host": Rapl}
        makers |= {f"cuda:{index}": partial(of_gpu, index) for index in _gpus_among(elements)}
        self._makers = makers
        self._gauges: dict[str, _Gauge] = {}
        self._stopped = threading.Event()
        self._reader = threading.Thread()
        self._began = 0.0
        self.energy = Energy({})

    @property
    def joules(self) -> Mapping[str, float | None]:
        """Joules by device, None where they are not measured."""
        return self.energy.joules

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why a device is not measured."""
        return self.energy.reasons

    def __enter__(self) -> Self:
        self._gauges = {device: _Gauge(make) for device, make in self._makers.items()}
        _watch([gauge for gauge in self._gauges.values() if gauge.counter is not None])
        self._stopped.clear()
        self._reader = threading.Thread(target=self._read_on, name="evener-energy", daemon=True)
        self._reader.start()
        self.begin()
        return self

    def begin(self) -> None:
        """Count from now on, and leave out what the block took so far."""
        for gauge in self._gauges.values():
            gauge.begin()
        self._began = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = perf_counter() - self._began
        joules = {device: gauge.end(seconds) for device, gauge in self._gauges.items()}
        self._stopped.set()
        self._reader.join()
        for gauge in self._gauges.values():
            gauge.close()
        reasons = {device: gauge.reason for device, gauge in self._gauges.items() if gauge.reason}
        self.energy = Energy(joules, reasons, seconds)

    def _read_on(self) -> None:
        while not self._stopped.wait(BETWEEN_READINGS):
            for gauge in self._gauges.values():
                gauge.read()


class _Gauge:
    """A counter, or the reason why there is none; joules from a beginning to an end."""

    def __init__(self, make: Callable[[], Counter]) -> None:
        self.counter: Counter | None = None
        self.reason = ""
        self.step = 0.0
        self._first = self._latest = 0.0
        # The thread that reads in between, and the one that begins and ends, take turns.
        self._turn = threading.RLock()
        try:
            self.counter = make()
        except NotMeasuredError as error:
            self.reason = str(error)

    def begin(self) -> None:
        with self._turn:
            self.read()
            self._first = self._latest

    def read(self) -> None:
        with self._turn:
            if self.counter is None:
                return
            try:
                self._latest = self.counter.read()
            except Exception as error:  # noqa: BLE001 - whatever a driver raises, the run goes on
                self.give_up(f"its counter failed in the run ({first_clause(error)})")

    def end(self, seconds: float) -> float | None:
        self.read()
        if self.reason:
            return None
        if seconds < _LEAST_STEPS * self.step:
            step, least = seconds_text(self.step), seconds_text(_LEAST_STEPS * self.step)
            self.reason = (
                f"the run took {seconds_text(seconds)}, too little for a counter that moves each {step}; "
                f"a run of {least} can be measured"
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


def _watch(gauges: list[_Gauge]) -> None:
    """Learn each counter's step: the median of the times between its next few updates."""
    watched = [(gauge, gauge.counter) for gauge in gauges if gauge.counter is not None]
    shown: dict[_Gauge, object] = {}
    updates: dict[_Gauge, list[float]] = {gauge: [] for gauge, _ in watched}
    began = perf_counter()
    while any(len(seen) < _UPDATES_WATCHED for seen in updates.values()):
        if perf_counter() - began > _MOST_WATCHING:
            break
        for gauge, counter in watched:
            try:
                now = counter.look()
            except Exception as error:  # noqa: BLE001 - whatever a driver raises
                gauge.give_up(f"its counter cannot be read ({first_clause(error)})")
                updates[gauge] = [0.0] * _UPDATES_WATCHED
                continue
            if shown.setdefault(gauge, now) != now:
                shown[gauge] = now
                updates[gauge].append(perf_counter())
        sleep(_LOOK)
    for gauge, counter in watched:
        seen = updates[gauge]
        if len(seen) < 2:
            gauge.give_up(f"its counter stood still for {seconds_text(_MOST_WATCHING)}")
            continue
        between = statistics.median(b - a for a, b in pairwise(seen))
        gauge.step = max(between, counter.least_step)


def _gpus_among(elements: Iterable[Element | str]) -> list[int]:
    """The numbers of the GPUs among elements, each once."""
    found = []
    for element in elements:
        name = element if isinstance(element, str) else element.name
        match = re.fullmatch(r"(?:cuda:(\d+)|cpu(?::\d+)?)(?:#\d+)?", name.strip())
        if match is None and isinstance(element, str):
            msg = f'{name!r} is not an element: energy is measured of "cpu", "cpu:8", "cuda:0" and the like'
            raise ArgumentError(msg)
        if match is not None and match[1] is not None:
            found.append(int(match[1]))
    return sorted(set(found))
