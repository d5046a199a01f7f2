"""The command line: the functions of the library as commands. An error prints one sentence."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import io
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evener.cli.output import PROGRAM, in_options, point_output_at_nothing, warn
from evener.cli.supervisor import Command, Interrupted, supervise
from evener.errors import EvenerError, MpiError, VerificationError, printable
from evener.system.mpi import await_loss, launched_ranks, mpi_world

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "program"]

_OK, _BUG, _BAD_ARGUMENT, _WRONG_ANSWER, _INTERRUPTED, _BROKEN_PIPE = 0, 1, 2, 3, 130, 141
# Expected values by the names of pydantic's errors.
_EXPECTED = {"int_parsing": "expected a whole number", "float_parsing": "expected a number"}
# Exceptions of typer for a missing or unknown word; the message gets a hint to --help.
_NO_SUCH_WORD = ("BadOptionUsage", "MissingParameter", "NoSuchCommand", "NoSuchOption", "UsageError")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
# Objects between garbage collections. Imports create many objects and little garbage.
_OBJECTS_PER_COLLECTION = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``evener``. Default: the arguments of this process.

    Returns
    -------
    int
        0 for success, 1 for a bug in Evener, 2 for a bad argument or file, 3 for a wrong answer. 130 after
        Ctrl-C.
    """
    if arguments is None:  # this process and its streams belong to the command
        gc.set_threshold(_OBJECTS_PER_COLLECTION)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # its encoding may lack characters such as "µ"
                stream.reconfigure(errors="replace")
    job = Command()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return supervise(lambda: _dispatch(words, job), job, own_process=arguments is None)
    except BrokenPipeError:
        # The reader of the output has closed it. Without this, Python's flush at exit would fail again.
        point_output_at_nothing()
        return _BROKEN_PIPE
    except Interrupted:
        return _INTERRUPTED
    except (Exception, SystemExit) as error:  # noqa: BLE001 - print a sentence, not a traceback
        job.close()
        return _failed(error)


def program() -> int:
    """Run the command of this process, and end the process after a success.

    Python would free each object and each GPU, which takes up to a second. Other ends are Python's.
    """
    status = main()
    if status == _OK and launched_ranks() == 1 and not _is_watched():  # MPI ends in its own way
        with contextlib.suppress(OSError):
            threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001 - it waits for threads
            atexit._run_exitfuncs()  # noqa: SLF001 - as Python does
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(_OK)
    return status


def _is_watched() -> bool:
    """Return whether a profiler, a debugger or a coverage tool may report at the end of the process."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    tools = [] if monitoring is None else [monitoring.get_tool(number) for number in range(6)]
    return any([sys.getprofile(), sys.gettrace(), *tools])


def _dispatch(words: list[str], job: Command) -> int:
    from evener.cli.app import app

    mpi_world()  # starts MPI on all ranks, so that an error of one rank can end the others
    job.words = words
    try:
        status = app(args=words, prog_name="evener", obj=job, standalone_mode=False)
    except SystemExit as error:
        # Typer exits when the reader of its output has closed it.
        raise error.__context__ if isinstance(error.__context__, BrokenPipeError) else error  # noqa: B904
    return status if isinstance(status, int) else _OK


def _failed(error: BaseException) -> int:
    if os.environ.get("EVENER_TRACEBACK"):
        print(printable("".join(traceback.format_exception(error)), kept="\n"), file=sys.stderr)  # noqa: T201
    if isinstance(error.__cause__, EOFError) and not isinstance(error, EvenerError):
        error = error.__cause__  # typer turns EOFError into an abort
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else _OK
    if isinstance(error, EvenerError):
        if isinstance(error, VerificationError):  # it names vertices, and no arguments
            return _fail(str(error), _WRONG_ANSWER)
        return _say(str(error), _BAD_ARGUMENT)
    if hasattr(error, "format_message"):  # an exception of typer for an invalid word
        return _say(_unusable(error), _BAD_ARGUMENT)
    if isinstance(error, MemoryError):
        return _say(f"not enough memory: {str(error) or 'an allocation failed'}", _BAD_ARGUMENT)
    if await_loss(error):
        return _say(f"the MPI library failed: {error}; look for ranks that ended or lost their network", _BUG)
    if (why := _why_no_kernels(error)) is not None:
        return _say(why, _BAD_ARGUMENT)
    folder = _folder_of_kernels(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        if Path(last.filename).parts[-2:] == ("rich", "console.py"):  # typer printed the help
            point_output_at_nothing()
            return _say("standard output cannot be written: no space left on device", _BAD_ARGUMENT)
        if folder is not None:
            remedy = "free some space, or name another folder in NUMBA_CACHE_DIR"
            return _say(f"no space is left for compiled kernels; {remedy}", _BAD_ARGUMENT)
    if folder is not None:
        why = f"{folder} ({type(error).__name__}: {error})"
        remedy = "delete this folder, or name another in NUMBA_CACHE_DIR"
        return _say(f"compiled kernels cannot be read from or written to {why}; {remedy}", _BAD_ARGUMENT)
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return _say(
        f"a bug in Evener, please report it: {type(error).__name__} in {where}: {error} "
        f"(EVENER_TRACEBACK=1 shows the traceback)",
        _BUG,
    )


def _why_no_kernels(error: BaseException) -> str | None:
    """Return why Numba cannot run kernels, if that is the cause of the error."""
    try:
        import numba
    except Exception as why:  # noqa: BLE001 - of settings in the environment, or a broken installation
        return f"Numba cannot be imported ({why}); check the variables NUMBA_… in the environment"
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT forbids the compilation of kernels; remove it from the environment"
    frames = (Path(frame.f_code.co_filename).parts for frame, _ in traceback.walk_tb(error.__traceback__))
    if isinstance(error, ValueError) and any(
        parts[-3:] == ("np", "ufunc", "parallel.py") for parts in frames
    ):
        layer = os.environ.get("NUMBA_THREADING_LAYER", numba.config.THREADING_LAYER)
        return (
            f"kernels have no threads: the threading layer {layer!r} cannot be loaded; install it, or remove "
            "NUMBA_THREADING_LAYER from the environment"
        )
    return None


def _folder_of_kernels(error: BaseException) -> Path | None:
    """Return Numba's folder of compiled kernels, if reading or writing it raised the error."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        index = getattr(frame.f_locals.get("self"), "_index_path", None)
        if Path(frame.f_code.co_filename).parts[-2:] == ("core", "caching.py") and index is not None:
            return Path(index).parent
    return None


def _unusable(error: Any) -> str:
    """Return the message for an invalid word of the command, with the expected and the found value."""
    said: str = error.format_message()
    if type(error).__name__ in _NO_SUCH_WORD:
        # An error in the first word has no command yet.
        context = getattr(error, "ctx", None)
        see = f"see {context.command_path if context else 'evener'} --help"
        return f"{said} {see.capitalize()}" if said.endswith("?") else f"{said.rstrip('.')}; {see}"
    reasons = getattr(error.__cause__, "errors", None)  # of pydantic, which has the expected value
    if reasons is None:
        return said
    first = reasons()[0]
    expected = _EXPECTED.get(
        first["type"], first["msg"].lower().replace("input should be", "expected a number")
    )
    return said.replace(error.message, f"{expected}, found {first['input']!r}")


def _say(message: str, status: int) -> int:
    return _fail(in_options(" ".join(message.split())), status)


def _fail(message: str, status: int) -> int:
    sentence = printable(message)
    with contextlib.suppress(MpiError):
        if (world := mpi_world()) is not None:
            world.fail(sentence, status, PROGRAM)
            return status
    warn(sentence)
    return status
