"""Headers of `.npy` arrays, checked before the data is read."""

from __future__ import annotations

import math
import tokenize
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from evener.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Header", "read_header", "write_array", "write_bytes"]


# Errors of NumPy on a damaged header. Python 3.12 raises SystemError for a null byte in it.
_DAMAGED = (
    EOFError,
    MemoryError,
    RecursionError,
    SyntaxError,
    SystemError,
    TypeError,
    ValueError,
    tokenize.TokenError,
)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write one array; unlike `numpy.save`, a full disk raises the OSError of the system."""
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(array))
        write_bytes(file, array)


def write_bytes(file: IO[bytes], array: NDArray[Any]) -> None:
    """Write the elements of an array."""
    if len(array):
        file.write(np.ascontiguousarray(array).view(np.uint8).data)


class Header(NamedTuple):
    """Shape and dtype of an array file, and the first byte of its data."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int


def read_header(file: IO[bytes], *, name: str, size: int, path: Path) -> Header:
    """Return the header of an array file of `size` bytes, with the length of the data checked.

    Raises
    ------
    FormatError
        If the file is not an array, holds Python objects (a pickle), or has another length.
    """
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except _DAMAGED as error:
        cause = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FormatError(
            f"expected the header of array {name}, but it is damaged: {cause}", path=path
        ) from None
    if dtype.hasobject:
        msg = f"expected numbers in array {name}, found Python objects (a pickle), which are never loaded"
        raise FormatError(msg, path=path)
    if dtype.itemsize == 0:
        raise FormatError(f"expected values in array {name}, found {dtype.str} of no bytes", path=path)
    start = file.tell()
    expected = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or start + expected != size or (fortran and len(shape) > 1):
        msg = (
            f"expected {expected} bytes of array {name} for {shape} of {dtype}, found {size - start}; "
            "copy the file again"
        )
        raise FormatError(msg, path=path)
    return Header(shape, dtype, start)
