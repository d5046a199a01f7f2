"""Atomic writes: write a temporary file or folder in the same directory, call fsync, rename."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import secrets
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evener.errors import EvenerError, FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "NOT_UTF8",
    "TEMPORARY",
    "atomic_write",
    "atomic_write_all",
    "atomic_write_folder",
    "has_utf8_path",
    "remove_abandoned",
    "remove_temporary_files",
    "require_writable",
    "temporary_folder",
]

# Temporary files and folders of unfinished writes, removed when the program stops at once.
_unfinished: set[Path] = set()

NOT_UTF8 = "its name is not UTF-8; use a UTF-8 name"

# The end of the name of a temporary file, as a regular expression.
TEMPORARY = r"[0-9a-f]{8}\.tmp"

_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2
_CURRENT_FOLDER = -100  # AT_FDCWD


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` in one step when the block succeeds.

    An error or interrupt removes the temporary file and leaves `path` unchanged. A symbolic link stays, and
    its target is replaced. An existing file keeps its permissions. A device or pipe is written directly,
    because a rename cannot replace it. A `FileError` names `path` and the cause.

    Examples
    --------
    >>> with atomic_write("ranks.txt") as temporary:
    ...     _ = temporary.write_text("0.25")
    """
    with atomic_write_all(path) as (temporary,):
        yield temporary


@contextmanager
def atomic_write_all(*paths: str | os.PathLike[str]) -> Iterator[list[Path]]:
    """Yield temporary files for several targets; flush all files to disk before the first rename.

    The targets are replaced in this order: give a file that names the other files last. A `FileError` names
    the last path and the cause.
    """
    given = [Path(path) for path in paths]
    with _file_errors(given[-1]), contextlib.ExitStack() as stack:
        targets = [Path(os.path.realpath(path)) for path in given]
        written = [stack.enter_context(_temporary_file(*names)) for names in zip(targets, given, strict=True)]
        yield written
        moves = [(file, target) for file, target in zip(written, targets, strict=True) if file != target]
        for file, _ in moves:
            _sync(file)
        for file, target in moves:
            file.replace(target)
        for folder in {target.parent for _, target in moves}:
            _sync(folder)


@contextmanager
def _temporary_file(target: Path, given: Path) -> Iterator[Path]:
    """Yield a temporary file in the folder of `target`, and remove it at the end unless it was renamed."""
    if target.is_dir():
        raise FileError(f"cannot write {given}: it is a folder; give a file name")
    require_writable(target, given)
    if target.exists() and not target.is_file():
        yield target
        return

    def create(temporary: Path) -> None:
        # os.open applies the umask of the caller, as for any new file.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))

    with _temporary(target, create, Path.unlink) as temporary:
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        yield temporary


def require_writable(target: Path, given: str | os.PathLike[str]) -> None:
    """Raise an error that names `given` if a target is read-only, although a rename over it would work."""
    if target.is_file() and not os.access(target, os.W_OK):
        raise FileError(f"cannot write {given}: it is read-only; make it writable, or give another name")


@contextmanager
def atomic_write_folder(
    path: str | os.PathLike[str], *, may_replace: Callable[[Path], bool]
) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` in one step when the block succeeds.

    `may_replace` says whether an existing folder that is not empty may be replaced.
    """
    given = Path(path)
    with _file_errors(given):
        target = Path(os.path.realpath(given))
        if target.exists() and not target.is_dir():
            raise FileError(
                f"cannot write {given}: this format is a folder, but {given} is a file; remove it first"
            )
        if target.exists() and any(target.iterdir()) and not may_replace(target):
            raise FileError(f"cannot write {given}: the folder holds other files; give a new name")
        # The temporary path is the old folder after an exchange, and the unfinished folder after an error.
        with _temporary(target, Path.mkdir, shutil.rmtree) as temporary:
            yield temporary
            for file in temporary.iterdir():
                _sync(file)
            _sync(temporary)
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
                _exchange(temporary, target)
            else:
                temporary.rename(target)
        _sync(target.parent)


@contextmanager
def temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """Yield an empty folder in `parent`, and remove the folder and its files at the end."""
    with _temporary(parent / name, Path.mkdir, shutil.rmtree) as folder:
        yield folder


@contextmanager
def _temporary(
    target: Path, create: Callable[[Path], None], remove: Callable[[Path], None]
) -> Iterator[Path]:
    """Yield a new path in the folder of `target`, and remove it at the end unless it was renamed.

    The path is locked, so that later writes can remove paths of processes that were killed.
    """
    remove_abandoned(target.parent, re.compile(re.escape(f".{target.name[:200]}.") + TEMPORARY))
    temporary, lock = _temporary_name(target), -1
    _unfinished.add(temporary)
    try:
        while lock < 0:
            create(temporary)
            # Until the path is locked, another process may take it for an abandoned one and remove it.
            with contextlib.suppress(FileNotFoundError):
                lock = os.open(temporary, os.O_RDONLY)
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if not temporary.exists():
                    os.close(lock)
                    lock = -1
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            remove(temporary)
        _unfinished.discard(temporary)
        if lock >= 0:
            os.close(lock)


def remove_abandoned(folder: Path, name: re.Pattern[str]) -> None:
    """Remove temporary files and folders of these names whose process was killed: nothing locks them."""
    found: list[Path] = []
    with contextlib.suppress(OSError):  # a folder that cannot be listed
        found = [path for path in folder.iterdir() if name.fullmatch(path.name)]
    for path in found:
        # A locked path has a writer; another process may remove the path at the same time.
        with contextlib.suppress(OSError), _opened(path) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def remove_temporary_files() -> None:
    """Remove the temporary files of all unfinished writes, for a program that stops at once."""
    for temporary in list(_unfinished):
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    """Convert an `OSError` into a `FileError` that names the path of the caller."""
    try:
        yield
    except EvenerError:
        raise
    except UnicodeEncodeError as error:
        if has_utf8_path(path):
            raise
        raise FileError(f"cannot write {path}: {NOT_UTF8}") from error
    except OSError as error:
        folder = path.parent
        there = os.path.exists(folder)  # noqa: PTH110 - Path.exists raises if a parent folder is not accessible
        cause = _cause(error) if there else f"there is no folder {folder}"
        raise FileError(f"cannot write {path}: {cause}; nothing was left behind") from error


def has_utf8_path(path: str | os.PathLike[str]) -> bool:
    """Return whether a path and its resolved target have UTF-8 names, which PyArrow requires."""
    try:
        f"{path} {os.path.realpath(path)}".encode()
    except UnicodeEncodeError:
        return False
    return True


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).strip().rstrip(".").lower()


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.tmp")


def _sync(path: Path) -> None:
    with _opened(path) as handle:
        os.fsync(handle)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Yield the descriptor of a file or folder."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
    try:
        yield handle
    finally:
        os.close(handle)


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders in one system call; without that call, rename twice and undo on failure."""
    with contextlib.suppress(OSError, AttributeError):
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        if renameat2(_CURRENT_FOLDER, os.fsencode(new), _CURRENT_FOLDER, os.fsencode(old), _EXCHANGE) == 0:
            return
    backup = _temporary_name(old)
    old.rename(backup)
    try:
        new.rename(old)
    except BaseException:
        backup.rename(old)
        raise
    backup.rename(new)
