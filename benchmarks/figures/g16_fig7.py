"""Question: how does PageRank scale with the machines (G16, figure 7).

The paper has 1 to 10 machines. On G4, speed grows up to 4 machines: α falls from 0.8 through 0.5 to 0.04.
Then G4 is too small. On G5, speed grows up to 10 machines, because CPUs have most of the edges. C-PG needs
about 5,300 ms for G4 on 8 machines, and 4 machines are about 6 times as fast as TOTEM on one. Other times
are read from a plot.

Here: ranks of this machine, each with the elements of `--on`, or one CPU element if that has no GPU. Ranks
beyond the cores share cores. The simulation then predicts the machines of the paper. The 5,300 ms and the 6
times give the rate of a CPU and the constant seconds of a run. The GPU is r = 23.7 times as fast. α is
1 / (r + 1), or the share without room on the GPUs if that is larger. The room follows from the α of the
paper.

    python benchmarks/figures/g16_fig7.py --most-ranks 4 --on cpu:1,cpu:1
"""

from __future__ import annotations

from pathlib import Path

import g16_runs
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel, series_of

import simulation
from evener.planning.ratio import cpu_share
from simulation import Link, Rates

TITLE = "PageRank on more machines"
PAPER = (
    "on G4 speed grows up to 4 machines, with about 5.3 s for C-PG on 8; on G5 it grows up to 10 machines, "
    "because CPUs dominate"
)
KIND = "lines"
SHOWN = ("graph", "policy", "machines", "seconds", "over_one", "edges_per_second", "paper")
POLICIES = ("C-PG", "C-R", "DP-RH", "PD-HR")
RATIO, ITERATIONS = 23.7, 10
# Edges of G16's table IV, and edges that fit a GPU by α: 0.85 for G5 on 4 machines, 0.5 for G4 on 2.
PAPER_EDGES = {"G4": 1_047_207_019, "G5": 3_612_134_270}
PAPER_ROOM = {"G4": 0.5 * PAPER_EDGES["G4"] / 2, "G5": 0.15 * PAPER_EDGES["G5"] / 4}
# Scale and edges per vertex of R-MAT graphs with about these edges.
_RMAT = {"G4": (25, 16), "G5": (26, 27)}
EIGHT_SECONDS, FOUR_OVER_ONE = 5.3, 6.0
_MACHINES = (1, 2, 4, 8, 10, 16, 64, 256, 1024, 4096)


def cases(options):
    return [
        g16_runs.case(options, graph, policy, ranks=ranks, on=_on(options), tasks=("pagerank",))
        for graph in ("G4", "G5")
        for policy in POLICIES
        for ranks in range(1, options.most_ranks + 1)
    ]


def _on(options):
    """Return the elements of a machine: one CPU if there is no GPU, so that two machines have two cores."""
    return options.on if g16_runs.has_gpu(options) else options.on.partition(",")[0]


def rows(runs, options):
    wanted = {(one.graph, one.policy, one.ranks, one.on) for one in cases(options)}
    found = [
        {
            "graph": row["graph"],
            "policy": row["policy"],
            "machines": row["ranks"],
            "seconds": ITERATIONS * row["median_seconds"],
            "edges_per_second": row["stored_edges"] / row["median_seconds"],
            "simulated": False,
        }
        for row in runs
        if (row["graph"], row["policy"], row["ranks"], row["on"]) in wanted
        and row["task"] == "pagerank"
        and row["alpha"] is None
    ]
    found += [_simulated(graph, machines) for graph in _RMAT for machines in _MACHINES]
    for row in found:
        ones = [
            one["seconds"]
            for one in found
            if (one["graph"], one["policy"], one["machines"]) == (row["graph"], row["policy"], 1)
        ]
        row["over_one"] = ones[0] / row["seconds"]
    return found


def alpha(graph, machines):
    """Return α of the paper: by r, or the share for which its GPUs have no room."""
    return cpu_share(RATIO, 1 - PAPER_ROOM[graph] * machines / PAPER_EDGES[graph])


def calibrated():
    """Return seconds per edge on a CPU of the paper, and the constant seconds of a run.

    With w(p) edges for the CPU of each of p machines: 5.3 s = w(8) a + h, and w(1) a + h = 6 (w(4) a + h).
    """
    w = {p: ITERATIONS * alpha("G4", p) * PAPER_EDGES["G4"] / p for p in (1, 4, 8)}
    edge = EIGHT_SECONDS / (w[8] + (w[1] - FOUR_OVER_ONE * w[4]) / (FOUR_OVER_ONE - 1))
    return edge, EIGHT_SECONDS - edge * w[8]


def _simulated(graph, machines):
    edge, fixed = calibrated()
    classes = simulation.rmat_classes(*_RMAT[graph])
    classes = classes._replace(degree=classes.degree * PAPER_EDGES[graph] / classes.edges)
    share = alpha(graph, machines)
    parts = simulation.expected(classes, "C-PG", machines, [share, 1 - share])
    # 24 Gbit/s of InfiniBand (§IV.A).
    link = Link(5e-6, 3e9)
    found = simulation.predict(parts, [Rates(edge), Rates(edge / RATIO)], link, supersteps=1)
    seconds = fixed + ITERATIONS * found.seconds
    return {
        "graph": graph,
        "policy": "C-PG of the paper, simulated",
        "machines": machines,
        "alpha": share,
        "seconds": seconds,
        "edges_per_second": ITERATIONS * PAPER_EDGES[graph] / seconds,
        "simulated": True,
        "paper": EIGHT_SECONDS if (graph, machines) == ("G4", 8) else None,
    }


def here(rows):
    clauses = []
    for graph in _RMAT:
        own = [row for row in rows if row["graph"] == graph]
        measured = [row for row in own if not row["simulated"]]
        most = max((row["machines"] for row in measured), default=0)
        speeds = ", ".join(
            f"{row['policy']} {row['over_one']:.2f}" for row in measured if row["machines"] == most
        )
        simulated = {row["machines"]: row["over_one"] for row in own if row["simulated"]}
        clauses.append(f"{graph}: {most} ranks are this much faster than one: {speeds}")
        clauses.append(
            f"{graph} simulated on the machines of the paper: 4 are {simulated[4]:.1f} times as fast as one, "
            f"10 are {simulated[10]:.1f} times, 256 are {simulated[256]:.0f} times"
        )
    clauses.append(
        "5.3 s and 6 times are given to the simulation, so only other machines and G5 are predicted"
    )
    return "; ".join(clauses)


def panels(rows):
    found = []
    for simulated, title in ((False, "measured on ranks"), (True, "simulated for the paper's machines")):
        for graph in _RMAT:
            own = [
                row
                for row in rows
                if (row["graph"], row["simulated"]) == (graph, simulated) and row["machines"] <= 10
            ]
            curves = series_of(own, "policy", "machines", "seconds")
            found.append(Panel(f"{graph}, {title}", "machines", "seconds", curves, log=simulated))
    return found


if __name__ == "__main__":
    g16_runs.main([Path(__file__).stem])
