"""The cache folder of kernels with the operators of users compiled into them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from numba.core.caching import IndexDataCacheFile
from numba.core.compiler import CompileResult

from evener.system.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["KernelCache"]

# Index and code files of about 100 KB per kernel. The oldest files beyond this number are deleted.
MAX_FILES = 512


class KernelCache:
    """Compiled kernels on disk, for the attribute ``_cache`` of a Numba dispatcher.

    Numba's own cache identifies a function by its file. This cache uses a key of the caller, because
    operators may come from a prompt or a notebook. Without a writable folder, nothing is cached.

    Parameters
    ----------
    key : str
        Identifies the code, as a part of a file name.
    """

    def __init__(self, key: str) -> None:
        home = cache_folder()
        self._folder = None if home is None else home / "evener" / "operators"
        self._key = key
        self.cache_path = str(self._folder)
        self._file = IndexDataCacheFile(cache_path=self.cache_path, filename_base=key, source_stamp=None)

    @property
    def has_code(self) -> bool:
        """Whether the folder has code for the key."""
        return self._folder is not None and (self._folder / f"{self._key}.nbi").exists()

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
            self._delete_oldest(self._folder)

    def _delete_oldest(self, folder: Path) -> None:
        files = list(_with_times(folder))
        for _, path in sorted(files)[: max(0, len(files) - MAX_FILES)]:
            path.unlink(missing_ok=True)


def _with_times(folder: Path) -> Iterator[tuple[float, Path]]:
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process deleted the file
            yield path.stat().st_mtime, path
