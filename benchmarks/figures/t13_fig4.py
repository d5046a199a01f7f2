"""Question: how many edges cross, and how many values travel, by kind of graph (T13, figure 4).

The paper splits four graphs at random into two and three partitions: Twitter, UK-Web, R-MAT 28 and a uniform
graph. Aggregation leaves less than 5% if degrees are skewed. The uniform graph is the worst case. Its bars
are read from a plot.

Here: R-MAT and uniform graphs of a quarter of the main graph, directed as in the paper, and the files of
--real. The first element has half of the edges. The other elements have equal parts of the rest. Nothing
runs, so the result does not depend on the machine.

    python benchmarks/figures/t13_fig4.py --scale 20 --real soc-Epinions1.txt.gz web-NotreDame.txt.gz
"""

from __future__ import annotations

from pathlib import Path

import crossing
import output
import projections
import sweep

TITLE = "edges that cross, with and without aggregation, by kind of graph"
PAPER = "aggregation leaves less than 5% on R-MAT and on real graphs; uniform degrees are the worst case"
NEEDS = ""
KIND = "bars"
SHOWN = crossing.SHOWN


def _graphs(options):
    smaller = options.scale - 2
    return [*options.real, f"rmat:{smaller},directed", f"uniform:{smaller},directed"]


def cases(options):
    return [
        sweep.crossings(graph, elements=count, directions="out")
        for graph in _graphs(options)
        for count in (2, 3)
    ]


def rows(runs, options):
    found = [row for graph in _graphs(options) for row in projections.crossings(runs, graph)]
    return [{**row, "paper": "< 5%" if row["graph"].startswith("rmat") else None} for row in found]


def here(rows):
    kinds = {"R-MAT": [], "the uniform graph": []}
    for row in rows:
        kind = row["graph"].partition(":")[0]
        kinds.setdefault({"rmat": "R-MAT", "uniform": "the uniform graph"}.get(kind, kind), []).append(row)
    said = []
    for name, own in kinds.items():
        if own:
            least, most = crossing.spread(own)
            said.append(f"{least:.1%} to {most:.1%} on {name} ({_density(own):.0f} edges a vertex)")
    return f"aggregation leaves {'; '.join(said)}"


def _density(rows):
    return rows[0]["stored_edges"] / rows[0]["vertices"]


def panels(rows):
    def label(row):
        return row["graph"].partition(".")[0].replace(",", "\n").replace("-", "-\n")

    return crossing.panels(rows, label, "")


if __name__ == "__main__":
    output.main(Path(__file__).stem)
