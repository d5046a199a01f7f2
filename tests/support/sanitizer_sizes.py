"""Smaller test sizes for `gpu/sanitize.py`, whose tools check every memory access."""

from __future__ import annotations

import os

TOOL = os.environ.get("SANITIZED")  # the name of the tool
# Repetitions of runs that must give equal results.
RUNS = 3 if TOOL else 100
# Seconds by which the host clock and the clock of an accelerator may differ. Sanitizer runs share one GPU.
CLOCKS = 10.0 if TOOL else 0.01
# Racecheck needs 50 ms per launch. Kernels then run on few blocks, so small and shallow graphs suffice.
FEW_BLOCKS = TOOL == "racecheck"


def sized(usual, few):
    """Return `usual`, or `few` where kernels run on few blocks."""
    return few if FEW_BLOCKS else usual
