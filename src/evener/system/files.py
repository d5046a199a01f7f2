"""Writing whole or not at all: a temporary file or folder beside the target, fsync, rename."""

from __future__ import annotations

import contextlib
import ctypes
import os
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
    "NO_UTF8",
    "named_in_utf8",
    "refuse_read_only",
    "remove_unfinished",
    "replacing",
    "replacing_folder",
    "replacing_together",
]

# Temporary files and folders now being written, for a program that has to stop at once.
_unfinished: set[Path] = set()

NO_UTF8 = "its name is not UTF-8; give it another"

_EXCHANGE = 2  # renameat2's RENAME_EXCHANGE
_HERE = -100  # AT_FDCWD


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file to write; on success it takes the place of `path` in one step.

    On any error or interrupt the temporary file is removed and `path` is as it was. A symbolic link stays
    and its target is replaced; an existing file's permissions are kept. A device or pipe, which no rename
    can replace, is written directly.

    Parameters
    ----------
    path : path-like
        The file to make or replace.

    Yields
    ------
    Path
        An empty file in the same folder.

    Raises
    ------
    FileError
        If the file cannot be written; the sentence names `path` and the cause.

    Examples
    --------
    >>> with replacing("ranks.txt") as temporary:
    ...     _ = temporary.write_text("0.25")
    """
    with replacing_together(path) as (temporary,):
        yield temporary


@contextmanager
def replacing_together(*paths: str | os.PathLike[str]) -> Iterator[list[Path]]:
    """As `replacing`, for files that belong together: all are on disk before the first takes its place.

    Parameters
    ----------
    *paths : path-like
        The files to make or replace, in this order; one that names the others comes last.

    Yields
    ------
    list of Path
        An empty file for each.

    Raises
    ------
    FileError
        If they cannot be written; the sentence names the last path and the cause.
    """
    given = [Path(path) for path in paths]
    with _telling(given[-1]), contextlib.ExitStack() as opened:
        targets = [Path(os.path.realpath(path)) for path in given]
        written = [opened.enter_context(_unplaced(*names)) for names in zip(targets, given, strict=True)]
        yield written
        moves = [(file, target) for file, target in zip(written, targets, strict=True) if file != target]
        for file, _ in moves:
            _sync(file)
        for file, target in moves:
            file.replace(target)
        for folder in {target.parent for _, target in moves}:
            _sync(folder)


@contextmanager
def _unplaced(target: Path, given: Path) -> Iterator[Path]:
    """Give a file beside `target`, removed at the end unless it was moved; a device or pipe as it is."""
    if target.is_dir():
        raise FileError(f"cannot write {given}: it is a folder; give the name of a file")
    refuse_read_only(target, given)
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = _beside(target)
    _unfinished.add(temporary)
    try:
        # Made with the caller's own umask, as any new file would be.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        _unfinished.discard(temporary)


def refuse_read_only(target: Path, given: str | os.PathLike[str]) -> None:
    """Leave a file alone that its owner has made read-only, though the folder would let it be replaced.

    Raises
    ------
    FileError
        If `target` is such a file; the sentence names what was `given`.
    """
    if target.is_file() and not os.access(target, os.W_OK):
        raise FileError(f"cannot write {given}: it is read-only; make it writable, or give another name")


@contextmanager
def replacing_folder(path: str | os.PathLike[str], *, ours: Callable[[Path], bool]) -> Iterator[Path]:
    """As `replacing`, for a folder of files: the old folder is there until the new one is whole.

    Parameters
    ----------
    path : path-like
        The folder to make or replace.
    ours : callable
        Whether an existing folder may be replaced; any other that holds something is left alone.

    Yields
    ------
    Path
        An empty folder beside `path`.

    Raises
    ------
    FileError
        If the folder cannot be written, or another one is in its place.
    """
    given = Path(path)
    with _telling(given):
        target = Path(os.path.realpath(given))
        if target.exists() and not target.is_dir():
            raise FileError(
                f"cannot write {given}: a file is there, and this format is a folder; remove it first"
            )
        if target.exists() and any(target.iterdir()) and not ours(target):
            raise FileError(f"cannot write {given}: that folder holds other files; give a new name")
        temporary = _beside(target)
        _unfinished.add(temporary)
        temporary.mkdir()
        try:
            yield temporary
            for file in temporary.iterdir():
                _sync(file)
            _sync(temporary)
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
                _exchange(temporary, target)
            else:
                temporary.rename(target)
        finally:
            # After an exchange this is the old folder, after an error the unfinished one.
            shutil.rmtree(temporary, ignore_errors=True)
            _unfinished.discard(temporary)
        _sync(target.parent)


def remove_unfinished() -> None:
    """Remove what is being written now, at the end of a program that cannot wait for its writing thread."""
    for temporary in list(_unfinished):
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `FileError` that names the path the caller knows."""
    try:
        yield
    except EvenerError:
        raise
    except UnicodeEncodeError as error:
        if named_in_utf8(path):
            raise
        raise FileError(f"cannot write {path}: {NO_UTF8}") from error
    except OSError as error:
        folder = path.parent
        there = os.path.exists(folder)  # noqa: PTH110 - Path.exists raises where a folder may not be entered
        cause = _cause(error) if there else f"there is no folder {folder}"
        raise FileError(f"cannot write {path}: {cause}; nothing was left behind") from error


def named_in_utf8(path: str | os.PathLike[str]) -> bool:
    """Whether the path of a file, and what it leads to, can be written in UTF-8, as PyArrow takes it."""
    try:
        f"{path} {os.path.realpath(path)}".encode()
    except UnicodeEncodeError:
        return False
    return True


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).strip().rstrip(".").lower()


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.tmp")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders in one step where the system can, else in two with the old one put back on failure."""
    with contextlib.suppress(OSError, AttributeError):
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        if renameat2(_HERE, os.fsencode(new), _HERE, os.fsencode(old), _EXCHANGE) == 0:
            return
    aside = _beside(old)
    old.rename(aside)
    try:
        new.rename(old)
    except BaseException:
        aside.rename(old)
        raise
    aside.rename(new)
