"""One GPU: the context of CUDA's calls, and launches of kernels and their results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evener.elements.cuda.device_errors import DeviceContext, translate
from evener.elements.cuda.modules import ModuleCache
from evener.elements.cuda.scratch import Scratch
from evener.errors import DeviceError
from evener.system.interruption import interruptible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike

    from evener.elements.cuda.source import KernelSource

__all__ = ["Device", "PendingResult", "access_each_other"]

# cudaErrorPeerAccessAlreadyEnabled.
_ALREADY_ENABLED = 704


class _Group(Protocol):
    """A group of GPUs whose kernels wait for each other."""

    def filled(self, number: int) -> tuple[int, ...]: ...


@dataclass(slots=True)  # not frozen, which is slower to construct
class PendingResult:
    """The result of a kernel that may still run: an integer, a float, or a tuple of them.

    `ready` is an event after the kernel, if other kernels follow that need not end before the result is read.
    """

    element: Device
    kernel: str
    slot: int
    kinds: str
    ready: Any = None

    def read(self) -> Any:
        """Return the result, after waiting for it."""
        return self.element.result(self)

    def __int__(self) -> int:
        return int(self.read())


class Device:
    """The part of a `CudaElement` that launches kernels and waits for them."""

    def __init__(self, name: str, index: int) -> None:
        import cupy
        from cupy.cuda import driver

        self.name = name
        self.index = index
        self._cupy: Any = cupy
        self._driver: Any = driver
        self._device: Any = cupy.cuda.Device(index)
        with self._guarded("starting"):
            self._modules = ModuleCache(index, self._device)
            self.scratch = Scratch()
        self._group: tuple[_Group, int] | None = None
        # Whether a kernel has functions that may not return, and whether one was interrupted and still runs.
        self._may_hang = self._hangs = False

    def _guarded(self, doing: str, length: int = 0, dtype: DTypeLike = np.uint8) -> DeviceContext:
        """Return a context with this GPU as the current one, which translates CUDA's errors."""
        return DeviceContext(self._device, self.translate, doing, length, dtype)

    def translate(self, error: BaseException, doing: str, nbytes: int) -> Exception | None:
        """Return Evener's error for an error of CUDA, or None for any other error."""
        return translate(error, self.name, doing, nbytes, self.free_bytes)

    def free_bytes(self) -> int:
        """Return the bytes that can be allocated, including unused blocks of CuPy's pool."""
        with self._guarded("asking for free memory"):
            free, _ = self._cupy.cuda.runtime.memGetInfo()
            return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())

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

    def record(self) -> Any:
        """Return an event after all kernels launched so far."""
        with self._guarded("running kernels"):
            event = self._cupy.cuda.Event()
            event.record()
        return event

    def synchronize(self, event: Any) -> None:
        """Wait on the host for one of this GPU's events."""
        with self._guarded("copying from the GPU"):
            event.synchronize()

    def reads_gpu(self, index: int) -> bool:
        """Let this GPU and another GPU access each other's memory; return whether they can."""
        with self._guarded("connecting GPUs"):
            return access_each_other([self.index, index])

    # ---- launches -------------------------------------------------------------------------------

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

    def join_group(self, group: _Group, number: int) -> None:
        """Launch the next kernels as this member of a group."""
        self._group = (group, number)

    def group_numbers(self) -> tuple[int, ...]:
        """Return the numbers for a parameter of kind "Group"."""
        if self._group is None:
            msg = f"{self.name} is in no group of GPUs; run this kernel on several GPUs with peer access"
            raise DeviceError(msg)
        group, number = self._group
        return group.filled(number)

    # ---- results --------------------------------------------------------------------------------

    def result(self, value: Any) -> Any:
        """Return the result of a kernel, after waiting for a `PendingResult`."""
        if not isinstance(value, PendingResult):
            return value
        with self._guarded(f"running {value.kernel}"):
            if value.ready is None or self._may_hang:
                self._wait_for_kernels()
            else:
                value.ready.synchronize()
        return self.scratch.read_results(value.slot, value.kinds)

    def _synchronize(self, stream: Any) -> None:
        """Wait for a stream, on a thread whose current GPU may be another one."""
        self._device.use()  # the default stream is that of the current GPU
        stream.synchronize()

    def _wait_for_kernels(self) -> None:
        stream = self._cupy.cuda.get_current_stream()
        if not self._may_hang:
            stream.synchronize()
            return
        if self._hangs:
            msg = f"{self.name}: an interrupted function of the user still runs; end this process to stop it"
            raise DeviceError(msg)
        try:
            interruptible(self._synchronize)(stream)
        except KeyboardInterrupt:
            self._hangs = not stream.done
            raise


def access_each_other(indices: Sequence[int]) -> bool:
    """Let kernels of each GPU read and write the memory of the others. Return False if some cannot."""
    import cupy

    # Memory of other allocators is not visible to other GPUs.
    pooled = cupy.cuda.get_allocator() == cupy.get_default_memory_pool().malloc
    return pooled and all(_enable_access(*pair) for pair in permutations(set(indices), 2))


@cache
def _enable_access(here: int, there: int) -> bool:
    from cupy import cuda

    runtime = cuda.runtime
    if not runtime.deviceCanAccessPeer(here, there):
        return False
    with cuda.Device(here):
        try:
            runtime.deviceEnablePeerAccess(there)
        except runtime.CUDARuntimeError as error:
            if error.status != _ALREADY_ENABLED:
                raise
    return True
