"""Memory at hand, and the refusal of what does not fit before any of it is allocated."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import ArgumentError, OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "WORTH_ASKING",
    "available",
    "nbytes_of",
    "not_given",
    "on_shortage",
    "readable",
    "require",
    "require_for_run",
]

# What gives back memory that is kept for later use.
_reserves: list[Callable[[], None]] = []
# How many bytes each of those keeps that runs take first.
_kept: list[Callable[[], int]] = []

# Runs that take less than this beside what is kept do not ask what is at hand: asking takes 0.4 ms, while so
# much in fresh pages takes two threads 3.5 ms to fill.
WORTH_ASKING = 16 << 20

# What a user says this process may take up, where the system tells less than there is.
SAID = "EVENER_MEMORY"

# A cgroup without a limit says "max" (version 2) or a number near 2^63 (version 1).
_UNLIMITED = 1 << 62


def available() -> int:
    """Bytes this process can still allocate: the least of free memory, cgroup room and `RLIMIT_AS` room.

    A virtual machine whose memory grows as it is used tells less free memory than it has. What the user says
    in the environment variable `EVENER_MEMORY` is believed instead: ``120GiB``, say, for all of this process.

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
    said = os.environ.get(SAID)
    machine = _system() if not said else nbytes_of(said, SAID) - _taken()
    return max(0, min(machine, _cgroup(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")), _address_space()))


def require(nbytes: int, what: str) -> None:
    """Refuse, before allocating, what needs more memory than there is.

    Parameters
    ----------
    nbytes : int
        Bytes about to be allocated.
    what : str
        What they are for, as the subject of a sentence: "the graph rmat:40".

    Raises
    ------
    OutOfMemoryError
        If fewer than `nbytes` bytes are at hand; it carries both numbers.
    """
    at_hand = available()
    if nbytes > at_hand:
        for give_back in _reserves:
            give_back()
        at_hand = available()
    if nbytes > at_hand:
        msg = (
            f"{what} needs {readable(nbytes)} of memory ({nbytes:,} bytes), but only {readable(at_hand)} "
            f"({at_hand:,} bytes) are at hand; take a smaller graph or a machine with more memory, or "
            + (
                f"raise {SAID}"
                if os.environ.get(SAID)
                else f"set {SAID} where the system tells less than it has"
            )
        )
        raise OutOfMemoryError(msg, needed=nbytes, available=at_hand)


def require_for_run(nbytes: int, what: str) -> None:
    """As `require`, for what a run is about to take: pages that earlier runs left are taken first.

    Parameters
    ----------
    nbytes : int
        Bytes about to be taken. Less than 16 MiB are not asked about.
    what : str
        As for `require`.

    Raises
    ------
    OutOfMemoryError
        If neither what is kept nor what is at hand is enough.
    """
    fresh = nbytes - sum(kept() for kept in _kept) if nbytes >= WORTH_ASKING else 0
    if fresh >= WORTH_ASKING and fresh > available():
        require(nbytes, what)


def not_given(nbytes: int) -> OutOfMemoryError:
    """The error for an array that the system gave no memory for, though it had seemed to be there."""
    at_hand = available()
    msg = (
        f"an array of {readable(nbytes)} ({nbytes:,} bytes) was refused by the system, with "
        f"{readable(at_hand)} at hand; take a smaller graph, or raise the limits of the process"
    )
    return OutOfMemoryError(msg, needed=nbytes, available=at_hand)


def on_shortage(give_back: Callable[[], None], *, kept: Callable[[], int] | None = None) -> None:
    """Have this called when memory is asked for that is not at hand; `kept` counts what runs take from it."""
    _reserves.append(give_back)
    if kept is not None:
        _kept.append(kept)


def readable(nbytes: int) -> str:
    """Bytes in the largest binary unit that leaves a number of at least one: ``3.2 GiB``."""
    size = float(nbytes)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            return f"{nbytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} EiB"


def nbytes_of(size: str | int, what: str = "a size of memory") -> int:
    """Bytes written as a number, or with a unit: ``20GiB``, ``512 MB``.

    Parameters
    ----------
    size : str or int
    what : str
        Whose size it is, as the subject of the error.

    Raises
    ------
    ArgumentError
        If it is not a size.

    Examples
    --------
    >>> nbytes_of("1.5GiB"), nbytes_of("2GB"), nbytes_of(4096)
    (1610612736, 2000000000, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", str(size).strip().lower())
    if match is None or isinstance(size, bool):
        msg = f"{what} is a number of bytes or has a unit, as in 20GiB or 500MB, not {size!r}"
        raise ArgumentError(msg)
    unit = match[2] or ""
    base = 1024 if unit.endswith("i") else 1000
    return int(float(match[1]) * base ** ("kmgt".index(unit[0]) + 1 if unit else 0))


def _fields(path: Path) -> dict[str, int]:
    """First number of every line of a /proc or cgroup table, by its name; empty if there is no such file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.replace(":", " ").split() for line in lines)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) > 1 and pair[1].isdigit()}


def _system() -> int:
    meminfo = _fields(Path("/proc/meminfo"))
    if "MemAvailable" in meminfo:
        return meminfo["MemAvailable"] * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _taken() -> int:
    """Bytes this process has taken up so far, files that it maps not counted."""
    return _fields(Path("/proc/self/status")).get("RssAnon", 0) * 1024


def _cgroup(root: Path, membership: Path) -> int:
    """Room under the tightest memory limit of the cgroups we are in; page cache counts as room."""
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
        # In a container the path may lie outside what is mounted: then only the mount's root is seen.
        folder = top / path.lstrip("/")
        for group in (folder, *folder.parents):
            room = min(room, _room(group / limit, group / usage, group / "memory.stat", cache))
            if group == top:
                break
    return room


def _room(limit: Path, usage: Path, stat: Path, cache: str) -> int:
    try:
        most, used = limit.read_text().strip(), int(usage.read_text())
    except (OSError, ValueError):
        return _UNLIMITED
    if not most.isdigit() or int(most) >= _UNLIMITED:
        return _UNLIMITED
    return int(most) - used + _fields(stat).get(cache, 0)


def _address_space() -> int:
    try:
        import resource
    except ImportError:  # a system without POSIX limits
        return _UNLIMITED
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return _UNLIMITED
    used = _fields(Path("/proc/self/status")).get("VmSize", 0) * 1024
    return limit - used
