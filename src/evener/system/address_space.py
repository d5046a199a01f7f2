"""Reserve little address space if the process has a limit (``ulimit -v``).

Arrow's allocator reserves a gigabyte, and the C library 64 MiB for each thread that allocates. Without these
reservations, reading a small file takes 0.7 GB of address space instead of 2.1 GB.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

from evener.errors import OutOfMemoryError

__all__ = ["address_space_limit", "check_address_space", "reserve_little"]

# Bytes of address space that libraries and compiled kernels need, and those for the stack of a thread.
_LIBRARIES = 1 << 30
_THREAD = 10 << 20

# The parameter of glibc's `mallopt` for the number of arenas.
_M_ARENA_MAX = -8


def reserve_little() -> None:
    """Choose allocators that reserve little, if the address space of the process is limited.

    Arrow reads the choice when it is loaded. A choice of the user takes precedence.
    """
    if address_space_limit() is None:
        return
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(OSError, AttributeError):  # another C library has no arenas
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def check_address_space(threads: int) -> None:
    """Raise an error if the libraries and threads of kernels do not fit: they would end the process, or hang.

    Raises
    ------
    OutOfMemoryError
        If the limit of the address space is too small.
    """
    limit, needed = address_space_limit(), _LIBRARIES + threads * _THREAD
    if limit is not None and limit < needed:
        msg = (
            f"expected at least {needed >> 20} MiB of address space for the libraries and {threads} threads, "
            f"found a limit of {limit >> 20} MiB; raise it with ulimit -v"
        )
        raise OutOfMemoryError(msg, needed=needed, available=limit)


def address_space_limit() -> int | None:
    """Return the bytes of address space that the process may use; None without a limit."""
    try:
        import resource
    except ImportError:  # a system without POSIX limits
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
