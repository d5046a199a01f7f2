"""The memory of a GPU: arrays in it, edges that continue in host memory, and copies from and to the host."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from evener.elements.cuda.device import Device
from evener.elements.cuda.memory import TieredArray
from evener.elements.cuda.scratch import pieces_for
from evener.elements.cuda.sharing import GpuSharing
from evener.elements.cuda.staging import COPY_BYTES, Staging
from evener.elements.cuda.streams import CopyStreams
from evener.elements.pinned import locked_array, locked_words
from evener.elements.protocols import padded_words
from evener.errors import DeviceOutOfMemory
from evener.system.memory import release_on_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

    # The shape of an array, its type, and the byte where it begins.
    _Place = tuple[tuple[int], np.dtype[Any], int]

__all__ = ["GpuMemory"]

# Share of the free memory that Evener fills. CuPy's pool loses some of the rest to fragmentation.
_USABLE_SHARE = 0.95
# Bytes; the alignment of arrays in one block.
_ALIGNMENT = 256


@cache
def _byte_of(value: int | np.integer[Any], kind: str) -> int | None:
    """Return the byte that an integer of this type repeats, or None if its bytes differ."""
    pattern = set(np.full(1, value, kind).tobytes())
    return pattern.pop() if len(pattern) == 1 else None


@lru_cache(maxsize=256)
def _places_of(wanted: tuple[tuple[int, DTypeLike], ...]) -> tuple[list[_Place], int]:
    """Return the places of arrays in a block, and the bytes of the block."""
    places: list[_Place] = []
    end = 0
    for length, given in wanted:
        dtype = np.dtype(given)
        places.append(((length,), dtype, end))
        end += -(-length * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
    return places, end


def _fill(arrays: Sequence[Any], values: Sequence[int | None]) -> None:
    """Set each byte of the arrays of one block. Consecutive arrays with one value need one fill."""
    for value, pairs in groupby(zip(arrays, values, strict=True), key=itemgetter(1)):
        own = [array for array, _ in pairs]
        nbytes = own[-1].data.ptr + own[-1].nbytes - own[0].data.ptr
        if value is not None and nbytes:
            own[0].data.memset_async(value, nbytes)


class GpuMemory(Device):
    """The part of a `CudaElement` that implements the protocol `Memory`, and sorts and adds arrays."""

    def __init__(self, name: str, index: int, max_memory: int | None = None) -> None:
        super().__init__(name, index)
        self._max_memory = max_memory
        with self._guarded("starting"):
            self._copies = CopyStreams(index)
            # Whether kernels read pages that were locked in place, faster than allocating locked pages.
            self._reads_registered = bool(self._device.attributes["CanUseHostPointerForRegisteredMem"])
        # A proxy, so that the element's memory is freed with its last reference.
        here = proxy(self)
        self._staging = Staging(lambda: here.record())
        self.sharing = GpuSharing(index, self._device)

    @property
    def memory(self) -> tuple[Any, int]:
        """The identity of the GPU's memory."""
        return ("cuda", self.index)

    def room(self) -> int:
        """Return the bytes that a partition and its state may use."""
        return self.room_after(0)

    def room_after(self, taken: int) -> int:
        """Return the bytes that the GPU has free, or fewer if `gpu_memory=` leaves fewer.

        `taken` is the size of the arrays of a partition that are in GPU memory already.
        """
        free = int(self.free_bytes() * _USABLE_SHARE)
        return free if self._max_memory is None else min(self._max_memory - taken, free)

    @property
    def table_columns(self) -> int:
        """Columns of a block of edges whose values fit a multiprocessor's shared memory."""
        return self._modules.table_columns

    def allocate(
        self,
        length: int,
        dtype: DTypeLike,
        fill: object | None = None,
        *,
        exchanged: bool = False,  # noqa: ARG002 - every array can
    ) -> Any:
        """Return a CuPy array, filled or undefined."""
        try:
            with self._guarded("allocating", length, dtype):
                array = self._cupy.ndarray(length, dtype)
        except DeviceOutOfMemory:
            if not release_on_devices():  # kept placements
                raise
            return self.allocate(length, dtype, fill)
        if fill is not None and length:
            self.fill(array, fill)
        return array

    def allocate_several(self, wanted: Sequence[tuple[int, DTypeLike, int | None]]) -> list[Any]:
        """Return CuPy arrays in one block of memory."""
        places, nbytes = _places_of(tuple([(length, dtype) for length, dtype, _ in wanted]))
        try:
            with self._guarded("allocating", nbytes):
                block = self._cupy.cuda.alloc(nbytes)
                arrays = [self._cupy.ndarray(shape, dtype, block + begin) for shape, dtype, begin in places]
                _fill(arrays, [byte for _, _, byte in wanted])
                return arrays
        except DeviceOutOfMemory:
            if not release_on_devices():
                raise
            return self.allocate_several(wanted)

    def fill_several(self, arrays: Sequence[Any], values: Sequence[int | None]) -> None:
        """Set each byte of the arrays of one block."""
        with self._guarded("filling arrays"):
            _fill(arrays, values)

    def fill(self, array: Any, value: object) -> None:
        """Set all elements of an array to one value."""
        byte = _byte_of(value, array.dtype.char) if isinstance(value, int | np.integer) else None
        with self._guarded("filling an array"):
            if byte is None:
                array.fill(value)
            else:
                array.data.memset_async(byte, array.nbytes)

    def zeros(self, count: int, length: int) -> list[Any]:
        """Return `count` parts of one array of zeros: one allocation and one fill."""
        step = padded_words(length)
        whole = self.allocate(count * step, np.uint64, 0)
        return [self._cupy.ndarray(length, np.uint64, whole.data + 8 * step * k) for k in range(count)]

    def upload(self, array: NDArray[Any]) -> Any:
        """Return a copy in the GPU's memory."""
        with self._guarded("copying to the GPU", array.size, array.dtype):
            uploaded = self._cupy.ndarray(array.shape, array.dtype)
            if array.nbytes <= COPY_BYTES or array.ndim > 1:
                # CuPy's `asarray` stages small arrays in locked pages, which is slower.
                own = np.ascontiguousarray(array)
                uploaded.data.copy_from_host_async(own.ctypes.data, own.nbytes)
                self._copies.keep_until(self.record(), own, uploaded)
                return uploaded
            self._staging.send_all(array, uploaded)
        self._unstage()
        return uploaded

    def adopt(self, given: Any) -> Any:
        """Return an array of another library in this GPU's memory, without a copy."""
        with self._guarded("reading an array"):
            if hasattr(given, "block_until_ready"):
                given.block_until_ready()  # an array of JAX may have no values yet
            if hasattr(given, "__cuda_array_interface__"):
                return self._cupy.asarray(given)
            return self._cupy.from_dlpack(given)

    def allocate_staging(self, nbytes: int) -> NDArray[np.uint8]:
        """Return a host array in locked pages."""
        with self._guarded("locking pages"):
            return locked_array(nbytes, np.dtype(np.uint8))

    def allocate_edges(self, length: int, dtype: np.dtype[Any], on_host: int) -> TieredArray:
        """Return memory for edges: the first `on_host` in locked pages of the host, the rest on the GPU."""
        with self._guarded("sharing edges with the host"):
            if on_host and self._reads_registered:
                locked = locked_words(-(-on_host * dtype.itemsize // 8)).view(dtype)[:on_host]
            else:
                locked = locked_array(on_host, dtype, pooled=False) if on_host else np.empty(0, dtype)
        return TieredArray(locked, self.allocate(length - on_host, dtype))

    def begin_write(self, edges: TieredArray, begin: int, end: int) -> NDArray[Any]:
        """Return a view of the host's part, or locked pages that `end_write` copies to the GPU."""
        if end <= len(edges.host_part):
            part: NDArray[Any] = edges.host_part[begin:end]
            return part
        with self._guarded("copying to the GPU"):
            return self._staging.open(end - begin, edges.dtype)

    def end_write(self, edges: TieredArray, begin: int, written: NDArray[Any]) -> None:
        """Copy the written values to the host's part and, asynchronously, to the GPU's part."""
        split = len(edges.host_part)
        if begin + len(written) <= split:
            return  # `begin_write` returned a view
        here = max(split - begin, 0)
        edges.host_part[begin : begin + here] = written[:here]
        with self._guarded("copying to the GPU"):
            self._staging.send(written, here, edges.device_part, begin + here - split)

    def download(self, array: Any) -> NDArray[Any]:
        """Return a copy in the host's memory."""
        if self._may_hang:
            self.wait()  # a copy waits for kernels too, but an interrupt does not end a copy
        with self._guarded("copying from the GPU"):
            if array.size == 1:  # faster than CuPy's copy
                value, stream = np.empty(array.shape, array.dtype), self._cupy.cuda.get_current_stream()
                array.data.copy_to_host_async(value.ctypes.data, value.nbytes, stream)
                stream.synchronize()
                return value
            if array.nbytes <= COPY_BYTES or array.ndim > 1 or not array.flags.c_contiguous:
                return np.asarray(array.get())
            copied = np.empty(array.shape, array.dtype)
            self._staging.receive_all(array, copied)
        self._unstage()
        return copied

    def sort(self, keys: Any) -> None:
        """Sort an array of unsigned integers in place."""
        if len(keys):
            self._sort(keys.sort, 2 * keys.nbytes)

    def argsort(self, keys: Any) -> Any:
        """Return the positions (uint64) of the values in stable ascending order."""
        if not len(keys):
            return self.allocate(0, np.uint64)
        return self._sort(partial(self._cupy.argsort, keys), 4 * keys.nbytes).view(np.uint64)

    def positions(self, flags: Any) -> Any:
        """Return the positions (uint64) of the values that are not zero."""
        with self._guarded("searching", 8 * len(flags)):
            return self._cupy.flatnonzero(flags).view(np.uint64)

    def running_sum(self, values: Any) -> Any:
        """Return the sum of the values up to each position."""
        with self._guarded("adding", values.nbytes):
            return self._cupy.cumsum(values, dtype=values.dtype)

    def _sort(self, sort: Callable[[], Any], nbytes: int) -> Any:
        with self._guarded("sorting", nbytes):
            try:
                return sort()
            except MemoryError as error:  # of the library that sorts
                raise self._cupy.cuda.memory.OutOfMemoryError(nbytes, 0, 0) from error

    def prepare_workspace(self, edges: int) -> None:
        """Allocate the lists by which kernels divide this many edges of a partition."""
        self._unstage()
        length = pieces_for(edges)
        if length > self.scratch.pieces:
            self.scratch.set_pieces(self.allocate(length, np.uint64))

    def wait(self) -> None:
        """Wait for all kernels and copies."""
        with self._guarded("running kernels"):
            self._wait_for_kernels()
            self._copies.wait()

    def _unstage(self) -> None:
        """Wait for all staged copies and release their pages."""
        self.wait()
        self._staging.release()
