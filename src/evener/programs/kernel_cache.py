"""The cache folder of kernels with the operators of users compiled into them."""

from __future__ import annotations

import contextlib
from typing import Any

from numba.core.caching import IndexDataCacheFile
from numba.core.compiler import CompileResult

from evener.system.cache import cache_folder, delete_oldest
from evener.system.files import atomic_write

__all__ = ["KernelCache"]


class KernelCache:
    """Compiled kernels on disk, for the attribute ``_cache`` of a Numba dispatcher.

    Numba's own cache identifies a function by its file. This cache uses a key of the caller, because
    operators may come from a prompt or a notebook. Without a writable folder, nothing is cached.

    Parameters
    ----------
    key : str
        Identifies the code, as a part of a file name.

    Attributes
    ----------
    key : str
    """

    def __init__(self, key: str) -> None:
        home = cache_folder()
        self._folder = None if home is None else home / "evener" / "operators"
        self.key = key
        self.cache_path = str(self._folder)
        self._file = IndexDataCacheFile(cache_path=self.cache_path, filename_base=key, source_stamp=None)

    @property
    def checked(self) -> str | None:
        """The text that a process gave to `mark_checked`; None if no process has called it."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                return (self._folder / f"{self.key}.checked").read_text()
        return None

    def mark_checked(self, found: str = "") -> None:
        """Record that the operators have been checked. Later processes read the text `found` as `checked`."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                with atomic_write(self._folder / f"{self.key}.checked") as temporary:
                    temporary.write_text(found)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled kernel for a signature, or None."""
        target.refresh()
        found = None
        if self._folder is not None:
            with contextlib.suppress(OSError):
                found = self._file.load((signature, target.codegen().magic_tuple()))
        return None if found is None else CompileResult._rebuild(target, *found)  # noqa: SLF001 - as Numba does

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write a compiled kernel."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file.save((signature, result.codegen.magic_tuple()), result._reduce())  # noqa: SLF001 - as Numba does
            delete_oldest(self._folder)
