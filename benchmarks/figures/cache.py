"""Count misses of the last cache with `perf stat` while a call runs, if the machine allows it.

Most virtual machines hide the counters of their processor. The result is then a reason instead of numbers.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from functools import cache

_EVENTS = ("LLC-loads", "LLC-load-misses")
# Seconds until perf counts; it does not report when it starts.
_ATTACHED_SECONDS = 0.2


@cache
def missing():
    """Return why nothing can be counted; None if it can."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    done = subprocess.run([*_perf(), "true"], capture_output=True, text=True, check=False)
    if _counts(done.stderr) is None:
        return f"perf does not count {' and '.join(_EVENTS)} on this machine"
    return None


def counted(call):
    """Call a function; return the loads that reached the last cache and its misses, in this process."""
    perf = subprocess.Popen([*_perf(), "-p", str(os.getpid())], stderr=subprocess.PIPE, text=True)
    time.sleep(_ATTACHED_SECONDS)
    try:
        call()
    finally:
        perf.send_signal(signal.SIGINT)
        _, output = perf.communicate()
    return _counts(output)


def _perf():
    return ["perf", "stat", "-x", ",", "-e", ",".join(_EVENTS)]


def _counts(output):
    """Return the counts in the output of perf (one line per event); None if a count is missing."""
    found = {}
    for line in output.splitlines():
        words = line.split(",")
        if len(words) > 2 and words[0].isdigit():
            found[words[2].partition(":")[0]] = int(words[0])
    if any(event not in found for event in _EVENTS):
        return None
    return {"loads": found[_EVENTS[0]], "misses": found[_EVENTS[1]]}
