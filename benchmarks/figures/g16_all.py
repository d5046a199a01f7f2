"""Question: what do the figures 4 to 7 of G16 look like on the ranks of this machine.

One process makes the four figures, because they share placements and runs.

    python benchmarks/figures/g16_all.py --scale 19 --ranks 2
    python benchmarks/figures/g16_all.py --scale 23 --ranks 4 --on cpu:4,cuda:local
"""

from __future__ import annotations

import g16_runs

if __name__ == "__main__":
    g16_runs.main(g16_runs.RUNNING)
