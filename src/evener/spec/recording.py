"""The end of a run: its result, the prediction of its plan, and a record of the run for later plans."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from evener.elements.cuda.discovery import driver_present
from evener.engine.timeline import Span
from evener.results.ranks import join_timelines
from evener.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine
    from evener.engine.timeline import Timeline
    from evener.planning.plan import Plan
    from evener.spec.algorithm import AlgorithmSpec

__all__ = ["conclude", "finish_run", "record_run"]

# Seconds of the shortest run that is recorded.
MIN_SECONDS = 0.010
# Largest part of a recorded run that compiles kernels.
_MAX_COMPILING = 0.02


def finish_run(
    engine: Engine,
    spec: AlgorithmSpec,
    arrays: Mapping[str, PartitionedArray | Callable[[], NDArray[Any]]],
    *,
    plan: Plan | None = None,
    parameters: Mapping[str, Any] | None = None,
    outcome: Mapping[str, Any] | None = None,
    edges: int | None = None,
    passes: float = 1.0,
) -> Result:
    """End a run, and return its result.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    engine : Engine
    spec : AlgorithmSpec
        The algorithm; its columns describe the arrays.
    arrays : mapping of str to PartitionedArray or callable
        The arrays of the result by name, or functions that gather them.
    plan : Plan, optional
        The plan of `ensure_placed`, which the result is compared with.
    parameters, outcome, edges, passes
        As in `Result`. Default of `edges`: the stored edges of the graph.
    """
    pg = engine.partitioned
    seconds = engine.finish()
    result = Result(
        spec.name,
        pg.graph,
        {name: one if callable(one) else partial(pg.gather, one) for name, one in arrays.items()},
        columns=spec.columns,
        parameters=parameters or {},
        outcome=outcome,
        timeline=engine.timeline,
        seconds=seconds,
        edges=pg.graph.m if edges is None else edges,
        partitioned=pg,
        passes=passes,
    )
    return conclude(result, plan)


def conclude(result: Result, plan: Plan | None = None) -> Result:
    """Attach the prediction of a plan; on a machine with a GPU, record the run. Join the times of ranks."""
    placed = result.partitioned
    if placed is not None and placed.world.size > 1:  # a plan is for one process
        _ = placed.statistics  # a report on rank 0 needs those of all ranks
        result.timeline = join_timelines(result.timeline, result.world)
        result.seconds = result.timeline.seconds
    if placed is None or result.world.size > 1:
        return result
    if plan is not None:
        result.prediction = plan.predict(placed, result.passes)
    with_gpu = driver_present() or any(element.kind != "cpu" for element in placed.elements)
    if with_gpu and result.seconds >= MIN_SECONDS:
        record_run(result)
    return result


def record_run(result: Result) -> None:
    """Record a run, unless it had no pass, continued another, or spent much of its time compiling kernels."""
    placed, timeline = result.partitioned, result.timeline
    if placed is None or not result.passes or timeline.earlier_seconds:
        return
    if timeline.compile_seconds > _MAX_COMPILING * result.seconds:
        return
    from evener.elements.hardware import model_of
    from evener.planning.observations import Observation, ObservedElement, record

    spans = _totals(timeline)
    if len(spans) != len(placed.elements):
        return
    elements = tuple(
        ObservedElement(
            model=model_of(element),
            kind=element.kind,
            threads=element.threads,
            edges=int(own.stored_edges),
            host_edges=int(own.host_edges),
            vertices=int(own.connected),
            mirrors=int(own.mirrors),
            bytes_sent=int(span.bytes_sent),
            compute=span.compute,
            exchange=span.send + span.receive,
        )
        for element, own, span in zip(placed.elements, placed.partitions, spans, strict=True)
    )
    record(Observation(result.algorithm, float(result.passes), timeline.supersteps, result.seconds, elements))


def _totals(timeline: Timeline) -> list[Span]:
    """Return one span for each element with the sums over all phases, in the order of the elements."""
    sums = {name: Span(0, "run", name) for name in timeline.elements}
    for (_, name), span in timeline.by_phase().items():
        total = sums[name]
        total.compute += span.compute
        total.send += span.send
        total.receive += span.receive
        total.bytes_sent += span.bytes_sent
    return list(sums.values())
