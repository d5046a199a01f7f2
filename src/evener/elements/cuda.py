"""The CUDA element: one GPU, running kernels compiled from CUDA C++."""

from __future__ import annotations

import contextlib
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.gpus import gpus, missing
from evener.elements.launch import MOST_VOTES, Launcher, Vote
from evener.elements.memory import TieredArray, locked_array
from evener.errors import ArgumentError, DeviceError, DeviceOutOfMemory, first_line
from evener.kernels.cuda.compile import architecture, compiled
from evener.kernels.cuda.source import OwnSource, declarations, declared_in
from evener.kernels.kernel import Kernel
from evener.memory import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

__all__ = ["CudaElement", "gpus", "missing"]

# So many kernels' votes can wait to be read; each is read before the next but a few is launched.
_SLOTS = 16
# Blocks that an H200 holds at once number 132 x 8 to 32; votes of each have a place.
_MOST_BLOCKS = 1 << 14
# The threads that gather as many edges a second, the graph being in its memory: 175 billion on an H200
# against 220 million on one thread of its host.
_WORTH_THREADS = 800.0
# The part of a GPU's free memory that we fill: the rest is for blocks of CuPy's pool that do not quite fit.
_USABLE = 0.95
# The part of a multiprocessor's shared memory that tables get. The rest serves as L1 cache, through which all
# other reads pass: PageRank on R-MAT 22 takes 0.61 ms an iteration with 0.85, 0.74 ms with all of it.
_SHARED_FOR_TABLES = 0.85
# Each piece of a long row has at least this many edges to it: LONG in kernels/cuda/edges.cuh.
_EDGES_A_PIECE = 512

# What has been loaded on each GPU, for all elements of this process: loading takes longer than most searches.
_modules: dict[tuple[int, str | OwnSource, tuple[tuple[str, str], ...]], tuple[Any, dict[str, str]]] = {}


class CudaElement:
    """One GPU.

    Kernels are launched and not waited for; `read` waits for what one returns, `wait` for all.

    Parameters
    ----------
    name : str
        As the user wrote it.
    index : int
        The GPU, as CUDA counts them.
    most_memory : int, optional
        Bytes that a partition and its state may take up here. Default: what is free.

    Raises
    ------
    ArgumentError
        If there is no such GPU.
    DeviceError
        If no GPU can be used at all; the sentence says why.
    """

    kind = "cuda"
    threads = 1
    weight = _WORTH_THREADS
    deferred = True

    def __init__(self, name: str, index: int, most_memory: int | None = None) -> None:
        why = missing()
        if why:
            msg = f'element "{name}" cannot be used: {why}'
            raise DeviceError(msg)
        if index >= gpus():
            there = "one GPU, cuda:0" if gpus() == 1 else f"cuda:0 to cuda:{gpus() - 1}"
            msg = f'element "{name}" does not exist; this machine has {there}'
            raise ArgumentError(msg)
        import cupy

        self.name = name
        self.index = index
        self._cupy = cupy
        self._most_memory = most_memory
        self._device = cupy.cuda.Device(index)
        self._kernels: dict[str | Kernel, Launcher] = {}
        self._timed = False
        with self._guarded("starting"):
            attributes = self._device.attributes
            self._processors = int(attributes["MultiProcessorCount"])
            self._most_shared = int(attributes["MaxSharedMemoryPerBlockOptin"])
            self._architecture = architecture(self._device.compute_capability)
            self._of_block = cupy.zeros(_MOST_BLOCKS * MOST_VOTES, np.uint64)
            self._copies = cupy.cuda.Stream(non_blocking=True)
            # Each in a memory sector of its own: blocks done, arrivals, and two counts of pieces.
            self._counters = cupy.zeros(4 * 4, np.uint64)
            self._pieces = cupy.zeros(1024, np.uint64)
            answers = cupy.cuda.alloc_pinned_memory(_SLOTS * MOST_VOTES * 8)
        self._answers = np.frombuffer(answers, np.uint64, _SLOTS * MOST_VOTES)
        self._answers_begin = self._answers.ctypes.data
        self._slot = 0
        self._lists = 0
        self._anchor: tuple[Any, float] = (None, 0.0)
        self._posted: Any = None

    # ---- memory ---------------------------------------------------------------------------------

    @property
    def memory(self) -> tuple[Any, int]:
        """What tells its memory from that of others."""
        return ("cuda", self.index)

    @property
    def posted(self) -> Any:
        """The event behind what others may take."""
        return self._posted

    def free_bytes(self) -> int:
        """Bytes that can still be allocated, those that CuPy's pool holds unused among them."""
        with self._guarded("asking for free memory"):
            free, _ = self._cupy.cuda.runtime.memGetInfo()
            return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())

    def room(self) -> int:
        """Bytes that a partition and its state may take up here."""
        free = int(self.free_bytes() * _USABLE)
        return free if self._most_memory is None else min(self._most_memory, free)

    def array(self, length: int, dtype: DTypeLike, fill: object | None = None) -> Any:
        """A CuPy array, filled or left as it comes."""
        with self._guarded("allocating", np.dtype(dtype).itemsize * length):
            array = self._cupy.empty(length, dtype)
            if fill is None or not length:
                return array
            pattern = set(np.full(1, fill, dtype).tobytes())
            if len(pattern) == 1:  # 0, -1, or all bits set
                array.data.memset_async(pattern.pop(), array.nbytes)
            else:
                array.fill(fill)
            return array

    def hold(self, array: NDArray[Any]) -> Any:
        """A copy in this element's memory."""
        with self._guarded("copying to the GPU", array.nbytes):
            return self._cupy.asarray(np.ascontiguousarray(array))

    def hold_edges(self, array: NDArray[Any], far: int) -> TieredArray:
        """The first `far` edges copied to locked pages of the host's memory, the others to this GPU's."""
        with self._device:
            locked = locked_array(far, array.dtype, pooled=False) if far else np.empty(0, array.dtype)
        np.copyto(locked, array[:far])
        return TieredArray(locked, self.hold(array[far:]))

    def fetch(self, array: Any) -> NDArray[Any]:
        """A copy in the host's memory."""
        with self._guarded("copying from the GPU"):
            return np.asarray(array.get())

    def post(self) -> None:
        """Let others take what has been packed so far, while kernels launched from here on run."""
        self._posted = self.mark_now()

    def bring(self, source: Any, target: NDArray[Any]) -> None:
        """Copy what was posted to an array in the host's memory, and wait for it, but for no later kernel."""
        with self._guarded("copying from the GPU"):
            self._copies.wait_event(self._posted)
            source.data.copy_to_host_async(target.ctypes.data, target.nbytes, self._copies)
            self._copies.synchronize()

    def take(self, sender: Any, source: Any, target: Any) -> None:
        """Copy what another element holds into an array here, in the order of what else is launched here."""
        with self._guarded("copying to the GPU"):
            if sender.kind != "cuda":
                target.data.copy_from_host_async(source.ctypes.data, target.nbytes)
                return
            if sender.index != self.index:
                self._cupy.cuda.get_current_stream().wait_event(sender.posted)
            target.data.copy_from_device_async(source.data, target.nbytes)

    def reserve(self, edges: int) -> None:
        """Make room for the lists that kernels need to share out so many edges of a partition."""
        length = 2 * (edges // _EDGES_A_PIECE) + 1024
        if length > len(self._pieces):
            self._pieces = self.array(length, np.uint64)

    # ---- running --------------------------------------------------------------------------------

    def kernel(self, name: str | Kernel) -> Launcher:
        """The CUDA kernel ``"file.function"``, or that of a `Kernel`."""
        if name not in self._kernels:
            file: str | OwnSource
            if isinstance(name, Kernel):
                file = OwnSource.read(Path(name.side(self)))
                declared = declared_in(file, name.name)
            else:
                file, function = name.split(".")
                declared = declarations(file)[function]
            self._kernels[name] = Launcher(self, file, declared)
        return self._kernels[name]

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` with this GPU as the current one."""
        with self._guarded("running kernels"):
            return function(*args)

    def read(self, vote: Any) -> Any:
        """What a kernel returned; waits for it if it is a `Vote`."""
        if not isinstance(vote, Vote):
            return vote
        with self._guarded(f"running {vote.kernel}"):
            self._cupy.cuda.get_current_stream().synchronize()
        first = vote.slot * MOST_VOTES
        raw = self._answers[first : first + len(vote.kinds)]
        values = [
            float(bits.view(np.float64)) if kind == "d" else int(bits)
            for bits, kind in zip(raw, vote.kinds, strict=True)
        ]
        return values[0] if len(values) == 1 else tuple(values)

    def wait(self) -> None:
        """Wait until all that was launched here is done."""
        with self._guarded("running kernels"):
            self._cupy.cuda.get_current_stream().synchronize()

    # ---- when things happen ----------------------------------------------------------------------

    def begin_timing(self, *, beside_others: bool) -> None:
        """Choose a clock: the GPU's where other elements run meanwhile, else the host's, which is free."""
        self._timed = beside_others
        if beside_others:
            self._set_anchor()

    def mark(self) -> Any:
        """A point in time: when the GPU has come to here."""
        return self.mark_now() if self._timed else perf_counter()

    def mark_now(self) -> Any:
        """An event behind all that has been launched."""
        with self._guarded("running kernels"):
            event = self._cupy.cuda.Event()
            event.record()
        return event

    def times(self, marks: Sequence[Any]) -> list[float]:
        """The host's time of each mark; all are past when this returns."""
        if not self._timed:
            return [*marks[:-1], perf_counter()]
        anchor, at = self._anchor
        with self._guarded("running kernels"):
            marks[-1].synchronize()
            elapsed = [at + self._cupy.cuda.get_elapsed_time(anchor, mark) / 1e3 for mark in marks]
        # The two clocks drift apart, and elapsed times are single precision.
        if elapsed[-1] - at > 1:
            self._set_anchor()
        return elapsed

    def _set_anchor(self) -> None:
        event = self.mark_now()
        with self._guarded("starting"):
            event.synchronize()
        self._anchor = (event, perf_counter())

    # ---- what launchers ask for ------------------------------------------------------------------

    def load(
        self, file: str | OwnSource, name: str, types: Mapping[str, str], threads: int, *, shared: bool
    ) -> tuple[int, int, int]:
        """Compile and load a kernel: its address, the blocks that fit at once, the shared memory of each."""
        from cupy.cuda import driver, function

        key = (self.index, file, tuple(sorted(types.items())))
        with self._guarded(f"loading {file}.{name}"):
            if key not in _modules:
                binary = compiled(file, types, self._architecture)
                module = function.Module()
                module.load(binary.code)
                _modules[key] = (module, binary.names)
            module, names = _modules[key]
            kernel = module.get_function(names[name])
            # The kernel's address is good for as long as its module, which is kept.
            address, shared_bytes = int(kernel.ptr), 0
            if shared:
                declared = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, address)
                shared_bytes = int(self._most_shared * _SHARED_FOR_TABLES) - declared
                driver.funcSetAttribute(
                    address, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes
                )
            if threads == 1:
                return address, 1, shared_bytes
            each = driver.occupancyMaxActiveBlocksPerMultiprocessor(address, threads, shared_bytes)
        return address, min(each * self._processors, _MOST_BLOCKS), shared_bytes

    def next_slot(self) -> int:
        """Where the next vote goes."""
        self._slot = (self._slot + 1) % _SLOTS
        return self._slot

    def votes(self, slot: int) -> tuple[int, int, int]:
        """What a kernel needs to vote."""
        counters = self._counters.data.ptr
        return self._of_block.data.ptr, counters, self._answers_begin + slot * MOST_VOTES * 8

    def filled(self, kind: str) -> tuple[int, ...]:
        """What else a kernel may ask for."""
        counters = self._counters.data.ptr
        if kind == "Grid":
            return (counters + 32,)
        turn = self._lists % 2 * 32  # two counts alternate: each launch clears what the next will count in
        return self._pieces.data.ptr, self._pieces.size, counters + 64 + turn, counters + 96 - turn

    def launch(
        self, name: str, function: int, blocks: int, threads: int, shared_bytes: int, parameters: int,
        *, together: bool, lists: bool,
    ) -> None:  # fmt: skip
        """Hand over a kernel; `together` if its blocks wait for one another, `lists` if it lists pieces."""
        from cupy.cuda import driver

        stream = self._cupy.cuda.get_current_stream().ptr
        try:
            if together:
                driver.launchCooperativeKernel(
                    function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream, parameters
                )
            else:
                driver.launchKernel(
                    function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream, parameters, 0
                )
        except driver.CUDADriverError as error:
            raise self._failed(f"launching {name}", error) from error
        self._lists += lists  # now that there was a launch, the next counts in the other place

    # ---- errors ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _guarded(self, doing: str, nbytes: int = 0) -> Iterator[None]:
        """Run a block on this GPU, and say in a sentence what went wrong."""
        cuda = self._cupy.cuda
        try:
            with self._device:
                yield
        except cuda.memory.OutOfMemoryError as error:
            free = self.free_bytes()
            more = f"{readable(nbytes)} more are" if nbytes else "more is"
            msg = (
                f"{self.name} has {readable(free)} free and {more} needed; give it a "
                "smaller share of the edges (a larger alpha), or take a GPU with more memory"
            )
            raise DeviceOutOfMemory(msg, needed=nbytes, available=free) from error
        except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError) as error:
            raise self._failed(doing, error) from error

    def _failed(self, doing: str, error: Exception) -> DeviceError:
        msg = (
            f"{self.name} failed while {doing}: {first_line(error)}; nothing more can be run on it in this "
            'process. Run again, or with on="cpu"'
        )
        return DeviceError(msg)
