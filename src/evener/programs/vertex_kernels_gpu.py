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
    "MAX_FIELDS",
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

# Most fields of a state; as in vertex_functions.cuh.
MAX_FIELDS = 32
# The parameters through which functions read and write fields in memory; see vertex_functions.cuh.
_TABLES = {"float32": "floats", "float64": "doubles", "int64": "integers"}
_FIELDS = (*(f"{dtype}**" for dtype in _TABLES), "int64")
_POINTERS = f"{', '.join(_TABLES.values())}, v"
_PLACE = ("int64", "int64", "int64", "int64")
_PLACES = "degree, vertex, n, iteration"
# The parameters through which they see the numbers of a state, or of a tuple.
_TUPLE = ("float64*", "int64*")
_STATE = "state_reals, state_integers"
# The types of these numbers, by the kinds of `Payload`.
_WIDE = {"f": "float64", "i": "int64"}


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
    fields, aggregate = program.fields, program.aggregate
    text, declared = (_number_code if shape.message.single else _tuple_code)(program, shape)
    known: dict[str, Any] = {"State": state_class(fields.names), "np": np, "apart": apart}
    known |= {"__name__": __name__, **dict(zip(program._fields[1:], adapted, strict=True))}
    text += (
        f"{_fields_code(fields)}"
        f"def aggregate_({_STATE}, {_PLACES}):\n"
        f"    return aggregate({_read_code(fields.state)}, {_PLACES})\n"
    )
    exec(text, known)  # noqa: S102 - the text has numbers only
    declared = [
        *declared,
        (aggregate, "read_state", "int64", (*_FIELDS, "int64", *_TUPLE)),
        (aggregate, "write_state", "int64", (*_FIELDS, *_TUPLE)),
    ]
    functions = [
        LinkedFunction(name, known[name], returns, parameters, operator.explain)
        for operator, name, returns, parameters in declared
        if operator is not None
    ]
    parameters = (*_TUPLE, *_PLACE)
    size = LinkedFunction("aggregate", known["aggregate_"], "float64", parameters, aggregate.explain)
    return (*functions, size)


def _number_code(program: ProgramFunctions, shape: KernelShape) -> Code:
    """Return the code of functions whose messages are numbers."""
    wide = shape.message.dtypes[0].name
    fields = program.fields
    # A vertex without such edges has no message: functions may divide by its degree, which is slow for 0.
    has_edges = shape.per_edge or not shape.only_out
    no_message = "" if has_edges else f"    if degree == 0:\n        return np.{wide}(0)\n"
    text = (
        f"def send_{wide}({_STATE}, real_weight, weight, {_PLACES}):\n{no_message}"
        f"    return send({_read_code(fields.changing)}, {_weight(shape)}, {_PLACES})\n"
        f"def apply_{wide}({_STATE}, message, {_PLACES}, total, change):\n"
        f"    old = {_read_code(fields.state)}\n"
        f"    state, active = apply(old, message, {_PLACES}, total)\n{_change_code(fields)}"
        f"    return 1 if active else 0\n"
        f"def combine_all_{wide}(x, y):\n"
        f"    return combine(x, y)\n"
    )
    declared = [
        (program.send, f"send_{wide}", wide, (*_TUPLE, "float64", "int64", *_PLACE)),
        (program.apply, f"apply_{wide}", "int64", (*_TUPLE, wide, *_PLACE, "float64", "float64*")),
        (program.combine, f"combine_all_{wide}", wide, (wide, wide)),
    ]
    return text, declared


def _tuple_code(program: ProgramFunctions, shape: KernelShape) -> Code:
    """Return the code of functions whose messages are tuples of numbers, for ``vertex_tuples.cu``."""
    kinds, fields = shape.message.kinds, program.fields
    dtypes = [str(dtype) for dtype in message_dtypes(fields.dtypes, shape.message.dtypes)]
    in_memory = _places_of(dtypes)

    def written(of: str, numbers: Sequence[str]) -> str:
        return _assignments(_words(of, kinds), [_WIDE[kind] for kind in kinds], numbers)

    a, b, message = (", ".join(_words(of, kinds)) for of in ("a", "b", "message"))
    numbers = [f"x[{k}]" for k in range(len(kinds))]
    stores = _assignments(in_memory, dtypes, _words("message", kinds))
    text = (
        f"def numbers_of_message():\n"
        f"    return {len(kinds)}\n"
        f"def read_message({_POINTERS}, message_reals, message_integers):\n"
        f"{written('message', in_memory)}"
        f"    return 0\n"
        f"def write_message({_POINTERS}, message_reals, message_integers):\n{stores}"
        f"    return 0\n"
        f"def send_tuple({_STATE}, real_weight, weight, {_PLACES}, message_reals, message_integers):\n"
        f"    x = send({_read_code(fields.changing)}, {_weight(shape)}, {_PLACES})\n"
        f"{written('message', numbers)}"
        f"    return 0\n"
        f"def combine_tuple(a_reals, a_integers, b_reals, b_integers):\n"
        f"    x = combine(({a},), ({b},))\n{written('a', numbers)}"
        f"    return 0\n"
        f"def apply_tuple({_STATE}, message_reals, message_integers, {_PLACES}, total, change):\n"
        f"    old = {_read_code(fields.state)}\n"
        f"    state, active = apply(old, ({message},), {_PLACES}, total)\n{_change_code(fields)}"
        f"    return 1 if active else 0\n"
    )
    declared = [
        (program.send, "numbers_of_message", "int64", ()),
        (program.send, "read_message", "int64", (*_FIELDS, *_TUPLE)),
        (program.send, "write_message", "int64", (*_FIELDS, *_TUPLE)),
        (program.send, "send_tuple", "int64", (*_TUPLE, "float64", "int64", *_PLACE, *_TUPLE)),
        (program.combine, "combine_tuple", "int64", (*_TUPLE, *_TUPLE)),
        (program.apply, "apply_tuple", "int64", (*_TUPLE, *_TUPLE, *_PLACE, "float64", "float64*")),
    ]
    return text, declared


def _places_of(dtypes: Sequence[str]) -> list[str]:
    """Return the code of the places of a vertex in arrays of these types, given the tables of pointers."""
    return [f"{_TABLES[dtype]}[{i}][v]" for i, dtype in enumerate(dtypes)]


def _words(of: str, kinds: Sequence[str]) -> list[str]:
    """Return the code of the words that have the numbers of a state or of a tuple."""
    return [f"{of}_{'reals' if kind == 'f' else 'integers'}[{k}]" for k, kind in enumerate(kinds)]


def _assignments(places: Sequence[str], types: Sequence[str], numbers: Sequence[str], indent: int = 4) -> str:
    """Return code that writes numbers as these types to places."""
    steps = zip(places, types, numbers, strict=True)
    return "".join(f"{' ' * indent}{place} = np.{kind}({number})\n" for place, kind, number in steps)


def _weight(shape: KernelShape) -> str:
    """Return the name of the weight that `send` sees."""
    return "real_weight" if shape.real_weights else "weight"


def _fields_code(fields: Fields) -> str:
    """Return the code of functions that copy the fields of a vertex to words, and back."""
    kinds, own = fields.value.kinds, len(fields.changing.kinds)
    words, places = _words("state", kinds), _places_of(fields.dtypes)
    wide = [_WIDE[kind] for kind in kinds]
    return (
        f"def read_state({_POINTERS}, whole, {_STATE}):\n"
        f"{_assignments(words[:own], wide[:own], places[:own])}"
        f"    if whole:\n        pass\n{_assignments(words[own:], wide[own:], places[own:], 8)}"
        f"    return 0\n"
        f"def write_state({_POINTERS}, {_STATE}):\n"
        f"{_assignments(places[:own], fields.dtypes[:own], words[:own])}"
        f"    return 0\n"
    )


def _change_code(fields: Fields) -> str:
    """Return code that writes the next `state`, rounded as in memory, and its changes since `old`."""
    changing, changes, writes = fields.changing, "", ""
    words = _words("state", changing.kinds)
    for i, (word, dtype, kind) in enumerate(zip(words, fields.dtypes, changing.kinds, strict=False)):
        new, old = (
            f"{of}{'' if payload.single else f'[{i}]'}"
            for of, payload in (("state", changing), ("old", fields.state))
        )
        writes += f"    {word} = np.{_WIDE[kind]}(np.{dtype}({new}))\n"
        if kind == "f" or changing.single:
            changes += f" + apart(np.float64({old}), np.float64({word}))"
    return f"{writes}    change[0] = 0.0{changes}\n"


def _read_code(payload: Payload) -> str:
    """Return code that reads a payload from the first words of a state."""
    numbers = _words("state", payload.kinds)
    return numbers[0] if payload.single else f"{'State' * bool(payload.names)}({', '.join(numbers)},)"
