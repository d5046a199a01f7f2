"""Launchers: a CUDA kernel, called with the same arguments as its CPU twin."""

from __future__ import annotations

from struct import Struct, calcsize
from struct import error as StructError  # noqa: N812 - an error is named as one
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import proxy

import numpy as np

from evener.elements.cuda.device import PendingResult
from evener.elements.cuda.memory import TieredArray
from evener.elements.cuda.scratch import MAX_RESULTS
from evener.elements.cuda.source import SCALARS, OwnSource
from evener.errors import ArgumentError, DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.elements.cuda.device import Device
    from evener.elements.cuda.source import Declaration, KernelSource

__all__ = ["Launcher"]

# The `struct` formats of parameters that the launcher fills in; see kernels/cuda/common.cuh and edges.cuh.
_FILLED = {"Results": "QQQ", "Grid": "QQ", "Pieces": "QQQQ", "Shared": "I", "Group": "QQQII"}
_ARRAYS = {"Array": "QQ", "Bits": "QQ", "Tiered": "QQQQQQ"}
# Threads in a block of an EdgeLoop.
_EDGE_LOOP_THREADS = 256
# Threads in a warp, and the largest number of threads in a block.
_WARP, _MAX_THREADS = 32, 1024
# The C type of an array's elements.
_C_TYPES = {np.dtype(code): name for name, code in SCALARS.items()} | {np.dtype(bool): "u8"}


class _Ready(NamedTuple):
    """A kernel compiled for certain types, with its launch configuration.

    `buffer` holds the arguments, `addresses` their addresses, and `parameters` is the address of `addresses`.
    """

    function: int
    blocks: int
    shared_bytes: int
    pack: Struct
    buffer: Any
    addresses: Any
    parameters: int


class Launcher:
    """One kernel on one element; call it like its CPU twin.

    A call returns at once. If the kernel has results, the call returns a `PendingResult`.

    Raises
    ------
    ArgumentError
        If the declaration cannot be launched, or a call has a wrong number of arguments.
    DeviceError
        If an array has another type than declared, or is not on this element.
    """

    def __init__(self, element: Device, file: KernelSource, declaration: Declaration) -> None:
        self._name = f"{file}.{declaration.name}"
        _check_declared(self._name, declaration)
        self._element = proxy(element)  # the element references its launchers
        self._file = file
        self._declared = declaration
        given = [p for p in declaration.parameters if p.kind not in _FILLED]
        self._filled = [p.kind for p in declaration.parameters if p.kind in _FILLED]
        self._kinds = [p.kind if p.kind in _ARRAYS else "" for p in given]
        # The argument that shows the type of each template parameter.
        self._shows = [
            next(i for i, p in enumerate(given) if p.kind in _ARRAYS and p.of == (t,))
            for t in declaration.types
        ]
        # Arrays are checked on the first launch with their types. The package's own drivers pass arrays that
        # differ only in template types. A user's arrays may differ from launch to launch.
        self._arrays = [] if _is_ours(file) else [i for i, kind in enumerate(self._kinds) if kind]
        self._given = given
        self._result_kinds = "".join(
            SCALARS[t] for p in declaration.parameters if p.kind == "Results" for t in p.of
        )
        self._ready: dict[tuple[Any, ...], _Ready] = {}

    def __call__(self, *args: Any) -> PendingResult | None:
        """Launch the kernel."""
        ready, pending = self._pack(args)
        self._launch(ready)
        return pending

    @property
    def grouped(self) -> bool:
        """Whether the kernel runs on all GPUs of a group at once."""
        return "Group" in self._filled

    def prepare(self, *args: Any) -> Callable[[], PendingResult | None]:
        """Load the kernel and return a function that launches it. Launch it before the next call."""
        ready, pending = self._pack(args)

        def launch() -> PendingResult | None:
            self._launch(ready)
            return pending

        return launch

    def _launch(self, ready: _Ready) -> None:
        self._element.launch(
            self._name, ready.function, ready.blocks, self._declared.threads, ready.shared_bytes,
            ready.parameters, together="Grid" in self._filled, lists="Pieces" in self._filled,
        )  # fmt: skip

    def _pack(self, args: tuple[Any, ...]) -> tuple[_Ready, PendingResult | None]:
        """Return the kernel with its arguments packed, and its result."""
        if len(args) != len(self._given):
            expected = ", ".join(p.name for p in self._given)
            msg = f"{self._name}: expected {len(self._given)} arguments ({expected}), found {len(args)}"
            raise ArgumentError(msg)
        if self._arrays:
            key = tuple([_signature(args[i]) for i in self._arrays])
        else:
            key = tuple([args[i].dtype.char for i in self._shows])
        ready = self._ready.get(key) or self._make_ready(key, args)
        flat: list[Any] = []
        for kind, arg in zip(self._kinds, args, strict=True):
            if not kind:
                flat.append(arg)
            elif kind == "Tiered":
                flat += arg.pointers()
            else:
                flat.append(arg.data.ptr)
                flat.append(arg.size)
        pending, scratch = None, self._element.scratch
        for kind in self._filled:
            if kind == "Results":
                pending = PendingResult(self._element, self._name, scratch.next_slot(), self._result_kinds)
                flat += scratch.results(pending.slot)
            elif kind == "Shared":
                flat.append(ready.shared_bytes)
            elif kind == "Group":
                flat += self._element.group_numbers()
            else:
                flat += scratch.filled(kind)
        try:
            ready.pack.pack_into(ready.buffer, 0, *flat)
        except StructError as error:
            msg = f"{self._name}: a number does not fit the declared type of its parameter: {error}"
            raise ArgumentError(msg) from error
        return ready, pending

    def _make_ready(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> _Ready:
        shown = zip(self._declared.types, self._shows, strict=True)
        types = {t: _C_TYPES.get(getattr(args[i], "dtype", np.dtype(object)), t) for t, i in shown}
        layout, offsets = "@", []
        for parameter, arg in zip(self._given, args, strict=True):
            kind = types.get(parameter.kind, parameter.kind)
            self._check(parameter.name, kind, [types.get(t, t) for t in parameter.of], arg)
            code = _ARRAYS.get(parameter.kind) or SCALARS[kind]
            offsets.append(calcsize(f"{layout}0{code[0]}"))
            layout += code
        for filled in self._filled:
            offsets.append(calcsize(f"{layout}0{_FILLED[filled][0]}"))
            layout += _FILLED[filled]
        pack = Struct(layout)
        buffer = np.zeros(pack.size, np.uint8)
        addresses = np.array([buffer.ctypes.data + offset for offset in offsets], np.uint64)
        function, blocks, shared_bytes = self._element.load(
            self._file, self._declared.name, types, 0 if self._declared.one_block else self._declared.threads,
            shared="Shared" in self._filled,
        )  # fmt: skip
        parameters = int(addresses.ctypes.data)  # read once, because reading it is slow
        self._ready[key] = _Ready(function, blocks, shared_bytes, pack, buffer, addresses, parameters)
        return self._ready[key]

    def _can_read(self, index: int) -> bool:
        """Return whether a GPU's arrays can be arguments. The package's exchanges also read other GPUs."""
        return index == self._element.index or (_is_ours(self._file) and self._element.reads_gpu(index))

    def _check(self, name: str, kind: str, of: list[str], arg: Any) -> None:
        """Raise an error for an argument of a wrong type, because the kernel would misread its bytes."""
        if kind in _ARRAYS:
            expected = of[0] if of else "u64"
            if kind == "Tiered":
                readable = isinstance(arg, TieredArray)
            else:  # a NumPy array has a `device` too, but no address that a GPU can use
                on_gpu = hasattr(arg, "__cuda_array_interface__")
                readable = on_gpu and self._can_read(arg.data.device_id)
            if not readable or _C_TYPES.get(arg.dtype) != expected:
                found = f"{type(arg).__name__} of {getattr(arg, 'dtype', 'no dtype')}"
                msg = (
                    f"{self._name}, argument {name}: expected an array of {expected} on "
                    f"{self._element.name}, found {found}; allocate it with Engine.array"
                )
                raise DeviceError(msg)
            return
        try:
            Struct(SCALARS[kind]).pack(arg)
        except StructError as error:
            msg = f"{self._name}, argument {name}: expected a number of type {kind}, found {arg!r}"
            raise ArgumentError(msg) from error


def _is_ours(file: KernelSource) -> bool:
    """Return whether a file belongs to Evener, whose drivers pass arrays of the right type and device."""
    return not isinstance(file, OwnSource) and (":" not in str(file) or str(file).startswith("evener."))


def _signature(arg: Any) -> tuple[str, int]:
    """Return the type of an array and its GPU; ("", -1) for any other object."""
    if isinstance(arg, TieredArray):
        return arg.dtype.char, -1
    if hasattr(arg, "__cuda_array_interface__"):
        return arg.dtype.char, arg.data.device_id
    return "", -1


def _check_declared(name: str, declared: Declaration) -> None:
    """Raise an error for a declaration with parameters or blocks that cannot be launched."""
    seen_in_arrays = {t for p in declared.parameters if p.kind in _ARRAYS for t in p.of}
    numbers = {*SCALARS, *declared.types}
    for p in declared.parameters:
        if p.kind == "Results":
            passable = 1 <= len(p.of) <= MAX_RESULTS and {"u64", "double"} >= set(p.of)
        elif p.kind in _ARRAYS:
            passable = len(p.of) == (p.kind != "Bits") and numbers >= set(p.of)
        else:
            passable = p.kind in _FILLED or p.kind in numbers
        if not passable:
            msg = (
                f'{name}: the type of parameter "{p.name}" is not supported; declare arguments as Array<T>, '
                f"Tiered<T>, Bits or T, where T is one of {', '.join(SCALARS)} or a template parameter; "
                f"then Results<...> of up to {MAX_RESULTS} u64 or double, Grid, Pieces or Shared"
            )
            raise ArgumentError(msg)
    if declared.threads != 1 and (declared.threads % _WARP or not 0 < declared.threads <= _MAX_THREADS):
        msg = (
            f"{name}: expected PARALLEL or BLOCK with a multiple of {_WARP} threads up to {_MAX_THREADS}, "
            f"found {declared.threads}"
        )
        raise ArgumentError(msg)
    filled = [p.kind in _FILLED for p in declared.parameters]
    if filled != sorted(filled):
        msg = f"{name}: expected the parameters {', '.join(_FILLED)} last, found an argument after them"
        raise ArgumentError(msg)
    if unseen := set(declared.types) - seen_in_arrays:
        of = unseen.pop()
        msg = f"{name} is a template of {of}: expected a parameter Array<{of}> or Tiered<{of}>, found none"
        raise ArgumentError(msg)
    if any(p.kind == "Pieces" for p in declared.parameters) and declared.threads != _EDGE_LOOP_THREADS:
        msg = (
            f"{name}: a kernel with Pieces runs in blocks of {_EDGE_LOOP_THREADS} threads; expected "
            f"PARALLEL({_EDGE_LOOP_THREADS}), found {declared.threads} threads"
        )
        raise ArgumentError(msg)
