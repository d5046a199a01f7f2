"""The user's cache directory, for compiled kernels, recorded runs and validated containers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["cache_folder"]


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
