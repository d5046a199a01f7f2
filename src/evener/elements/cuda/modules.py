"""Loading CUDA kernels on one GPU: compiled for what they are given, once for all elements of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.elements.cuda.compile import architecture, compiled
from evener.elements.cuda.device_errors import keep
from evener.elements.cuda.scratch import MOST_BLOCKS
from evener.kernels.compile_clock import compiling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evener.elements.cuda.source import OwnSource

__all__ = ["Loader"]

# The part of a multiprocessor's shared memory that tables get. The rest serves as L1 cache, through which all
# other reads pass: PageRank on R-MAT 22 takes 0.61 ms an iteration with 0.85, 0.74 ms with all of it,
# where it does not go by blocks of columns.
_SHARED_FOR_TABLES = 0.85
# Kernels that read nothing else twice, and take all of it.
_TABLES_ALONE = ("pull.local_sums",)
# What that one keeps there beside its table, and the columns that it can number in 16 bits.
_BESIDE_TABLE = (32 * 256 + 32) * 4 + 1024
_MOST_COLUMNS = (1 << 16) - 1024

# What has been loaded on each GPU: loading takes longer than most searches.
_modules: dict[tuple[int, str | OwnSource, tuple[tuple[str, str], ...]], tuple[Any, dict[str, str]]] = {}


class Loader:
    """What one GPU has room for, and its kernels.

    Made, and asked for anything, with that GPU as the current one.

    Parameters
    ----------
    index : int
        The GPU, as CUDA counts them.
    device : cupy.cuda.Device
        The same, as CuPy knows it.
    """

    def __init__(self, index: int, device: Any) -> None:
        attributes = device.attributes
        self._index = index
        self._processors = int(attributes["MultiProcessorCount"])
        self._most_shared = int(attributes["MaxSharedMemoryPerBlockOptin"])
        self._architecture = architecture(device.compute_capability)

    @property
    def table_columns(self) -> int:
        """Columns of a block whose values fit in a multiprocessor's shared memory."""
        return min((self._most_shared - _BESIDE_TABLE) // 4, _MOST_COLUMNS) // 1024 * 1024

    def load(
        self, file: str | OwnSource, name: str, types: Mapping[str, str], threads: int, *, shared: bool
    ) -> tuple[int, int, int]:
        """Compile and load a kernel: its address, the blocks that fit at once, the shared memory of each.

        `threads` is 0 for a kernel of one block.
        """
        from cupy.cuda import driver, function

        key = (self._index, file, tuple(sorted(types.items())))
        with compiling():
            if key not in _modules:
                binary = compiled(file, types, self._architecture)
                module = function.Module()
                module.load(binary.code)
                keep(module)
                _modules[key] = (module, binary.names)
            module, names = _modules[key]
            kernel = module.get_function(names[name])
            # The kernel's address is good for as long as its module, which is kept.
            address, shared_bytes = int(kernel.ptr), 0
            if shared:
                declared = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, address)
                part = 1.0 if f"{file}.{name}" in _TABLES_ALONE else _SHARED_FOR_TABLES
                shared_bytes = int(self._most_shared * part) - declared
                driver.funcSetAttribute(
                    address, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes
                )
            if threads == 0:
                return address, 1, shared_bytes
            each = driver.occupancyMaxActiveBlocksPerMultiprocessor(address, threads, shared_bytes)
        return address, min(each * self._processors, MOST_BLOCKS), shared_bytes
