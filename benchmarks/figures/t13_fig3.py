"""Question: what does the model predict on the machine of T13 if more bytes travel (T13, figure 3).

The paper draws equation 4 at alpha = 60% for a CPU of 1 billion edges/s, over a bus of 12 GB/s. The curves
are read from a plot. The text says that speed-ups are tangible with a reasonably low beta, even if three
times as many bytes travel for each edge.

Here: the same curves from `totem.speedup`.

    python benchmarks/figures/t13_fig3.py
"""

from __future__ import annotations

from pathlib import Path

import output
import traffic

TITLE = "predicted speed-up on the later machine if more bytes travel"
PAPER = "tangible speed-ups even with three times the bytes, if β is reasonably low (no number in the text)"
NEEDS = ""
KIND = "lines"
SHOWN = traffic.SHOWN
panels = traffic.panels
_ALPHA, _R_CPU, _BUS = 0.6, 1e9, 12e9
_BETAS = (0.05, 0.2, 0.4, 1.0)


def cases(options):  # noqa: ARG001 - as in the other figures
    return []


def rows(runs, options):  # noqa: ARG001 - as in the other figures
    return traffic.rows(_ALPHA, _R_CPU, _BUS, _BETAS)


def here(rows):
    return (
        f"with three times the bytes equation 4 goes {traffic.fall(rows, 0.05, 4, 12)} at β = 5%; "
        f"{traffic.fall(rows, 0.2, 4, 12)} at β = 20%"
    )


if __name__ == "__main__":
    output.main(Path(__file__).stem)
