"""Fingerprints: digests by which ranks compare values and files without sending them."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import pickle
import reprlib
import struct
import zlib
from collections.abc import Mapping, Sequence, Set
from functools import singledispatch
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Words", "content_of", "digest_of", "file_fingerprint", "text_of"]

# Bytes of a digest.
_DIGEST = 16
# A fingerprint covers this many pieces of a file, of this many bytes each.
_PIECES, _PIECE = 16, 1 << 14
# Types whose `repr` in a list states the value exactly.
_EXACT = {type(None), bool, int, float, str}

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlong = 40


class Words(str):
    """Text that a message shows without quotes."""

    __slots__ = ()


def digest_of(value: Any) -> bytes:
    """Return the digest of a value: equal for equal values of one type, on all ranks.

    NaN equals NaN, and -0.0 differs from 0.0. The order of sets and mappings does not count. NumPy scalars
    equal numbers of Python. A class can have a method `agreed`, which returns the parts that count by name.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    kind = type(value)
    found = hashlib.blake2b(f"{kind.__module__}.{kind.__qualname__}\0".encode(), digest_size=_DIGEST)
    for part in content_of(value):
        found.update(part)
    return found.digest()


@singledispatch
def content_of(value: Any) -> Iterable[bytes | memoryview]:
    """Return the bytes of a value that its digest covers."""
    if callable(parts := getattr(type(value), "agreed", None)):
        return _pairs(parts(value).items())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _pairs((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, Mapping) or callable(getattr(type(value), "items", None)):  # also pandas.Series
        return _pairs(value.items())
    if isinstance(value, Set):
        return sorted(map(digest_of, value))
    if isinstance(value, range):
        return [repr(value).encode()]
    if isinstance(value, Sequence):
        return [repr(value).encode()] if set(map(type, value)) <= _EXACT else list(map(digest_of, value))
    if isinstance(value, type | BuiltinFunctionType | np.ufunc | ModuleType):
        return [f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}".encode()]
    if hasattr(value, "__array__"):
        return content_of(np.asarray(value))
    return _pickled(value)


@content_of.register(type(None))
@content_of.register(int)
@content_of.register(str)
@content_of.register(bytes)
def _(value: Any) -> Iterable[bytes | memoryview]:
    return [repr(value).encode("utf-8", "surrogatepass")]


@content_of.register(float)
def _(value: float) -> Iterable[bytes | memoryview]:
    return [b"nan" if math.isnan(value) else struct.pack("<d", value)]


@content_of.register(np.ndarray)
def _(value: NDArray[Any]) -> Iterable[bytes | memoryview]:
    if isinstance(value, np.ma.MaskedArray):
        return _pickled(value)
    head = f"{value.dtype.str} {value.shape}".encode()
    if value.dtype.hasobject:
        return [head, digest_of(value.tolist())]
    return [head, np.ascontiguousarray(value).reshape(-1).view(np.uint8).data]


def _pairs(items: Iterable[tuple[Any, Any]]) -> list[bytes]:
    return sorted(digest_of(key) + digest_of(value) for key, value in items)


def _pickled(value: Any) -> list[bytes]:
    """Return the pickled value; nothing if it cannot be pickled, so that only its type counts."""
    try:
        return [pickle.dumps(value, 5)]
    except Exception:  # noqa: BLE001 - `pickle` passes on any error of a class
        return []


def text_of(value: Any) -> str:
    """Return a short text of a value, for a message."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Words):
        return str(value)
    if isinstance(value, np.ndarray):
        return f"{value.size:,} values of {value.dtype}"
    if code := getattr(value, "__code__", None):
        return f"{value.__qualname__} of {code.co_filename}, line {code.co_firstlineno}"
    return _SHORT.repr(value)


def file_fingerprint(path: str | os.PathLike[str]) -> Words:
    """Return the size of a file and a checksum of pieces of it; of a folder, those of all its files.

    The pieces are at equal distances and at the end. They cover a file of up to 256 KiB.
    """
    place = Path(path)
    total, checksum = 0, 0
    try:
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file():
                with file.open("rb") as stream:
                    size = stream.seek(0, os.SEEK_END)
                    begins = range(0, size, max(_PIECE, size // _PIECES))
                    for begin in (*begins, max(0, size - _PIECE)):
                        stream.seek(begin)
                        checksum = zlib.crc32(stream.read(_PIECE), checksum)
                total += size
        found = place.exists()
    except (OSError, ValueError) as error:  # ValueError: a null character
        return Words(f"an error: {error}")
    return Words(f"{total:,} bytes with checksum {checksum:08x}" if found else "no file")
