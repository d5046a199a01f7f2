"""GIM-V in two MapReduce stages (S13 §II.B and §III.B).

Stage 1 maps each edge to the message of its source, with the target as key. Stage 2 combines the messages of
each vertex, on the element that owns the vertex, and assigns its next value. Values stay on the owners
between iterations, so only messages are copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.engine.array import PartitionedArray
from evener.engine.exchange.exchange import Exchange
from evener.engine.exchange.forms import Form
from evener.engine.exchange.network import connect_ranks
from evener.engine.exchange.packet import Packet
from evener.errors import ArgumentError
from evener.graph.graph import Graph
from evener.kernels.kernel import Kernel, LinkedFile
from evener.partition.partitioned import PartitionedGraph
from evener.programs.compilation import digest, source_key
from evener.programs.mapreduce.compilation import assign_kernel, combine_kernel, message_kernel
from evener.programs.mapreduce.job import MapReduceJob, memory_limit, place
from evener.programs.mapreduce.reducer import Combine
from evener.programs.mapreduce.routers import by_owner
from evener.programs.mapreduce.stages import Stages
from evener.programs.mapreduce.worker import JobFunctions
from evener.programs.steps import absolute_sum, is_constant, message_dtypes, owned_values
from evener.programs.supersteps import ProgramRun
from evener.programs.value_check import ValueCheck
from evener.system.agreement import on_all_ranks
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.engine.exchange.link import Link
    from evener.engine.exchange.packet import Arrays
    from evener.partition.partition import Partition
    from evener.programs.arguments import Condition
    from evener.programs.compilation import Operators
    from evener.programs.mapreduce.compilation import Signature
    from evener.programs.mapreduce.records import SortedRun
    from evener.spec.run import Run

__all__ = ["FILE", "run_two_stages"]

FILE = "evener.programs:stages"
# Bytes that a record needs: it and its sorted copy; or key, message, and copies of keys and positions.
_PACKED_BYTES, _APART_BYTES = 16, 44
# Copies of the messages of mirrors that are under way to other ranks.
_TURNS = 2
# Edges of the smallest chunk.
_MIN_CHUNK = 1 << 16


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
    steps: CpuStages | GpuStages
    if pg.elements[0].kind == "cuda":
        (values,) = first.values()
        steps = GpuStages(pg, stages, operators, values, identity)
    else:
        steps = CpuStages(pg, stages, operators, signature, first, identity)
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


class CpuStages:
    """Both stages on CPU elements: a job with numbers of targets as keys, then a kernel that assigns.

    `values` has the fields of the owned vertices of each partition.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        operators: Operators,
        signature: Signature,
        first: Mapping[str, NDArray[Any]],
        identity: Any,
    ) -> None:
        message = signature.message
        weighted = pg.graph.weight_dtype is not None
        mapped = message_kernel(operators.combine2, signature, weighted=weighted)
        combine = combine_kernel(operators.combine_all, message, is_checked=True)
        dtypes = message_dtypes((str(values.dtype) for values in first.values()), message.dtypes)
        functions = JobFunctions(mapped, Combine(combine), np.dtype(np.uint32), dtypes)
        self._assign = assign_kernel(operators, signature)
        self._job = MapReduceJob(
            pg, stages, functions=functions, router=by_owner(pg), memory=memory_limit(None, pg.world)
        )
        self._pg, self._stages = pg, stages
        self._nothing = list(zip((identity,) if message.single else identity, message.dtypes, strict=True))
        self._initial = list(zip(*(owned_values(pg, values) for values in first.values()), strict=True))
        self.values = [tuple(field.copy() for field in fields) for fields in self._initial]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages, given the sum of the absolute values of all ranks.

        This is a collective operation; all ranks must call it. Returns (converged vertices, sum of changes,
        sum of absolute values) of this rank.
        """
        rows = self._job.run(self.values)
        reduced = self._stages.run("assign", self._assign_on, range(len(rows)), rows, [total] * len(rows))
        ready, change, size = (sum(column) for column in zip(*reduced, strict=True))
        return ready, change, size

    def _assign_on(self, p: int, rows: SortedRun, total: float) -> Sequence[Any]:
        partition, values = self._pg.partitions[p], self.values[p]
        messages = tuple(np.full(partition.owned, *nothing) for nothing in self._nothing)
        for message, column in zip(messages, rows.columns, strict=True):
            message[rows.keys] = column
        reduced: Sequence[Any] = self._assign(
            messages, partition.out_degree, partition.vertices, self._pg.graph.n, total, self._initial[p],
            values,
        )  # fmt: skip
        return reduced


class GpuStages:
    """Both stages on the elements of a placement, which are all GPUs.

    A message of 4 bytes is packed with its key into one word, and words are sorted. Other messages stay in
    place, and the positions of sorted keys are their order. Both sorts are the radix sort of CUB.

    Each GPU reduces its own records before the copy, as combiners of MapReduce do. So it sends one message
    for each mirror, and the owner combines the messages of all GPUs.

    The constructor is a collective operation; all ranks must call it.
    """

    def __init__(
        self,
        pg: PartitionedGraph,
        stages: Stages,
        operators: Operators,
        first: NDArray[Any],
        identity: float,
    ) -> None:
        real = first.dtype.kind == "f"
        key = digest(source_key(), f"{real}", *(operator.meaning for operator in operators))
        file = LinkedFile(FILE, key, operators.linked(real=real))
        self._gpus = on_all_ranks(pg.world, lambda: _gpus_of(pg, first, file, identity))
        self._stages = stages
        self._exchange: Exchange | None = None
        if len(pg.ranks) > 1:
            network = connect_ranks(pg.world, pg.elements)
            self._exchange = Exchange(pg.elements, pg.routes, network, pg.ranks)
        self._rounds = int(pg.world.allreduce(max(gpu.chunks for gpu in self._gpus), "max"))
        self.values = [(gpu.value,) for gpu in self._gpus]

    def step(self, total: float) -> tuple[int, float, float]:
        """Run both stages, as those of `CpuStages`."""
        gpus, run = self._gpus, self._stages.run
        combined = on_all_ranks(self._stages.world, lambda: [gpu.new_messages() for gpu in gpus])
        for number in range(self._rounds):
            bounds = [gpu.chunk(number, self._rounds) for gpu in gpus]
            records = run("map", _Gpu.map, gpus, bounds, edges=sum(end - begin for begin, end in bounds))
            order = run("sort", _Gpu.sort, gpus, records)
            run("reduce", _Gpu.reduce, gpus, records, order, combined)
            del records, order  # the next round needs their memory
        if self._exchange is not None:
            self._stages.carry(self._exchange, _Messages(gpus, combined))
        reduced = run("assign", _Gpu.assign, gpus, combined, [total] * len(gpus))
        ready, change, size = (sum(column) for column in zip(*reduced, strict=True))
        return int(ready), float(change), float(size)


def _gpus_of(pg: PartitionedGraph, first: NDArray[Any], file: LinkedFile, identity: float) -> list[_Gpu]:
    owners = zip(pg.elements, pg.partitions, _uploaded(pg, first), strict=True)
    return [_Gpu(*owner, file, identity, pg.graph.n, pg.mirrors_of(owner[1].index)) for owner in owners]


class _Messages(Form):
    """The messages of mirrors, for their owners, which combine them with their own messages."""

    links = "push"

    def __init__(self, gpus: Sequence[_Gpu], combined: Sequence[Any]) -> None:
        super().__init__(PartitionedArray(combined))
        self._gpus = gpus

    def targets(self, link: Link) -> Arrays:
        """Return an array for all messages."""
        return {"values": link.inbox.array("values 0", len(link.route), self.array.dtype)}

    def pack(self, link: Link) -> Packet:
        """Return the messages, which do not change before the owner has them."""
        messages = self._of_mirrors(link)
        return Packet({"values": messages}, messages.nbytes)

    def unpack(self, link: Link, packet: Packet) -> int:
        """Combine the messages with those of the owned vertices."""
        messages = self._of_mirrors(link) if link.in_place else packet.arrays["values"]
        self._gpus[link.to_partition].merge(link.route.index, messages, self._received(link))
        return int(messages.nbytes)

    def _of_mirrors(self, link: Link) -> NDArray[Any]:
        return self._sent(link)[link.route.begin : link.route.begin + len(link.route)]


class _Gpu:
    """The records and the values of one GPU, by kernels with the operators linked in.

    `value` has the value of each owned vertex, and `chunks` is the least number of chunks of edges, so that
    the records of a chunk fit the memory. Other GPUs have `mirrors` of the owned vertices.
    """

    def __init__(
        self,
        element: Element,
        partition: Partition,
        first: Any,
        file: LinkedFile,
        identity: float,
        n: int,
        mirrors: int,
    ) -> None:
        self.element = cast("Any", element)
        self._partition, self._edges, self._file = partition, cast("Any", partition.out), file
        self._identity, self._n = identity, n
        self._wide = np.dtype(np.float64 if first.dtype.kind == "f" else np.int64)
        self._wide_identity = element.upload(np.array([identity], self._wide))
        self._packed = first.itemsize == 4
        self._initial = first
        self.value = element.allocate(len(first), first.dtype)
        element.run(self.value.__setitem__, slice(None), self._initial)
        record = _PACKED_BYTES if self._packed else _APART_BYTES
        messages = len(partition.vertices) + _TURNS * partition.mirrors + mirrors
        usable = self.element.room_after(partition.nbytes) - messages * self._wide.itemsize
        self.chunks = -(-self._edges.count // max(usable // record, _MIN_CHUNK))

    def chunk(self, number: int, rounds: int) -> tuple[int, int]:
        """Return the bounds of the edges of a round."""
        return self._edges.count * number // rounds, self._edges.count * (number + 1) // rounds

    def new_messages(self) -> Any:
        """Return the combined message of each vertex and mirror before any record is reduced."""
        length = len(self._partition.vertices)
        return self.element.allocate(length, self._wide, self._identity, exchanged=True)

    def map(self, bounds: tuple[int, int]) -> list[Any]:
        """Return the records of a chunk of edges: packed, or keys and messages."""
        edges, (begin, end) = self._edges, bounds
        dtypes: list[Any] = [np.uint64] if self._packed else [np.uint32, self.value.dtype]
        records = [self.element.allocate(end - begin, dtype) for dtype in dtypes]
        weights = [] if edges.weights is None else [edges.weights]
        name = f"map_{'weighted_' * len(weights)}{'packed' if self._packed else 'apart'}"
        self._kernel(name)(
            begin, end, edges.offsets, edges.targets, *weights, self._wide_identity,
            self._partition.out_degree, self._partition.vertices, self._n, self.value, *records,
        )  # fmt: skip
        return records

    def sort(self, records: list[Any]) -> Any:
        """Sort packed records, or return the positions of sorted keys."""
        if not self._packed:
            return self.element.argsort(records[0])
        self.element.sort(records[0])
        return None

    def reduce(self, records: list[Any], order: Any, combined: Any) -> None:
        """Combine sorted records into the messages of vertices and mirrors."""
        if self._packed:
            self._kernel("reduce_packed")(records[0], combined)
        else:
            self._kernel("reduce_apart")(records[0], order, records[1], combined)

    def merge(self, index: Any, messages: Any, combined: Any) -> None:
        """Combine the messages of mirrors on another GPU with those of the vertices."""
        self._kernel("merge_mirrors")(index, messages, combined)

    def assign(self, combined: Any, total: float) -> Any:
        """Assign the next values."""
        return self._kernel("assign_values")(
            combined, self._partition.out_degree, self._partition.vertices, self._n, total, self._initial,
            self.value,
        )  # fmt: skip

    def _kernel(self, name: str) -> Any:
        return self.element.kernel(Kernel(cuda=self._file, name=name))


def _uploaded(pg: PartitionedGraph, first: NDArray[Any]) -> list[Any]:
    """Return the first values of the owned vertices on each GPU."""
    if is_constant(first):
        return [
            element.allocate(partition.owned, first.dtype, first[0])
            for element, partition in zip(pg.elements, pg.partitions, strict=True)
        ]
    parts = owned_values(pg, first)
    return [element.upload(values) for element, values in zip(pg.elements, parts, strict=True)]


def _placed(run: Run, *, fields: bool) -> PartitionedGraph:
    """Return the graph on CPU elements or, without fields, on GPUs; an error for other GPUs."""
    if not isinstance(run.given, PartitionedGraph):
        on_all_ranks(current_world(), lambda: _check_kinds(run.placement.kinds, fields=fields))
    pg = place(run)
    kinds = pg.world.allgather([element.kind for element in pg.elements])
    _check_kinds([kind for of_rank in kinds for kind in of_rank], fields=fields)
    return pg


def _check_kinds(kinds: Sequence[str], *, fields: bool) -> None:
    if "cuda" in kinds and (set(kinds) != {"cuda"} or fields):
        found = "GPUs" if set(kinds) == {"cuda"} else "CPUs and GPUs"
        name, where = ("fields and ", "") if fields else ("", " or on GPUs")
        msg = (
            f'gimv with {name}engine="mapreduce" runs on CPU elements{where}, and the graph is on {found}; '
            'place it with on="cpu"'
        )
        raise ArgumentError(msg)
