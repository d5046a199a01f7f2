"""Question: what speed-up does the model predict on the machine of T13 (T13, figure 2).

The paper draws equation 4 for a bus of 3 billion edges/s. Left: CPUs of several rates, with beta at 5%.
Right: several beta, with a CPU of 1 billion edges/s. The curves are read from a plot. The text says that the
model predicts speed-ups if beta is below 40%. If all edges cross, it predicts a slowdown only for alpha above
70%.

Here: the same curves from `totem.speedup`, and the alpha above which they are below one. With a GPU, also for
the rates of this machine.

    python benchmarks/figures/t13_fig2.py
"""

from __future__ import annotations

from pathlib import Path

import model_curves
import output
from model_curves import alphas, point

TITLE = "predicted speed-up on the later machine"
PAPER = "speed-ups if β is below 40%; if all edges cross, a slowdown only for α above 70%"
NEEDS = ""
KIND = "lines"
SHOWN = ("varied", "alpha", "beta", "r_cpu", "c", "speedup", "paper", "note")
cases = model_curves.cases
_LEAST_ALPHA, _R_CPU, _C = 0.6, 1.0, 3.0
# The text does not list the values of the curves; these span the values that it names.
_RATES, _BETAS = (0.5, 1.0, 2.0, 4.0), (0.05, 0.2, 0.4, 0.6, 1.0)


def even(beta):
    """The alpha at which the model's speed-up is one: beta / c + alpha / r_cpu = 1 / r_cpu."""
    return 1 - beta * _R_CPU / _C


def rows(runs, options):
    return [
        *(point("r_cpu", alpha, 0.05, rate, _C) for rate in _RATES for alpha in alphas(_LEAST_ALPHA)),
        *(point("beta", alpha, beta, _R_CPU, _C) for beta in _BETAS for alpha in alphas(_LEAST_ALPHA)),
        point("even", even(0.4), 0.4, _R_CPU, _C, note="even from here on, β 40%"),
        point("even", even(1.0), 1.0, _R_CPU, _C, note="even from here on, all edges cross", paper="α 70%"),
        *model_curves.measured(runs, options, 0.02),
    ]


def here(rows):
    some, everything = (row["alpha"] for row in rows if row["varied"] == "even")
    return (
        f"equation 4 falls below one for α above {some:.0%} at β = 40%, and above {everything:.0%} if all "
        "edges cross"
    )


def panels(rows):
    return model_curves.panels(
        rows,
        {
            "r_cpu": ("β = 5%, by the CPU's rate", lambda row: f"{row['r_cpu']:g} billion edges a second"),
            "beta": ("CPU of 1 billion edges a second, by β", lambda row: f"β {row['beta']:.0%}"),
            "here": ("this machine's rates, β = 2%", lambda row: row["note"]),
        },
    )


if __name__ == "__main__":
    output.main(Path(__file__).stem)
