"""Stages: functions that run on all elements of a rank at once, with their times in a timeline."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from evener.engine.checks import check_progress
from evener.engine.executor import run_steps, worker_count
from evener.engine.recorder import Recorder
from evener.system.agreement import on_all_ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.engine.exchange.exchange import Exchange
    from evener.engine.exchange.forms import Form
    from evener.engine.timeline import Progress, Timeline
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Stages"]


class Stages:
    """Runs the stages of a job and records their times; each stage is a superstep.

    `algorithm` is the name of the job, for progress.
    """

    def __init__(
        self, pg: PartitionedGraph, algorithm: str, progress: Callable[[Progress], None] | None
    ) -> None:
        on_all_ranks(pg.world, lambda: check_progress(progress))
        self.partitioned = pg
        self.elements = pg.elements
        self.world = pg.world
        self._active = [partition.owned for partition in pg.partitions]
        self._recorder = Recorder(algorithm, [element.name for element in pg.elements], progress, 1)
        self._workers = worker_count(pg.elements)
        for element in pg.elements:
            # The host's clock does not see when a GPU ends a stage.
            element.begin_timing(concurrent=len(pg.elements) > 1 or element.deferred)

    @property
    def timeline(self) -> Timeline:
        """The time of each stage and element so far."""
        return self._recorder.timeline

    def run(
        self, phase: str, function: Callable[..., Any], *args: Sequence[Any], edges: int = 0
    ) -> list[Any]:
        """Call a function on every element, and return its values.

        This is a collective operation; all ranks must call it, and all raise the error of one rank.

        Each of `args` has one argument for each element. `phase` is the name of the stage in the timeline,
        and `edges` are those that the stage reads, for the rate that progress shows.
        """
        steps = [("compute", function, given) for given in zip(*args, strict=True)]
        return [done.result for done in self._run(phase, steps, edges)]

    def receive(self, function: Callable[..., Any], *args: Sequence[Any]) -> None:
        """Call a function that copies records to each element, and returns (sender, bytes) of the copies.

        This is a collective operation; all ranks must call it.
        """
        self._run("transfer", [("receive", function, given) for given in zip(*args, strict=True)], 0)

    def carry(self, exchange: Exchange, form: Form) -> None:
        """Carry the packets of a form between the elements of all ranks.

        This is a collective operation; all ranks must call it, and all raise the error of one rank.
        """
        self._recorder.begin("transfer", self._active, 0, None)
        sends, receives = on_all_ranks(self.world, lambda: exchange.carry(form))
        self._take(sends)
        self._take(receives, exchange.end_verb)

    def alltoall(
        self, columns: Sequence[Sequence[NDArray[Any]]], nbytes: Sequence[int]
    ) -> list[list[NDArray[Any]]]:
        """Send an array of each column to each rank, and return the received arrays of each column.

        This is a collective operation; all ranks must call it. `columns` has an array for each rank, and
        `nbytes` the bytes that each element sends.
        """
        self._recorder.begin("communication", self._active, 0, None)
        since = perf_counter()
        received = [self.world.alltoall(arrays) for arrays in columns]
        self._recorder.sent(since, perf_counter(), nbytes)
        return received

    def finish(self) -> float:
        """End the timeline and return the seconds since the stages were constructed."""
        return self._recorder.finish()

    def _run(self, phase: str, steps: Sequence[Any], edges: int) -> list[Any]:
        self._recorder.begin(phase, self._active, edges, None)
        return self._take([[step] for step in steps])

    def _take(self, steps: list[list[Any]], end: Callable[[], None] = lambda: None) -> list[Any]:
        """Run and record the steps of each element, and then a function."""

        def take() -> list[Any]:
            for element in self.elements:
                element.begin_round()
            done = run_steps(self.elements, steps, self._workers)
            end()
            return done

        done = on_all_ranks(self.world, take)
        self._recorder.add(done, in_turn=False)
        self._recorder.settle()
        return done
