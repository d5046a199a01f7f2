"""Launch: run a function on several ranks of this machine, from a notebook or a script."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError, MpiError
from evener.system.failure import in_words
from evener.system.mpi import launched_ranks
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["launch", "mpiexec", "run_rank"]

_CALL = "call"
# The search path of the caller, so that a rank finds the modules of the function.
_PROGRAM = """import sys
sys.path[:] = sys.argv[2:]
from evener.system.launch import run_rank
run_rank(sys.argv[1])
"""


def launch(function: Callable[..., Any], *, ranks: int, args: Sequence[Any] = ()) -> list[Any]:
    """Call a function on several new ranks of this machine, and return its values.

    The ranks are processes that ``mpiexec`` starts. In the function, calls of Evener are collective, as in a
    program under an MPI launcher. The text that the ranks print is printed here. The ranks end
    when the call is interrupted, or within seconds of the end of the calling process.

    Parameters
    ----------
    function : callable
        Functions of a notebook or script are sent by value, with the global variables that they use. Other
        functions are imported by each rank.
    ranks : int
        Number of ranks, at least 1. They divide the cores.
    args : sequence
        Arguments of the function, equal on all ranks. Each rank unpickles its own copy.

    Returns
    -------
    list
        The value of each rank, in the order of ranks. Values travel by `pickle`: return arrays or tables
        instead of whole results.

    Raises
    ------
    ArgumentError
        If `function` cannot be called, `ranks` is not an integer of at least 1, or `args` is a string.
    MpiError
        If there is no MPI launcher, the caller is itself a rank, or a rank fails.

    Examples
    --------
    >>> import evener as ev
    >>> def reached(spec):
    ...     r = ev.bfs(ev.partition(spec, on="cpu:1"), source=0)
    ...     return int((r["distance"] >= 0).sum())
    >>> sum(ev.launch(reached, ranks=2, args=["grid:10x10"]))  # doctest: +SKIP
    100
    """
    if not callable(function):
        msg = f"launch: expected a function as the first argument, found {type(function).__name__}"
        raise ArgumentError(msg)
    if isinstance(args, str):
        msg = f"args=: expected a list of arguments, found a string; write args=[{args!r}]"
        raise ArgumentError(msg)
    if not isinstance(ranks, int) or isinstance(ranks, bool) or ranks < 1:
        msg = f"ranks=: expected a number of ranks of at least 1, found {ranks!r}"
        raise ArgumentError(msg)
    if launched_ranks() > 1:
        raise MpiError("launch: this process is a rank of an MPI job already; call launch without mpiexec")
    program = mpiexec()
    with tempfile.TemporaryDirectory(prefix="evener-launch-") as folder:
        (Path(folder) / _CALL).write_bytes(_pickler().dumps((function, tuple(args))))
        guard = [sys.executable, "-I", str(Path(__file__).with_name("guard.py")), str(os.getpid()), folder]
        job = [program, "-n", str(ranks), sys.executable, "-c", _PROGRAM, folder, *sys.path]
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            status = _follow([*guard, *job], errors)
            errors.seek(0)
            said = errors.read()
        if status:
            raise MpiError(f"launch: {ranks} ranks ended with status {status}:\n{said.strip()}")
        print(said, end="", file=sys.stderr)  # noqa: T201 - warnings of the ranks
        if missing := [rank for rank in range(ranks) if not _value(folder, rank).exists()]:
            raise MpiError(f"launch: {in_words(missing)} ended before the function returned a value")
        return [_pickler().loads(_value(folder, rank).read_bytes()) for rank in range(ranks)]


def mpiexec() -> str:
    """Return the path of the MPI launcher: that of this Python environment, or the first in PATH.

    Raises
    ------
    MpiError
        If there is none, or no mpi4py.
    """
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which("mpiexec", path=folders)
    if found is None or find_spec("mpi4py") is None:
        missing = "mpiexec" if found is None else "mpi4py"
        raise MpiError(f'{missing} was not found, which starts ranks; pip install "evener[mpi]"')
    return found


def run_rank(folder: str) -> None:
    """Call the function of `launch` on this rank, and write its value to the folder."""
    world = current_world()  # from here on, an exception ends all ranks
    function, args = _pickler().loads((Path(folder) / _CALL).read_bytes())
    _value(folder, world.rank).write_bytes(_pickler().dumps(function(*args)))


def _value(folder: str, rank: int) -> Path:
    return Path(folder) / f"value-{rank}"


def _follow(command: list[str], errors: Any) -> int:
    """Run a guarded launcher, print the output of the ranks as it arrives, and return the exit status."""
    with subprocess.Popen(  # noqa: S603 - the launcher of the user's environment
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C at a terminal reaches the caller only, which then ends the guard
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - a pipe was requested
            for line in process.stdout:
                print(line, end="", flush=True)  # noqa: T201 - the output of the ranks
            return process.wait()
        except BaseException:  # the ranks must not outlive the call
            process.terminate()
            raise


def _pickler() -> Any:
    """Return the cloudpickle that Numba contains: it sends functions of `__main__` by value."""
    from numba import cloudpickle

    return cloudpickle
