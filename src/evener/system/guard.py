"""Guard: run a command for another process, and end the command when that process has ended.

`evener.system.launch` starts this file as a script, so it imports nothing of Evener.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys

__all__ = ["run_guarded"]

# Seconds between checks for the caller, and seconds that the command has to end by itself.
_LOOK, _GRACE = 0.5, 1.5


def run_guarded(caller: int, folder: str, command: list[str]) -> int:
    """Run a command and return its exit status; after SIGTERM or the end of the caller, end the command.

    The caller is the process that started this one; if it ends first, the folder is removed. The command runs
    in a process group of its own.
    """

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0) as process:  # noqa: S603 - the launcher of the user's environment
        try:
            while process.poll() is None and os.getppid() == caller:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK)
        finally:
            if process.poll() is None:
                _end(process)
    if os.getppid() != caller:
        shutil.rmtree(folder, ignore_errors=True)
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(run_guarded(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
