"""The engine: three verbs over the partitions of a graph.

An algorithm is a short driver that reads like its pseudocode:

- ``compute(kernel, ...)`` runs a kernel on every element at once and reduces the values that it returns;
- ``push(array, op)`` carries mirrors to their owners and reduces them there;
- ``pull(array)`` carries owners' values to their mirrors.

Each verb is a phase of the bulk-synchronous model (T13 §4.1): it returns when all elements are done.
"""

from __future__ import annotations

import contextlib
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evener.engine.array import PartitionedArray, parts_of
from evener.engine.checks import check_compute, check_exchanged, check_progress, check_push
from evener.engine.exchange.exchange import Exchange
from evener.engine.exchange.network import connect_ranks
from evener.engine.executor import no_steps, run_steps, worker_count
from evener.engine.group import forget_group, group_of
from evener.engine.recorder import Recorder
from evener.engine.workspace import Workspace
from evener.errors import ArgumentError, DeviceError
from evener.graph.checks import type_name
from evener.partition.kept_arrays import keep_arrays
from evener.system.agreement import collective, on_all_ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from evener.engine.exchange.exchange import Steps
    from evener.engine.executor import StepsDone
    from evener.engine.timeline import Progress, Timeline
    from evener.kernels.kernel import Kernel
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Engine", "PartitionedArray"]

# Edges or vertices. With less work, elements run one after another on the calling thread.
MIN_PARALLEL_WORK = 1 << 14


class Engine(Workspace):
    """Runs one algorithm on the partitions of a graph; a `Workspace` with the three verbs.

    Parameters
    ----------
    partitioned : PartitionedGraph
        The graph, as `evener.partition` returns it.
    algorithm : str
        The algorithm's name, for progress.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.
    from_both_ends : bool, default False
        Whether supersteps count each edge from both of its ends, as searches of undirected graphs do.
        Progress counts it once.
    host_state : (float, float), default (0, 0)
        Minimum bytes that a run allocates on the host for each owned vertex and each mirror.

    Attributes
    ----------
    routes : sequence of Route
        The routes that begin or end on this rank; empty if there are no mirrors.
    recorder : Recorder
    timeline : Timeline

    Raises
    ------
    ArgumentError
        If the graph is not partitioned, or `progress` cannot be called.
    OutOfMemoryError
        If the host has no memory for `host_state`, before any is allocated.
    """

    @collective(subject="partitioned", name="Engine")
    def __init__(
        self,
        partitioned: PartitionedGraph,
        algorithm: str,
        *,
        progress: Callable[[Progress], None] | None = None,
        from_both_ends: bool = False,
        host_state: tuple[float, float] = (0, 0),
    ) -> None:
        if not hasattr(partitioned, "partitions"):
            found = type_name(partitioned)
            msg = f"Engine: expected a PartitionedGraph, found {found}; make one with evener.partition"
            raise ArgumentError(msg)
        super().__init__(partitioned, algorithm)
        on_all_ranks(self._world, lambda: check_progress(progress))
        on_all_ranks(self._world, lambda: self._require_host_state(algorithm, *host_state))
        self.routes = partitioned.routes
        self._network = connect_ranks(self._world, self.elements)
        self._exchange = Exchange(self.elements, self.routes, self._network, self.partitioned.ranks)
        self.recorder = Recorder(algorithm, [e.name for e in self.elements], progress, 1 + from_both_ends)
        self._workers = worker_count(self.elements)
        # Whether no verb waits for elements, because each orders its own work after that of others.
        self._queued = all(element.deferred for element in self.elements)
        self.group = group_of(partitioned, self._network)
        for element in self.elements:
            element.begin_timing(concurrent=bool(self.routes) or len(self.elements) > 1)

    @property
    def timeline(self) -> Timeline:
        """The time and the bytes of each superstep and element so far, after waiting for all work."""
        self.recorder.settle()
        return self.recorder.timeline

    def finish(self) -> float:
        """End the timeline, and return the seconds from the construction of the engine to the first call."""
        self._exchange.cancel_published()
        since = perf_counter()
        for element in self.elements:
            element.wait()
        keep_arrays(self.partitioned, self.recorder.algorithm, self._used)
        if len(self.elements) == 1 and self.elements[0].deferred:
            self.recorder.computed(since, perf_counter())  # kernels whose results nothing has waited for
        return self.recorder.finish()

    def write(self, array: PartitionedArray, values: Sequence[NDArray[Any]]) -> None:
        """Replace the first values of each part of an array by the values of a host array.

        This is a collective operation; all ranks must call it.
        """
        self._exchange.invalidate_if_used([array])
        for element, part, own in zip(self.elements, array, self._checked_parts(values), strict=True):
            element.run(part.__setitem__, slice(len(own)), element.upload(own))

    # ---- the three verbs --------------------------------------------------------------------------

    def superstep(
        self,
        phase: str,
        *,
        active: PartitionedArray | None = None,
        edges: int = 0,
        fraction: float | None = None,
    ) -> None:
        """Begin a superstep.

        Parameters
        ----------
        phase : str
            What the superstep does, for the timeline.
        active : PartitionedArray, optional
            The number of active vertices on each element. Default: what ``count_next_active=True`` counted.
        edges : int, default 0
            The edges of all active vertices, for the rate that progress shows. A driver that does not know
            them yet gives the edges of the last superstep.
        fraction : float, optional
            The part of the run that is done, if known.
        """
        counts = None if active is None else self._checked_parts(active.parts)
        with self._reset_after_error():
            self.recorder.begin(phase, counts, edges, fraction)

    def compute(
        self,
        kernel: str | Kernel,
        *args: Any,
        count_next_active: bool = False,
        count_active: bool = False,
        reduce: Callable[[Iterable[Any]], Any] = sum,
        work_estimate: int | None = None,
        pull_before: PartitionedArray | None = None,
        before_pull: Kernel | None = None,
        publish: PartitionedArray | None = None,
        wait: bool = True,
    ) -> Any:
        """Run a kernel on every element at once.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        kernel : str or Kernel
            ``"file.function"`` of the package, or a kernel from outside.
        *args
            The kernel's arguments. Each element gets its own part of a `PartitionedArray`.
        count_next_active : bool, default False
            Whether the first value that the kernel returns counts vertices that are active in the next
            superstep.
        count_active : bool, default False
            Whether the first value counts vertices that are active in the current superstep. With both, the
            second value counts those of the next superstep.
        reduce : callable, default sum
            Reduces the values of all elements and ranks: `sum`, `min` or `max`. `list` returns all values.
        work_estimate : int, optional
            Roughly how many edges or vertices all kernels read. With little work, elements run one after
            another on the calling thread.
        pull_before : PartitionedArray, optional
            Pulled before the kernel runs, without waiting for other elements in between. The kernel must not
            change the array's owned values, unless the array is also published.
        before_pull : Kernel, optional
            A kernel with the same arguments, which runs while the values of `pull_before` arrive. The kernel
            must not use mirrors, and returns nothing.
        publish : PartitionedArray, optional
            An array whose owned values the kernel computes. Each element sends the values as soon as its
            kernel is done. Mirrors do not change before the array is pulled. The next exchange does not send
            the values again if it pulls this array and no kernel has used the array in between.
        wait : bool, default True
            Whether to wait for the values. If not, GPUs can get more work before the values are known.

        Returns
        -------
        number, tuple of numbers, None or callable
            The reduced values; without `wait`, a function that waits for them and returns them. Calling the
            function is a collective operation; all ranks must call it.

        Raises
        ------
        ArgumentError
            If `kernel` is not a kernel, has no side for an element, or returns no value to count; if `reduce`
            cannot be called; or if an array does not fit the partitions.
        """
        check_compute(kernel, reduce)
        for exchanged in [one for one in (pull_before, publish) if one is not None]:
            check_exchanged(exchanged, None, self._values, self._words)
        if pull_before is not None and publish is not None and pull_before.overlaps(publish):
            self.pull(pull_before)  # on all elements, before one of them changes the array
            pull_before = None
        exchanges = self.has_mirrors and (pull_before is not None or publish is not None or self._queued)
        with self._reset_after_error():
            if len(self.elements) == 1 and self.group is None and not exchanges and before_pull is None:
                computed = [self._compute_single(kernel, args)]
            else:
                computed = self._compute_all(kernel, args, work_estimate, (pull_before, before_pull), publish)

        def read() -> Any:
            with self._reset_after_error():
                results = [result() for result in computed]
            if count_active or count_next_active:
                self.recorder.count_active(results, now=count_active, next_superstep=count_next_active)
            return self._reduce_over_ranks(results, reduce)

        return read() if wait else read

    def push(
        self,
        array: PartitionedArray,
        op: str,
        *,
        changed: PartitionedArray | None = None,
        work_estimate: int | None = None,
    ) -> None:
        """Carry mirrors to their owners and reduce them there.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        array : PartitionedArray
        op : {"add", "min", "or", "set"}
            "or" is for bitmaps. "set" overwrites and needs `changed`. After "add" and "or", mirrors are 0.
        changed : PartitionedArray, optional
            A bitmap of the mirrors that changed. Only these are sent; for "add", all other mirrors must be 0.
            Afterwards the bitmap flags owned vertices only: those that received a value ("add", "set") or
            whose value decreased ("min").
        work_estimate : int, optional
            As for `compute`.

        Raises
        ------
        ArgumentError
            For another operation, "set" without `changed`, or a bitmap with another operation than "or". For
            an array without a value for each owned vertex and each mirror.
        """
        check_exchanged(array, changed, self._values, self._words)
        check_push(array, op, changed)
        if self.has_mirrors:
            self._exchange_values(self._exchange.push, (array, op, changed), work_estimate)

    def pull(
        self,
        array: PartitionedArray,
        *,
        changed: PartitionedArray | None = None,
        work_estimate: int | None = None,
    ) -> None:
        """Carry owners' values to their mirrors.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        array : PartitionedArray
        changed : PartitionedArray, optional
            A bitmap of the owned vertices that changed. Only these are sent, and their mirrors are flagged.
        work_estimate : int, optional
            As for `compute`.

        Raises
        ------
        ArgumentError
            For an array that is not a `PartitionedArray`, or has no value for each owned vertex and each
            mirror.
        """
        check_exchanged(array, changed, self._values, self._words)
        if self.has_mirrors:
            self._exchange_values(self._exchange.pull, (array, changed), work_estimate)

    # ---- how they run -----------------------------------------------------------------------------

    def _compute_single(self, kernel: str | Kernel, args: Sequence[Any]) -> Callable[[], Any]:
        """Run a kernel on the only element, which waits for no other, and return a function of its values."""
        self._exchange.invalidate_if_used(args)
        element = self.elements[0]
        function = element.kernel(kernel)
        parts = parts_of(args, 0)
        since = perf_counter()
        value = element.run(function, *parts)

        def read() -> Any:
            result = element.result(value)
            self.recorder.computed(since, perf_counter())
            return result

        return read

    def _compute_all(
        self,
        kernel: str | Kernel,
        args: Sequence[Any],
        work_estimate: int | None,
        pull: tuple[PartitionedArray | None, Kernel | None],
        publish: PartitionedArray | None,
    ) -> list[Callable[[], Any]]:
        pull_before, before_pull = pull
        functions = [element.kernel(kernel) for element in self.elements]
        for arg in [one for one in args if isinstance(one, PartitionedArray)]:
            self._checked_parts(arg.parts)
        sends, steps = no_steps(self.elements), no_steps(self.elements)
        if pull_before is not None and self.has_mirrors:
            sends, steps = self._exchange.pull(pull_before, None)
        self._exchange.invalidate_if_used(args)
        own_args: list[Sequence[Any]] = [parts_of(args, p) for p in range(len(functions))]
        group = self.group if getattr(functions[0], "grouped", False) else None
        if group is not None:
            functions = group.prepare(functions, own_args)
            own_args = [[] for _ in functions]
        for function, own_steps, own in zip(functions, steps, own_args, strict=True):
            own_steps.append(("compute", function, own))
        if publish is not None and self.has_mirrors:
            for own, more in zip(steps, self._exchange.publish(publish), strict=True):
                own.extend(more)
        self._run(sends, work_estimate)
        if before_pull is not None:
            # On all elements, before an element waits for the packet that it sends.
            early = [[("compute", e.kernel(before_pull), own_args[p])] for p, e in enumerate(self.elements)]
            self._run(early, work_estimate)
        done = self._run(steps, work_estimate)
        self._exchange.end_verb()
        if group is not None:
            return group.results(done)
        return [partial(getattr, one, "result") for one in done]

    def _exchange_values(
        self, verb: Callable[..., tuple[Steps, Steps]], args: Sequence[Any], work_estimate: int | None
    ) -> None:
        """Run the steps that a verb of the exchange returns."""
        with self._reset_after_error():
            for steps in verb(*args):
                self._run(steps, work_estimate)
            self._exchange.end_verb()

    def _run(self, steps: Steps, work_estimate: int | None) -> list[StepsDone]:
        """Run each element's steps, and record them."""
        if not any(steps):
            return []
        in_turn = work_estimate is not None and work_estimate < MIN_PARALLEL_WORK
        if any(phase != "compute" for own in steps for phase, _, _ in own):
            for element in self.elements:
                element.begin_round()
        done = run_steps(self.elements, steps, 0 if in_turn else self._workers)
        self.recorder.add(done, in_turn=in_turn)
        if not self._queued:
            self.recorder.settle()
        return done

    @contextlib.contextmanager
    def _reset_after_error(self) -> Iterator[None]:
        """After an error, wait for the work of all elements, because later runs reuse their arrays.

        A new exchange and a new group replace the old ones, whose packets and rounds may be incomplete.
        """
        try:
            yield
        except BaseException:
            for element in self.elements:
                with contextlib.suppress(DeviceError):  # a failed GPU has no work left
                    element.wait()
            self._exchange = Exchange(self.elements, self.routes, self._network, self.partitioned.ranks)
            forget_group(self.partitioned)
            raise
