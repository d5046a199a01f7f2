"""The user's cache directory: compiled kernels, recorded runs, checked containers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path | None:
    """The user's cache directory, as the XDG Base Directory Specification has it; None if there is none.

    A name that is empty or not absolute is none, says the specification. Nothing takes the place of a home
    directory: in a folder that all can write to, another could lay down what we then load.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named
    with contextlib.suppress(RuntimeError):  # a user without a home directory
        home = Path.home()
        return home / ".cache" if home.is_absolute() else None
    return None
