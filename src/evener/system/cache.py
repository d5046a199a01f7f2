"""The user's cache directory, for compiled kernels, recorded runs and validated containers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cache_folder", "delete_oldest"]

# Files of compiled operators.
_MAX_FILES = 512


def cache_folder() -> Path | None:
    """Return the user's cache directory by the XDG Base Directory Specification, or None.

    The specification ignores an `XDG_CACHE_HOME` that is empty or relative. A user without a home directory
    gets None: in a world-writable folder, another user could place files that Evener would load.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named
    with contextlib.suppress(RuntimeError):  # the user has no home directory
        home = Path.home()
        return home / ".cache" if home.is_absolute() else None
    return None


def delete_oldest(folder: Path) -> None:
    """Delete the oldest files of a folder of compiled operators, beyond the 512 newest."""
    with contextlib.suppress(OSError):
        files = sorted(_with_times(folder))
        for _, path in files[: max(0, len(files) - _MAX_FILES)]:
            path.unlink(missing_ok=True)


def _with_times(folder: Path) -> Iterator[tuple[float, Path]]:
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process deleted the file
            yield path.stat().st_mtime, path
