"""The engine: three verbs over the partitions of a graph, and the timeline of what each superstep cost.

An algorithm is a short driver that reads like its pseudocode:

- ``compute(kernel, ...)`` runs a kernel on every element at once and returns the votes, summed;
- ``push(array, op)`` carries mirrors to their owners and reduces them there;
- ``pull(array)`` carries owners' values to their mirrors.

The bulk-synchronous model's phases (T13 §4.1) are these calls: each returns when all elements are done.
"""

from __future__ import annotations

import contextlib
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evener.engine.array import Spread
from evener.engine.exchange.exchange import Exchange, nothing, take_steps
from evener.engine.exchange.transports.staged import mailboxes
from evener.engine.executor import call_all, helpers_for
from evener.engine.timeline import Progress, Slice, Span, Timeline
from evener.engine.workspace import State
from evener.errors import ArgumentError, DeviceError
from evener.graph.checks import type_name
from evener.kernels.compile_clock import compile_seconds
from evener.kernels.kernel import Kernel
from evener.partition.footprint import require_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evener.engine.exchange.exchange import Step
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Engine", "Spread"]

# Edges or vertices that elements touch faster in turn on one thread than at once on theirs: handing work to a
# waiting thread and back takes 50 to 100 us, in which one goes through as many at 5 ns each.
WORTH_WAKING = 1 << 14

# Of a single vote these make that vote.
_KEEP_A_SINGLE_VOTE = (sum, min, max)
_REDUCTIONS = ("add", "min", "or", "set")


class Engine(State):
    """Runs one algorithm on the partitions of a graph. What it sees of these and its arrays are a `State`'s.

    Parameters
    ----------
    partitioned : PartitionedGraph
        What `evener.partition` gives.
    algorithm : str
        Its name, for progress.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.
    from_both_ends : bool, default False
        Whether edges are told to `superstep` once from either end, as a search meets those of an undirected
        graph; the rate that progress shows counts each once.

    Attributes
    ----------
    timeline : Timeline

    Raises
    ------
    ArgumentError
        For a graph that is not placed, or a `progress` that cannot be called.
    OutOfMemoryError
        If the host has no room for the state of one of Evener's own algorithms, before any of it is taken.
    """

    def __init__(
        self,
        partitioned: PartitionedGraph,
        algorithm: str,
        *,
        progress: Callable[[Progress], None] | None = None,
        from_both_ends: bool = False,
    ) -> None:
        if not hasattr(partitioned, "partitions"):
            msg = f"an Engine takes what evener.partition gives, not {type(partitioned).__name__}"
            raise ArgumentError(msg)
        if progress is not None and not callable(progress):
            msg = f"progress is a function that is called with a Progress, not {type_name(progress)}"
            raise ArgumentError(msg)
        super().__init__(partitioned)
        require_state(algorithm, self.partitions, self.elements)
        self.routes = partitioned.routes
        self._exchange = self._new_exchange()
        self.timeline = Timeline()
        self._algorithm = algorithm
        self._progress = progress
        self._began = perf_counter()
        self._made_ready = compile_seconds()
        self._superstep = -1
        self._edges = 0
        self._ends = 1 + from_both_ends
        self._spans: list[Span] = []
        self._awake = [0] * len(self.elements)
        self._helpers = helpers_for(self.elements)
        for element in self.elements:
            element.begin_timing(beside_others=len(self.elements) > 1)

    @property
    def on_one_cpu(self) -> bool:
        """Whether one CPU element has the whole graph, so that its kernels need not wait for others."""
        return [element.kind for element in self.elements] == ["cpu"]

    def finish(self) -> float:
        """End the timeline; returns the seconds since the engine was made. What runs after is not counted."""
        self._exchange.drop_posted()
        since = perf_counter()
        for element in self.elements:
            element.wait()
        if len(self.elements) == 1 and self.elements[0].deferred:
            self._computed(since, perf_counter())  # the last kernels, if they had no vote to be waited for
        self._spans = []
        self.timeline.making_ready = compile_seconds() - self._made_ready
        self.timeline.seconds = perf_counter() - self._began
        return self.timeline.seconds

    # ---- the three verbs --------------------------------------------------------------------------

    def superstep(
        self, phase: str, *, active: Spread | None = None, edges: int = 0, fraction: float | None = None
    ) -> None:
        """Begin a superstep.

        Parameters
        ----------
        phase : str
            What is done, for the timeline.
        active : Spread, optional
            How many vertices are at work on each element, as far as is known. Default: those that `compute`
            woke on it since the last superstep began.
        edges : int, default 0
            How many edges the active vertices have, all together, for the rate that progress shows; where
            that is known only afterwards, those of the superstep before.
        fraction : float, optional
            The part of the run that is done, where it can be known.
        """
        self._superstep += 1
        counts = self._awake if active is None else self._own(active.parts)
        self._awake = [0] * len(self.elements)
        self._spans = [
            Span(self._superstep, phase, element.name, active=count)
            for element, count in zip(self.elements, counts, strict=True)
        ]
        for span in self._spans:
            self.timeline.add(span)
        if self._progress is not None:
            seconds = perf_counter() - self._began
            rate = self._edges / self._ends / seconds if self._edges else None
            at_work = sum(counts)
            with self._settled_on_error():
                self._progress(
                    Progress(self._algorithm, self._superstep, phase, at_work, seconds, rate, fraction)
                )
        self._edges += edges

    def compute(
        self,
        kernel: str | Kernel,
        *args: Any,
        wakes: bool = False,
        worked: bool = False,
        reduce: Callable[[Iterable[Any]], Any] = sum,
        work: int | None = None,
        pulled: Spread | None = None,
        posts: Spread | None = None,
    ) -> Any:
        """Run a kernel on every element at once.

        Parameters
        ----------
        kernel : str or Kernel
            ``"file.function"``, which each element takes from its own tree, or a kernel from outside the
            package.
        *args
            The kernel's arguments; a `Spread` stands for each partition's own part of it.
        wakes : bool, default False
            Whether the first vote counts vertices that will be at work in the next superstep.
        worked : bool, default False
            Whether it counts vertices that were at work in this one, where that is known only now. Not both.
        reduce : callable, default sum
            Makes one vote of the elements' votes: `sum`, `min` or `max`; `list` leaves them apart.
        work : int, optional
            About how many edges or vertices the kernels will touch, all together. Elements that share this
            process's memory take turns on the calling thread where waking helpers would cost more.
        pulled : Spread, optional
            Carried to the mirrors first, as by `pull`, but no element waits for another in between: for
            kernels that leave its owners' values alone.
        posts : Spread, optional
            Of which the kernel makes the owners' values, and does not use the mirrors: an element whose
            kernel is done sends them on while others still compute. If the next exchange pulls this array,
            and no kernel was given it since, they are there already.

        Returns
        -------
        number, tuple of numbers, or None
            The kernels' votes, reduced over elements.

        Raises
        ------
        ArgumentError
            If it is no kernel, or a `Kernel` that one of the elements has no side of; if its vote is to
            count for two supersteps, or for one where it has none; if `reduce` cannot be called; if an
            array is for another number of partitions; or if one is carried that has no value for each owned
            vertex and each mirror.
        """
        if wakes and worked:
            msg = "a vote counts vertices of this superstep (worked=True) or the next (wakes=True), not both"
            raise ArgumentError(msg)
        if not isinstance(kernel, (str, Kernel)):
            got = type(kernel).__name__
            msg = f"compute takes a Kernel, not {got}; a function becomes one by evener.Kernel(cpu=function)"
            raise ArgumentError(msg)
        if not callable(reduce):
            msg = f"compute reduces votes by a function, as in reduce=min, not {reduce!r}"
            raise ArgumentError(msg)
        for carried in (pulled, posts):
            if carried is not None:
                self._check_carried(carried)
        if len(self.elements) == 1:
            vote = self._compute_alone(kernel, args)
            if wakes or worked:
                self._count_active([vote], worked=worked)
            return vote if reduce in _KEEP_A_SINGLE_VOTE else _reduced([vote], reduce)
        functions = [element.kernel(kernel) for element in self.elements]
        for arg in args:
            if isinstance(arg, Spread):
                self._own(arg.parts)
        sends, steps = nothing(self.elements), nothing(self.elements)
        if pulled and self.routes:
            sends, steps = self._exchange.pull(pulled, None)
        self._exchange.taken_back(args)
        for p, (function, own) in enumerate(zip(functions, steps, strict=True)):
            parts = [a.parts[p] if isinstance(a, Spread) else a for a in args]
            own.append(("compute", function, parts))
        if posts and self.routes:
            for own, more in zip(steps, self._exchange.post(posts), strict=True):
                own.extend(more)
        self._run(sends, work)
        votes = self._run(steps, work)
        if wakes or worked:
            self._count_active(votes, worked=worked)
        return _reduced(votes, reduce)

    def push(self, array: Spread, op: str, *, changed: Spread | None = None, work: int | None = None) -> None:
        """Carry mirrors to their owners and reduce them there.

        Parameters
        ----------
        array : Spread
        op : {"add", "min", "or", "set"}
            "or" is for bitmaps. "set" overwrites, one holder after another, and takes `changed`. After "add"
            and "or" the mirrors are empty, for they have been counted.
        changed : Spread, optional
            Bitmap of the mirrors that changed: for "add", the others have to be empty. Only these need to
            travel; afterwards it flags the owned vertices that received ("add", "set") or were lowered
            ("min"), and no mirror.
        work : int, optional
            As for `compute`.

        Raises
        ------
        ArgumentError
            For another reduction, "set" without `changed`, a bitmap and another reduction than "or", or an
            array that has no value for each owned vertex and each mirror.
        """
        if op not in _REDUCTIONS or (op == "set" and changed is None):
            msg = f'push reduces by "add", "min", "or", or "set" with changed=, not {op!r}'
            raise ArgumentError(msg)
        self._check_carried(array, changed)
        if array.bits != (op == "or"):
            msg = f'push reduces bitmaps by "or" and values by another, not {array.noun} by {op!r}'
            raise ArgumentError(msg)
        if self.routes:
            sends, receives = self._exchange.push(array, op, changed)
            self._run(sends, work)
            self._run(receives, work)

    def pull(self, array: Spread, *, changed: Spread | None = None, work: int | None = None) -> None:
        """Carry owners' values to their mirrors.

        Parameters
        ----------
        array : Spread
        changed : Spread, optional
            Bitmap of the owned vertices that changed. Only these travel, and their mirrors become flagged.
        work : int, optional
            As for `compute`.

        Raises
        ------
        ArgumentError
            For what is no `Spread`, or one that has no value for each owned vertex and each mirror.
        """
        self._check_carried(array, changed)
        if self.routes:
            sends, receives = self._exchange.pull(array, changed)
            self._run(sends, work)
            self._run(receives, work)

    # ---- how they run -----------------------------------------------------------------------------

    def _compute_alone(self, kernel: str | Kernel, args: Sequence[Any]) -> Any:
        """Run a kernel on the only element, which has none to wait for: a search takes hundreds of them."""
        element = self.elements[0]
        function = element.kernel(kernel)
        parts = [a.parts[0] if isinstance(a, Spread) else a for a in args]
        since = perf_counter()
        try:
            vote = element.read(element.call(function, *parts))
        except BaseException:
            self._settle()
            raise
        self._computed(since, perf_counter())
        return vote

    def _count_active(self, votes: Sequence[Any], *, worked: bool) -> None:
        """Take the first votes for the vertices at work in this superstep, or add them to the next one's."""
        if None in votes:
            msg = "wakes= and worked= count by the first vote, and this kernel returns none"
            raise ArgumentError(msg)
        for p, vote in enumerate(votes):
            count = int(vote[0] if isinstance(vote, tuple) else vote)
            if not worked:
                self._awake[p] += count
            elif self._spans:
                self._spans[p].active = count

    def _computed(self, since: float, until: float) -> None:
        """Note that the only element computed."""
        for span in self._spans:
            span.compute += until - since
            begin, end = since - self._began, until - self._began
            self.timeline.add_slice(Slice(span.superstep, span.phase, span.element, "compute", begin, end))

    def _run(self, steps: list[list[Step]], work: int | None) -> list[Any]:
        """Let each element take its steps, beside the others, and wait for all; what the kernels returned.

        Their times, and the bytes that travelled, go into the timeline.
        """
        if not any(steps):
            return []
        alone = work is not None and work < WORTH_WAKING
        if self.routes:
            for element in self.elements:
                element.begin_round()
        pairs = zip(self.elements, steps, strict=True)
        calls = [(element, take_steps, (element, own)) for element, own in pairs]
        with self._settled_on_error():
            answers = call_all(calls, 0 if alone else self._helpers)
            votes = [
                element.read(next((value for phase, value in done if phase == "compute"), None))
                for element, (done, _) in zip(self.elements, answers, strict=True)
            ]
            times = [element.times(marks) for element, (_, marks) in zip(self.elements, answers, strict=True)]
        began, ended = min(own[0] for own in times), max(own[-1] for own in times)
        for span, (done, _), own in zip(self._spans, answers, times, strict=False):
            span.wait += 0.0 if alone else own[0] - began + ended - own[-1]
            for (phase, value), (since, until) in zip(done[1:], pairwise(own), strict=True):
                setattr(span, phase, getattr(span, phase) + until - since)
                begin, end = since - self._began, until - self._began
                self.timeline.add_slice(Slice(span.superstep, span.phase, span.element, phase, begin, end))
                for sender, sent in () if phase == "compute" else value:
                    self._spans[sender].bytes_sent += sent
        return votes

    @contextlib.contextmanager
    def _settled_on_error(self) -> Iterator[None]:
        """Where a run is broken off, wait for what elements still do: its arrays will be used again."""
        try:
            yield
        except BaseException:
            self._settle()
            raise

    def _settle(self) -> None:
        for element in self.elements:
            with contextlib.suppress(DeviceError):  # a GPU that has failed does nothing any more
                element.wait()
        self._exchange = self._new_exchange()

    def _new_exchange(self) -> Exchange:
        """One with nothing on its way: what was broken off may have left messages that nobody will take."""
        return Exchange(self.elements, self.routes, mailboxes(self.routes, self.elements))


def _reduced(votes: list[Any], reduce: Callable[[Iterable[Any]], Any]) -> Any:
    if votes[0] is None:
        return None
    if isinstance(votes[0], tuple):
        return tuple(reduce(column) for column in zip(*votes, strict=True))
    return reduce(votes)
