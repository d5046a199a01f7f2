"""Question: what speed-up does the model predict, by the CPU's rate and by what crosses (T12, figure 2).

The paper draws equation 4 for a bus of 1 billion edges/s. Left: CPUs of several rates, with beta at 20%.
Right: several beta, with a CPU of 0.5 billion edges/s. The curves are read from a plot. The text says that
nothing is lost with half of the edges on the CPU and all edges crossing. Table 1 has two values for beta at
3% and alpha at 70%: 1.39 for a CPU of 650 million edges/s, and 1.37 for 1,050 million.

Here: the same curves and values from `totem.speedup`. With a GPU, also for the rates of this machine.

    python benchmarks/figures/t12_fig2.py
"""

from __future__ import annotations

from pathlib import Path

import model_curves
import output
from model_curves import alphas, point

TITLE = "predicted speed-up, by the CPU's rate and by β"
PAPER = (
    "no slowdown for α = 50% even if all edges cross; 1.39 and 1.37 for CPUs of 650 and 1,050 million "
    "edges/s with α = 70% and β = 3%"
)
NEEDS = ""
KIND = "lines"
SHOWN = ("varied", "alpha", "beta", "r_cpu", "c", "speedup", "paper", "note")
cases = model_curves.cases
# The text does not list the values of the curves; these span the values that it names.
_RATES, _BETAS = (0.25, 0.5, 1.0, 2.0), (0.05, 0.2, 0.4, 0.6, 1.0)


def rows(runs, options):
    return [
        *(point("r_cpu", alpha, 0.2, rate, 1.0) for rate in _RATES for alpha in alphas(0.5)),
        *(
            point("beta", alpha, beta, 0.5, 1.0, paper=1.0 if (alpha, beta) == (0.5, 1.0) else None)
            for beta in _BETAS
            for alpha in alphas(0.5)
        ),
        point("table 1", 0.7, 0.03, 0.65, 1.0, paper=1.39, note="two Intel X5570"),
        point("table 1", 0.7, 0.03, 1.05, 1.0, paper=1.37, note="four Intel X7500"),
        *model_curves.measured(runs, options, 0.02),
    ]


def here(rows):
    said = ", ".join(f"{row['speedup']:.2f}" for row in rows if row["paper"] is not None)
    own = [row for row in rows if row["varied"] == "here" and row["alpha"] == 0.5]
    more = ", ".join(f"{row['speedup']:.2f} for {row['note']}" for row in own)
    return f"equation 4 gives {said} for the same values" + (
        f"; with this machine's rates at α = 50%, {more}" if own else ""
    )


def panels(rows):
    return model_curves.panels(
        rows,
        {
            "r_cpu": ("β = 20%, by the CPU's rate", lambda row: f"{row['r_cpu']:g} billion edges a second"),
            "beta": ("CPU of 0.5 billion edges a second, by β", lambda row: f"β {row['beta']:.0%}"),
            "here": ("this machine's rates, β = 2%", lambda row: row["note"]),
        },
    )


if __name__ == "__main__":
    output.main(Path(__file__).stem)
