"""Vertex programs on GPUs: the launches of one superstep, by kernels with the functions linked in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.kernel import Kernel, LinkedFile, LinkedFunction
from evener.programs.columns import ColumnKernels
from evener.programs.payload import apart, state_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.programs.operators import Operator
    from evener.programs.payload import Payload
    from evener.programs.program_functions import Fields, ProgramFunctions
    from evener.programs.vertex_kernels_cpu import KernelShape

__all__ = [
    "APPLY",
    "COMBINE",
    "FIELDS",
    "FREQUENT",
    "PLACE",
    "PLACES",
    "POINTERS",
    "TABLE_BYTES",
    "GpuArrays",
    "GpuStep",
    "Step",
    "linked",
    "linked_functions",
    "places_of",
    "state_code",
]

APPLY, COMBINE, FREQUENT = (f"{__package__}:vertex_{name}" for name in ("apply", "combine", "frequent"))

# Messages of a vertex that a warp counts, and whose table fits shared memory; as in vertex_frequent.cu.
_FEW, _MANY = 32, 2048
# Bytes of a place in a table, and of all tables in global memory for each vertex. If one table needs more,
# there is one.
_PLACE_BYTES, TABLE_BYTES = 12, 64

# The parameters through which functions read and write fields; see vertex_functions.cuh.
_POINTERS = {"float32": "floats", "float64": "doubles", "int64": "integers"}
FIELDS = (*(f"{dtype}**" for dtype in _POINTERS), "int64")
POINTERS = f"{', '.join(_POINTERS.values())}, v"
PLACE = ("int64", "int64", "int64", "int64")
PLACES = "degree, vertex, n, iteration"


class GpuArrays:
    """Arrays of a run that only a GPU needs.

    `combined` has the combined message of each owned vertex. If messages are tuples, it has a word of 64 bits
    for each number of a message and vertex.

    To find the most frequent message, `lengths` has the most messages of each vertex. Vertices of `long_rows`
    and `rows` count theirs in global and in shared memory. The tables `messages` and `times` have `places`
    places for each vertex of `long_rows`.
    """

    def __init__(
        self, element: Element, owned: int, message: Payload, lengths: NDArray[Any] | None = None
    ) -> None:
        self.element = element
        wide = message.dtypes[0] if message.single else np.dtype(np.int64)
        self.combined = element.allocate(owned * len(message.dtypes), wide)
        self._addresses: dict[tuple[int, ...], Any] = {}
        if lengths is not None:
            # The longest rows come first, so that blocks with a long row get no other.
            order = np.argsort(lengths, kind="stable")[::-1].astype(np.uint32)
            count, counted = (int(np.count_nonzero(lengths > least)) for least in (_MANY, _FEW))
            self.long_rows, self.rows = element.upload(order[:count]), element.upload(order[count:counted])
            longest = int(lengths[order[0]]) if count else 0
            self.places = longest + longest // 2
            tables = max(1, owned * TABLE_BYTES // max(self.places * _PLACE_BYTES, 1))
            length = min(tables, count) * self.places
            self.messages, self.times = (element.allocate(length, dtype) for dtype in (np.uint64, np.uint32))

    def addresses(self, arrays: Sequence[Any]) -> Any:
        """Return the addresses of arrays, as an array of the GPU."""
        found = tuple(int(array.data.ptr) for array in arrays)
        if found not in self._addresses:
            self._addresses[found] = self.element.upload(np.array(found, np.uint64))
        return self._addresses[found]


class Step:
    """A function of a GPU that does the work of `step` in `evener.programs.vertex_kernels_cpu`.

    `files` has the files of all kernels.
    """

    files: tuple[LinkedFile, ...]
    _apply: Kernel

    def __init__(self, shape: KernelShape) -> None:
        self._shape = shape

    def __call__(
        self, own: GpuArrays, dense: bool, first: bool, everyone: bool, near: Any, far: Any,  # noqa: FBT001
        fields: Any, sent: Any, next_sent: Any, nothing: Any, degree: Any, vertices: Any, n: int,
        iteration: int, total: float, scheduled: Any, active: Any,
    ) -> Any:  # fmt: skip
        """Launch the kernels of a superstep. If `dense`, they read all edges in column blocks, if built."""
        shape, place = self._shape, (degree, vertices, n, iteration)
        if not first:
            self._gather(own, near, far, nothing, dense, (everyone, scheduled), sent, fields, place)
        result = own.element.kernel(self._apply)(
            first, everyone, shape.per_edge, shape.timed, scheduled, near[0], far[0], shape.both,
            own.combined, own.addresses(fields), *place, total, self._messages(own, sent),
            self._messages(own, next_sent), active,
        )  # fmt: skip
        if shape.per_edge:
            for field, target in zip(fields, next_sent, strict=True):
                target[: len(field)] = field
        return result

    def _gather(
        self, own: GpuArrays, near: Any, far: Any, nothing: Any, dense: bool, works: Any,  # noqa: FBT001
        sent: Any, fields: Any, place: Any,
    ) -> None:  # fmt: skip
        """Launch the kernels that write the combined messages."""
        raise NotImplementedError

    def _messages(self, own: GpuArrays, sent: Any) -> Any:
        """Return the argument of a kernel for arrays of messages."""
        raise NotImplementedError


class GpuStep(Step):
    """A step whose messages are numbers.

    `files` has the kernels that combine messages by rows, and the kernel that applies them. If floating-point
    messages are combined, it also has the kernels that combine them in column blocks.
    """

    def __init__(self, functions: tuple[LinkedFunction, ...], key: str, shape: KernelShape) -> None:
        super().__init__(shape)
        self._combines = any(one.name.startswith("combine_all") for one in functions)
        gather, apply = (
            LinkedFile(file, key, functions) for file in (COMBINE if self._combines else FREQUENT, APPLY)
        )
        real = shape.message.kinds == "f"
        self._columns = ColumnKernels(functions, key) if self._combines and real else None
        self.files = (gather, apply) if self._columns is None else (gather, apply, self._columns.file)
        self._apply = Kernel(cuda=apply, name="apply_messages")
        self._by_rows, self._edges, self._few, self._many = (
            Kernel(cuda=gather, name=name)
            for name in ("combine_messages", "combine_edges", "most_frequent_of_few", "most_frequent_of_many")
        )

    def _messages(self, own: GpuArrays, sent: Any) -> Any:  # noqa: ARG002 - for tuples
        return sent[0]

    def _gather(
        self, own: GpuArrays, near: Any, far: Any, nothing: Any, dense: bool, works: Any,  # noqa: FBT001
        sent: Any, fields: Any, place: Any,
    ) -> None:  # fmt: skip
        states = own.addresses(sent if self._shape.per_edge else fields)
        if not self._combines:
            self._find_most_frequent(own, near, far, nothing[0], works, sent[0], states, place)
            return
        for again, rows in enumerate((near, far) if self._shape.both else (near,)):
            offsets, targets, weights, blocks, columns = rows
            given = (offsets, targets, blocks, nothing[0], *works, again, own.combined)
            if self._shape.per_edge:
                own.element.kernel(self._edges)(*given, weights, states, *place)
            elif dense and columns is not None and self._columns is not None:
                self._columns.combine_rows(own.element, columns, nothing[0], sent[0], again, own.combined)
            else:
                own.element.kernel(self._by_rows)(*given, sent[0])

    def _find_most_frequent(
        self, own: GpuArrays, near: Any, far: Any, nothing: Any, works: Any, message: Any, states: Any,
        place: Any,
    ) -> None:  # fmt: skip
        shape, many = self._shape, own.element.kernel(self._many)
        given = (
            *near[:3], *far[:3], shape.both, shape.per_edge, message, states, *place, *works, own.combined
        )  # fmt: skip
        own.element.kernel(self._few)(*given, nothing)
        for rows, places in ((own.long_rows, own.places), (own.rows, 0)):
            if len(rows):
                many(*given, rows, places, own.messages, own.times)


def places_of(dtypes: Sequence[str]) -> list[str]:
    """Return the code of the places of a vertex in arrays of these types, given the tables of pointers."""
    return [f"{_POINTERS[dtype]}[{i}][v]" for i, dtype in enumerate(dtypes)]


def state_code(fields: Fields) -> tuple[str, str]:
    """Return the code that reads a state, and the code that writes `state` and its changes from `old`."""
    places, kinds = places_of(fields.dtypes), fields.value.kinds
    wides = ["np.float64" if kind == "f" else "np.int64" for kind in kinds]
    read = f"State({', '.join(f'{wide}({place})' for wide, place in zip(wides, places, strict=True))})"
    writes = "".join(
        f"    new_{i} = np.{dtype}(state[{i}])\n    {place} = new_{i}\n"
        for i, (dtype, place) in enumerate(zip(fields.dtypes, places, strict=True))
    )
    changes = "".join(
        f" + apart(old[{i}], np.float64(new_{i}))" for i, kind in enumerate(kinds) if kind == "f"
    )
    return read, f"{writes}    change[0] = 0.0{changes}\n"


def linked(
    program: ProgramFunctions,
    adapted: Sequence[Any],
    text: str,
    found: Sequence[tuple[Operator | None, str, str, tuple[str, ...]]],
) -> tuple[LinkedFunction, ...]:
    """Return `aggregate` and the functions of a text, by operator, name, result and parameters.

    `adapted` are the functions of the program with all their parameters.
    """
    known: dict[str, Any] = {"State": state_class(program.fields.names), "np": np, "apart": apart}
    known |= {"__name__": __name__, **dict(zip(program._fields[1:], adapted, strict=True))}
    old, _ = state_code(program.fields)
    text += f"def aggregate_({POINTERS}, {PLACES}):\n    return aggregate({old}, {PLACES})\n"
    exec(text, known)  # noqa: S102 - the text has numbers only
    functions = [
        LinkedFunction(name, known[name], returns, parameters, operator.explain)
        for operator, name, returns, parameters in found
        if operator is not None
    ]
    parameters, explain = (*FIELDS, *PLACE), program.aggregate.explain
    return (*functions, LinkedFunction("aggregate", known["aggregate_"], "float64", parameters, explain))


def linked_functions(
    program: ProgramFunctions, adapted: Sequence[Any], shape: KernelShape
) -> tuple[LinkedFunction, ...]:
    """Return the functions of a program for the ``.cu`` files: see vertex_functions.cuh, combine_all.cuh.

    `adapted` has them with all their parameters.
    """
    wide = shape.message.dtypes[0].name
    old, change = state_code(program.fields)
    text = (
        f"def send_{wide}({POINTERS}, real_weight, weight, {PLACES}):\n"
        f"    return send({old}, {'real_weight' if shape.real_weights else 'weight'}, {PLACES})\n"
        f"def apply_{wide}({POINTERS}, message, {PLACES}, total, change):\n"
        f"    old = {old}\n"
        f"    state, active = apply(old, message, {PLACES}, total)\n{change}"
        f"    return 1 if active else 0\n"
        f"def combine_all_{wide}(x, y):\n"
        f"    return combine(x, y)\n"
    )
    found = [
        (program.send, f"send_{wide}", wide, (*FIELDS, "float64", "int64", *PLACE)),
        (program.apply, f"apply_{wide}", "int64", (*FIELDS, wide, *PLACE, "float64", "float64*")),
        (program.combine, f"combine_all_{wide}", wide, (wide, wide)),
    ]
    return linked(program, adapted, text, found)
