"""Question: how many edges cross, and how many values travel once aggregated, by density (T12, figure 6).

The paper deals an R-MAT graph of 512 million edges out at random, over ever more vertices. With two
partitions 50% of the edges cross, with three 62%; aggregation leaves 3% to 16%, and even where there are but
two edges a vertex a fourth of what it was. (62% is what comes of a half and two fourths.)

Here: graphs of one number of edges, undirected, with 16 to 2 stored edges a vertex; one half of the edges on
the first element, the rest shared by the others. Nothing runs, and nothing of it depends on the machine.

    python benchmarks/figures/t12_fig6.py --scale 18 --on cpu:1,cpu:1
"""

from __future__ import annotations

from pathlib import Path

import crossing
import output
import projections
import sweep

TITLE = "edges that cross, without aggregation and with it, by density"
PAPER = (
    "50% of the edges cross between two partitions and 62% between three; aggregation leaves 3% to 16%, 4 "
    "times fewer at worst"
)
NEEDS = "two elements"
KIND = "bars"
SHOWN = crossing.SHOWN
_PAPER = {2: "50%", 3: "62%"}


def cases(options):
    three = [sweep.crossings(graph, elements=3) for graph in sweep.density_graphs(options)]
    return [*sweep.densities(options), *three]


def rows(runs, options):
    found = [row for graph in sweep.density_graphs(options) for row in projections.crossings(runs, graph)]
    return [{**row, "paper": _PAPER.get(row["partitions"])} for row in found]


def here(rows):
    said = [
        f"{', '.join(f'{beta:.1%}' for beta in crossing.betas(rows, count))} between {crossing.WORDS[count]}"
        for count in crossing.counts(rows)
    ]
    least, most = crossing.spread(rows)
    times = min(row["beta"] / row["beta_aggregated"] for row in rows if row["beta_aggregated"])
    left = f"aggregation leaves {least:.1%} to {most:.1%}, {times:.1f} times fewer at worst"
    return f"{' and '.join(said)}; {left}"


def panels(rows):
    return crossing.panels(
        rows, lambda row: f"{row['stored_edges'] / row['vertices']:.0f}", "stored edges a vertex"
    )


if __name__ == "__main__":
    output.main(Path(__file__).stem)
