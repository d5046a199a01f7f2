"""Files that begin with a checksum, so that a damaged file reads like a missing file."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_checked", "write_checked"]

_DIGEST_BYTES = hashlib.sha256().digest_size


def read_checked(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing or damaged."""
    content = b""
    with contextlib.suppress(OSError):
        content = path.read_bytes()
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return body if digest == hashlib.sha256(body).digest() else None


def write_checked(path: Path, body: bytes) -> None:
    """Write a file and its folders. An error of the system leaves no file."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            temporary.write_bytes(hashlib.sha256(body).digest() + body)
