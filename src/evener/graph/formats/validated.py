"""Cache of the containers that this user has validated.

The state of a file is its device, inode, size, mtime and ctime; no program can set ctime. A container is
valid without a new check if all its files have a validated state. A copied, downloaded or edited file has a
new state. A write to a mapped page changes ctime only if the page is clean, so `validate` first writes all
pages back. A file system without write-back (tmpfs) does not show later writes to such a page.

The cache is the folder ``evener/checked`` in the user's cache directory. The folder holds one empty file per
container, named by a hash of the states. A container cannot mark itself as valid.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

from evener.system.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["fingerprint", "is_validated", "mark_validated", "validate"]

# Version of the rules in `container.check`.
_RULES = 2
# Entries in the cache; above this number, the older half is deleted.
_MAX_ENTRIES = 4096


def fingerprint(files: Mapping[str, os.stat_result]) -> str:
    """Return a hash of the states of files, given by name."""
    states = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in files.values()]
    return hashlib.sha256(repr((_RULES, list(files), states)).encode()).hexdigest()


def validate(files: Sequence[Path], known: str, check: Callable[[], None]) -> None:
    """Call `check`, which raises if files are not valid, unless they were validated in their present state.

    The files are in the order of the fingerprint `known`, which they had as they were opened.
    """
    if is_validated(known):
        return
    with contextlib.suppress(OSError):
        for file in files:
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
    check()
    with contextlib.suppress(OSError):  # another program may replace the files
        if fingerprint({file.name: file.stat() for file in files}) == known:
            mark_validated(known)


def is_validated(fingerprint: str) -> bool:
    """Return whether files with this fingerprint were validated before."""
    folder = _folder()
    return folder is not None and (folder / fingerprint).exists()


def mark_validated(fingerprint: str) -> None:
    """Record files with this fingerprint as validated; on failure, the next read checks again."""
    folder = _folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / fingerprint).touch()
        fingerprints = list(folder.iterdir())
        if len(fingerprints) > _MAX_ENTRIES:
            for old in sorted(fingerprints, key=lambda s: s.stat().st_mtime_ns)[: _MAX_ENTRIES // 2]:
                old.unlink(missing_ok=True)


def _folder() -> Path | None:
    cache = cache_folder()
    return cache and cache / "evener" / "checked"
