"""The command line: the library's calls as commands, with one clear sentence when something is wrong."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evener.cli.job import Interrupted, Job, supervise
from evener.cli.output import note, point_output_at_nothing
from evener.errors import EvenerError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_OK, _BUG, _BAD_ARGUMENT, _WRONG_ANSWER, _INTERRUPTED, _BROKEN_PIPE = 0, 1, 2, 3, 130, 141
# What was expected, by the names of pydantic's errors.
_EXPECTED = {"int_parsing": "expected a whole number", "float_parsing": "expected a number"}
# What typer raises for a word too few, or one that there is not: its commands tell which they take.
_NO_SUCH_WORD = ("BadOptionUsage", "MissingParameter", "NoSuchCommand", "NoSuchOption", "UsageError")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``evener``; by default those this process was started with.

    Returns
    -------
    int
        0 if all went well, 2 for a bad argument or file, 3 for an answer that did not pass its verifier, 130
        after Ctrl-C, 1 for a bug of Evener.
    """
    if arguments is None:  # else these streams are another's
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # it may not write all characters: "µs"
                stream.reconfigure(errors="replace")
    job = Job()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return supervise(lambda: _dispatch(words, job), job, own_process=arguments is None)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python's own flush at exit would complain once more.
        point_output_at_nothing()
        return _BROKEN_PIPE
    except Interrupted:
        return _INTERRUPTED
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the end of the line: a sentence, not a traceback
        job.close()
        return _failed(error)


def _dispatch(words: list[str], job: Job) -> int:
    from evener.cli.app import app

    try:
        status = app(args=words, prog_name="evener", obj=job, standalone_mode=False)
    except SystemExit as error:
        # Typer ends the process when its output's reader has gone.
        raise error.__context__ if isinstance(error.__context__, BrokenPipeError) else error  # noqa: B904
    return status if isinstance(status, int) else _OK


def _failed(error: BaseException) -> int:
    if os.environ.get("EVENER_TRACEBACK"):
        traceback.print_exception(error)
    if isinstance(error.__cause__, EOFError) and not isinstance(error, EvenerError):
        error = error.__cause__  # by which typer takes a command to have been broken off
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else _OK
    if isinstance(error, EvenerError):
        return _say(str(error), _WRONG_ANSWER if isinstance(error, VerificationError) else _BAD_ARGUMENT)
    if hasattr(error, "format_message"):  # what typer raises for words it cannot take
        return _say(_unusable(error), _BAD_ARGUMENT)
    if isinstance(error, MemoryError):
        return _say(f"not enough memory: {str(error) or 'an allocation failed'}", _BAD_ARGUMENT)
    if (why := _why_no_kernels(error)) is not None:
        return _say(why, _BAD_ARGUMENT)
    folder = _folder_of_kernels(error)
    if folder is not None and isinstance(error, OSError) and error.errno in _NO_SPACE:
        another = "another folder in NUMBA_CACHE_DIR"
        return _say(f"no space is left to keep compiled kernels; make some, or name {another}", _BAD_ARGUMENT)
    if folder is not None:
        why = f"{folder} ({type(error).__name__}: {error})"
        remedy = "delete this folder, or name another in NUMBA_CACHE_DIR"
        return _say(f"compiled kernels cannot be read from or written to {why}; {remedy}", _BAD_ARGUMENT)
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return _say(
        f"a bug in Evener, please report it: {type(error).__name__} in {where}: {error} "
        f"(EVENER_TRACEBACK=1 shows the traceback)",
        _BUG,
    )


def _why_no_kernels(error: BaseException) -> str | None:
    """What keeps Numba from running kernels at all, if that is what went wrong."""
    import numba

    if numba.config.DISABLE_JIT:
        return "kernels have to be compiled, which NUMBA_DISABLE_JIT forbids; take it out of the environment"
    frames = (Path(frame.f_code.co_filename).parts for frame, _ in traceback.walk_tb(error.__traceback__))
    if isinstance(error, ValueError) and any(
        parts[-3:] == ("np", "ufunc", "parallel.py") for parts in frames
    ):
        layer = os.environ.get("NUMBA_THREADING_LAYER", numba.config.THREADING_LAYER)
        return (
            f"kernels have no threads: the threading layer {layer!r} cannot be loaded; install it, or take "
            "NUMBA_THREADING_LAYER out of the environment"
        )
    return None


def _folder_of_kernels(error: BaseException) -> Path | None:
    """Where Numba keeps what it has compiled, if this was Numba's as it wrote or read that."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        index = getattr(frame.f_locals.get("self"), "_index_path", None)
        if Path(frame.f_code.co_filename).parts[-2:] == ("core", "caching.py") and index is not None:
            return Path(index).parent
    return None


def _unusable(error: Any) -> str:
    """What is wrong with a word of the command: what was expected, and what came."""
    said: str = error.format_message()
    if type(error).__name__ in _NO_SUCH_WORD:
        # A word that stands alone is found before it is known for which command.
        context = getattr(error, "ctx", None)
        see = f"see {context.command_path if context else 'evener'} --help"
        return f"{said} {see.capitalize()}" if said.endswith("?") else f"{said.rstrip('.')}; {see}"
    reasons = getattr(error.__cause__, "errors", None)  # of pydantic, which tells what it expected alone
    if reasons is None:
        return said
    first = reasons()[0]
    expected = _EXPECTED.get(
        first["type"], first["msg"].lower().replace("input should be", "expected a number")
    )
    return said.replace(error.message, f"{expected}, but {first['input']!r} came")


def _say(message: str, status: int) -> int:
    note(" ".join(message.split()))
    return status
