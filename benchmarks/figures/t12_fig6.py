"""Question: how many edges cross, and how many values travel once aggregated, by density (T12, figure 6).

The paper splits R-MAT graphs of 512 million edges at random, with increasing numbers of vertices. With two
partitions 50% of the edges cross, with three 62%: a half and two quarters. Aggregation leaves 3% to 16%.
With only two edges per vertex, it leaves a quarter of the values.

Here: undirected graphs with the same number of edges, and 16 to 2 stored edges per vertex. The first element
has half of the edges. The other elements have equal parts of the rest. Nothing runs, so the result does not
depend on the machine.

    python benchmarks/figures/t12_fig6.py --scale 18 --on cpu:1,cpu:1
"""

from __future__ import annotations

from pathlib import Path

import crossing
import output
import projections
import sweep

TITLE = "edges that cross, with and without aggregation, by density"
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
