"""Question: what does the model predict if more bytes travel for each edge (T12, figure 3).

The paper draws equation 4 at alpha = 50% over a bus of 4 GB/s, for 4 bytes an edge and more. The curves are
read from a plot. The text has no number: the speed-up drops significantly as the bytes double, and a low beta
helps. The text does not give the CPU's rate. This script uses 0.5 billion edges/s, as on the right of figure
2.

Here: the same curves from `totem.speedup`.

    python benchmarks/figures/t12_fig3.py
"""

from __future__ import annotations

from pathlib import Path

import output
import traffic

TITLE = "predicted speed-up if more bytes travel for each edge"
PAPER = (
    "the speed-up drops significantly as the bytes of an edge double; a low β helps (no number in the text)"
)
NEEDS = ""
KIND = "lines"
SHOWN = traffic.SHOWN
panels = traffic.panels
_ALPHA, _R_CPU, _BUS = 0.5, 0.5e9, 4e9
_BETAS = (0.02, 0.2, 0.6, 1.0)


def cases(options):  # noqa: ARG001 - as in the other figures
    return []


def rows(runs, options):  # noqa: ARG001 - as in the other figures
    return traffic.rows(_ALPHA, _R_CPU, _BUS, _BETAS)


def here(rows):
    high, low = traffic.fall(rows, 0.2, 4, 8), traffic.fall(rows, 0.02, 4, 8)
    return f"with twice the bytes equation 4 goes {high} at β = 20%; {low} at β = 2%"


if __name__ == "__main__":
    output.main(Path(__file__).stem)
