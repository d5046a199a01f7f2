"""Arrays of other libraries, recognized by their protocols: where their values are, and how to read them.

The protocols are ``__cuda_array_interface__`` for GPUs, and ``__dlpack__`` for host memory and GPUs. No
library is recognized by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.elements import parse_elements
from evener.elements.cuda import discovery
from evener.errors import ArgumentError, DeviceError, first_clause
from evener.graph.checks import type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.elements.cuda.element import CudaElement

__all__ = ["GpuArray", "adopted", "gpu_array", "host_array", "on_one_gpu"]

# Device types of DLPack: memory that NumPy reads, and memory of an NVIDIA GPU.
_HOST, _LOCKED, _CUDA, _MANAGED = 1, 3, 2, 13
_OTHER_DEVICES = {4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 14: "oneAPI", 15: "WebGPU", 16: "Hexagon"}


class GpuArray(NamedTuple):
    """An array in the memory of a GPU: its name as an argument, the object, and the index of the GPU."""

    name: str
    given: Any
    gpu: int


def gpu_array(name: str, given: Any) -> GpuArray | None:
    """Return where an array is if a GPU holds it; None for any other object.

    Raises
    ------
    ArgumentError
        If some entries are missing. If the values are neither in host memory nor on a CUDA GPU, or cannot be
        read.
    DeviceError
        If CuPy is not installed, or no GPU is usable.
    """
    if isinstance(given, np.ndarray | list | tuple):
        return None
    interface = _protocol(name, given, lambda: getattr(given, "__cuda_array_interface__", None))
    if interface is None:
        if not hasattr(given, "__dlpack_device__"):
            return None
        kind, gpu = map(int, _protocol(name, given, lambda: given.__dlpack_device__()))
        if kind in (_HOST, _LOCKED):
            return None
        if kind not in (_CUDA, _MANAGED):
            where = _OTHER_DEVICES.get(kind, f"DLPack type {kind}")
            msg = (
                f"{name}: expected an array in host memory or on a CUDA GPU, found {type_name(given)} on a "
                f"device of another kind ({where}); copy it to the host"
            )
            raise ArgumentError(msg)
    elif interface.get("mask") is not None:
        msg = f"{name}: expected values everywhere, found {type_name(given)} with missing entries; drop them"
        raise ArgumentError(msg)
    if why := discovery.missing():
        msg = f"{name}: found {type_name(given)} on a GPU, and no GPU can be used: {why}"
        raise DeviceError(msg)
    if interface is not None:
        pointer = int(interface["data"][0])
        gpu = discovery.gpu_of_pointer(pointer) if pointer else 0  # an empty array may have no address
    return GpuArray(name, given, gpu)


def on_one_gpu(arrays: dict[str, Any]) -> list[GpuArray]:
    """Return the arrays with values on a GPU; an empty list if all are elsewhere. Entries may be None.

    Raises
    ------
    ArgumentError
        If the arrays are not all on one GPU, or not all elsewhere.
    """
    given = {name: array for name, array in arrays.items() if array is not None}
    places = {name: gpu_array(name, array) for name, array in given.items()}
    found = [place for place in places.values() if place is not None]
    if found and len({place and place.gpu for place in places.values()}) > 1:
        listed = [f"{n} {'in host memory' if p is None else f'on cuda:{p.gpu}'}" for n, p in places.items()]
        others = [n for n, p in places.items() if p is None or p.gpu != found[0].gpu]
        msg = (
            f"expected all on one GPU or all in host memory, found {', '.join(listed)}; "
            f"copy {' and '.join(others)} to cuda:{found[0].gpu}"
        )
        raise ArgumentError(msg)
    return found


def adopted(array: GpuArray, element: CudaElement) -> Any:
    """Return an array on its GPU, without a copy of the values.

    Raises
    ------
    ArgumentError
        If the array has more than one dimension, or values that the GPU's library does not support.
    """
    try:
        values = element.adopt(array.given)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        if isinstance(error, DeviceError):
            raise
        msg = f"{array.name}: expected numbers, found {type_name(array.given)} ({first_clause(error)})"
        raise ArgumentError(msg) from error
    if values.ndim != 1:
        msg = (
            f"{array.name}: expected one dimension, found {values.ndim} (shape {tuple(values.shape)}); "
            "give one array for tails and one for heads"
        )
        raise ArgumentError(msg)
    return values


def element_of(array: GpuArray) -> CudaElement:
    """Return the element of the GPU that holds an array."""
    (element,) = parse_elements(f"cuda:{array.gpu}")
    return element  # type: ignore[return-value] # the name is that of a GPU


def host_array(name: str, given: Any) -> Any:
    """Return an array that only ``__dlpack__`` can read as a NumPy array; any other object unchanged."""
    if hasattr(given, "__array__") or not hasattr(given, "__dlpack__"):
        return given
    try:
        return np.from_dlpack(given)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        msg = f"{name}: expected numbers in host memory, found {type_name(given)} ({first_clause(error)})"
        raise ArgumentError(msg) from error


def _protocol(name: str, given: Any, read: Callable[[], Any]) -> Any:
    """Return what a protocol says about an object; an object may refuse to show its values."""
    try:
        return read()
    except Exception as error:  # any library's error
        msg = (
            f"{name}: expected an array of numbers, found {type_name(given)} ({first_clause(error)}); "
            "convert it, or copy it to the host"
        )
        raise ArgumentError(msg) from error
