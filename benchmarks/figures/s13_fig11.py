"""Question: what does LPT gain over round robin with a graph of SCALE 21 on each node (S13, figure 11).

The paper has three GPUs on each of up to 256 nodes. Both divisions are about equally fast, because the
graphs are balanced: LPT is 3.98% better balanced on 64 nodes and 13.8% on 128 (SCALE 19 for each). Times
differ on 128 nodes only, where bitonic sort needs a larger power of two for the largest part.

Here: the simulation of `benchmarks/simulate.py` up to 4,096 nodes, with two kinds of nodes of figure 7.
Round robin divides vertices by chance. Five divisions are drawn, and their medians taken. The imbalance is
that of figure 10, which `s13_fig10.py` counts.

    python benchmarks/figures/s13_fig11.py
"""

from __future__ import annotations

from pathlib import Path

import g16_runs
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel, series_of
from s13_fig7 import EDGE_FACTOR, NODES, SCALE, systems

import harness
import simulate
import simulation
from evener.partition.statistics import imbalance

TITLE = "round robin and longest processing time first, with SCALE 21 on each node"
PAPER = "both are about equally fast; LPT is 3.98% better balanced on 64 nodes and 13.8% on 128"
KIND = "lines"
SHOWN = (
    "nodes",
    "scale",
    "round_robin_imbalance",
    "lpt_imbalance",
    "round_robin_seconds",
    "lpt_seconds",
    "gain",
)
_DRAWS = 5
# Kinds of nodes of figure 7: one waits for its elements, and one for the network.
_KINDS = (0, 2)


def rows(documents, options):  # noqa: ARG001 - same parameters as other figures
    of_all = systems(*documents)
    return [
        _row(system, *of_all[system], nodes)
        for system in [list(of_all)[kind] for kind in _KINDS]
        for nodes in (*NODES[:4], 128, *NODES[4:])
    ]


def _row(system, rates, link, nodes):
    scale = SCALE + nodes.bit_length() - 1
    classes = simulation.rmat_classes(scale, EDGE_FACTOR)
    row = {"system": system, "nodes": nodes, "scale": scale}
    for policy, name, draws in (("round-robin", "round_robin", _DRAWS), ("lpt", "lpt", 1)):
        drawn = [
            simulation.expected(classes, policy, nodes, [1.0] * len(rates), seed=seed)
            for seed in range(draws)
        ]
        row[f"{name}_imbalance"] = max(0.0, harness.median([imbalance(one.edges) for one in drawn]))
        row[f"{name}_seconds"] = harness.median(
            [simulation.predict(one, rates, link, supersteps=1).seconds for one in drawn]
        )
    row["gain"] = row["round_robin_seconds"] / row["lpt_seconds"]
    return row


def here(rows):
    return "; ".join(
        f"{row['system']}, {row['nodes']:,} nodes: imbalance {row['round_robin_imbalance']:.1%} with round "
        f"robin and {row['lpt_imbalance']:.1%} with LPT, which is {row['gain']:.2f} times as fast"
        for row in rows
        if row["nodes"] in (64, 128, 4096)
    )


def panels(rows):
    first = [row for row in rows if row["system"] == rows[0]["system"]]
    balance = Panel(
        "balance (figure 10)",
        "nodes",
        "load imbalance of edges, %",
        {
            label: ([row["nodes"] for row in first], [100 * row[f"{name}_imbalance"] for row in first])
            for label, name in (("round robin", "round_robin"), ("LPT", "lpt"))
        },
        wide=True,
    )
    gains = series_of(rows, "system", "nodes", "gain")
    return [balance, Panel("time (figure 11)", "nodes", "round robin over LPT", gains, line=1, wide=True)]


def main():
    options = harness.recording(g16_runs.parser_of(__doc__.splitlines()[0]))
    options.on = "cpu:1"
    documents = simulate.recorded("scaling.json"), simulate.recorded("figures/runs.json")
    g16_runs.publish_single(Path(__file__).stem, documents, options)


if __name__ == "__main__":
    main()
