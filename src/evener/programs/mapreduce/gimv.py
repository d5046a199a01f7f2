"""GIM-V in two MapReduce stages (S13 §II.B and §III.B).

Stage 1 maps each edge to the message of its source, with the target as key. Stage 2 combines the messages of
each vertex, on the element that owns the vertex, and assigns its next value. Values stay on the owners
between iterations, so only messages are copied.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from evener.engine.array import PartitionedArray
from evener.engine.exchange.exchange import Exchange
from evener.engine.exchange.forms import Form
from evener.engine.exchange.network import connect_ranks
from evener.engine.exchange.packet import Packet
from evener.errors import ArgumentError
from evener.graph.graph import Graph
from evener.partition.partitioned import PartitionedGraph
from evener.programs.mapreduce.gimv_cpu import GimvCpu, GimvKernels
from evener.programs.mapreduce.gimv_gpu import GimvGpu, linked_stages
from evener.programs.mapreduce.job import memory_limit, place
from evener.programs.mapreduce.stages import Stages
from evener.programs.steps import absolute_sum, is_constant, owned_values
from evener.programs.supersteps import ProgramRun
from evener.programs.value_check import ValueCheck
from evener.system.agreement import on_all_ranks
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.engine.exchange.link import Link
    from evener.engine.exchange.packet import Arrays
    from evener.programs.arguments import Condition
    from evener.programs.compilation import Operators
    from evener.programs.mapreduce.compilation import Signature
    from evener.spec.run import Run

__all__ = ["run_two_stages"]


def run_two_stages(
    run: Run,
    operators: Operators,
    signature: Signature,
    *,
    first: Mapping[str, NDArray[Any]],
    identity: Any,
    condition: Condition,
) -> ProgramRun:
    """Place a graph and run GIM-V on it, in two stages for each iteration.

    This is a collective operation; all ranks must call it.

    The operators are checked for the signature. `first` has the first values of the fields, and `identity` is
    the combined message of a vertex without in-edges. Other arguments are those of `evener.gimv`.
    """
    pg = _placed(run, fields=not signature.value.single)
    stages = Stages(pg, "gimv", run.progress)
    steps = TwoStages(pg, stages, operators, signature, list(first.values()), identity)
    n, total = pg.graph.n, sum(absolute_sum(values) for values in first.values())

    def all_hear() -> bool:
        return isinstance(pg.graph, Graph) and bool(pg.graph.in_degree().all())

    def fields() -> dict[str, PartitionedArray]:
        return dict(zip(first, map(PartitionedArray, zip(*steps.values, strict=True)), strict=True))

    check = ValueCheck(
        "gimv", pg, stages, condition, first=first.values(), identity=identity, operators=operators,
        weighted=operators.combine2.own[0] in operators.combine2.reads, all_hear=all_hear,
    )  # fmt: skip

    iteration, ready, converged = 0, 0, n == 0
    while iteration < condition.limit and not converged:
        iteration += 1
        ready, change, total = pg.world.allreduce(steps.step(total), "sum")
        converged = condition.is_met(ready == n, change, total)
        check.step(fields(), change, total, iteration)
    check.finish(fields())
    done = converged or (condition.fixed and ready == n)
    return ProgramRun(
        pg, stages, fields(), iteration, done, pg.graph.m * iteration, condition, total, passes=0
    )


class TwoStages:
    """Both stages on the elements of a placement.

    Each element reduces its own records before the copy, as combiners of MapReduce do. So it sends one
    message for each mirror, and the owner combines the messages of all elements.

    The constructor is a collective operation; all ranks must call it. `values` has the fields of the owned
    vertices of each partition.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        operators: Operators,
        signature: Signature,
        first: Sequence[NDArray[Any]],
        identity: Any,
    ) -> None:
        memory = memory_limit(None, pg.world)
        self._workers = on_all_ranks(
            pg.world, lambda: _workers_on(pg, operators, signature, first, identity, memory)
        )
        self._stages = stages
        self._exchange: Exchange | None = None
        if len(pg.ranks) > 1:
            network = connect_ranks(pg.world, pg.elements)
            self._exchange = Exchange(pg.elements, pg.routes, network, pg.ranks)
        chunks = max(worker.chunks for worker in self._workers)
        self._rounds = int(pg.world.allreduce(chunks, "max"))
        self.values = [worker.values for worker in self._workers]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages, given the sum of the absolute values of all ranks.

        This is a collective operation; all ranks must call it. Returns (converged vertices, sum of changes,
        sum of absolute values) of this rank.
        """
        workers, run = self._workers, self._stages.run
        combined = on_all_ranks(self._stages.world, lambda: [worker.new_messages() for worker in workers])
        for number in range(self._rounds):
            begins, ends = (
                [worker.edges * k // self._rounds for worker in workers] for k in (number, number + 1)
            )
            edges = sum(ends) - sum(begins)
            records = run("map", lambda worker, *at: worker.map(*at), workers, begins, ends, edges=edges)
            records = run("sort", lambda worker, given: worker.sort(given), workers, records)
            run("reduce", lambda worker, *given: worker.reduce(*given), workers, records, combined)
            del records  # the next round needs their memory
        if self._exchange is not None:
            form = _Messages(combined, workers[0].words)
            self._stages.carry(self._exchange, form)
            run("reduce", lambda worker, *given: worker.merge(*given), workers, form.received, combined)
        totals = [total] * len(workers)
        reduced = run("assign", lambda worker, *given: worker.assign(*given), workers, combined, totals)
        ready, change, size = (sum(column) for column in zip(*reduced, strict=True))
        return int(ready), float(change), float(size)


class _Messages(Form):
    """The combined messages of mirrors, for their owners.

    A message has this number of words. `received` has, for each element of this rank, the numbers of its
    vertices and their messages from each other element.
    """

    links = "push"

    def __init__(self, combined: Sequence[Any], words: int) -> None:
        super().__init__(PartitionedArray(combined))
        self._words = words
        self.received: list[list[tuple[Any, Any]]] = [[] for _ in combined]

    def targets(self, link: Link) -> Arrays:
        """Return an array for all messages."""
        return {"values": link.inbox.array("values 0", len(link.route) * self._words, self.array.dtype)}

    def pack(self, link: Link) -> Packet:
        """Return the messages, which do not change before the owner has combined them."""
        messages = self._of_mirrors(link)
        return Packet({"values": messages}, messages.nbytes)

    def unpack(self, link: Link, packet: Packet) -> int:
        """Keep the messages, which the owner combines once all have arrived."""
        messages = self._of_mirrors(link) if link.in_place else packet.arrays["values"]
        self.received[link.to_partition].append((link.route.index, messages))
        return int(messages.nbytes)

    def _of_mirrors(self, link: Link) -> NDArray[Any]:
        begin, count = link.route.begin * self._words, len(link.route) * self._words
        return self._sent(link)[begin : begin + count]


def _workers_on(
    pg: PartitionedGraph,
    operators: Operators,
    signature: Signature,
    first: Sequence[NDArray[Any]],
    identity: Any,
    memory: int,
) -> list[GimvCpu | GimvGpu]:
    """Return the worker of each element of this rank."""
    kinds, makers = {element.kind for element in pg.elements}, dict[str, Any]()
    if "cpu" in kinds:
        kernels = GimvKernels(pg, operators, signature, first, identity)
        makers["cpu"] = partial(GimvCpu, kernels=kernels, memory=memory)
    if "cuda" in kinds:
        file = linked_stages(operators, real=first[0].dtype.kind == "f")
        makers["cuda"] = partial(GimvGpu, file=file, identity=identity)
    initial = zip(*(_first_on_elements(pg, values) for values in first), strict=True)
    return [
        makers[element.kind](pg, place, fields)
        for place, (element, fields) in enumerate(zip(pg.elements, initial, strict=True))
    ]


def _first_on_elements(pg: PartitionedGraph, first: NDArray[Any]) -> list[Any]:
    """Return the first values of the owned vertices, in the memory of each element."""
    if is_constant(first):
        return [
            element.allocate(partition.owned, first.dtype, first[0])
            for element, partition in zip(pg.elements, pg.partitions, strict=True)
        ]
    parts = owned_values(pg, first)
    return [element.upload(values) for element, values in zip(pg.elements, parts, strict=True)]


def _placed(run: Run, *, fields: bool) -> PartitionedGraph:
    """Return the graph on its elements; an error for values with fields on GPUs."""
    if not isinstance(run.given, PartitionedGraph):
        on_all_ranks(current_world(), lambda: _check_kinds(run.placement.kinds, fields=fields))
    pg = place(run)
    kinds = pg.world.allgather([element.kind for element in pg.elements])
    _check_kinds([kind for of_rank in kinds for kind in of_rank], fields=fields)
    return pg


def _check_kinds(kinds: Sequence[str], *, fields: bool) -> None:
    if fields and "cuda" in kinds:
        found = "GPUs" if set(kinds) == {"cuda"} else "CPUs and GPUs"
        msg = (
            'gimv with fields and engine="mapreduce" runs on CPU elements, and the graph is on '
            f'{found}; place it with on="cpu"'
        )
        raise ArgumentError(msg)
