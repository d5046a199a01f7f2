"""Timeline: the time and bytes of each superstep of a run; Progress: the state of a run in progress."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

__all__ = ["Progress", "Shares", "Slice", "Span", "Superstep", "Timeline"]

# Slices of 200 bytes that a timeline stores.
_MAX_SLICES = 1 << 17


@dataclass(slots=True)
class Span:
    """One phase of one superstep on one element.

    Parameters
    ----------
    superstep : int
        Counted from 0.
    phase : str
        The algorithm's name of the phase: "top-down", "iterate".
    element : str
        The name of the element: "cpu", "cpu:8", ...
    compute, send, receive, wait : float
        Seconds in kernels, in sending and receiving boundary values, and in waiting for other elements.
    bytes_sent : int
        Bytes that this element sent in this phase.
    active : int
        Vertices of this element whose edges the phase reads, or whose values it computes, summed over the
        levels, buckets and sources of the phase.
    """

    superstep: int
    phase: str
    element: str
    compute: float = 0.0
    send: float = 0.0
    receive: float = 0.0
    wait: float = 0.0
    bytes_sent: int = 0
    active: int = 0

    @property
    def seconds(self) -> float:
        """Seconds of this span in total."""
        return self.compute + self.send + self.receive + self.wait


class Slice(NamedTuple):
    """One interval in which an element was busy in a superstep, for pictures of concurrent work.

    Attributes
    ----------
    superstep : int
        Counted from 0.
    phase : str
        The phase of the `Span`.
    element : str
        The name of the element.
    activity : str
        "compute", "send" or "receive".
    begin, end : float
        Seconds since the run began, by the host's clock.
    """

    superstep: int
    phase: str
    element: str
    activity: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run, passed to the function given as ``progress=`` as each superstep begins.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm.
    superstep : int
        Supersteps completed.
    phase : str
        Name of the current phase.
    active : int
        Active vertices.
    seconds : float
        Seconds since the run began.
    edges_per_second : float or None
        The mean rate so far.
    fraction : float or None
        The part of the work that is done, 0 to 1, if known.
    """

    algorithm: str
    superstep: int
    phase: str
    active: int
    seconds: float
    edges_per_second: float | None = None
    fraction: float | None = None


class Shares(NamedTuple):
    """Shares of the elements' time; they sum to 1.

    `overhead` is the rest: time in Python, or in the turn of another element.
    """

    compute: float
    send: float
    receive: float
    wait: float
    overhead: float = 0.0


class Superstep(NamedTuple):
    """One superstep, summed over its phases, with the times of the element that was busy longest.

    Attributes
    ----------
    superstep : int
        Counted from 0.
    phases : tuple of str
        The phases in order.
    active : int
        Active vertices in the first phase, on all elements together.
    compute, exchange, wait : float
        Seconds: in kernels, in sending and receiving, in waiting.
    bytes_sent : int
        Bytes sent by all elements together.
    """

    superstep: int
    phases: tuple[str, ...]
    active: int
    compute: float
    exchange: float
    wait: float
    bytes_sent: int

    @property
    def seconds(self) -> float:
        """Seconds of computing, exchanging and waiting together."""
        return self.compute + self.exchange + self.wait


class Timeline:
    """The spans of a run in order.

    Parameters
    ----------
    spans : iterable of Span, optional
        Initial spans; an engine adds the spans of each superstep when it begins.

    Attributes
    ----------
    spans : list of Span
    slices : list of Slice
        The intervals in which elements were busy, in the order of their calls, up to a limit.
    more_slices : int
        The number of slices beyond the limit.
    compile_seconds : float
        Seconds of the run in which kernels were compiled or loaded, once in a process.
    seconds : float
        Seconds of the whole run; 0 until it has ended.
    earlier_seconds : float
        The part of `seconds` before the checkpoint from which the run continued. It has no spans.

    Examples
    --------
    >>> timeline = Timeline([Span(0, "bfs.down", "cpu", compute=0.3, wait=0.1, active=7)])
    >>> timeline.supersteps, timeline.shares().wait
    (1, 0.25)
    """

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self.spans: list[Span] = list(spans)
        self.slices: list[Slice] = []
        self.more_slices = 0
        self.compile_seconds = 0.0
        self.seconds = 0.0
        self.earlier_seconds = 0.0

    def add(self, span: Span) -> None:
        """Add a span."""
        self.spans.append(span)

    def add_slice(self, one: Slice) -> None:
        """Add a slice, or only count it if there are too many."""
        if len(self.slices) < _MAX_SLICES:
            self.slices.append(one)
        else:
            self.more_slices += 1

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)

    def __len__(self) -> int:
        return len(self.spans)

    def __repr__(self) -> str:
        busy = sum(span.seconds for span in self.spans)
        return f"<Timeline: {self.supersteps} supersteps, {len(self.spans)} spans, {busy:.3g} s in all>"

    @property
    def supersteps(self) -> int:
        """The number of supersteps."""
        return len({span.superstep for span in self.spans})

    @property
    def elements(self) -> tuple[str, ...]:
        """The names of the elements, in order of appearance; a repeated name gets ``#2``, ``#3``, ..."""
        return tuple(dict.fromkeys(element for element, _ in self._by_element()))

    def shares(self) -> Shares:
        """Return the shares of all elements' time."""
        whole_run = Span(0, "", "")
        for span in self.spans:
            _include(whole_run, span)
        totals = whole_run.compute, whole_run.send, whole_run.receive, whole_run.wait
        own_seconds = self.seconds - self.earlier_seconds
        overhead = max(0.0, own_seconds * len(self.elements) - sum(totals))
        whole = sum(totals) + overhead
        return Shares(*(part / whole if whole else 0.0 for part in (*totals, overhead)))

    def by_superstep(self) -> list[Superstep]:
        """Return one row for each superstep, with the times of the element that was busy longest."""
        grouped: dict[int, dict[str, list[Span]]] = {}
        for element, span in self._by_element():
            grouped.setdefault(span.superstep, {}).setdefault(element, []).append(span)
        return [_summed(number, list(elements.values())) for number, elements in grouped.items()]

    def by_superstep_and_element(self) -> dict[tuple[int, str], Span]:
        """Return one span for each superstep and element, summed over its phases.

        `Span.phase` lists all phases, and `Span.active` is that of the first.
        """
        sums: dict[tuple[int, str], Span] = {}
        for element, span in self._by_element():
            key = (span.superstep, element)
            if key not in sums:
                sums[key] = replace(span, element=element)
                continue
            sums[key].phase += f", {span.phase}"
            _include(sums[key], span)
        return sums

    def by_phase(self) -> dict[tuple[str, str], Span]:
        """Return one span for each phase and element, summed over all supersteps.

        `Span.superstep` is the number of supersteps with the phase.
        """
        sums: dict[tuple[str, str], Span] = {}
        for element, span in self._by_element():
            one = sums.setdefault((span.phase, element), Span(0, span.phase, element))
            one.superstep += 1
            one.active += span.active
            _include(one, span)
        return sums

    def _by_element(self) -> Iterator[tuple[str, Span]]:
        """Yield spans with the names of their elements, made unique."""
        seen: dict[tuple[int, str, str], int] = {}
        for span in self.spans:
            key = (span.superstep, span.phase, span.element)
            seen[key] = seen.get(key, 0) + 1
            yield span.element if seen[key] == 1 else f"{span.element}#{seen[key]}", span

    def to_arrow(self) -> pa.Table:
        """Return the spans as an Arrow table, one row each."""
        import pyarrow as pa

        kinds = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
        return pa.table(
            {
                field.name: pa.array(
                    [getattr(span, field.name) for span in self.spans], kinds[str(field.type)]
                )
                for field in fields(Span)
            }
        )


def _include(sums: Span, span: Span) -> None:
    """Add the times and the bytes of a span to sums."""
    sums.compute += span.compute
    sums.send += span.send
    sums.receive += span.receive
    sums.wait += span.wait
    sums.bytes_sent += span.bytes_sent


def _summed(number: int, elements: list[list[Span]]) -> Superstep:
    spans = [span for own in elements for span in own]
    phases = tuple(dict.fromkeys(span.phase for span in spans))
    slowest = max(elements, key=lambda own: sum(span.seconds - span.wait for span in own))
    return Superstep(
        superstep=number,
        phases=phases,
        active=sum(span.active for span in spans if span.phase == phases[0]),
        compute=sum(span.compute for span in slowest),
        exchange=sum(span.send + span.receive for span in slowest),
        wait=sum(span.wait for span in slowest),
        bytes_sent=sum(span.bytes_sent for span in spans),
    )
