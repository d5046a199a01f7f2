"""Vertex programs on GPUs: the functions that are linked into kernels, and the launches of one superstep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.kernel import Kernel, LinkedFile, LinkedFunction
from evener.programs.column_kernels import ColumnKernels
from evener.programs.payload import apart, state_class
from evener.programs.steps import message_dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.programs.operators import Operator
    from evener.programs.payload import Fields, Payload
    from evener.programs.vertex_kernels_cpu import KernelShape, ProgramFunctions

    # The code of functions, and for each function its operator, name, result and parameters.
    Code = tuple[str, Sequence[tuple[Operator | None, str, str, tuple[str, ...]]]]

__all__ = [
    "APPLY",
    "COMBINE",
    "FREQUENT",
    "MAX_NUMBERS",
    "TABLE_BYTES",
    "TILES",
    "TUPLES",
    "GpuArrays",
    "GpuStep",
    "linked_functions",
]

APPLY, COMBINE, FREQUENT, TILES, TUPLES = (
    f"{__package__}:vertex_{name}" for name in ("apply", "combine", "frequent", "tiles", "tuples")
)

# Most numbers of a message; as in vertex_tuples.cu.
MAX_NUMBERS = 8
# Messages of a vertex that a warp counts, and whose table fits shared memory; as in vertex_frequent.cu.
_FEW, _MANY = 32, 2048
# Bytes of a place in a table, and of all tables in global memory for each vertex. If one table needs more,
# there is one.
_PLACE_BYTES, TABLE_BYTES = 12, 64

# The parameters through which functions read and write fields; see vertex_functions.cuh.
_TABLES = {"float32": "floats", "float64": "doubles", "int64": "integers"}
_FIELDS = (*(f"{dtype}**" for dtype in _TABLES), "int64")
_POINTERS = f"{', '.join(_TABLES.values())}, v"
_PLACE = ("int64", "int64", "int64", "int64")
_PLACES = "degree, vertex, n, iteration"
_TUPLE = ("float64*", "int64*")


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
        # The messages and the superstep whose combined messages `combined` has already.
        self.ahead: tuple[Any, ...] | None = None
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
        key = tuple(int(array.data.ptr) for array in arrays)
        if key not in self._addresses:
            self._addresses[key] = self.element.upload(np.array(key, np.uint64))
        return self._addresses[key]


class GpuStep:
    """A function of a GPU that does the work of `step` in `evener.programs.vertex_kernels_cpu`.

    `files` has the kernels that combine messages by rows, and the kernel that applies them. If floating-point
    numbers are combined, it also has the kernels that combine and apply them in column blocks.
    """

    def __init__(self, functions: tuple[LinkedFunction, ...], key: str, shape: KernelShape) -> None:
        self._shape, single = shape, shape.message.single
        self._combines = any(function.name.startswith("combine_") for function in functions)
        of_numbers = (COMBINE if self._combines else FREQUENT, APPLY)
        gather, apply = (
            LinkedFile(file, key, functions) for file in (of_numbers if single else (TUPLES, TUPLES))
        )
        self._columns: ColumnKernels | None = None
        self.files: tuple[LinkedFile, ...] = (gather, apply) if single else (gather,)
        if self._combines and single and shape.message.kinds == "f":
            self._columns, tiles = ColumnKernels(functions, key), LinkedFile(TILES, key, functions)
            self._apply_tiles = Kernel(cuda=tiles, name="apply_tiles")
            self.files += (self._columns.file, tiles)
        self._by_rows, self._by_edges, self._tuples, self._few, self._many = (
            Kernel(cuda=gather, name=name)
            for name in (
                "combine_messages", "combine_edges", "combine_tuples", "most_frequent_of_few",
                "most_frequent_of_many",
            )
        )  # fmt: skip
        self._apply = Kernel(cuda=apply, name="apply_messages" if single else "apply_tuples")

    def __call__(
        self, gpu: GpuArrays, next_near: Any, next_far: Any, dense: bool, first: bool, everyone: bool,  # noqa: FBT001
        near: Any, far: Any, fields: Any, sent: Any, next_sent: Any, nothing: Any, degree: Any, vertices: Any,
        n: int, iteration: int, total: float, scheduled: Any, active: Any,
    ) -> Any:  # fmt: skip
        """Launch the kernels of a superstep. If `dense`, they read all edges in column blocks, if built.

        With `next_near`, all vertices work in the next superstep too. The GPU begins it, so that it does not
        wait for the host.
        """
        shape, place, works = self._shape, (degree, vertices, n, iteration), (everyone, scheduled)
        if not first and self._combines:
            if gpu.ahead != _superstep(sent, iteration) or not everyone:
                self._combine(gpu, near, far, nothing, dense, works, sent, place)
        elif not first:
            states = gpu.addresses(sent if shape.per_edge else fields)
            self._find_most_frequent(gpu, near, far, nothing[0], works, sent[0], states, place)
        gpu.ahead = None
        messages = (sent[0], next_sent[0])
        if not shape.message.single:
            messages = (gpu.addresses(sent), gpu.addresses(next_sent))
        if not first and self._reads_tiles(dense, everyone, near, sent):
            columns = near[4]
            result = gpu.element.kernel(self._apply_tiles)(
                columns.tile_row, columns.tile_width, columns.tile_places, columns.partial, nothing[0],
                len(fields[0]), gpu.addresses(fields), *place, total, next_sent[0], active,
            )  # fmt: skip
        else:
            result = gpu.element.kernel(self._apply)(
                first, everyone, shape.per_edge, shape.timed, scheduled, near[0], far[0], shape.both,
                gpu.combined, gpu.addresses(fields), *place, total, *messages, active,
            )  # fmt: skip
        if shape.per_edge:
            for field, target in zip(fields, next_sent, strict=False):  # the fields that change
                target[: len(field)] = field
        if next_near is not None and self._combines:
            result.ready = gpu.element.record()
            place = (degree, vertices, n, iteration + 1)
            self._combine(gpu, next_near, next_far, nothing, dense, works, next_sent, place)
            gpu.ahead = _superstep(next_sent, iteration + 1)
        return result

    def _reads_columns(self, dense: bool, near: Any, sent: Any) -> bool:  # noqa: FBT001
        """Return whether messages are combined in column blocks."""
        return dense and near[4] is not None and self._columns is not None and sent[0].dtype == np.float32

    def _reads_tiles(self, dense: bool, everyone: bool, near: Any, sent: Any) -> bool:  # noqa: FBT001
        """Return whether the kernel that applies messages reads those of each tile and block."""
        return everyone and not self._shape.both and self._reads_columns(dense, near, sent)

    def _combine(
        self, gpu: GpuArrays, near: Any, far: Any, nothing: Any, dense: bool, works: Any,  # noqa: FBT001
        sent: Any, place: Any,
    ) -> None:  # fmt: skip
        """Launch the kernels that write the combined messages, for each direction."""
        shape, kernel = self._shape, gpu.element.kernel
        for again, rows in enumerate((near, far) if shape.both else (near,)):
            offsets, targets, weights, blocks, columns = rows
            given = (offsets, targets, blocks, nothing[0], *works, again, gpu.combined)
            if not shape.message.single:
                kernel(self._tuples)(
                    *rows[:4], gpu.addresses(nothing), *works, again, shape.per_edge, gpu.addresses(sent),
                    *place, gpu.combined,
                )  # fmt: skip
            elif shape.per_edge:
                kernel(self._by_edges)(*given, weights, gpu.addresses(sent), *place)
            elif self._columns is not None and self._reads_columns(dense, rows, sent):
                items = (gpu.element, columns, nothing[0], sent[0])
                if self._reads_tiles(dense, works[0], rows, sent):
                    self._columns.combine_items(*items)
                else:
                    self._columns.combine_rows(*items, again, gpu.combined)
            else:
                kernel(self._by_rows)(*given, sent[0])

    def _find_most_frequent(
        self, gpu: GpuArrays, near: Any, far: Any, nothing: Any, works: Any, message: Any, states: Any,
        place: Any,
    ) -> None:  # fmt: skip
        shape, many = self._shape, gpu.element.kernel(self._many)
        given = (
            *near[:3], *far[:3], shape.both, shape.per_edge, message, states, *place, *works, gpu.combined
        )  # fmt: skip
        gpu.element.kernel(self._few)(*given, nothing)
        for rows, places in ((gpu.long_rows, gpu.places), (gpu.rows, 0)):
            if len(rows):
                many(*given, rows, places, gpu.messages, gpu.times)


def _superstep(sent: Any, iteration: int) -> tuple[Any, ...]:
    """Return what identifies a superstep and its messages."""
    return iteration, sent[0].data.ptr, sent[0].dtype


def linked_functions(
    program: ProgramFunctions, adapted: Sequence[Any], shape: KernelShape
) -> tuple[LinkedFunction, ...]:
    """Return the functions of a program for the ``.cu`` files: see vertex_functions.cuh, combine_all.cuh.

    `adapted` has them with all their parameters.
    """
    text, declared = (_number_code if shape.message.single else _tuple_code)(program, shape)
    known: dict[str, Any] = {"State": state_class(program.fields.names), "np": np, "apart": apart}
    known |= {"__name__": __name__, **dict(zip(program._fields[1:], adapted, strict=True))}
    old, _, _ = _state_code(program.fields)
    text += f"def aggregate_({_POINTERS}, {_PLACES}):\n    return aggregate({old}, {_PLACES})\n"
    exec(text, known)  # noqa: S102 - the text has numbers only
    functions = [
        LinkedFunction(name, known[name], returns, parameters, operator.explain)
        for operator, name, returns, parameters in declared
        if operator is not None
    ]
    parameters, explain = (*_FIELDS, *_PLACE), program.aggregate.explain
    return (*functions, LinkedFunction("aggregate", known["aggregate_"], "float64", parameters, explain))


def _number_code(program: ProgramFunctions, shape: KernelShape) -> Code:
    """Return the code of functions whose messages are numbers."""
    wide = shape.message.dtypes[0].name
    old, own, change = _state_code(program.fields)
    # A vertex without such edges has no message: functions may divide by its degree, which is slow for 0.
    has_edges = shape.per_edge or not shape.only_out
    no_message = "" if has_edges else f"    if degree == 0:\n        return np.{wide}(0)\n"
    text = (
        f"def send_{wide}({_POINTERS}, real_weight, weight, {_PLACES}):\n{no_message}"
        f"    return send({own}, {'real_weight' if shape.real_weights else 'weight'}, {_PLACES})\n"
        f"def apply_{wide}({_POINTERS}, message, {_PLACES}, total, change):\n"
        f"    old = {old}\n"
        f"    state, active = apply(old, message, {_PLACES}, total)\n{change}"
        f"    return 1 if active else 0\n"
        f"def combine_all_{wide}(x, y):\n"
        f"    return combine(x, y)\n"
    )
    declared = [
        (program.send, f"send_{wide}", wide, (*_FIELDS, "float64", "int64", *_PLACE)),
        (program.apply, f"apply_{wide}", "int64", (*_FIELDS, wide, *_PLACE, "float64", "float64*")),
        (program.combine, f"combine_all_{wide}", wide, (wide, wide)),
    ]
    return text, declared


def _tuple_code(program: ProgramFunctions, shape: KernelShape) -> Code:
    """Return the code of functions whose messages are tuples of numbers, for ``vertex_tuples.cu``."""
    kinds = shape.message.kinds
    old, own, change = _state_code(program.fields)
    dtypes = [str(dtype) for dtype in message_dtypes(program.fields.dtypes, shape.message.dtypes)]
    in_memory = _places_of(dtypes)

    def words(of: str) -> list[str]:
        return [f"{of}_{'reals' if kind == 'f' else 'integers'}[{k}]" for k, kind in enumerate(kinds)]

    def written(of: str, numbers: Sequence[str]) -> str:
        types = ["np.float64" if kind == "f" else "np.int64" for kind in kinds]
        steps = zip(words(of), types, numbers, strict=True)
        return "".join(f"    {word} = {wide}({number})\n" for word, wide, number in steps)

    a, b, message = (", ".join(words(of)) for of in ("a", "b", "message"))
    numbers = [f"x[{k}]" for k in range(len(kinds))]
    stores = "".join(
        f"    {place} = np.{dtype}({word})\n"
        for place, dtype, word in zip(in_memory, dtypes, words("message"), strict=True)
    )
    weight = "real_weight" if shape.real_weights else "weight"
    text = (
        f"def numbers_of_message():\n"
        f"    return {len(kinds)}\n"
        f"def read_message({_POINTERS}, message_reals, message_integers):\n"
        f"{written('message', in_memory)}"
        f"    return 0\n"
        f"def write_message({_POINTERS}, message_reals, message_integers):\n{stores}"
        f"    return 0\n"
        f"def send_tuple({_POINTERS}, real_weight, weight, {_PLACES}, message_reals, message_integers):\n"
        f"    x = send({own}, {weight}, {_PLACES})\n{written('message', numbers)}"
        f"    return 0\n"
        f"def combine_tuple(a_reals, a_integers, b_reals, b_integers):\n"
        f"    x = combine(({a},), ({b},))\n{written('a', numbers)}"
        f"    return 0\n"
        f"def apply_tuple({_POINTERS}, message_reals, message_integers, {_PLACES}, total, change):\n"
        f"    old = {old}\n"
        f"    state, active = apply(old, ({message},), {_PLACES}, total)\n{change}"
        f"    return 1 if active else 0\n"
    )
    declared = [
        (program.send, "numbers_of_message", "int64", ()),
        (program.send, "read_message", "int64", (*_FIELDS, *_TUPLE)),
        (program.send, "write_message", "int64", (*_FIELDS, *_TUPLE)),
        (program.send, "send_tuple", "int64", (*_FIELDS, "float64", "int64", *_PLACE, *_TUPLE)),
        (program.combine, "combine_tuple", "int64", (*_TUPLE, *_TUPLE)),
        (program.apply, "apply_tuple", "int64", (*_FIELDS, *_TUPLE, *_PLACE, "float64", "float64*")),
    ]
    return text, declared


def _places_of(dtypes: Sequence[str]) -> list[str]:
    """Return the code of the places of a vertex in arrays of these types, given the tables of pointers."""
    return [f"{_TABLES[dtype]}[{i}][v]" for i, dtype in enumerate(dtypes)]


def _state_code(fields: Fields) -> tuple[str, str, str]:
    """Return code that reads a state, and what `send` sees, and code that writes `state`.

    The last code also writes the changes since `old`.
    """
    places, changing = _places_of(fields.dtypes), fields.changing
    writes, changes = "", ""
    for i, (place, dtype, kind) in enumerate(zip(places, fields.dtypes, changing.kinds, strict=False)):
        new, old = (
            f"{of}{'' if payload.single else f'[{i}]'}"
            for of, payload in (("state", changing), ("old", fields.state))
        )
        writes += f"    new_{i} = np.{dtype}({new})\n    {place} = new_{i}\n"
        if kind == "f" or changing.single:
            changes += f" + apart(np.float64({old}), np.float64(new_{i}))"
    write = f"{writes}    change[0] = 0.0{changes}\n"
    return _read_code(fields.state, places), _read_code(changing, places), write


def _read_code(payload: Payload, places: Sequence[str]) -> str:
    """Return code that reads a payload from the first places."""
    wides = ["np.float64" if kind == "f" else "np.int64" for kind in payload.kinds]
    numbers = [f"{wide}({place})" for wide, place in zip(wides, places, strict=False)]
    return numbers[0] if payload.single else f"{'State' * bool(payload.names)}({', '.join(numbers)},)"
