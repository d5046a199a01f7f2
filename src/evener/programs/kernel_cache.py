"""The cache folder of kernels with the operators of users compiled into them."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, Any

import numba
from numba.core.runtime import rtsys

from evener.kernels.cpu.bundle import current_bundle, load_machine_code, machine_code
from evener.system.cache import cache_folder, delete_oldest
from evener.system.checked_file import read_checked, write_checked

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KernelCache"]

# The entry that records a check.
_CHECKED = "checked"


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
        found = self._read(_CHECKED)
        if found is None:
            found = current_bundle().read(f"{self.key}.{_CHECKED}")
        return None if found is None else found.decode()

    def mark_checked(self, found: str = "") -> None:
        """Record that the operators have been checked. Later processes read the text `found` as `checked`."""
        self._write(_CHECKED, found.encode())
        current_bundle().write(f"{self.key}.{_CHECKED}", found.encode())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled kernel for a signature, or None."""
        rtsys.initialize(target)  # the memory of arrays that kernels allocate
        found = self._read(_name_of(signature, target.codegen().magic_tuple()))
        if found is None:
            return current_bundle().load(f"{self.key}.{_name_of(signature)}", target)
        return load_machine_code(target, found)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write a compiled kernel, unless it needs addresses of this process."""
        if result.library.has_dynamic_globals:
            return
        body = machine_code(result)
        self._write(_name_of(signature, result.codegen.magic_tuple()), body)
        current_bundle().write(f"{self.key}.{_name_of(signature)}", body)
        if self._folder is not None:
            delete_oldest(self._folder)

    def _path(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{self.key}.{name}"

    def _read(self, name: str) -> bytes | None:
        path = self._path(name)
        return None if path is None else read_checked(path)

    def _write(self, name: str, body: bytes) -> None:
        path = self._path(name)
        if path is not None:
            write_checked(path, body)


def _name_of(signature: Any, processor: object = None) -> str:
    """Return the name of a kernel for a signature, a processor, and versions of Numba and Python."""
    facts = repr((signature, processor, numba.__version__, sys.implementation.cache_tag))
    return f"{hashlib.sha256(facts.encode()).hexdigest()[:32]}.kernel"
