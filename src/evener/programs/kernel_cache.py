"""The cache folder of kernels with the operators of users compiled into them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from numba.core.caching import IndexDataCacheFile
from numba.core.compiler import CompileResult

from evener.errors import FileError
from evener.system.cache import cache_folder
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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

    def describe(self, describe: Callable[[], str]) -> str:
        """Return the text that is kept with the code; at the first use, the text of the function."""
        path = None if self._folder is None else self._folder / f"{self._key}.txt"
        if path is not None:
            with contextlib.suppress(OSError):
                return path.read_text(encoding="utf-8")
        text = describe()
        if path is not None:
            with contextlib.suppress(OSError, FileError):
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path) as temporary:
                    temporary.write_text(text, encoding="utf-8")
        return text

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
