"""Available memory, and checks before large allocations."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import ArgumentError, OutOfMemoryError
from evener.system.address_space import address_space_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "MIN_CHECKED_BYTES",
    "allocation_error",
    "available",
    "format_bytes",
    "on_device_shortage",
    "on_shortage",
    "parse_bytes",
    "release_on_devices",
    "require",
    "require_for_run",
    "return_freed",
    "shortage_error",
    "translate_errors",
]

# Functions that release memory kept for reuse.
_release: list[Callable[[], None]] = []
# Functions that release kept memory of GPUs, and return whether there was any.
_release_on_devices: list[Callable[[], bool]] = []
# Functions that count the bytes that a run can reuse.
_reusable: list[Callable[[], int]] = []

# Bytes. Smaller allocations of a run are not checked.
MIN_CHECKED_BYTES = 16 << 20

# Environment variable with the memory limit of this process, in bytes or with a unit.
LIMIT_VARIABLE = "EVENER_MEMORY"

# A cgroup without a limit reports "max" (version 2) or a number near 2^63 (version 1).
_UNLIMITED = 1 << 62
# Largest size that an argument may name.
_MOST_BYTES = float(1 << 63)


def available() -> int:
    """Return the bytes that this process can still allocate.

    The result is the smallest of the free memory, the rest of the cgroup limit and the rest of `RLIMIT_AS`.
    A virtual machine with memory ballooning reports too little free memory. There, set the environment
    variable `EVENER_MEMORY` to the memory that the whole process may use, such as ``120GiB``.

    Raises
    ------
    ArgumentError
        If `EVENER_MEMORY` is not a size.

    Examples
    --------
    >>> from evener.system import memory
    >>> memory.available() > 0
    True
    """
    limit = os.environ.get(LIMIT_VARIABLE)
    machine = _free_memory() if not limit else parse_bytes(limit, LIMIT_VARIABLE) - _resident_bytes()
    return max(0, min(machine, _cgroup(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")), _address_space()))


def require(nbytes: int, what: str) -> None:
    """Raise an error if fewer than `nbytes` bytes are available for an allocation.

    `what` is the purpose, as the subject of the error's sentence: "the graph rmat:40".
    """
    free = available()
    if nbytes > free:
        for release in _release:
            release()
        free = available()
    if nbytes > free:
        remedy = "raise {}" if os.environ.get(LIMIT_VARIABLE) else "set {} if the system reports too little"
        msg = (
            f"{what} needs {format_bytes(nbytes)} of memory ({nbytes:,} bytes), but only "
            f"{format_bytes(free)} ({free:,} bytes) are available; use a smaller graph or more memory, or "
            f"{remedy.format(LIMIT_VARIABLE)}"
        )
        raise OutOfMemoryError(msg, needed=nbytes, available=free)


def require_for_run(nbytes: int, what: str) -> None:
    """Raise as `require` does, but count the pages kept from earlier runs as available.

    Sizes below `MIN_CHECKED_BYTES` are not checked.
    """
    fresh = nbytes - sum(kept() for kept in _reusable) if nbytes >= MIN_CHECKED_BYTES else 0
    if fresh >= MIN_CHECKED_BYTES and fresh > available():
        require(nbytes, what)


def allocation_error(nbytes: int) -> OutOfMemoryError:
    """Return the error for an array that the system refused to allocate."""
    free = available()
    msg = (
        f"the system refused an array of {format_bytes(nbytes)} ({nbytes:,} bytes), with "
        f"{format_bytes(free)} available; use a smaller graph, or raise the limits of the process"
    )
    return OutOfMemoryError(msg, needed=nbytes, available=free)


def shortage_error(what: str, *, needed: int = 0) -> OutOfMemoryError:
    """Return the error for work that ran out of memory, such as "reading g.csv"."""
    free = available()
    msg = (
        f"{what} needs more memory than the {format_bytes(free)} available; "
        "use a smaller graph or a machine with more memory"
    )
    return OutOfMemoryError(msg, needed=max(needed, free + 1), available=free)


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Convert a `MemoryError` of a block or a decorated function into an `OutOfMemoryError`.

    `what` is the work, as the subject of the error's sentence: "placing a graph".
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:
        raise shortage_error(what) from error


def on_shortage(release: Callable[[], None], *, kept: Callable[[], int] | None = None) -> None:
    """Register a function that releases kept memory before `require` raises.

    `kept` returns the bytes of the kept memory that a run can reuse.
    """
    _release.append(release)
    if kept is not None:
        _reusable.append(kept)


def on_device_shortage(release: Callable[[], bool]) -> None:
    """Register a function that releases kept memory of GPUs and returns whether there was any."""
    _release_on_devices.append(release)


def release_on_devices() -> bool:
    """Release kept memory of GPUs, and return whether there was any."""
    released = [release() for release in _release_on_devices]
    return any(released)


def return_freed() -> None:
    """Return freed memory of this process, which the C library and Arrow keep for later, to the system.

    Steps that allocate arrays of different sizes call this between them: kept memory counts for limits.
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def format_bytes(nbytes: int) -> str:
    """Return a number of bytes in the largest binary unit that gives at least one: ``3.2 GiB``."""
    size = float(nbytes)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            return f"{nbytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} EiB"


def parse_bytes(size: str | int, what: str = "size") -> int:
    """Return the bytes of a size such as ``4096``, ``20GiB`` or ``512 MB``.

    `what` names the argument or environment variable in the error.

    Examples
    --------
    >>> parse_bytes("1.5GiB"), parse_bytes("2GB"), parse_bytes(4096)
    (1610612736, 2000000000, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", str(size).strip().lower())
    if match is None or isinstance(size, bool):
        msg = f"{what}=: expected bytes, or a size with a unit such as 20GiB or 500MB, found {size!r}"
        raise ArgumentError(msg)
    unit = match[2] or ""
    base = 1024 if unit.endswith("i") else 1000
    nbytes = float(match[1]) * base ** ("kmgt".index(unit[0]) + 1 if unit else 0)
    if nbytes > _MOST_BYTES:
        msg = f"{what}=: expected at most 2^63 bytes, found {str(size)[:20]}… of {len(str(size))} characters"
        raise ArgumentError(msg)
    return int(nbytes)


def _fields(path: Path) -> dict[str, int]:
    """Return the first number of each line of a /proc or cgroup table by its name; empty without a file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.replace(":", " ").split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) > 1 and pair[1].isdigit()}


def _free_memory() -> int:
    meminfo = _fields(Path("/proc/meminfo"))
    if "MemAvailable" in meminfo:
        return meminfo["MemAvailable"] * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _resident_bytes() -> int:
    """Return the resident bytes of this process, without mapped files."""
    return _fields(Path("/proc/self/status")).get("RssAnon", 0) * 1024


def _cgroup(root: Path, membership: Path) -> int:
    """Return the bytes left under the tightest cgroup limit of this process; page cache counts as free."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return _UNLIMITED
    room = _UNLIMITED
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, limit, usage, cache = root, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            top = root / "memory"
            limit, usage, cache = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        # In a container the path may be outside the mount; then only the root of the mount exists.
        folder = top / path.lstrip("/")
        for group in (folder, *folder.parents):
            room = min(room, _room(group / limit, group / usage, group / "memory.stat", cache))
            if group == top:
                break
    return room


def _room(limit: Path, usage: Path, stat: Path, cache: str) -> int:
    try:
        maximum, used = limit.read_text().strip(), int(usage.read_text())
    except (OSError, ValueError):
        return _UNLIMITED
    if not maximum.isdigit() or int(maximum) >= _UNLIMITED:
        return _UNLIMITED
    return int(maximum) - used + _fields(stat).get(cache, 0)


def _address_space() -> int:
    limit = address_space_limit()
    if limit is None:
        return _UNLIMITED
    return limit - _fields(Path("/proc/self/status")).get("VmSize", 0) * 1024
