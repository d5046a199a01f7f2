"""The CUDA element: one GPU that runs kernels compiled from CUDA C++."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from evener.elements.cuda.clock import EventClock
from evener.elements.cuda.device import access_each_other
from evener.elements.cuda.discovery import gpus, missing
from evener.elements.cuda.gpu_memory import GpuMemory
from evener.elements.cuda.group import GpuGroup, RankGpuGroup
from evener.elements.cuda.launch import Launcher
from evener.elements.cuda.source import OwnSource, declaration, declared_in
from evener.elements.cuda.streams import CopyDone
from evener.errors import ArgumentError, DeviceError
from evener.kernels.kernel import Kernel, LinkedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.elements.cuda.source import KernelSource
    from evener.system.world import World

__all__ = ["CudaElement", "gpus", "missing"]

# Speed of a GPU in CPU threads, for PageRank on an H200.
_WEIGHT = 800.0


class CudaElement(GpuMemory):
    """One GPU, with its name in ``on=`` and its index in CUDA's numbering.

    Kernels are launched asynchronously. `result` waits for a kernel's results, and `wait` for all work. A
    partition and its state may use `max_memory` bytes; by default, all free memory.
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
        super().__init__(name, index, max_memory)
        self._kernels: dict[str | Kernel, Launcher] = {}
        self._timed = False
        with self._guarded("starting"):
            self._clock = EventClock()
        self._sent: Any = None
        self.begin_round()

    # ---- copies ---------------------------------------------------------------------------------

    def begin_round(self) -> None:
        """Order later incoming copies after all kernels launched so far."""
        self._round = self.record()

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
        """Let this GPU and another GPU access each other's memory; return whether they can."""
        return self.reads_gpu(other.index)

    def wait_for(self, done: CopyDone) -> None:
        """Order all later kernels after a copy."""
        with self._guarded("copying to the GPU"):
            self._cupy.cuda.get_current_stream().wait_event(done.event)

    # ---- running --------------------------------------------------------------------------------

    def kernel(self, name: str | Kernel) -> Callable[..., Any]:
        """Return the CUDA kernel ``"file.function"``, or the CUDA side of a `Kernel`."""
        if name not in self._kernels:
            file: KernelSource
            if isinstance(name, Kernel):
                side = name.side(self.kind, self.name)
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

    # ---- clock ----------------------------------------------------------------------------------

    def begin_timing(self, *, concurrent: bool) -> None:
        """Use the GPU's clock if other elements run at the same time, else the host's cheaper clock."""
        self._timed = concurrent
        self._sent = None  # from a run that failed
        if concurrent:
            with self._guarded("starting"):
                self._clock.prepare()

    def mark(self) -> Any:
        """Return a mark after the kernels launched so far, or after the last array sent; call it in `run`."""
        sent, self._sent = self._sent, None
        if not self._timed:
            return perf_counter()
        if sent is not None:
            return sent
        return self._clock.mark()

    def times(self, marks: Sequence[Any]) -> list[float]:
        """Return the host's time in seconds at each mark, after waiting for the last one."""
        if not self._timed:
            return [*marks[:-1], perf_counter()]
        with self._guarded("running kernels"):
            return self._clock.times(marks)
