"""CUDA modules loaded on each GPU, shared by all elements of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.elements.cuda.compile import architecture, compiled
from evener.elements.cuda.device_errors import leak_forever
from evener.elements.cuda.scratch import MAX_BLOCKS
from evener.kernels.compile_clock import compiling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evener.elements.cuda.source import KernelSource

__all__ = ["ModuleCache"]

# Share of a multiprocessor's shared memory for tables; the rest is L1 cache.
_SHARED_FOR_TABLES = 0.85
# Kernels that gain nothing from L1 cache and use all of the shared memory.
_FULL_SHARED = ("pull.local_sums", "evener.programs:columns.combine_local_items")
# Bytes of shared memory of `pull.local_sums` without its table.
_BYTES_OUTSIDE_TABLE = (32 * 256 + 32) * 4 + 1024
# Largest multiple of 1024 columns that 16 bits can number.
_MAX_COLUMNS = (1 << 16) - 1024

# Loaded modules by GPU, file and template arguments, with the names of their kernels.
_modules: dict[tuple[int, KernelSource, tuple[tuple[str, str], ...]], tuple[Any, dict[str, str]]] = {}


class ModuleCache:
    """The kernels of one GPU, compiled and loaded on first use.

    Every method runs with the GPU as the current one.
    """

    def __init__(self, index: int, device: Any) -> None:
        attributes = device.attributes
        self._index = index
        self._processors = int(attributes["MultiProcessorCount"])
        self._max_shared = int(attributes["MaxSharedMemoryPerBlockOptin"])
        self._architecture = architecture(device.compute_capability)

    @property
    def table_columns(self) -> int:
        """Columns of a block of edges whose values fit a multiprocessor's shared memory."""
        return min((self._max_shared - _BYTES_OUTSIDE_TABLE) // 4, _MAX_COLUMNS) // 1024 * 1024

    def load(
        self, file: KernelSource, name: str, types: Mapping[str, str], threads: int, *, shared: bool
    ) -> tuple[int, int, int]:
        """Compile and load a kernel with `threads` in a block; 0 for a kernel of one block.

        Return its address, the blocks that run at once, and the bytes of dynamic shared memory of a block.
        With `shared`, the kernel keeps a table there.
        """
        from cupy.cuda import driver, function

        key = (self._index, file, tuple(sorted(types.items())))
        with compiling():
            if key not in _modules:
                binary = compiled(file, types, self._architecture)
                module = function.Module()
                module.load(binary.code)
                leak_forever(module)
                _modules[key] = (module, binary.names)
            module, names = _modules[key]
            kernel = module.get_function(names[name])
            # The address is valid as long as the module, which is never freed.
            address, shared_bytes = int(kernel.ptr), 0
            if shared:
                declared = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, address)
                part = 1.0 if f"{file}.{name}" in _FULL_SHARED else _SHARED_FOR_TABLES
                shared_bytes = int(self._max_shared * part) - declared
                driver.funcSetAttribute(
                    address, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes
                )
            if threads == 0:
                return address, 1, shared_bytes
            each = driver.occupancyMaxActiveBlocksPerMultiprocessor(address, threads, shared_bytes)
        return address, min(each * self._processors, MAX_BLOCKS), shared_bytes
