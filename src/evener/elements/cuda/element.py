"""The CUDA element: one GPU that runs kernels compiled from CUDA C++."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from evener.elements.cuda.clock import EventClock
from evener.elements.cuda.device_errors import DeviceContext, translate
from evener.elements.cuda.discovery import gpus, missing
from evener.elements.cuda.gpu_memory import GpuMemory
from evener.elements.cuda.group import GpuGroup, access_each_other
from evener.elements.cuda.launch import Launcher, PendingResult
from evener.elements.cuda.modules import ModuleCache
from evener.elements.cuda.rank_group import RankGpuGroup
from evener.elements.cuda.scratch import Scratch
from evener.elements.cuda.sharing import GpuSharing
from evener.elements.cuda.source import OwnSource, declaration, declared_in
from evener.elements.cuda.staging import Staging
from evener.elements.cuda.streams import CopyDone, CopyStreams
from evener.errors import ArgumentError, DeviceError
from evener.kernels.kernel import Kernel, LinkedFile
from evener.system.interruption import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    from evener.elements.cuda.source import KernelSource
    from evener.system.world import World

__all__ = ["CudaElement", "gpus", "missing"]

# Speed of a GPU in CPU threads, for PageRank on an H200.
_WEIGHT = 800.0


class CudaElement(GpuMemory):
    """One GPU.

    Kernels are launched asynchronously. `result` waits for a kernel's results, and `wait` for all work.

    Parameters
    ----------
    name : str
        The name in ``on=``.
    index : int
        The index of the GPU in CUDA's numbering.
    max_memory : int, optional
        Bytes that a partition and its state may use. Default: all free memory.

    Raises
    ------
    ArgumentError
        If the machine has no GPU with this index.
    DeviceError
        If no GPU is usable. The message says why.
    """

    kind = "cuda"
    threads = 1
    weight = _WEIGHT
    deferred = True
    addressable = False
    peers = "cuda"

    def __init__(self, name: str, index: int, max_memory: int | None = None) -> None:
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
        self._max_memory = max_memory
        self._device = cupy.cuda.Device(index)
        self._kernels: dict[str | Kernel, Launcher] = {}
        self._timed = False
        with self._guarded("starting"):
            self._modules = ModuleCache(index, self._device)
            self.scratch = Scratch()
            self._copies = CopyStreams(index)
            self._clock = EventClock()
            # Whether kernels read pages that were locked in place, faster than allocating locked pages.
            self._reads_registered = bool(self._device.attributes["CanUseHostPointerForRegisteredMem"])
        # A proxy, so that the element's memory is freed with its last reference.
        here = proxy(self)
        self._staging = Staging(lambda: here.record())
        self._sent: Any = None
        self._group: tuple[GpuGroup | RankGpuGroup, int] | None = None
        # Whether a kernel has functions that may not return, and whether one was interrupted and still runs.
        self._may_hang = self._hangs = False
        self.sharing = GpuSharing(index, self._device)
        self.begin_round()

    @property
    def bus_id(self) -> str:
        """The place of the GPU in its machine, equal in all processes."""
        with self._guarded("reading the bus id"):
            return str(self._device.pci_bus_id)

    @property
    def stream(self) -> int:
        """The address of the stream of all kernels."""
        with self._guarded("running kernels"):
            return int(self._cupy.cuda.get_current_stream().ptr)

    # ---- copies ---------------------------------------------------------------------------------

    def begin_round(self) -> None:
        """Order later incoming copies after all kernels launched so far."""
        self._round = self.record()

    def record(self) -> Any:
        """Return an event after all kernels launched so far."""
        with self._guarded("running kernels"):
            event = self._cupy.cuda.Event()
            event.record()
        return event

    def copy_in(self, source: Any, target: Any) -> CopyDone:
        """Copy a host array after the kernels of earlier rounds, and concurrently with later kernels."""
        with self._guarded("copying to the GPU"):
            return CopyDone(self, self._copies.from_host(source, target, self._round))

    def copy_out(self, source: Any, target: Any) -> CopyDone:
        """Copy an array to the host after all kernels so far, and concurrently with later kernels."""
        with self._guarded("copying from the GPU"):
            self._sent = self._copies.to_host(source, target, self.record())
        return CopyDone(self, self._sent)

    def copy_from(self, source: Any, target: Any, memory: object, after: Any) -> CopyDone:
        """Copy an array of another GPU after that GPU's event and this GPU's kernels of earlier rounds."""
        with self._guarded("copying to the GPU"):
            return CopyDone(self, self._copies.from_peer(source, target, memory, after, self._round))

    def wait_for_peer(self, event: Any) -> None:
        """Order kernels launched from here on after an event of another GPU."""
        with self._guarded("running kernels"):
            self._cupy.cuda.get_current_stream().wait_event(event)

    def reads(self, other: Any) -> bool:
        """Enable the access of two GPUs to each other's memory, and return whether it is possible."""
        return self.reads_gpu(other.index)

    def reads_gpu(self, index: int) -> bool:
        """Do the same as `reads`, given the index of the other GPU."""
        with self._guarded("connecting GPUs"):
            return access_each_other([self.index, index])

    def wait_for(self, done: CopyDone) -> None:
        """Order all later kernels after a copy."""
        with self._guarded("copying to the GPU"):
            self._cupy.cuda.get_current_stream().wait_event(done.event)

    def synchronize(self, event: Any) -> None:
        """Wait on the host for one of this GPU's events."""
        with self._guarded("copying from the GPU"):
            event.synchronize()

    # ---- running --------------------------------------------------------------------------------

    def kernel(self, name: str | Kernel) -> Callable[..., Any]:
        """Return the CUDA kernel ``"file.function"``, or the CUDA side of a `Kernel`."""
        if name not in self._kernels:
            file: KernelSource
            if isinstance(name, Kernel):
                side = name.side(self)
                if callable(side):
                    return side  # type: ignore[no-any-return] # it launches kernels itself
                if isinstance(side, LinkedFile):
                    file, declared = side, declaration(f"{side}.{name.name}")
                    self._may_hang |= side.may_hang
                else:
                    file = OwnSource.read(Path(side))
                    declared = declared_in(file, name.name)
            else:
                file, declared = name.rpartition(".")[0], declaration(name)
            self._kernels[name] = Launcher(self, file, declared)
        return self._kernels[name]

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function` with this GPU as the current one."""
        with self._guarded("running kernels"):
            return function(*args)

    def group_with(self, elements: Sequence[CudaElement]) -> GpuGroup | None:
        """Return the group of different GPUs that access each other's memory; None if they do not."""
        indices = [element.index for element in elements]
        with self._guarded("connecting GPUs"):
            together = len(set(indices)) == len(indices) and access_each_other(indices)
        return GpuGroup(elements) if together else None

    def group_with_ranks(self, world: World) -> RankGpuGroup:
        """Return the group of one GPU for each rank.

        This is a collective operation; all ranks must call it.
        """
        return RankGpuGroup(world, self)

    def join_group(self, group: GpuGroup | RankGpuGroup, rank: int) -> None:
        """Launch the next kernels as this member of a group."""
        self._group = (group, rank)

    def group_numbers(self) -> tuple[int, ...]:
        """Return the numbers for a parameter of kind "Group"."""
        if self._group is None:
            msg = f"{self.name} is in no group of GPUs; run this kernel on several GPUs with peer access"
            raise DeviceError(msg)
        group, rank = self._group
        return group.filled(rank)

    def result(self, value: Any) -> Any:
        """Return the result of a kernel, after waiting for a `PendingResult`."""
        if not isinstance(value, PendingResult):
            return value
        with self._guarded(f"running {value.kernel}"):
            self._wait_for_kernels()
        return self.scratch.read_results(value.slot, value.kinds)

    def wait(self) -> None:
        """Wait for all kernels and copies."""
        with self._guarded("running kernels"):
            self._wait_for_kernels()
            self._copies.wait()

    def download(self, array: Any) -> NDArray[Any]:
        """Return a copy in the host's memory."""
        if self._may_hang:
            self.wait()  # a copy waits for kernels too, but an interrupt does not end a copy
        return super().download(array)

    def _wait_for_kernels(self) -> None:
        stream = self._cupy.cuda.get_current_stream()
        if not self._may_hang:
            stream.synchronize()
            return
        if self._hangs:
            msg = f"{self.name}: an interrupted function of the user still runs; end this process to stop it"
            raise DeviceError(msg)
        try:
            interruptible(stream.synchronize)()
        except KeyboardInterrupt:
            self._hangs = not stream.done
            raise

    # ---- clock ----------------------------------------------------------------------------------

    def begin_timing(self, *, concurrent: bool) -> None:
        """Use the GPU's clock if other elements run at the same time, else the host's cheaper clock."""
        self._timed = concurrent
        self._sent = None  # from a run that failed
        if concurrent:
            with self._guarded("starting"):
                self._clock.prepare()

    def mark(self) -> Any:
        """Return a mark after the kernels launched so far, or after the last array sent."""
        sent, self._sent = self._sent, None
        if not self._timed:
            return perf_counter()
        if sent is not None:
            return sent
        with self._guarded("running kernels"):
            return self._clock.mark()

    def times(self, marks: Sequence[Any]) -> list[float]:
        """Return the host's time in seconds at each mark, after waiting for the last one."""
        if not self._timed:
            return [*marks[:-1], perf_counter()]
        with self._guarded("running kernels"):
            return self._clock.times(marks)

    # ---- for launchers ---------------------------------------------------------------------------

    def load(
        self, file: KernelSource, name: str, types: Mapping[str, str], threads: int, *, shared: bool
    ) -> tuple[int, int, int]:
        """Compile and load a kernel; see `ModuleCache.load`."""
        with self._guarded(f"loading {file}.{name}"):
            return self._modules.load(file, name, types, threads, shared=shared)

    def launch(
        self, name: str, function: int, blocks: int, threads: int, shared_bytes: int, parameters: int,
        *, together: bool, lists: bool,
    ) -> None:  # fmt: skip
        """Launch a kernel. With `together`, its blocks synchronize; with `lists`, it lists pieces of rows."""
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
            raise self.translate(error, f"launching {name}", 0) or error from error
        if lists:
            self.scratch.advance_counter()

    # ---- errors ----------------------------------------------------------------------------------

    def _guarded(self, doing: str, length: int = 0, dtype: DTypeLike = np.uint8) -> DeviceContext:
        """Return a context with this GPU as the current one, which translates CUDA's errors."""
        return DeviceContext(self, self._device, doing, length, dtype)

    def translate(self, error: BaseException, doing: str, nbytes: int) -> Exception | None:
        """Return Evener's error for an error of CUDA, or None for any other error."""
        return translate(self, error, doing, nbytes)
