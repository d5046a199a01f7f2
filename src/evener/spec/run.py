"""A run of an algorithm: its graph and options, the placement, and the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evener.elements.cuda.discovery import gpus
from evener.engine.checkpoints.checkpoints import open_checkpoints
from evener.engine.engine import Engine
from evener.errors import ArgumentError
from evener.graph.checks import graph_remedy, type_name
from evener.graph.graph import Graph
from evener.partition.build import place_graph
from evener.partition.distributed.build import is_path, read_graph
from evener.partition.gathered import Gathered
from evener.partition.partitioned import PartitionedGraph
from evener.partition.placement import Placement
from evener.partition.placement_cache import find_kept, keep
from evener.results.result import Result
from evener.results.table_result import TableResult
from evener.spec.recording import conclude
from evener.spec.run_options import DEFAULTS, BasicOptions, RunOptions
from evener.system.agreement import on_all_ranks
from evener.system.log import log
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.checkpoints.request import Checkpoint
    from evener.engine.timeline import Progress, Timeline
    from evener.planning.plan import Plan
    from evener.results.columns import Column
    from evener.spec.algorithm import AlgorithmSpec

    class Timed(Protocol):
        """An engine, or the stages of a MapReduce job."""

        @property
        def partitioned(self) -> PartitionedGraph: ...
        @property
        def timeline(self) -> Timeline: ...
        def finish(self) -> float: ...


__all__ = ["Run", "begin"]


@dataclass
class Run:
    """A run of an algorithm, which `begin` returns.

    Attributes
    ----------
    spec : AlgorithmSpec
    given : Graph or PartitionedGraph
        The graph of the caller, read from its path.
    placement : Placement
        Where to place a graph that is not placed.
    progress : callable or None
    checkpoint : Checkpoint or None
    pg : PartitionedGraph or None
        The graph on processing elements, from `place`.
    plan : Plan or None
        The plan that chose the placement, if there is one.
    """

    spec: AlgorithmSpec
    given: Graph | PartitionedGraph
    placement: Placement
    progress: Callable[[Progress], None] | None
    checkpoint: Checkpoint | None
    pg: PartitionedGraph | None = None
    plan: Plan | None = None

    @property
    def graph(self) -> Graph:
        """The graph without its placement, to check arguments before it is placed."""
        return self.given.graph if isinstance(self.given, PartitionedGraph) else self.given

    def place(
        self,
        spec: AlgorithmSpec | None = None,
        *,
        passes: float = 1.0,
        required_directions: str | None = None,
    ) -> PartitionedGraph:
        """Return the graph on processing elements; the first call places it, unless the caller has done so.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        spec : AlgorithmSpec, optional
            The algorithm to plan for. Default: that of the run.
        passes : float, default 1
            The number of passes of the run, if it is much larger than the iterations of PageRank.
        required_directions : {"out", "in"}, optional
            The edges that the algorithm needs. It is faster with the edges of ``spec.directions``.

        Raises
        ------
        ArgumentError
            If the caller placed the graph and requests another placement, or if this placement lacks the
            edges that the algorithm follows. If the algorithm does not run on the elements.
        """
        spec = spec or self.spec
        if self.pg is None and isinstance(self.given, PartitionedGraph):
            self.pg = self.given
            _check_placed(self.pg, spec, self.placement, required_directions)
        elif self.pg is None:
            if "cuda" not in spec.kinds:
                if self.placement.on is None:
                    self.placement = replace(self.placement, on=("cpu",))
                on_all_ranks(current_world(), lambda: _require_cpus(spec, self.placement.kinds))
            self.pg, self.plan = _place(self.graph, spec, self.placement, passes)
            if self.placement.alpha is not None and len(self.pg.elements) == 1:
                _warn_of_alpha(self.placement.alpha, self.pg.elements[0].name, spec)
        return self.pg

    def engine(self, *, from_both_ends: bool = False) -> Engine:
        """Return an engine on the placed graph.

        This is a collective operation; all ranks must call it.
        """
        return Engine(
            self.place(), self.spec.name, progress=self.progress, from_both_ends=from_both_ends,
            host_state=self.spec.host_state,
        )  # fmt: skip

    def checkpoints(self, engine: Engine, arguments: Mapping[str, Any]) -> Checkpoints:
        """Return the checkpoints of the run, for a ``with`` statement; see `open_checkpoints`.

        This is a collective operation; all ranks must call it.
        """
        return open_checkpoints(engine, engine.partitioned, self.checkpoint, self.spec.name, arguments)

    def finish(
        self,
        engine: Timed,
        arrays: Mapping[str, PartitionedArray | NDArray[Any] | Callable[[], NDArray[Any]]],
        *,
        columns: Sequence[Column] | None = None,
        parameters: Mapping[str, Any] | None = None,
        outcome: Mapping[str, Any] | None = None,
        edges: int | None = None,
        passes: float = 1.0,
    ) -> Result:
        """End the run, and return its result.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        engine : Engine
        arrays : mapping of str to PartitionedArray, ndarray or callable
            The arrays of the result by name, or functions that gather them. If rows are not vertices, the
            rows of this rank; see `TableResult`.
        columns, parameters, outcome, edges, passes
            As in `Result`. Default of `columns`: those of the spec. Default of `edges`: the stored edges of
            the graph.
        """
        pg = engine.partitioned
        seconds = engine.finish()
        of_vertices = self.spec.row == "vertex"
        make = Result if of_vertices else partial(TableResult, self.spec.row)
        values: dict[str, Any] = dict(arrays)
        if of_vertices:
            values = {name: one if callable(one) else Gathered(pg, one) for name, one in values.items()}
        result = make(
            self.spec.name,
            pg.graph,
            values,
            columns=self.spec.columns if columns is None else tuple(columns),
            parameters=parameters or {},
            outcome=outcome,
            timeline=engine.timeline,
            seconds=seconds,
            edges=pg.graph.m if edges is None else edges,
            partitioned=pg,
            passes=passes,
        )
        return conclude(result, self.plan)


def begin(spec: AlgorithmSpec, graph: Any, options: BasicOptions) -> Run:
    """Begin a run: check its options, and read the graph of a path or a generator spec.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    spec : AlgorithmSpec
    graph : Graph, PartitionedGraph or str
    options : mapping
        The options that the caller gives; see `driver`.

    Raises
    ------
    TypeError
        If an option does not exist.
    ArgumentError
        On all ranks, if an option of one rank has a wrong type or value. If `graph` is no graph.
    """
    for name in options:
        if name not in DEFAULTS or (name == "checkpoint" and not spec.checkpoints):
            msg = f"{spec.name}() got an unexpected keyword argument {name!r}"
            raise TypeError(msg)
    given: RunOptions = {**DEFAULTS, **options}
    placement = on_all_ranks(
        current_world(),
        lambda: Placement.parse(
            given["on"], given["policy"], given["alpha"], given["gpu_memory"], spec.directions
        ),
    )
    if is_path(graph):
        graph = read_graph(graph, spec.directions, near=placement if "cuda" in spec.kinds else None)
    if not isinstance(graph, Graph | PartitionedGraph):
        msg = (
            f"{spec.name}: expected a Graph or a PartitionedGraph, found {type_name(graph)}; "
            f"{graph_remedy(graph)}"
        )
        raise ArgumentError(msg)
    return Run(spec, graph, placement, given["progress"], given["checkpoint"])


def _check_placed(
    pg: PartitionedGraph, spec: AlgorithmSpec, placement: Placement, required_directions: str | None
) -> None:
    """Raise an error if the caller requests a placement, or if the algorithm cannot run on this one."""
    on_all_ranks(pg.world, lambda: _refuse(placement))
    if "cuda" not in spec.kinds:
        of_ranks = pg.world.allgather([element.kind for element in pg.elements])
        _require_cpus(spec, [kind for own in of_ranks for kind in own])
    if pg.graph.directed and pg.directions not in ("both", spec.directions, required_directions):
        others = "" if spec.directions == "both" else ' or "both"'
        msg = (
            f'{spec.name} needs edges in direction "{spec.directions}", and the graph was placed with '
            f'"{pg.directions}" only; place it with directions="{spec.directions}"{others}'
        )
        raise ArgumentError(msg)


def _warn_of_alpha(alpha: float, element: str, spec: AlgorithmSpec) -> None:
    """Say that a share is ignored, because there is a single element."""
    own = {option.name for option in spec.options} & {"attenuation", "damping"}
    hint = f"; NetworkX's alpha is called {own.pop()} here" if own else ""
    log.warning("alpha=%g is ignored: %s is the only element%s", alpha, element, hint)


def _refuse(placement: Placement) -> None:
    if not placement.is_open:
        msg = (
            "the graph is already placed, so on=, policy=, alpha= and gpu_memory= have no effect; give them "
            "to partition() instead"
        )
        raise ArgumentError(msg)


def _require_cpus(spec: AlgorithmSpec, kinds: Sequence[str]) -> None:
    """Raise an error if an element is a GPU."""
    if "cuda" in kinds:
        msg = f'{spec.name} runs on CPUs, and the graph is on a GPU; place it with on="cpu"'
        raise ArgumentError(msg)


def _place(
    graph: Graph, spec: AlgorithmSpec, request: Placement, passes: float
) -> tuple[PartitionedGraph, Plan | None]:
    """Place a graph as requested, or by a plan if elements, policy or alpha are to be chosen.

    The placed graph of an earlier call with the same request is used instead, if it is kept.
    """
    world, run = current_world(), (spec.name, passes)
    request = request.near(graph)
    single = world.size == 1  # ranks place together, so a rank must not skip a placement
    if single and (kept := find_kept(graph, request, run)):
        return kept
    placement, plan = on_all_ranks(world, request.with_elements), None
    if single and _needs_plan(placement):
        from evener.planning.planner import plan_and_place

        placed, plan = plan_and_place(graph, spec, placement, passes=passes)
        if plan is None or plan.no_gpu_reason is not None:
            return placed, plan  # the next call tries the GPUs again
    else:
        placed = place_graph(graph, placement)
    if single:
        keep(placed, request, run, plan)
    return placed, plan


def _needs_plan(placement: Placement) -> bool:
    """Return whether elements, policy or alpha are to be chosen."""
    if placement.on is None:
        return bool(gpus())
    return len(set(placement.kinds)) > 1 and (placement.policy == "auto" or placement.alpha is None)
