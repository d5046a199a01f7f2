"""Which containers this user has checked in full, so that they need not be checked again.

A file's state is its device, inode, size, and the times of its last change: of its content (mtime), and of
anything about it (ctime), which no program can set. A container whose files are all in a state that was
checked before is known; a copy, a download or an edited file is not. The memory is a folder of empty files
in the user's cache, ``evener/checked``, named by the hash of these states: nothing in a container can vouch
for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from evener.system.cache import cache_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["known", "remember", "stamp"]

# Raised whenever `container.check` learns a rule.
_RULES = 1
# Beyond so many, the oldest half is forgotten.
_MOST = 4096


def stamp(files: Mapping[str, os.stat_result]) -> str:
    """Sum up the state of some files, given by name, as a hash."""
    states = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in files.values()]
    return hashlib.sha256(repr((_RULES, list(files), states)).encode()).hexdigest()


def known(stamp: str) -> bool:
    """Whether files in this state were checked before."""
    folder = _folder()
    return folder is not None and (folder / stamp).exists()


def remember(stamp: str) -> None:
    """Keep in mind that files in this state are sound; where that fails, they are checked every time."""
    folder = _folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / stamp).touch()
        stamps = list(folder.iterdir())
        if len(stamps) > _MOST:
            for old in sorted(stamps, key=lambda s: s.stat().st_mtime_ns)[: _MOST // 2]:
                old.unlink(missing_ok=True)


def _folder() -> Path | None:
    cache = cache_folder()
    return cache and cache / "evener" / "checked"
