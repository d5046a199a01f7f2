"""The end of a run: the prediction of its plan, and a record of the run for later plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.elements.cuda.discovery import driver_present
from evener.engine.timeline import Span
from evener.results.ranks import join_timelines

if TYPE_CHECKING:
    from evener.engine.timeline import Timeline
    from evener.planning.plan import Plan
    from evener.results.result import Result

__all__ = ["conclude", "record_run"]

# Seconds of the shortest run that is recorded.
MIN_SECONDS = 0.010
# Largest part of a recorded run that compiles kernels.
_MAX_COMPILING = 0.02


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
