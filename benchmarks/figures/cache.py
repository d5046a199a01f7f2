"""Misses of the last cache, counted by `perf stat` while a call runs, where the machine lets it count.

Virtual machines mostly do not show their processor's counters; then there is a sentence that says so, and no
number.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from functools import cache

_EVENTS = ("LLC-loads", "LLC-load-misses")
# perf says nothing when it has begun to count: it takes some hundredths of a second.
_ATTACHED_SECONDS = 0.2


@cache
def missing():
    """Why nothing can be counted; None if it can."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    done = subprocess.run([*_perf(), "true"], capture_output=True, text=True, check=False)
    if _counts(done.stderr) is None:
        return f"perf does not count {' and '.join(_EVENTS)} on this machine"
    return None


def counted(call):
    """Call, and return the loads that reached the last cache and those that missed it, in this process."""
    perf = subprocess.Popen([*_perf(), "-p", str(os.getpid())], stderr=subprocess.PIPE, text=True)
    time.sleep(_ATTACHED_SECONDS)
    try:
        call()
    finally:
        perf.send_signal(signal.SIGINT)
        _, said = perf.communicate()
    return _counts(said)


def _perf():
    return ["perf", "stat", "-x", ",", "-e", ",".join(_EVENTS)]


def _counts(said):
    """The counts in what perf wrote, a line an event: count, unit, name; None if one is absent."""
    found = {}
    for line in said.splitlines():
        words = line.split(",")
        if len(words) > 2 and words[0].isdigit():
            found[words[2].partition(":")[0]] = int(words[0])
    if any(event not in found for event in _EVENTS):
        return None
    return {"loads": found[_EVENTS[0]], "misses": found[_EVENTS[1]]}
