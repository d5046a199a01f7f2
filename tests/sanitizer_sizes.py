"""What tests leave out when `gpu/sanitize.py` runs them, under tools that look at each access anew."""

from __future__ import annotations

import os

TOOL = os.environ.get("SANITIZED")  # by whose name they are run
# Runs of what has to come out alike.
RUNS = 3 if TOOL else 100
# What the two clocks of an element beside the host may differ by. Many processes wait for one GPU, and for
# each other between one reading and the next.
CLOCKS = 10.0 if TOOL else 0.01
# Racecheck goes over every access to shared memory, which no other block sees, and takes 50 ms for a launch:
# kernels run on a few blocks, for which few vertices do what many do for all, and few levels follow another.
FEW_BLOCKS = TOOL == "racecheck"


def sized(usual, few):
    """What is `usual`, or the `few` that do where kernels run on a few blocks."""
    return few if FEW_BLOCKS else usual
