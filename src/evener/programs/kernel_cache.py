"""The cache folder of kernels with the operators of users compiled into them."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import sys
from typing import TYPE_CHECKING, Any

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from evener.system.cache import cache_folder, delete_oldest
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KernelCache"]

_DIGEST_BYTES = hashlib.sha256().digest_size


class KernelCache:
    """Compiled kernels on disk, for the attribute ``_cache`` of a Numba dispatcher.

    Numba's own cache identifies a function by its file. This cache uses a key of the caller, which is a part
    of file names, because operators may come from a prompt or a notebook. Without a writable folder, nothing
    is cached. A file begins with a checksum, because a damaged kernel could give a wrong answer: its kernel
    is compiled again.
    """

    def __init__(self, key: str) -> None:
        home = cache_folder()
        self._folder = None if home is None else home / "evener" / "operators"
        self.key = key
        self.cache_path = str(self._folder)

    @property
    def checked(self) -> str | None:
        """The text that a process gave to `mark_checked`; None if no process has called it."""
        found = self._read("checked")
        return None if found is None else found.decode()

    def mark_checked(self, found: str = "") -> None:
        """Record that the operators have been checked. Later processes read the text `found` as `checked`."""
        self._write("checked", found.encode())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled kernel for a signature, or None."""
        target.refresh()
        found = self._read(_name_of(signature, target.codegen()))
        if found is None:
            return None
        return CompileResult._rebuild(target, *pickle.loads(found))  # noqa: S301, SLF001 - as Numba does

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write a compiled kernel."""
        self._write(_name_of(signature, result.codegen), dumps(result._reduce()))  # noqa: SLF001 - as Numba does
        if self._folder is not None:
            delete_oldest(self._folder)

    def _path(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{self.key}.{name}"

    def _read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it is missing or damaged."""
        path, content = self._path(name), b""
        if path is not None:
            with contextlib.suppress(OSError):
                content = path.read_bytes()
        digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return body if digest == hashlib.sha256(body).digest() else None

    def _write(self, name: str, body: bytes) -> None:
        path = self._path(name)
        if path is not None:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path) as temporary:
                    temporary.write_bytes(hashlib.sha256(body).digest() + body)


def _name_of(signature: Any, codegen: Any) -> str:
    """Return the name of a kernel for a signature, a processor, and versions of Numba and Python."""
    facts = repr((signature, codegen.magic_tuple(), numba.__version__, sys.implementation.cache_tag))
    return f"{hashlib.sha256(facts.encode()).hexdigest()[:32]}.kernel"
