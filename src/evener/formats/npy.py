"""The headers of `.npy` arrays, read and checked before any array is."""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from numpy.lib import format as npy

from evener.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

__all__ = ["Header", "read_header"]


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
    except (ValueError, TypeError, SyntaxError, EOFError) as error:
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
