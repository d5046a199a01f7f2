"""The headers of `.npy` arrays, read and checked before any array is."""

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


# What NumPy may raise on a header, which it has Python read as a dictionary.
_DAMAGED = (ValueError, TypeError, SyntaxError, EOFError, MemoryError, RecursionError, tokenize.TokenError)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write one array; unlike NumPy's own writer, a full disk is told as what it is."""
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(array))
        write_bytes(file, array)


def write_bytes(file: IO[bytes], array: NDArray[Any]) -> None:
    """Write the elements of an array."""
    if len(array):
        file.write(np.ascontiguousarray(array).view(np.uint8).data)


class Header(NamedTuple):
    """What an array file says it holds; its data begins at byte `start`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int


def read_header(file: IO[bytes], *, name: str, size: int, path: Path) -> Header:
    """Read the header at the beginning of `file`, and see that as many bytes follow as it says.

    Parameters
    ----------
    file : binary file
    name : str
        Of the array, for messages.
    size : int
        Bytes of the whole array file.
    path : Path
        For messages.

    Raises
    ------
    FormatError
        If it is no array, holds Python objects (a pickle), or is not as long as it says.
    """
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except _DAMAGED as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FormatError(f"the array {name} is damaged: {said}", path=path) from None
    if dtype.hasobject:
        msg = f"the array {name} holds Python objects (a pickle), which are never loaded; expected numbers"
        raise FormatError(msg, path=path)
    start = file.tell()
    expected = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or start + expected != size or (fortran and len(shape) > 1):
        msg = (
            f"the array {name} says {shape} of {dtype}, so {expected} bytes, but {size - start} came: "
            "was it copied whole?"
        )
        raise FormatError(msg, path=path)
    return Header(shape, dtype, start)
