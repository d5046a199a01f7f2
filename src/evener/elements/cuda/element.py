"""The CUDA element: one GPU, running kernels compiled from CUDA C++."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from evener.elements.base import words_apart
from evener.elements.cuda.device_errors import Guard, meaning
from evener.elements.cuda.discovery import gpus, missing
from evener.elements.cuda.launch import Launcher, Vote
from evener.elements.cuda.memory import TieredArray
from evener.elements.cuda.modules import Loader
from evener.elements.cuda.scratch import Scratch, pieces_for
from evener.elements.cuda.source import OwnSource, declaration, declared_in
from evener.elements.cuda.staging import LARGE, Staging
from evener.elements.cuda.streams import Arrival, Copies
from evener.elements.pinned import locked_array, locked_words
from evener.errors import ArgumentError, DeviceError
from evener.kernels.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

__all__ = ["CudaElement", "gpus", "missing"]

# The threads that go through as many edges a second, the graph being in its memory: PageRank on R-MAT 22 and
# 26 goes through 415 and 320 billion on an H200, and 510 and 350 million on each thread of its host.
_WORTH_THREADS = 800.0
# The part of a GPU's free memory that we fill: the rest is for blocks of CuPy's pool that do not quite fit.
_USABLE = 0.95


@cache
def _byte_of(value: int | np.integer[Any], kind: str) -> int | None:
    """The byte that an integer consists of in an array of this type, if its bytes are all alike."""
    pattern = set(np.full(1, value, kind).tobytes())
    return pattern.pop() if len(pattern) == 1 else None


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
        from cupy.cuda import driver

        self.name = name
        self.index = index
        self._cupy = cupy
        self._driver = driver
        self._most_memory = most_memory
        self._device = cupy.cuda.Device(index)
        self._kernels: dict[str | Kernel, Launcher] = {}
        self._timed = False
        with self._guarded("starting"):
            self._loader = Loader(index, self._device)
            self.scratch = Scratch()
            self._copies = Copies(index)
            # Whether kernels read pages that were locked where they lay, which takes half as long to do.
            self._reads_registered = bool(self._device.attributes["CanUseHostPointerForRegisteredMem"])
        # What an element holds does not hold it: its memory is free as soon as nobody needs it.
        here = proxy(self)
        self._staging = Staging(lambda: here.mark_now())
        self._anchor: tuple[Any, float] = (None, 0.0)
        self._sent: Any = None
        self.begin_round()

    # ---- memory ---------------------------------------------------------------------------------

    @property
    def memory(self) -> tuple[Any, int]:
        """What tells its memory from that of others."""
        return ("cuda", self.index)

    def free_bytes(self) -> int:
        """Bytes that can still be allocated, those that CuPy's pool holds unused among them."""
        with self._guarded("asking for free memory"):
            free, _ = self._cupy.cuda.runtime.memGetInfo()
            return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())

    def room(self) -> int:
        """Bytes that a partition and its state may take up here."""
        free = int(self.free_bytes() * _USABLE)
        return free if self._most_memory is None else min(self._most_memory, free)

    def room_beside(self, taken: int) -> int:
        """Bytes that more can take up here, beside a partition that takes up `taken`."""
        free = int(self.free_bytes() * _USABLE)
        return free if self._most_memory is None else min(self._most_memory - taken, free)

    @property
    def table_columns(self) -> int:
        """Columns of a block whose values fit in a multiprocessor's shared memory."""
        return self._loader.table_columns

    def array(
        self,
        length: int,
        dtype: DTypeLike,
        fill: object | None = None,
        *,
        travels: bool = False,  # noqa: ARG002 - all arrays here can
    ) -> Any:
        """A CuPy array, filled or left as it comes."""
        with self._guarded("allocating", length, dtype):
            array = self._cupy.ndarray(length, dtype)
        if fill is not None and length:
            self.fill(array, fill)
        return array

    def fill(self, array: Any, value: object) -> None:
        """Set all of an array to one value."""
        byte = _byte_of(value, array.dtype.char) if isinstance(value, int | np.integer) else None
        with self._guarded("filling an array"):
            if byte is None:
                array.fill(value)
            else:
                array.data.memset_async(byte, array.nbytes)

    def zeros(self, count: int, length: int) -> list[Any]:
        """Parts of one array, in whose place each by itself took 9 to 16 us, and each slice of it some 5."""
        apart = words_apart(length)
        whole = self.array(count * apart, np.uint64, 0)
        return [self._cupy.ndarray(length, np.uint64, whole.data + 8 * apart * k) for k in range(count)]

    def hold(self, array: NDArray[Any]) -> Any:
        """A copy in this element's memory."""
        with self._guarded("copying to the GPU", array.size, array.dtype):
            held = self._cupy.ndarray(array.shape, array.dtype)
            if array.nbytes <= LARGE or array.ndim > 1:
                # CuPy's `asarray` goes by locked pages: 80 to 110 us for a few values, in betweenness.
                own = np.ascontiguousarray(array)
                held.data.copy_from_host_async(own.ctypes.data, own.nbytes)
                self._copies.hold_until(self.mark_now(), own, held)
                return held
            self._staging.send_all(array, held)
        self._unstage()
        return held

    def edges(self, length: int, dtype: np.dtype[Any], far: int) -> TieredArray:
        """Room for the first `far` edges in locked pages of the host's memory, for the rest on this GPU."""
        with self._guarded("sharing edges with the host"):
            if far and self._reads_registered:
                locked = locked_words(-(-far * dtype.itemsize // 8)).view(dtype)[:far]
            else:
                locked = locked_array(far, dtype, pooled=False) if far else np.empty(0, dtype)
        return TieredArray(locked, self.array(length - far, dtype))

    def open_edges(self, edges: TieredArray, begin: int, end: int) -> NDArray[Any]:
        """The host's part where they lie, or locked pages: others are copied while these are written."""
        if end <= len(edges.far):
            part: NDArray[Any] = edges.far[begin:end]
            return part
        with self._guarded("copying to the GPU"):
            return self._staging.open(end - begin, edges.dtype)

    def close_edges(self, edges: TieredArray, begin: int, written: NDArray[Any]) -> None:
        """Copy what was written to this GPU's part, for which nobody waits, and what is of the host's."""
        split = len(edges.far)
        if begin + len(written) <= split:
            return  # it lies there
        here = max(split - begin, 0)
        edges.far[begin : begin + here] = written[:here]
        with self._guarded("copying to the GPU"):
            self._staging.send(written, here, edges.near, begin + here - split)

    def fetch(self, array: Any) -> NDArray[Any]:
        """A copy in the host's memory."""
        with self._guarded("copying from the GPU"):
            return np.asarray(array.get())

    def begin_round(self) -> None:
        """Let what others send here from now on come after all that was launched so far."""
        self._round = self.mark_now()

    def send(self, source: Any, receiver: Any, target: Any) -> Arrival:
        """Copy an array to another element, behind what was launched here and beside what will be."""
        with self._guarded("copying from the GPU"):
            launched = self.mark_now()
            if receiver.kind == "cuda":
                arrival: Arrival = receiver.bring(source, target, self.memory, launched)
                self._sent = self._copies.taken(arrival.event)
                return arrival
            self._sent = self._copies.to_host(source, target, launched)
        return Arrival(self, self._sent)

    def bring(self, source: Any, target: Any, memory: object = "host", after: Any = None) -> Arrival:
        """Copy an array in another's memory to one here, beside what was launched in this round.

        Another GPU's is copied after an event of its own.
        """
        with self._guarded("copying to the GPU"):
            return Arrival(self, self._copies.bring(source, target, memory, after, self._round))

    def wait_for(self, event: Any) -> None:
        """Wait on the host for one of this GPU's events."""
        with self._guarded("copying from the GPU"):
            event.synchronize()

    def receive(self, arrival: Arrival) -> None:
        """Let what is launched from here on wait for what was sent."""
        with self._guarded("copying to the GPU"):
            self._cupy.cuda.get_current_stream().wait_event(arrival.event)

    def reserve(self, edges: int) -> None:
        """Make room for the lists that kernels need to share out so many edges of a partition."""
        self._unstage()
        length = pieces_for(edges)
        if length > self.scratch.pieces:
            self.scratch.hold_pieces(self.array(length, np.uint64))

    def _unstage(self) -> None:
        """Wait until all that was staged is on the GPU, and give up the pages."""
        self.wait()
        self._staging.give_up()

    # ---- running --------------------------------------------------------------------------------

    def kernel(self, name: str | Kernel) -> Callable[..., Any]:
        """The CUDA kernel ``"file.function"``, or that of a `Kernel`."""
        if name not in self._kernels:
            file: str | OwnSource
            if isinstance(name, Kernel):
                side = name.side(self)
                if callable(side):
                    return side  # type: ignore[no-any-return] # it launches kernels itself
                file = OwnSource.read(Path(side))
                declared = declared_in(file, name.name)
            else:
                file, declared = name.rpartition(".")[0], declaration(name)
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
        return self.scratch.voted(vote.slot, vote.kinds)

    def wait(self) -> None:
        """Wait until all that was launched here is done, and all that was sent or fetched has come."""
        with self._guarded("running kernels"):
            self._cupy.cuda.get_current_stream().synchronize()
            self._copies.wait()

    # ---- when things happen ----------------------------------------------------------------------

    def begin_timing(self, *, beside_others: bool) -> None:
        """Choose a clock: the GPU's where other elements run meanwhile, else the host's, which is free."""
        self._timed = beside_others
        self._sent = None  # of a run that was broken off
        if beside_others:
            self._set_anchor()

    def mark(self) -> Any:
        """A point in time: when the GPU has come to here, and what it sent has gone."""
        sent, self._sent = self._sent, None
        if not self._timed:
            return perf_counter()
        return self.mark_now() if sent is None else sent

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
        """Compile and load a kernel: its address, the blocks that fit at once, the shared memory of each.

        `threads` is 0 for a kernel of one block.
        """
        with self._guarded(f"loading {file}.{name}"):
            return self._loader.load(file, name, types, threads, shared=shared)

    def launch(
        self, name: str, function: int, blocks: int, threads: int, shared_bytes: int, parameters: int,
        *, together: bool, lists: bool,
    ) -> None:  # fmt: skip
        """Hand over a kernel; `together` if its blocks wait for one another, `lists` if it lists pieces."""
        driver, stream = self._driver, self._cupy.cuda.get_current_stream().ptr
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
            raise self.said(error, f"launching {name}", 0) or error from error
        if lists:
            self.scratch.listed()

    # ---- errors ----------------------------------------------------------------------------------

    def _guarded(self, doing: str, length: int = 0, dtype: DTypeLike = np.uint8) -> Guard:
        """A block that runs on this GPU; what goes wrong there is said in a sentence."""
        return Guard(self, self._device, doing, length, dtype)

    def said(self, error: BaseException, doing: str, nbytes: int) -> Exception | None:
        """What an error of CUDA's means, as one of ours; None for another's."""
        return meaning(self, error, doing, nbytes)
